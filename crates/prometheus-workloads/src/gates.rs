//! Which version of an operand knows which argument, and the versions that are run unless a resource names one.
//!
//! Rows are read top-down; what no row names is known to every version. `enable-feature=x` is the gate of one feature, `env:X` that of
//! an environment variable. Source: the operands' changelogs as prometheus-operator 0.94 follows them, checked against the version
//! matrix of the conformance data.

use rendering::{Gate, Version, between, since, until};

pub const DEFAULT_PROMETHEUS: &str = "v3.14.0";
pub const DEFAULT_ALERTMANAGER: &str = "v0.34.0";
pub const DEFAULT_THANOS: &str = "v0.42.4";

/// The versions that know an argument.
#[derive(Clone, Copy, Debug)]
pub enum Known {
    In(Gate),
    /// Every version of this major, its candidates and betas included.
    Major(u64),
    /// Those versions of this major.
    InMajor(u64, Gate),
}

use Known::{In, InMajor, Major};

impl Known {
    #[must_use]
    pub fn to(self, version: &Version) -> bool {
        match self {
            In(gate) => gate.admits(version),
            Major(major) => version.major() == major,
            InMajor(major, gate) => version.major() == major && gate.admits(version),
        }
    }
}

/// A table of gates, by the name of the argument.
pub type Gates = &'static [(&'static str, Known)];

/// Does `version` know what `name` stands for?
#[must_use]
pub(crate) fn knows(gates: Gates, name: &str, version: &Version) -> bool {
    gates.iter().find(|(gated, _)| *gated == name).is_none_or(|(_, known)| known.to(version))
}

/// Prometheus, as server and as agent.
pub const PROMETHEUS: Gates = &[
    ("web.console.templates", Major(2)),
    ("web.console.libraries", Major(2)),
    ("web.page-title", In(since("2.6.0"))),
    ("web.config.file", In(since("2.24.0"))),
    ("web.enable-remote-write-receiver", In(since("2.33.0"))),
    ("web.remote-write-receiver.accepted-protobuf-messages", In(since("2.54.0"))),
    ("web.enable-otlp-receiver", Major(3)),
    ("enable-feature", In(since("2.25.0"))),
    ("enable-feature=otlp-write-receiver", InMajor(2, since("2.47.0"))),
    // Needed by remote write 2.0 until it kept metadata by itself (prometheus#16944).
    ("enable-feature=metadata-wal-records", In(between("2.54.0", "3.4.0"))),
    ("enable-feature=xor2-encoding", In(since("3.13.0"))),
    ("enable-feature=agent", Major(2)),
    ("agent", Major(3)),
    ("log.format", In(since("2.6.0"))),
    // From 3.11.0 on retention is part of the configuration file.
    ("storage.tsdb.retention", In(until("2.7.0"))),
    ("storage.tsdb.retention.time", In(between("2.7.0", "3.11.0"))),
    ("storage.tsdb.retention.size", In(between("2.7.0", "3.11.0"))),
    ("storage.tsdb.allow-overlapping-blocks", In(between("2.11.0", "2.39.0"))),
    ("storage.tsdb.wal-compression", In(since("2.11.0"))),
    ("no-storage.tsdb.wal-compression", In(since("2.11.0"))),
    ("no-storage.tsdb.allow-overlapping-compaction", In(since("2.55.0"))),
    ("storage.tsdb.delay-compact-file.path", In(since("3.9.0"))),
    ("rules.alert.for-outage-tolerance", In(since("2.4.0"))),
    ("rules.alert.for-grace-period", In(since("2.4.0"))),
    ("rules.alert.resend-delay", In(since("2.4.0"))),
    ("query.max-samples", In(since("2.5.0"))),
    // From 2.53.0 on it is part of the configuration file.
    ("env:GOGC", In(until("2.53.0"))),
];

/// The Thanos sidecar, by `spec.thanos.version`.
pub const THANOS_SIDECAR: Gates = &[
    ("prometheus.http-client-file", In(since("0.24.0"))),
    ("prometheus.get_config_timeout", In(since("0.29.0"))),
    ("prometheus.get_config_interval", In(since("0.29.0"))),
    ("grpc-server-tls-min-version", In(since("0.37.0"))),
    // 0.41 has it, but does not start when Prometheus compacts.
    ("shipper.meta-file-name", In(since("0.42.0"))),
    ("grpc-server-tls-ciphers", In(since("0.42.0"))),
    ("grpc-server-tls-curves", In(since("0.42.0"))),
];

pub const THANOS_RULER: Gates = &[
    ("http.config", In(since("0.21.0"))),
    ("remote-write.config-file", In(since("0.24.0"))),
    ("for-outage-tolerance", In(since("0.30.0"))),
    ("for-grace-period", In(since("0.30.0"))),
    ("rule-concurrent-evaluation", In(since("0.37.0"))),
    ("grpc-server-tls-min-version", In(since("0.37.0"))),
    ("rule-query-offset", In(since("0.38.0"))),
    ("enable-feature", In(since("0.39.0"))),
    ("grpc-server-tls-ciphers", In(since("0.42.0"))),
    ("grpc-server-tls-curves", In(since("0.42.0"))),
];

pub const ALERTMANAGER: Gates = &[
    ("log.format", In(since("0.16.0"))),
    ("web.get-concurrency", In(since("0.17.0"))),
    ("web.timeout", In(since("0.17.0"))),
    ("web.config.file", In(since("0.22.0"))),
    ("cluster.tls-config", In(since("0.24.0"))),
    ("cluster.label", In(since("0.26.0"))),
    ("enable-feature", In(since("0.27.0"))),
    ("silences.max-silences", In(since("0.28.0"))),
    ("silences.max-per-silence-bytes", In(since("0.28.0"))),
    ("dispatch.start-delay", In(since("0.30.0"))),
    ("cluster.peer-name", In(since("0.30.0"))),
    ("env:POD_NAME", In(since("0.30.0"))),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_beta_belongs_to_its_major() {
        let beta = Version::parse("v3.0.0-beta.0").unwrap();
        assert!(knows(PROMETHEUS, "agent", &beta) && !knows(PROMETHEUS, "web.console.templates", &beta));
        assert!(knows(PROMETHEUS, "config.file", &beta), "what no row names is known");
    }
}
