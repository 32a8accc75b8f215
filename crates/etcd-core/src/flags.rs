//! Settings as flags, for the version that the member runs. Tables, read top-down.
//!
//! 3.5 calls new things `--experimental-*`; 3.6 moved switches to `--feature-gates` and dropped the prefix of values; 3.7 refuses every
//! `--experimental-*`. Source: etcd's upgrade guides for 3.6 and 3.7, server/embed/config.go.

use etcd_types::{CompactionMode, EtcdSettings, LogLevel};

use crate::{Version, version::Minor};

/// The first minor with feature gates and without need for `experimental-`.
const GATES_SINCE: Minor = Minor(3, 6);
/// The first minor that refuses `experimental-`.
const NO_EXPERIMENTS_SINCE: Minor = Minor(3, 7);

/// A switch that was an experimental flag before it was a feature gate.
struct Switch {
    until_3_5: &'static str,
    gate: &'static str,
    of: fn(&EtcdSettings) -> bool,
}

const SWITCHES: &[Switch] = &[
    Switch {
        until_3_5: "experimental-initial-corrupt-check",
        gate: "InitialCorruptCheck",
        of: |settings| settings.corruption_checks.initial,
    },
    Switch {
        until_3_5: "experimental-compact-hash-check-enabled",
        gate: "CompactHashCheck",
        of: |settings| settings.corruption_checks.compact_hash,
    },
];

/// A setting with a value.
struct Valued {
    flag: &'static str,
    /// Its name in 3.5, where that is another one.
    until_3_5: Option<&'static str>,
    /// The field, for messages.
    field: &'static str,
    of: fn(&EtcdSettings) -> Option<String>,
}

const VALUES: &[Valued] = &[
    Valued {
        flag: "auto-compaction-mode",
        until_3_5: None,
        field: "spec.etcd.autoCompaction",
        of: |settings| {
            settings.auto_compaction.as_ref().map(|compaction| match compaction.mode {
                CompactionMode::Periodic => "periodic".to_owned(),
                CompactionMode::Revision => "revision".to_owned(),
            })
        },
    },
    Valued {
        flag: "auto-compaction-retention",
        until_3_5: None,
        field: "spec.etcd.autoCompaction",
        of: |settings| settings.auto_compaction.as_ref().map(|compaction| compaction.retention.clone()),
    },
    Valued {
        flag: "snapshot-count",
        until_3_5: None,
        field: "spec.etcd.snapshotCount",
        of: |settings| settings.snapshot_count.map(|count| count.to_string()),
    },
    Valued {
        flag: "heartbeat-interval",
        until_3_5: None,
        field: "spec.etcd.heartbeatIntervalMilliseconds",
        of: |settings| settings.heartbeat_interval_milliseconds.map(|time| time.to_string()),
    },
    Valued {
        flag: "election-timeout",
        until_3_5: None,
        field: "spec.etcd.electionTimeoutMilliseconds",
        of: |settings| settings.election_timeout_milliseconds.map(|time| time.to_string()),
    },
    Valued {
        flag: "max-request-bytes",
        until_3_5: None,
        field: "spec.etcd.maxRequestBytes",
        of: |settings| settings.max_request_bytes.map(|bytes| bytes.to_string()),
    },
    Valued {
        flag: "corrupt-check-time",
        until_3_5: Some("experimental-corrupt-check-time"),
        field: "spec.etcd.corruptionChecks.periodic",
        of: |settings| settings.corruption_checks.periodic.clone(),
    },
    Valued {
        flag: "log-level",
        until_3_5: None,
        field: "spec.etcd.logLevel",
        of: |settings| {
            Some(
                match settings.log_level {
                    LogLevel::Debug => "debug",
                    LogLevel::Info => "info",
                    LogLevel::Warn => "warn",
                    LogLevel::Error => "error",
                }
                .to_owned(),
            )
        },
    },
];

/// Flags that the operator sets or must not have, whole or by how they begin, and why.
const OWNED: &[(&str, &str)] = &[
    ("name", "the operator names members"),
    ("data-dir", "the operator mounts the volume"),
    ("wal-dir", "the operator mounts the volume"),
    ("config-file", "it would take the place of every flag"),
    ("listen-", "the operator chooses the addresses"),
    ("advertise-", "the operator chooses the addresses"),
    ("initial-", "the operator decides who is a member"),
    ("discovery", "the operator decides who is a member"),
    ("force-new-cluster", "it throws all other members away"),
    ("strict-reconfig-check", "it keeps a change of members from costing the quorum"),
    ("max-learners", "the operator adds one member at a time"),
    ("experimental-max-learners", "the operator adds one member at a time"),
    ("unsafe-", "it loses data that was acknowledged"),
    ("proxy", "members are no proxies"),
    ("enable-v2", "it cannot be upgraded to 3.6"),
    ("v2-deprecation", "the operator follows the version"),
    ("cert-file", "set spec.tls instead"),
    ("key-file", "set spec.tls instead"),
    ("client-", "set spec.tls instead"),
    ("trusted-ca-file", "set spec.tls instead"),
    ("peer-", "set spec.tls instead"),
    ("auto-tls", "set spec.tls instead"),
    ("self-signed-cert-validity", "set spec.tls instead"),
    ("quota-backend-bytes", "set spec.etcd.quotaBackendBytes instead"),
    ("feature-gates", "set spec.etcd.featureGates instead"),
    ("version", "it prints, and does not serve"),
    ("help", "it prints, and does not serve"),
];

