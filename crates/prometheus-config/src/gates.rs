//! Which version of Prometheus knows which field: the one table of version gates of this crate.
//!
//! A field that a version does not know is left out, for Prometheus refuses a configuration with an unknown key. Sources:
//! Prometheus' change log and documentation of its configuration; upstream's gates for the same fields.

use rendering::{Gate, Map, Tree, Version, since, since_candidates, until, until_candidates};

/// Declares the gated fields: name here, key in Prometheus' configuration, versions.
macro_rules! fields {
    ($($(#[$meta:meta])* $name:ident = $key:literal, $gate:expr;)+) => {
        /// A gated field of Prometheus' configuration.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Field {
            $($(#[$meta])* $name,)+
        }

        /// The gates, in the order of [`Field`].
        pub const GATES: &[(Field, &str, Gate)] = &[$((Field::$name, $key, $gate),)+];
    };
}

fields! {
    // global
    GlobalBodySizeLimit = "body_size_limit", since("2.45.0");
    GlobalSampleLimit = "sample_limit", since("2.45.0");
    GlobalTargetLimit = "target_limit", since("2.45.0");
    GlobalLabelLimit = "label_limit", since("2.45.0");
    GlobalLabelNameLengthLimit = "label_name_length_limit", since("2.45.0");
    GlobalLabelValueLengthLimit = "label_value_length_limit", since("2.45.0");
    GlobalKeepDroppedTargets = "keep_dropped_targets", since("2.47.0");
    GlobalConvertClassicHistograms = "convert_classic_histograms_to_nhcb", since("3.4.0");
    GlobalScrapeClassicHistograms = "always_scrape_classic_histograms", since("3.5.0");
    RuleQueryOffset = "rule_query_offset", since("2.53.0");
    QueryLogFile = "query_log_file", since("2.16.0");
    ScrapeFailureLogFile = "scrape_failure_log_file", since("2.55.0");
    NameValidationScheme = "metric_name_validation_scheme", since("3.0.0");
    NameEscapingScheme = "metric_name_escaping_scheme", since("3.4.0");
    Runtime = "runtime", since("2.53.0");

    // scrape jobs
    HonorTimestamps = "honor_timestamps", since("2.9.0");
    TrackTimestampsStaleness = "track_timestamps_staleness", since("2.48.0");
    ScrapeProtocols = "scrape_protocols", since("2.49.0");
    /// The protocol `PrometheusText1.0.0` in lists of protocols.
    TextProtocol1 = "PrometheusText1.0.0", since_candidates("3.0.0");
    FallbackScrapeProtocol = "fallback_scrape_protocol", since("3.0.0");
    ScrapeNativeHistograms = "scrape_native_histograms", since("3.8.0");
    NativeHistogramBucketLimit = "native_histogram_bucket_limit", since("2.45.0");
    NativeHistogramMinBucketFactor = "native_histogram_min_bucket_factor", since("2.50.0");
    AlwaysScrapeClassicHistograms = "always_scrape_classic_histograms", since_candidates("3.0.0");
    ScrapeClassicHistograms = "scrape_classic_histograms", since("2.45.0");
    ConvertClassicHistograms = "convert_classic_histograms_to_nhcb", since("3.0.0");
    TargetLimit = "target_limit", since("2.21.0");
    LabelLimit = "label_limit", since("2.27.0");
    LabelNameLengthLimit = "label_name_length_limit", since("2.27.0");
    LabelValueLengthLimit = "label_value_length_limit", since("2.27.0");
    KeepDroppedTargets = "keep_dropped_targets", since("2.47.0");
    BodySizeLimit = "body_size_limit", since("2.28.0");
    /// Limits of `global` hold for jobs that state none, so that they need not be repeated there.
    InheritedLimits = "limits", since("2.45.0");
    EnableCompression = "enable_compression", since("2.49.0");

    // HTTP clients
    FollowRedirects = "follow_redirects", since("2.26.0");
    EnableHttp2 = "enable_http2", since("2.35.0");
    Authorization = "authorization", since("2.26.0");
    OAuth2 = "oauth2", since("2.27.0");
    OAuth2Transport = "tls_config", since("2.43.0");
    NoProxy = "no_proxy", since("2.43.0");
    ProxyFromEnvironment = "proxy_from_environment", since("2.43.0");
    ProxyConnectHeader = "proxy_connect_header", since("2.43.0");
    TlsMinVersion = "min_version", since("2.35.0");
    TlsMaxVersion = "max_version", since("2.41.0");
    SigV4ExternalId = "external_id", since("3.11.0");
    SigV4FipsEndpoint = "use_fips_sts_endpoint", since("2.54.0");

    // discovery
    EndpointSliceRole = "role", since("2.21.0");
    Selectors = "selectors", since("2.17.0");
    PodAttachMetadata = "attach_metadata", since("2.35.0");
    EndpointsAttachMetadata = "attach_metadata", since("2.37.0");
    DnsNs = "type", since("2.49.0");
    DnsMx = "type", since("2.38.0");
    Ec2Filters = "filters", since("2.3.0");
    Ec2FollowRedirects = "follow_redirects", since("2.41.0");
    Ec2EnableHttp2 = "enable_http2", since("2.41.0");
    Ec2Tls = "tls_config", since("2.41.0");
    DockerMatchFirstNetwork = "match_first_network", since("2.54.1");
    HetznerLabelSelector = "label_selector", since("3.5.0");

    // storage
    Storage = "storage", since("2.29.0");
    Exemplars = "exemplars", since("2.29.0");
    OutOfOrderTimeWindow = "out_of_order_time_window", since("2.39.0");
    AgentOutOfOrderTimeWindow = "out_of_order_time_window", since("2.54.0");
    StaleSeriesCompaction = "stale_series_compaction_threshold", since("3.10.0");
    ChunkEncoding = "chunk_encoding", since("3.13.0");
    /// Retention is told by the configuration; before, by arguments.
    Retention = "retention", since("3.11.0");

    // alerting
    AlertmanagerBasicAuth = "basic_auth", since("2.26.0");
    AlertmanagerSigV4 = "sigv4", since("2.48.0");
    AlertmanagerApiVersion = "api_version", since("2.11.0");
    /// Alertmanager's first API, which Prometheus 3 no longer speaks.
    AlertmanagerApiVersion1 = "api_version", until_candidates("3.0.0");
    AlertRelabelConfigs = "alert_relabel_configs", since("2.51.0");

    // remote write and read
    RemoteWriteHeaders = "headers", since("2.15.0");
    RemoteWriteName = "name", since("2.15.0");
    MessageVersion = "protobuf_message", since("2.54.0");
    SendExemplars = "send_exemplars", since("2.27.0");
    SendNativeHistograms = "send_native_histograms", since("2.40.0");
    RemoteWriteSigV4 = "sigv4", since("2.26.0");
    AzureAd = "azuread", since("2.45.0");
    AzureOAuth = "oauth", since("2.48.0");
    AzureSdk = "sdk", since("2.52.0");
    AzureWorkloadIdentity = "workload_identity", since("3.7.0");
    AzureScope = "scope", since("3.9.0");
    /// A managed identity need not be named.
    AzureDefaultIdentity = "client_id", since("3.5.0");
    QueueMinShards = "min_shards", since("2.6.0");
    QueueMaxRetries = "max_retries", until("2.11.0");
    QueueRetryOnRateLimit = "retry_on_http_429", since("2.26.0");
    QueueSampleAgeLimit = "sample_age_limit", since("2.50.0");
    MetadataConfig = "metadata_config", since("2.23.0");
    MetadataMaxSamples = "max_samples_per_send", since("2.29.0");
    RoundRobinDns = "round_robin_dns", since("3.1.0");
    RemoteReadHeaders = "headers", since("2.26.0");
    FilterExternalLabels = "filter_external_labels", since("2.34.0");

    // OTLP
    Otlp = "otlp", since("2.55.0");
    PromoteResourceAttributes = "promote_resource_attributes", since("2.55.0");
    TranslationStrategy = "translation_strategy", since("3.0.0");
    KeepIdentifyingAttributes = "keep_identifying_resource_attributes", since("3.1.0");
    ConvertHistograms = "convert_histograms_to_nhcb", since("3.4.0");
    PromoteAllAttributes = "promote_all_resource_attributes", since("3.5.0");
    IgnoreResourceAttributes = "ignore_resource_attributes", since("3.5.0");
    PromoteScopeMetadata = "promote_scope_metadata", since("3.6.0");
    UnderscoreSanitization = "label_name_underscore_sanitization", since("3.8.0");
    PreserveUnderscores = "label_name_preserve_multiple_underscores", since("3.8.0");
    StrategyNoTranslation = "NoTranslation", since("3.4.0");
    StrategyWithoutSuffixes = "UnderscoreEscapingWithoutSuffixes", since("3.6.0");

    // what validation asks
    CaseActions = "lowercase, uppercase", since("2.36.0");
    EqualActions = "keepequal, dropequal", since("2.41.0");
    Utf8Names = "UTF-8 names of labels", since("3.0.0");
    RoleSelector = "selectorMechanism", since("2.17.0");
    HttpDiscovery = "httpSDConfigs", since("2.28.0");
    LinodeDiscovery = "linodeSDConfigs", since("2.28.0");
    DigitalOceanDiscovery = "digitalOceanSDConfigs", since("2.20.0");
    DockerSwarmDiscovery = "dockerSwarmSDConfigs", since("2.20.0");
    PuppetDbDiscovery = "puppetDBSDConfigs", since("2.31.0");
    LightSailDiscovery = "lightSailSDConfigs", since("2.27.0");
    OvhCloudDiscovery = "ovhcloudSDConfigs", since("2.40.0");
    ScalewayDiscovery = "scalewaySDConfigs", since("2.26.0");
    IonosDiscovery = "ionosSDConfigs", since("2.36.0");
    ConsulPathPrefix = "pathPrefix", since("2.45.0");
    ConsulNamespace = "namespace", since("2.28.0");
    ConsulFilter = "filter", since_candidates("3.0.0");
    ConsulHealthFilter = "healthFilter", since("3.11.2");
    AzureSdkAuthentication = "authenticationMethod SDK", since("2.52.0");
    AzureWorkloadAuthentication = "authenticationMethod WorkloadIdentity", since("3.11.0");
    AzureResourceGroup = "resourceGroup", since("2.35.0");
    OpenStackLoadBalancer = "role LoadBalancer", since("3.2.0");
    KumaClientId = "clientID", since("2.50.0");
}

impl Field {
    /// The key in Prometheus' configuration.
    pub fn key(self) -> &'static str {
        GATES.get(self as usize).map_or("", |(_, key, _)| key)
    }

    pub fn gate(self) -> Gate {
        GATES.get(self as usize).map_or(Gate::Always, |(_, _, gate)| *gate)
    }
}

/// The table, answered for one version.
#[derive(Clone, Debug, PartialEq)]
pub struct Known(Vec<bool>);

impl Known {
    pub fn by(version: &Version) -> Self {
        Self(GATES.iter().map(|(_, _, gate)| gate.admits(version)).collect())
    }

    /// Every field, for operands that have gates of their own.
    pub fn everything() -> Self {
        Self(vec![true; GATES.len()])
    }

    pub fn has(&self, field: Field) -> bool {
        self.0.get(field as usize).copied().unwrap_or_default()
    }

    /// Sets a field where the version knows it.
    pub fn put(&self, map: &mut Map, field: Field, value: impl Into<Tree>) {
        if self.has(field) {
            map.set(field.key(), value);
        }
    }

    /// Sets a field where there is a value and the version knows it.
    pub fn put_some<T: Into<Tree>>(&self, map: &mut Map, field: Field, value: Option<T>) {
        if let Some(value) = value {
            self.put(map, field, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_stands_in_the_order_of_the_fields() {
        for (at, (field, key, _)) in GATES.iter().enumerate() {
            assert_eq!(*field as usize, at);
            assert_eq!(field.key(), *key);
        }
    }

    #[test]
    fn a_version_knows_what_its_gates_admit() {
        let known = Known::by(&Version::parse("v2.55.0").unwrap());
        assert!(known.has(Field::Otlp) && !known.has(Field::TranslationStrategy));
        assert!(Known::by(&Version::parse("3.0.0-rc.1").unwrap()).has(Field::TextProtocol1));
    }
}
