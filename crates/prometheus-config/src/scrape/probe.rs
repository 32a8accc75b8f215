//! A job per Probe: a prober is asked about static targets or Ingresses.

use prometheus_types::Probe;
use prometheus_types::probe::{ProbeTargetIngress, ProbeTargetStaticConfig};
use rendering::{Map, Tree};

use crate::auth::authorization_with_class;
use crate::context::{Context, Scope};
use crate::gates::Field;
use crate::kubernetes_sd::{Discovery, Role};
use crate::limits::limits_of;
use crate::relabel::{copy, fixed};
use crate::scrape::{job_name_step, push_user_steps};
use crate::selector;
use crate::transport::safe_tls_with_class;
use crate::values::{labels, list, string_map};

impl Context<'_> {
    pub(crate) fn probe_job(&self, probe: &Probe) -> Map {
        let spec = &probe.spec;
        let namespace = probe.metadata.namespace.as_deref().unwrap_or_default();
        let name = probe.metadata.name.as_deref().unwrap_or_default();
        let class = self.class(spec.scrape_class.as_deref());
        let scope = self.scope(namespace);

        let mut job = Map::with_capacity(16);
        job.set("job_name", format!("probe/{namespace}/{name}"));
        self.put_honor_timestamps(&mut job, Some(true));
        job.set("metrics_path", Tree::text(&spec.prober.path));
        job.set_text("scrape_interval", &spec.interval).set_text("scrape_timeout", &spec.scrape_timeout);
        job.set_some("scheme", spec.prober.scheme.as_ref().map(|scheme| scheme.to_ascii_lowercase()));
        job.set_some("params", params(probe).non_empty());
        self.put_limits(&mut job, &limits_of!(spec));
        self.put_histograms(&mut job, &spec.histograms);
        self.put_protocols(&mut job, &spec.scrape_protocols);
        self.put_fallback_protocol(
            &mut job,
            spec.fallback_scrape_protocol.as_ref(),
            class.fallback_scrape_protocol.as_ref(),
        );
        self.put_body_size_limit(&mut job, None);
        scope.put_proxy(&mut job, &spec.prober.proxy);
        self.known.put_some(&mut job, Field::FollowRedirects, spec.http.follow_redirects);
        self.known.put_some(&mut job, Field::EnableHttp2, spec.http.enable_http2);
        scope.put_tls(&mut job, safe_tls_with_class(spec.tls_config.as_ref(), class).as_deref());

        let enforced = self.enforcement().step_for("probes", namespace, name);
        let mut relabelings = vec![job_name_step()];
        if !spec.job_name.is_empty() {
            relabelings.push(fixed("job", &spec.job_name).into());
        }
        // Static targets win where both kinds are given.
        if let Some(targets) = &spec.targets.static_config {
            job.set("static_configs", static_targets(targets, namespace));
            relabelings.extend(static_steps(&spec.prober.url));
            push_user_steps(&mut relabelings, class, &targets.relabeling_configs, enforced.as_ref());
        } else if let Some(targets) = &spec.targets.ingress {
            job.set("kubernetes_sd_configs", self.ingress_discovery(scope, targets));
            selector::relabelings(&targets.selector, "ingress", &mut relabelings);
            relabelings.extend(ingress_steps(&spec.prober.url));
            push_user_steps(&mut relabelings, class, &targets.relabeling_configs, enforced.as_ref());
        }
        self.shard(&mut relabelings, "__param_target");
        job.set("relabel_configs", relabelings);

        job.set_some(
            "bearer_token",
            spec.http.bearer_token_secret.as_ref().and_then(|token| scope.secret(token).ok()),
        );
        scope.put_basic_auth(&mut job, spec.http.basic_auth.as_ref());
        scope.put_oauth2(&mut job, spec.http.oauth2.as_ref());
        scope.put_authorization(
            &mut job,
            authorization_with_class(spec.http.authorization.as_ref(), class).as_deref(),
        );
        self.put_metric_relabelings(&mut job, class, &spec.metric_relabelings, enforced.as_ref());
        job
    }

    fn ingress_discovery(&self, scope: Scope<'_>, targets: &ProbeTargetIngress) -> Tree {
        let discovery = Discovery {
            role: Role::Ingress,
            home: scope.namespace(),
            namespaces: &targets.namespace_selector,
            attach_node: None,
            selectors: None,
        };
        self.kubernetes_sd(scope, &discovery)
    }
}

/// The prober's parameters; `module` has a field of its own, which wins.
fn params(probe: &Probe) -> Map {
    let module = &probe.spec.module;
    let mut params = Map::new();
    if !module.is_empty() {
        params.set("module", list(std::slice::from_ref(module)));
    }
    for param in probe.spec.params.iter().filter(|param| module.is_empty() || param.name != "module") {
        params.set(param.name.clone(), list(&param.values));
    }
    params
}

fn static_targets(targets: &ProbeTargetStaticConfig, namespace: &str) -> Vec<Map> {
    let mut labels = string_map(&targets.labels);
    if !labels.contains_key("namespace") {
        labels.set("namespace", Tree::text(namespace));
    }
    vec![Map::new().with("targets", list(&targets.r#static)).with("labels", labels)]
}

fn static_steps(prober: &str) -> [Tree; 3] {
    [
        copy("__address__", "__param_target").into(),
        copy("__param_target", "instance").into(),
        fixed("__address__", prober).into(),
    ]
}

fn ingress_steps(prober: &str) -> [Tree; 6] {
    let replace = |sources: Tree, regex: &'static str, target: &'static str, replacement: &'static str| {
        Map::new()
            .with("source_labels", sources)
            .with("separator", ";")
            .with("regex", regex)
            .with("target_label", target)
            .with("replacement", replacement)
            .with("action", "replace")
    };
    let address =
        ["__meta_kubernetes_ingress_scheme", "__address__", "__meta_kubernetes_ingress_path"].map(Into::into);
    [
        replace(labels(address), "(.+);(.+);(.+)", "__param_target", "${1}://${2}${3}").into(),
        copy("__meta_kubernetes_namespace", "namespace").into(),
        copy("__meta_kubernetes_ingress_name", "ingress").into(),
        replace(labels(["__address__".into()]), "(.*)", "__tmp_ingress_address", "$1").into(),
        copy("__param_target", "instance").into(),
        fixed("__address__", prober).into(),
    ]
}