/// The flags for these settings on a member of this version, in a stable order.
pub fn render(settings: &EtcdSettings, quota: u64, version: Version) -> Vec<String> {
    let has_gates = version.minor >= GATES_SINCE;
    let mut flags = vec![format!("--quota-backend-bytes={quota}")];
    for Valued { flag, until_3_5, of, .. } in VALUES {
        let flag = until_3_5.filter(|_| !has_gates).unwrap_or(flag);
        flags.extend(of(settings).map(|value| format!("--{flag}={value}")));
    }
    if has_gates {
        let switches = SWITCHES.iter().map(|switch| (switch.gate.to_owned(), (switch.of)(settings)));
        let gates = switches.chain(settings.feature_gates.clone());
        let gates: Vec<String> = gates.map(|(gate, on)| format!("{gate}={on}")).collect();
        flags.push(format!("--feature-gates={}", gates.join(",")));
    } else {
        let switches =
            SWITCHES.iter().map(|switch| format!("--{}={}", switch.until_3_5, (switch.of)(settings)));
        flags.extend(switches);
    }
    let extra = settings.extra_args.iter().filter(|(flag, _)| has_flag(version, flag));
    flags.extend(extra.map(|(flag, value)| format!("--{flag}={value}")));
    flags
}

fn has_flag(version: Version, flag: &str) -> bool {
    version.minor < NO_EXPERIMENTS_SINCE || !flag.starts_with("experimental-")
}

/// What of the settings a member of this version cannot have: the field, why, and what to do.
pub fn refused(settings: &EtcdSettings, version: Version) -> Vec<(&'static str, String)> {
    let mut refused = Vec::new();
    for flag in settings.extra_args.keys() {
        refused.extend(refused_flag(flag, version).map(|why| ("spec.etcd.extraArgs", why)));
    }
    for gate in settings.feature_gates.keys() {
        refused.extend(refused_gate(gate, version).map(|why| ("spec.etcd.featureGates", why)));
    }
    refused
}

/// Whether a member of this version gets this extra flag.
pub fn allows_flag(flag: &str, version: Version) -> bool {
    refused_flag(flag, version).is_none()
}

/// Whether a member of this version gets this feature gate.
pub fn allows_gate(gate: &str, version: Version) -> bool {
    refused_gate(gate, version).is_none()
}

fn refused_flag(flag: &str, version: Version) -> Option<String> {
    let plain = !flag.is_empty()
        && flag.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
    if !plain || flag.starts_with('-') {
        return Some(format!(
            "{flag:?} is no flag: write its name without dashes in front, such as max-txn-ops"
        ));
    }
    let owned = |(name, _): &&(&str, &str)| flag == *name || (name.ends_with('-') && flag.starts_with(name));
    if let Some((_, why)) =
        OWNED.iter().find(owned).or_else(|| OWNED.iter().find(|(name, _)| starts_group(flag, name)))
    {
        return Some(format!("{flag} cannot be set here: {why}. Remove it"));
    }
    let typed = VALUES.iter().find(|value| value.flag == flag || value.until_3_5 == Some(flag));
    if let Some(Valued { field, .. }) = typed {
        return Some(format!("{flag} has a field of its own: set {field} instead"));
    }
    if SWITCHES.iter().any(|switch| switch.until_3_5 == flag) {
        return Some(format!("{flag} has a field of its own: set spec.etcd.corruptionChecks instead"));
    }
    (!has_flag(version, flag)).then(|| format!("etcd {version} has no {flag}: it refuses every experimental flag. Remove it, or set what replaced it"))
}

/// `discovery` and `proxy` are families: `discovery-srv`, `proxy-read-timeout`.
fn starts_group(flag: &str, name: &str) -> bool {
    matches!(name, "discovery" | "proxy") && flag.strip_prefix(name).is_some_and(|rest| rest.starts_with('-'))
}

