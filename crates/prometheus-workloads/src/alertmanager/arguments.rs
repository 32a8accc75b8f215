//! Alertmanager's arguments.

use prometheus_types::pod::Argument;

use super::{Instance, SERVICE};
use crate::arguments::{Arguments, managed};
use crate::image::or_default;

impl Instance<'_> {
    /// Those of the web and cluster TLS configuration follow.
    pub(super) fn arguments(&self, arguments: &mut Arguments<'_>) {
        let (spec, fields) = (self.spec, &self.spec.pod);
        arguments.value("config.file", "/etc/alertmanager/config_out/alertmanager.env.yaml");
        arguments.value("storage.path", "/alertmanager");
        arguments.value("data.retention", or_default(&spec.retention, "120h"));
        if self.replicas() == 1 && !spec.force_enable_cluster_mode {
            // An empty address, which turns the cluster off.
            arguments.flag("cluster.listen-address=");
        } else {
            arguments.value("cluster.listen-address", "[$(POD_IP)]:9094");
        }
        arguments.value("web.listen-address", if fields.listen_local { "127.0.0.1:9093" } else { ":9093" });
        arguments.text("web.external-url", &spec.external_url);
        arguments.text("enable-feature", &spec.enable_features.join(","));
        arguments.value("web.route-prefix", self.route_prefix());
        if let Some(web) = &spec.web {
            arguments.some("web.get-concurrency", web.get_concurrency);
            arguments.some("web.timeout", web.timeout);
        }
        if let Some(limits) = &spec.limits {
            arguments.some("silences.max-silences", limits.max_silences);
            let bytes = limits.max_per_silence_bytes.as_deref().filter(|size| !size.is_empty());
            arguments.some("silences.max-per-silence-bytes", bytes.map(bytes_of));
        }
        self.start_delay(arguments);
        arguments.unless("log.level", &fields.log_level, "info");
        arguments.unless("log.format", &fields.log_format, "logfmt");
        self.cluster(arguments);
    }

    /// A member that has just started waits for what the others know; the user may know better how long.
    fn start_delay(&self, arguments: &mut Arguments<'_>) {
        let Some(seconds) = self.spec.pod.min_ready_seconds else { return };
        let delay = Argument { name: "dispatch.start-delay".to_owned(), value: format!("{seconds}s") };
        let own = std::slice::from_ref(&delay);
        if !self.spec.pod.additional_args.iter().any(|given| managed(own, &given.name).is_some()) {
            arguments.value(&delay.name, &delay.value);
        }
    }

    fn cluster(&self, arguments: &mut Arguments<'_>) {
        let spec = self.spec;
        arguments.text("cluster.advertise-address", &spec.cluster_advertise_address);
        arguments.text("cluster.gossip-interval", &spec.cluster_gossip_interval);
        arguments.text("cluster.pushpull-interval", &spec.cluster_pushpull_interval);
        arguments.text("cluster.peer-timeout", &spec.cluster_peer_timeout);
        arguments.value(
            "cluster.peer-name",
            or_default(spec.cluster_peer_name.as_deref().unwrap_or_default(), "$(POD_NAME)"),
        );
        // Addresses of pods are used again: without a label members of another cluster might join.
        let label = spec.cluster_label.clone().unwrap_or_else(|| format!("{}/{}", self.namespace, self.name));
        arguments.value("cluster.label", label);
        let service = spec.pod.service_name.as_deref().unwrap_or(SERVICE);
        let domain = match self.operator.cluster_domain.as_str() {
            // Left to the search path of the pods' DNS.
            "" => service.to_owned(),
            cluster => format!("{service}.{}.svc.{cluster}.", self.namespace),
        };
        for member in 0..self.replicas() {
            arguments.value("cluster.peer", format!("{}-{member}.{domain}:9094", self.prefixed_name()));
        }
        for peer in &spec.additional_peers {
            arguments.value("cluster.peer", peer);
        }
        // A member that was replaced has a new address and never comes back under the old one.
        arguments.value("cluster.reconnect-timeout", "5m");
    }
}

/// `1MB` and `1MiB` are both 1048576, and what cannot be read is 0, as upstream has it.
fn bytes_of(size: &str) -> i64 {
    const UNITS: &[&str] = &["B", "KB", "MB", "GB", "TB", "PB", "EB"];
    let end = size.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(size.len());
    let (number, unit) = size.split_at_checked(end).unwrap_or_default();
    let power = UNITS.iter().position(|known| *known == unit.replace('i', ""));
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_possible_wrap,
        reason = "a size of bytes, at most seven units"
    )]
    match (number.parse::<f64>(), power) {
        (Ok(number), Some(power)) => (number * 1024_f64.powi(power as i32)) as i64,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::bytes_of;

    #[test]
    fn sizes_are_powers_of_two() {
        for (size, bytes) in [
            ("1MB", 1_048_576),
            ("1MiB", 1_048_576),
            ("0", 0),
            ("1.5KB", 1536),
            ("2GiB", 2_147_483_648),
            ("x", 0),
        ] {
            assert_eq!(bytes_of(size), bytes, "{size}");
        }
    }
}
