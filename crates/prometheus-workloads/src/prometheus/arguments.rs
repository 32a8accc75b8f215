//! Arguments that Prometheus takes as server and as agent alike.

use super::instance::Instance;
use crate::arguments::Arguments;

impl Instance<'_> {
    pub(super) fn common_arguments(&self, arguments: &mut Arguments<'_>) {
        let common = self.common;
        arguments.value("config.file", "/etc/prometheus/config_out/prometheus.env.yaml");
        arguments.value("web.console.templates", "/etc/prometheus/consoles");
        arguments.value("web.console.libraries", "/etc/prometheus/console_libraries");
        // The endpoint through which the reloader asks.
        arguments.flag_if("web.enable-lifecycle", !self.reloads_by_signal());
        if let Some(web) = &common.web {
            arguments.some("web.page-title", web.page_title.as_ref());
            arguments.some("web.max-connections", web.max_connections);
        }
        if common.enable_remote_write_receiver {
            arguments.flag("web.enable-remote-write-receiver");
            let messages: Vec<_> = common
                .remote_write_receiver_message_versions
                .iter()
                .map(|version| message(version))
                .collect();
            arguments.text("web.remote-write-receiver.accepted-protobuf-messages", &messages.join(","));
        }
        let writes_v2 = common
            .remote_write
            .iter()
            .any(|write| write.message_version.as_ref().is_some_and(|version| *version == "V2.0"));
        if writes_v2 {
            arguments.feature("metadata-wal-records");
        }
        if common.enable_otlp_receiver.unwrap_or(common.otlp.is_some()) {
            arguments.flag("web.enable-otlp-receiver");
            arguments.feature("otlp-write-receiver");
        }
        let features: Vec<&str> = common.enable_features.iter().map(|feature| &**feature).collect();
        arguments.text("enable-feature", &features.join(","));
        let floats = common.tsdb.as_ref().and_then(|tsdb| tsdb.chunk_encoding.as_ref()?.floats.as_ref());
        if floats.is_some_and(|encoding| *encoding == "Xor2") && !features.contains(&"xor2-encoding") {
            arguments.feature("xor2-encoding");
        }
        arguments.text("web.external-url", &common.external_url);
        arguments.value("web.route-prefix", self.route_prefix());
        arguments.unless("log.level", &self.fields.log_level, "info");
        arguments.unless("log.format", &self.fields.log_format, "logfmt");
        if self.fields.listen_local {
            arguments.value("web.listen-address", "127.0.0.1:9090");
        }
    }
}

/// The message of a version of the remote-write protocol.
fn message(version: &str) -> &'static str {
    if version == "V2.0" { "io.prometheus.write.v2.Request" } else { "prometheus.WriteRequest" }
}
