//! A job per ScrapeConfig.

use prometheus_types::ScrapeConfig;
use rendering::{Map, Missing, Tree};

use crate::auth::authorization_with_class;
use crate::context::{Context, Scope};
use crate::gates::Field;
use crate::limits::limits_of;
use crate::relabel::{step, steps};
use crate::scrape::{discovery, job_name_step};
use crate::transport::safe_tls_with_class;
use crate::values::{list_map, text};

impl Context<'_> {
    pub(crate) fn scrape_config_job(&self, config: &ScrapeConfig) -> Result<Map, Missing> {
        let spec = &config.spec;
        let namespace = config.metadata.namespace.as_deref().unwrap_or_default();
        let name = config.metadata.name.as_deref().unwrap_or_default();
        let class = self.class(spec.scrape_class.as_deref());
        let scope = self.scope(namespace);

        let mut job = Map::with_capacity(16);
        job.set("job_name", format!("scrapeConfig/{namespace}/{name}"));
        self.put_scraping(&mut job, config);
        scope.put_proxy(&mut job, &spec.proxy);
        scope.put_basic_auth(&mut job, spec.auth.basic_auth.as_ref());
        scope.put_authorization(
            &mut job,
            authorization_with_class(spec.auth.authorization.as_ref(), class).as_deref(),
        );
        scope.put_oauth2(&mut job, spec.auth.oauth2.as_ref());
        scope.put_tls(&mut job, safe_tls_with_class(spec.tls_config.as_ref(), class).as_deref());
        self.put_protocols(&mut job, &spec.scrape_protocols);
        self.put_fallback_protocol(
            &mut job,
            spec.fallback_scrape_protocol.as_ref(),
            class.fallback_scrape_protocol.as_ref(),
        );
        self.put_limits(&mut job, &limits_of!(spec));
        self.put_histograms(&mut job, &spec.histograms);
        self.put_body_size_limit(&mut job, spec.body_size_limit.as_ref());
        put_discoveries(&mut job, scope, config)?;

        let enforced = self.enforcement().step_for("scrapeconfigs", namespace, name);
        let mut relabelings = vec![job_name_step()];
        relabelings.extend(steps(&class.relabelings).map(Tree::from));
        if let Some(job_name) = &spec.job_name {
            let fixed = Map::new().with("target_label", "job").with("action", "replace");
            relabelings.push(fixed.with("replacement", job_name).into());
        }
        if !spec.relabelings.is_empty() {
            relabelings.extend(steps(&spec.relabelings).chain(enforced.as_ref().map(step)).map(Tree::from));
        }
        if self.shards() != 1 {
            self.shard_if_missing(&mut relabelings);
        }
        job.set("relabel_configs", relabelings);
        self.put_metric_relabelings(&mut job, class, &spec.metric_relabelings, enforced.as_ref());
        self.put_name_schemes(
            &mut job,
            spec.name_validation_scheme.as_ref(),
            spec.name_escaping_scheme.as_ref(),
        );
        Ok(job)
    }

    fn put_scraping(&self, job: &mut Map, config: &ScrapeConfig) {
        let spec = &config.spec;
        if spec.honor_timestamps.is_some() {
            self.put_honor_timestamps(job, spec.honor_timestamps);
        }
        self.known.put_some(job, Field::TrackTimestampsStaleness, spec.track_timestamps_staleness);
        if let Some(honor) = spec.honor_labels {
            self.put_honor_labels(job, honor);
        }
        job.set_some("metrics_path", spec.metrics_path.as_ref());
        if !spec.params.is_empty() {
            job.set("params", list_map(&spec.params));
        }
        self.known.put_some(job, Field::EnableCompression, spec.enable_compression);
        self.known.put_some(job, Field::EnableHttp2, spec.enable_http2);
        job.set_some("scrape_interval", text(spec.scrape_interval.as_ref()));
        job.set_some("scrape_timeout", text(spec.scrape_timeout.as_ref()));
        job.set_some("scheme", spec.scheme.as_ref().map(|scheme| scheme.to_ascii_lowercase()));
    }
}

/// The discoveries, each a list of its entries.
fn put_discoveries(job: &mut Map, scope: Scope<'_>, config: &ScrapeConfig) -> Result<(), Missing> {
    let spec = &config.spec;
    let mut put = |key: &'static str, entries: Result<Vec<Map>, Missing>| -> Result<(), Missing> {
        let entries = entries?;
        if !entries.is_empty() {
            job.set(key, entries);
        }
        Ok(())
    };
    macro_rules! discover {
        ($($key:literal: $entries:ident by $write:path;)+) => {
            $(put($key, spec.$entries.iter().map(|entry| $write(scope, entry)).collect())?;)+
        };
    }
    discover! {
        "static_configs": static_configs by discovery::generic::fixed;
        "file_sd_configs": file_sd_configs by discovery::generic::file;
        "http_sd_configs": http_sd_configs by discovery::generic::http;
        "kubernetes_sd_configs": kubernetes_sd_configs by discovery::containers::kubernetes;
        "consul_sd_configs": consul_sd_configs by discovery::registries::consul;
        "dns_sd_configs": dns_sd_configs by discovery::generic::dns;
        "ec2_sd_configs": ec2_sd_configs by discovery::clouds::ec2;
        "azure_sd_configs": azure_sd_configs by discovery::clouds::azure;
        "gce_sd_configs": gce_sd_configs by discovery::clouds::gce;
        "openstack_sd_configs": openstack_sd_configs by discovery::clouds::openstack;
        "digitalocean_sd_configs": digital_ocean_sd_configs by discovery::hosting::digital_ocean;
        "kuma_sd_configs": kuma_sd_configs by discovery::containers::kuma;
        "eureka_sd_configs": eureka_sd_configs by discovery::registries::eureka;
        "docker_sd_configs": docker_sd_configs by discovery::containers::docker;
        "linode_sd_configs": linode_sd_configs by discovery::hosting::linode;
        "hetzner_sd_configs": hetzner_sd_configs by discovery::hosting::hetzner;
        "nomad_sd_configs": nomad_sd_configs by discovery::containers::nomad;
        "dockerswarm_sd_configs": docker_swarm_sd_configs by discovery::containers::docker_swarm;
        "puppetdb_sd_configs": puppet_db_sd_configs by discovery::registries::puppet_db;
        "lightsail_sd_configs": light_sail_sd_configs by discovery::clouds::light_sail;
        "ovhcloud_sd_configs": ovhcloud_sd_configs by discovery::clouds::ovhcloud;
        "scaleway_sd_configs": scaleway_sd_configs by discovery::clouds::scaleway;
        "ionos_sd_configs": ionos_sd_configs by discovery::clouds::ionos;
    }
    Ok(())
}