fn refused_gate(gate: &str, version: Version) -> Option<String> {
    if gate.is_empty() || !gate.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return Some(format!("{gate:?} is no feature gate such as StopGRPCServiceOnDefrag"));
    }
    if SWITCHES.iter().any(|switch| switch.gate == gate) {
        return Some(format!("{gate} has a field of its own: set spec.etcd.corruptionChecks instead"));
    }
    (version.minor < GATES_SINCE)
        .then(|| format!("etcd {version} has no feature gates: they came with {GATES_SINCE}. Remove {gate}, or set a later spec.version"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use etcd_types::{AutoCompaction, CorruptionChecks};
    use expect_test::expect;

    use super::*;

    fn settings() -> EtcdSettings {
        EtcdSettings {
            auto_compaction: Some(AutoCompaction { mode: CompactionMode::Periodic, retention: "1h".into() }),
            heartbeat_interval_milliseconds: Some(200),
            corruption_checks: CorruptionChecks {
                initial: true,
                compact_hash: false,
                periodic: Some("4h".into()),
            },
            feature_gates: BTreeMap::from([("StopGRPCServiceOnDefrag".to_owned(), true)]),
            extra_args: BTreeMap::from([
                ("experimental-watch-progress-notify-interval".to_owned(), "5s".to_owned()),
                ("max-txn-ops".to_owned(), "256".to_owned()),
            ]),
            ..EtcdSettings::default()
        }
    }

    #[test]
    fn settings_become_the_flags_of_the_members_version() {
        let of = |version: &str| render(&settings(), 2 << 30, version.parse().unwrap()).join("\n");
        expect![[r#"
            --quota-backend-bytes=2147483648
            --auto-compaction-mode=periodic
            --auto-compaction-retention=1h
            --heartbeat-interval=200
            --experimental-corrupt-check-time=4h
            --log-level=info
            --experimental-initial-corrupt-check=true
            --experimental-compact-hash-check-enabled=false
            --experimental-watch-progress-notify-interval=5s
            --max-txn-ops=256"#]]
        .assert_eq(&of("3.5.35"));
        expect![[r#"
            --quota-backend-bytes=2147483648
            --auto-compaction-mode=periodic
            --auto-compaction-retention=1h
            --heartbeat-interval=200
            --corrupt-check-time=4h
            --log-level=info
            --feature-gates=InitialCorruptCheck=true,CompactHashCheck=false,StopGRPCServiceOnDefrag=true
            --experimental-watch-progress-notify-interval=5s
            --max-txn-ops=256"#]]
        .assert_eq(&of("3.6.16"));
        expect![[r#"
            --quota-backend-bytes=2147483648
            --auto-compaction-mode=periodic
            --auto-compaction-retention=1h
            --heartbeat-interval=200
            --corrupt-check-time=4h
            --log-level=info
            --feature-gates=InitialCorruptCheck=true,CompactHashCheck=false,StopGRPCServiceOnDefrag=true
            --max-txn-ops=256"#]]
        .assert_eq(&of("3.7.3"));
    }

    #[test]
    fn flags_that_are_not_the_users_are_refused_with_what_to_do() {
        let flags = [
            "max-txn-ops",
            "name",
            "initial-cluster",
            "discovery-srv",
            "peer-cert-file",
            "unsafe-no-fsync",
            "heartbeat-interval",
            "experimental-corrupt-check-time",
            "--max-txn-ops",
            "Max Txn",
            "experimental-watch-progress-notify-interval",
        ];
        let version: Version = "3.7.3".parse().unwrap();
        let told = flags.map(|flag| {
            format!("{flag}: {}\n", refused_flag(flag, version).unwrap_or_else(|| "may be set".into()))
        });
        expect![[r#"
            max-txn-ops: may be set
            name: name cannot be set here: the operator names members. Remove it
            initial-cluster: initial-cluster cannot be set here: the operator decides who is a member. Remove it
            discovery-srv: discovery-srv cannot be set here: the operator decides who is a member. Remove it
            peer-cert-file: peer-cert-file cannot be set here: set spec.tls instead. Remove it
            unsafe-no-fsync: unsafe-no-fsync cannot be set here: it loses data that was acknowledged. Remove it
            heartbeat-interval: heartbeat-interval has a field of its own: set spec.etcd.heartbeatIntervalMilliseconds instead
            experimental-corrupt-check-time: experimental-corrupt-check-time has a field of its own: set spec.etcd.corruptionChecks.periodic instead
            --max-txn-ops: "--max-txn-ops" is no flag: write its name without dashes in front, such as max-txn-ops
            Max Txn: "Max Txn" is no flag: write its name without dashes in front, such as max-txn-ops
            experimental-watch-progress-notify-interval: etcd 3.7.3 has no experimental-watch-progress-notify-interval: it refuses every experimental flag. Remove it, or set what replaced it
        "#]].assert_eq(&told.concat());
    }

    #[test]
    fn feature_gates_need_a_version_that_has_them() {
        let settings = settings();
        assert_eq!(refused(&settings, "3.6.16".parse().unwrap()), Vec::new());
        expect![[r#"[("spec.etcd.featureGates", "etcd 3.5.35 has no feature gates: they came with 3.6. Remove StopGRPCServiceOnDefrag, or set a later spec.version")]"#]].assert_eq(&format!("{:?}", refused(&settings, "3.5.35".parse().unwrap())));
    }
}
