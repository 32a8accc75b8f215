//! The `remote_write` section.

use prometheus_types::auth::AzureAd;
use prometheus_types::remote_write::{QueueConfig, RemoteWriteSpec};
use rendering::{Map, Tree};

use crate::context::Scope;
use crate::gates::Field;
use crate::relabel::steps;
use crate::values::{string_map, text};

/// The messages of the versions of remote write; an unknown version is taken for the first.
pub(crate) fn message(version: &str) -> &'static str {
    if version == "V2.0" { "io.prometheus.write.v2.Request" } else { "prometheus.WriteRequest" }
}

impl Scope<'_> {
    pub(crate) fn remote_write(&self, spec: &RemoteWriteSpec) -> Map {
        let known = self.known;
        let mut map = Map::new().with("url", Tree::text(&spec.url));
        map.set_some("remote_timeout", text(spec.remote_timeout.as_ref()));
        known.put_some(&mut map, Field::RemoteWriteHeaders, string_map(&spec.headers).non_empty());
        known.put_some(&mut map, Field::RemoteWriteName, spec.name.as_ref().filter(|name| !name.is_empty()));
        known.put_some(&mut map, Field::MessageVersion, spec.message_version.as_deref().map(message));
        known.put_some(&mut map, Field::SendExemplars, spec.send_exemplars);
        known.put_some(&mut map, Field::SendNativeHistograms, spec.send_native_histograms);
        if !spec.write_relabel_configs.is_empty() {
            map.set("write_relabel_configs", steps(&spec.write_relabel_configs).collect::<Tree>());
        }
        self.put_basic_auth(&mut map, spec.basic_auth.as_ref());
        map.set_text("bearer_token", &spec.bearer_token)
            .set_text("bearer_token_file", &spec.bearer_token_file);
        self.put_oauth2(&mut map, spec.oauth2.as_ref());
        self.put_tls(&mut map, spec.tls_config.as_ref());
        self.put_authorization(&mut map, spec.authorization.as_ref());
        self.put_proxy(&mut map, &spec.proxy);
        known.put_some(&mut map, Field::RemoteWriteSigV4, spec.sigv4.as_ref().map(|sigv4| self.sigv4(sigv4)));
        known.put_some(&mut map, Field::AzureAd, spec.azure_ad.as_ref().map(|azure| self.azure_ad(azure)));
        known.put_some(&mut map, Field::FollowRedirects, spec.follow_redirects);
        known.put_some(&mut map, Field::EnableHttp2, spec.enable_http2);
        map.set_some("queue_config", spec.queue_config.as_ref().map(|queue| self.queue(queue)));
        known.put_some(&mut map, Field::MetadataConfig, self.metadata(spec));
        known.put_some(&mut map, Field::RoundRobinDns, spec.round_robin_dns);
        map
    }

    fn azure_ad(&self, azure: &AzureAd) -> Map {
        let known = self.known;
        let mut map = Map::new();
        if let Some(identity) = &azure.managed_identity {
            let mut managed = Map::new();
            managed.set_text("client_id", identity.client_id.as_deref().unwrap_or_default());
            map.set("managed_identity", managed);
        }
        if let Some(oauth) = &azure.oauth
            && let Ok(secret) = self.secret(&oauth.client_secret)
        {
            let oauth = Map::new()
                .with("client_id", &oauth.client_id)
                .with("client_secret", secret)
                .with("tenant_id", &oauth.tenant_id);
            known.put(&mut map, Field::AzureOAuth, oauth);
        }
        let sdk = azure
            .sdk
            .as_ref()
            .map(|sdk| Map::new().with("tenant_id", sdk.tenant_id.clone().unwrap_or_default()));
        known.put_some(&mut map, Field::AzureSdk, sdk);
        let identity = azure.workload_identity.as_ref();
        let identity = identity.map(|identity| {
            Map::new().with("client_id", &identity.client_id).with("tenant_id", &identity.tenant_id)
        });
        known.put_some(&mut map, Field::AzureWorkloadIdentity, identity);
        map.set_some("cloud", text(azure.cloud.as_ref()));
        known.put_some(&mut map, Field::AzureScope, azure.scope.as_ref().filter(|scope| !scope.is_empty()));
        map
    }

    fn queue(&self, queue: &QueueConfig) -> Map {
        let known = self.known;
        let set = |number: isize| (number != 0).then_some(Tree::Int(number as i128));
        let mut map = Map::new();
        map.set_some("capacity", set(queue.capacity));
        known.put_some(&mut map, Field::QueueMinShards, set(queue.min_shards));
        map.set_some("max_shards", set(queue.max_shards));
        map.set_some("max_samples_per_send", set(queue.max_samples_per_send));
        map.set_some("batch_send_deadline", text(queue.batch_send_deadline.as_ref()));
        known.put_some(&mut map, Field::QueueMaxRetries, set(queue.max_retries));
        map.set_some("min_backoff", text(queue.min_backoff.as_ref()));
        map.set_some("max_backoff", text(queue.max_backoff.as_ref()));
        known.put_some(&mut map, Field::QueueRetryOnRateLimit, queue.retry_on_rate_limit.then_some(true));
        known.put_some(&mut map, Field::QueueSampleAgeLimit, text(queue.sample_age_limit.as_ref()));
        map
    }

    /// The second version of remote write sends metadata with the samples, never by itself.
    fn metadata(&self, spec: &RemoteWriteSpec) -> Option<Map> {
        let metadata = spec.metadata_config.as_ref()?;
        let second = spec.message_version.as_deref().is_some_and(|version| version == "V2.0");
        let mut map = Map::new().with("send", metadata.send && !second);
        map.set_text("send_interval", &metadata.send_interval);
        self.known.put_some(&mut map, Field::MetadataMaxSamples, metadata.max_samples_per_send);
        Some(map)
    }
}
