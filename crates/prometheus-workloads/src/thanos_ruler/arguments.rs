//! The ruler's arguments, and the Secrets they make it read.

use k8s_openapi::api::core::v1::SecretKeySelector;
use prometheus_types::thanos_ruler::ThanosRulerSpec;
use prometheus_types::tls::GrpcServerTlsConfig;

use super::{DATA, Instance, RULES, Volumes};
use crate::arguments::Arguments;

/// Tells rulers of one resource apart; alerts must not carry it, or they would not be the same alert.
const REPLICA: &str = "thanos_ruler_replica";

impl Instance<'_> {
    pub(super) fn ruler_arguments(&self, arguments: &mut Arguments<'_>, volumes: &mut Volumes) {
        let spec = self.spec;
        arguments.value("data-dir", DATA);
        arguments.value("eval-interval", &*spec.evaluation_interval);
        arguments.value("tsdb.retention", &*spec.retention);
        arguments.text("rule-query-offset", spec.rule_query_offset.as_deref().unwrap_or_default());
        arguments.some("rule-concurrent-evaluation", spec.rule_concurrent_eval.filter(|number| *number > 0));
        arguments.text("for-outage-tolerance", spec.rule_outage_tolerance.as_deref().unwrap_or_default());
        arguments.text("for-grace-period", spec.rule_grace_period.as_deref().unwrap_or_default());
        arguments.text("resend-delay", spec.resend_delay.as_deref().unwrap_or_default());
        let features: Vec<&str> = spec.enable_features.iter().map(|feature| &**feature).collect();
        arguments.text("enable-feature", &features.join(","));

        arguments.value("label", format!("{REPLICA}=\"$(POD_NAME)\""));
        for (name, value) in &spec.labels {
            arguments.value("label", format!("{name}=\"{value}\""));
        }
        arguments.value("alert.label-drop", REPLICA);
        for label in &spec.alert_drop_labels {
            arguments.value("alert.label-drop", label);
        }
        if spec.pod.listen_local {
            arguments.value("http-address", "localhost:10902");
        }
        arguments.unless("log.level", &spec.pod.log_level, "info");
        arguments.text("log.format", &spec.pod.log_format);
        arguments.value("rule-file", format!("{RULES}/*/*.yaml"));

        let remote_write = volumes.add_key(
            "remote-write-config",
            &format!("{}-config", self.prefixed_name),
            "remote-write.yaml",
        );
        if !spec.remote_write.is_empty() {
            arguments.value("remote-write.config-file", remote_write);
        }
        source_arguments(spec, arguments, volumes);
    }

    pub(super) fn server_arguments(&self, arguments: &mut Arguments<'_>) {
        let spec = self.spec;
        if let Some(tls) = &spec.grpc_server_tls_config {
            grpc_arguments(tls, arguments);
        }
        arguments.text("web.external-prefix", &spec.external_prefix);
        arguments.text("web.route-prefix", &spec.pod.route_prefix);
        arguments.text("alert.query-url", &spec.alert_query_url);
    }
}

/// Whom to query and whom to tell, and what else comes from a file or from a Secret.
fn source_arguments(spec: &ThanosRulerSpec, arguments: &mut Arguments<'_>, volumes: &mut Volumes) {
    let mut key = |volume: &str, key: &SecretKeySelector| volumes.add_key(volume, &key.name, &key.key);
    if let Some(config) = &spec.query_config {
        arguments.value("query.config-file", key("query-config", config));
    } else {
        spec.query_endpoints.iter().for_each(|endpoint| arguments.value("query", endpoint));
    }
    if let Some(config) = &spec.alertmanagers_config {
        arguments.value("alertmanagers.config-file", key("alertmanager-config", config));
    } else {
        spec.alertmanagers_url.iter().for_each(|url| arguments.value("alertmanagers.url", url));
    }
    let tracing_file = Some(&spec.tracing_config_file).filter(|file| !file.is_empty());
    for (argument, file, config, volume) in [
        (
            "objstore.config-file",
            spec.object_storage_config_file.as_ref(),
            &spec.object_storage_config,
            "objstorage-config",
        ),
        ("tracing.config-file", tracing_file, &spec.tracing_config, "tracing-config"),
        (
            "alert.relabel-config-file",
            spec.alert_relabel_config_file.as_ref(),
            &spec.alert_relabel_configs,
            "alertrelabel-config",
        ),
    ] {
        match (file, config) {
            (Some(file), _) => arguments.value(argument, file),
            (None, Some(config)) => arguments.value(argument, key(volume, config)),
            (None, None) => {}
        }
    }
}

/// TLS of the gRPC server, of the ruler and of the sidecar alike.
pub(crate) fn grpc_arguments(config: &GrpcServerTlsConfig, arguments: &mut Arguments<'_>) {
    let tls = &config.tls;
    arguments.text("grpc-server-tls-cert", &tls.cert_file);
    arguments.text("grpc-server-tls-key", &tls.key_file);
    arguments.text("grpc-server-tls-client-ca", &tls.ca_file);
    let version = tls.safe.min_version.as_deref().unwrap_or_default();
    arguments.text("grpc-server-tls-min-version", tls_version(version));
    config.cipher_suites.iter().for_each(|suite| arguments.value("grpc-server-tls-ciphers", suite));
    config.curves.iter().for_each(|curve| arguments.value("grpc-server-tls-curves", curve));
}

/// Thanos writes versions as numbers.
fn tls_version(version: &str) -> &'static str {
    match version {
        "TLS10" => "1.0",
        "TLS11" => "1.1",
        "TLS12" => "1.2",
        "TLS13" => "1.3",
        _ => "",
    }
}
