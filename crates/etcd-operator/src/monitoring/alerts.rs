//! When to wake somebody, and what to tell them. Thresholds are etcd's own advice: its FAQ ("What does the etcd warning … mean?")
//! and its mixin.

use serde_json::{Value, json};

use super::Of;

/// How soon somebody should look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// Now: clients are failing, or are about to.
    Critical,
    /// During the day.
    Warning,
}

/// One rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Alert {
    /// Its name.
    pub name: &'static str,
    /// How soon somebody should look.
    pub severity: Severity,
    /// For how long it must be so.
    pub after: &'static str,
    /// What must be so; `$etcd` and `$operator` choose the clusters.
    pub expression: &'static str,
    /// What is the case.
    pub summary: &'static str,
    /// What it means, and what to do.
    pub advice: &'static str,
}

use Severity::{Critical, Warning};

/// All rules: first what clients feel, then what they will.
pub const ALERTS: &[Alert] = &[
    Alert {
        name: "EtcdNoLeader",
        severity: Critical,
        after: "1m",
        expression: "etcd_server_has_leader{$etcd} == 0",
        summary: "Member {{ $labels.member }} of {{ $labels.namespace }}/{{ $labels.etcd_cluster }} has no leader",
        advice: "It serves no writes and no linearizable reads. If all members say so, too few of them reach each other: \
                 `capstan etcd status -n {{ $labels.namespace }} {{ $labels.etcd_cluster }}` names those that are missing, with the cause.",
    },
    Alert {
        name: "EtcdQuorumLost",
        severity: Critical,
        after: "1m",
        expression: "sum by (namespace, etcd_cluster) (up{$etcd}) < (count by (namespace, etcd_cluster) (up{$etcd}) + 1) / 2",
        summary: "Too few members of {{ $labels.namespace }}/{{ $labels.etcd_cluster }} are up: {{ $value }}",
        advice: "Nothing can be written. Bring the missing members back: nodes first, then volumes. The operator changes no membership \
                 meanwhile; `capstan etcd status -n {{ $labels.namespace }} {{ $labels.etcd_cluster }}` names the missing ones.",
    },
    Alert {
        name: "EtcdClusterInTrouble",
        severity: Critical,
        after: "2m",
        expression: "max by (namespace, name, phase) (capstan_etcd_phase{phase=~\"QuorumLost|Unknown|Conflict\",$operator}) == 1",
        summary: "EtcdCluster {{ $labels.namespace }}/{{ $labels.name }} is in phase {{ $labels.phase }}",
        advice: "QuorumLost: too few members serve. Unknown: the operator reaches none. Conflict: members of another cluster answer. \
                 `kubectl -n {{ $labels.namespace }} describe etcd {{ $labels.name }}` has the sentence.",
    },
    Alert {
        name: "EtcdCorrupt",
        severity: Critical,
        after: "1m",
        expression: "max by (namespace, name) (capstan_etcd_condition{type=\"NoCorruption\",$operator}) == 0",
        summary: "Members of EtcdCluster {{ $labels.namespace }}/{{ $labels.name }} have different data",
        advice: "While the alarm CORRUPT is raised, etcd accepts no writes and no pod is ready. The condition NoCorruption has the hash of each \
                 member's data and what is done: `kubectl -n {{ $labels.namespace }} describe etcd {{ $labels.name }}`. Where a majority of the \
                 members has the same data, the operator replaces the others, keeps their volumes and disarms the alarm, within \
                 spec.remediation.maxReplacementsPerHour. Without a majority it changes nothing: create an EtcdRestore from a backup, with \
                 spec.withoutSafetyBackup if the present data cannot be backed up.",
    },
    Alert {
        name: "EtcdMembersMissing",
        severity: Warning,
        after: "5m",
        expression: "max by (namespace, name) (capstan_etcd_size{$operator}) > max by (namespace, name) (capstan_etcd_ready_members{$operator})",
        summary: "EtcdCluster {{ $labels.namespace }}/{{ $labels.name }} has fewer members that serve than it should",
        advice: "It goes on, but can lose fewer members than planned. The operator restarts and replaces members by itself where that is \
                 safe; `capstan etcd status -n {{ $labels.namespace }} {{ $labels.name }}` says what it waits for.",
    },
    Alert {
        name: "EtcdRequestsFail",
        severity: Warning,
        after: "10m",
        expression: "sum by (namespace, etcd_cluster, grpc_method) (rate(grpc_server_handled_total{grpc_type=\"unary\",\
                     grpc_code=~\"Unknown|FailedPrecondition|ResourceExhausted|Internal|Unavailable|DataLoss|DeadlineExceeded\",$etcd}[5m])) \
                     / sum by (namespace, etcd_cluster, grpc_method) (rate(grpc_server_handled_total{grpc_type=\"unary\",$etcd}[5m])) > 0.05",
        summary: "{{ $value | humanizePercentage }} of the {{ $labels.grpc_method }} requests to {{ $labels.namespace }}/{{ $labels.etcd_cluster }} fail",
        advice: "Look at the members' logs: `capstan etcd logs -n {{ $labels.namespace }} {{ $labels.etcd_cluster }}`.",
    },
    Alert {
        name: "EtcdProposalsFail",
        severity: Warning,
        after: "15m",
        expression: "sum by (namespace, etcd_cluster) (increase(etcd_server_proposals_failed_total{$etcd}[15m])) > 5",
        summary: "{{ $value }} writes to {{ $labels.namespace }}/{{ $labels.etcd_cluster }} were not agreed on within 15 minutes",
        advice: "Leaders come and go, or members lose each other. Look at disk and network of the members' nodes.",
    },
    Alert {
        name: "EtcdManyLeaderChanges",
        severity: Warning,
        after: "5m",
        expression: "max by (namespace, etcd_cluster) (increase(etcd_server_leader_changes_seen_total{$etcd}[15m])) >= 4",
        summary: "{{ $labels.namespace }}/{{ $labels.etcd_cluster }} has changed its leader {{ $value }} times within 15 minutes",
        advice: "Slow disks or a slow network make followers lose patience. Compare the fsync times of the members; consider \
                 spec.etcd.electionTimeoutMilliseconds for members that are far apart.",
    },
    Alert {
        name: "EtcdDatabaseFull",
        severity: Critical,
        after: "5m",
        expression: "max by (namespace, etcd_cluster, member) (etcd_mvcc_db_total_size_in_bytes{$etcd} / etcd_server_quota_backend_bytes{$etcd}) > 0.95",
        summary: "The database of {{ $labels.member }} in {{ $labels.namespace }} has reached {{ $value | humanizePercentage }} of its quota",
        advice: "At 100 % etcd refuses every write. Let clients delete and compact; or raise spec.etcd.quotaBackendBytes, and \
                 spec.storage.size before it.",
    },
    Alert {
        name: "EtcdNoSpace",
        severity: Warning,
        after: "5m",
        expression: "max by (namespace, name) (capstan_etcd_condition{type=\"SpaceOK\",$operator}) == 0",
        summary: "EtcdCluster {{ $labels.namespace }}/{{ $labels.name }} has little or no room left in its databases",
        advice: "With the reason QuotaNear it still takes writes, with NoSpace it refuses all but deletions: \
                 `kubectl -n {{ $labels.namespace }} describe etcd {{ $labels.name }}`. Let clients delete and compact, and defragment; or raise \
                 spec.etcd.quotaBackendBytes, and spec.storage.size before it. Then end the alarm with `etcdctl alarm disarm`.",
    },
    Alert {
        name: "EtcdDatabaseFillsUp",
        severity: Warning,
        after: "15m",
        expression: "max by (namespace, etcd_cluster, member) (predict_linear(etcd_mvcc_db_total_size_in_bytes{$etcd}[4h], 4 * 3600)) \
                     > max by (namespace, etcd_cluster, member) (etcd_server_quota_backend_bytes{$etcd})",
        summary: "The database of {{ $labels.member }} in {{ $labels.namespace }} will reach its quota within four hours",
        advice: "Find out who writes so much, and let them compact; spec.etcd.autoCompaction does it by itself.",
    },
    Alert {
        name: "EtcdDatabaseFragmented",
        severity: Warning,
        after: "1h",
        expression: "max by (namespace, etcd_cluster, member) (etcd_mvcc_db_total_size_in_use_in_bytes{$etcd} / etcd_mvcc_db_total_size_in_bytes{$etcd}) < 0.5 \
                     and max by (namespace, etcd_cluster, member) (etcd_mvcc_db_total_size_in_bytes{$etcd}) > 209715200",
        summary: "Only {{ $value | humanizePercentage }} of the database of {{ $labels.member }} in {{ $labels.namespace }} is in use",
        advice: "The free pages count against the quota; only a defragmentation gives them back.",
    },
    Alert {
        name: "EtcdSlowFsync",
        severity: Warning,
        after: "10m",
        expression: "histogram_quantile(0.99, sum by (namespace, etcd_cluster, member, le) (rate(etcd_disk_wal_fsync_duration_seconds_bucket{$etcd}[5m]))) > 0.5",
        summary: "Writing the log takes {{ $labels.member }} in {{ $labels.namespace }} {{ $value | humanizeDuration }} (p99)",
        advice: "10 ms is good. The volume is too slow, or shared with somebody who writes a lot: every write of clients waits for it.",
    },
    Alert {
        name: "EtcdSlowCommit",
        severity: Warning,
        after: "10m",
        expression: "histogram_quantile(0.99, sum by (namespace, etcd_cluster, member, le) (rate(etcd_disk_backend_commit_duration_seconds_bucket{$etcd}[5m]))) > 0.25",
        summary: "Writing the database takes {{ $labels.member }} in {{ $labels.namespace }} {{ $value | humanizeDuration }} (p99)",
        advice: "25 ms is good. The volume is too slow, or shared with somebody who writes a lot.",
    },
    Alert {
        name: "EtcdSlowPeers",
        severity: Warning,
        after: "10m",
        expression: "histogram_quantile(0.99, sum by (namespace, etcd_cluster, member, le) (rate(etcd_network_peer_round_trip_time_seconds_bucket{$etcd}[5m]))) > 0.15",
        summary: "The others answer {{ $labels.member }} in {{ $labels.namespace }} after {{ $value | humanizeDuration }} (p99)",
        advice: "Every write waits for a majority. Look at the network between the nodes; for members that are far apart raise \
                 spec.etcd.heartbeatIntervalMilliseconds and electionTimeoutMilliseconds.",
    },
    Alert {
        name: "EtcdFewFileDescriptors",
        severity: Warning,
        after: "10m",
        expression: "max by (namespace, etcd_cluster, member) (process_open_fds{$etcd} / process_max_fds{$etcd}) > 0.8",
        summary: "{{ $labels.member }} in {{ $labels.namespace }} uses {{ $value | humanizePercentage }} of its file descriptors",
        advice: "Without any it accepts no connection and cannot open its log. Look for clients that open connections and leave them open.",
    },
    Alert {
        name: "EtcdCertificateEnds",
        severity: Warning,
        after: "1h",
        expression: "min by (namespace, name) (capstan_etcd_certificate_expiry_timestamp_seconds{$operator}) - time() < 14 * 86400",
        summary: "A certificate of EtcdCluster {{ $labels.namespace }}/{{ $labels.name }} ends in {{ $value | humanizeDuration }}",
        advice: "The operator renews its own long before: does it run? Your own (spec.tls.mode Secrets) are yours to renew; etcd reads the \
                 Secret again by itself. status.tls names the Secret.",
    },
    Alert {
        name: "EtcdOperationTakesLong",
        severity: Warning,
        after: "30m",
        expression: "max by (namespace, name, kind) (capstan_etcd_operation{$operator}) == 1",
        summary: "{{ $labels.kind }} of EtcdCluster {{ $labels.namespace }}/{{ $labels.name }} has not ended for half an hour",
        advice: "`capstan etcd status -n {{ $labels.namespace }} {{ $labels.name }}` says what it waits for. Reverting the spec is always \
                 acted on.",
    },
    Alert {
        name: "EtcdSpecRefused",
        severity: Warning,
        after: "5m",
        expression: "max by (namespace, name) (capstan_etcd_condition{type=\"SpecValid\",$operator}) == 0",
        summary: "EtcdCluster {{ $labels.namespace }}/{{ $labels.name }} asks for something that cannot be carried out",
        advice: "What runs stays as it is. The condition SpecValid names the field, why, and what to set instead: \
                 `kubectl -n {{ $labels.namespace }} describe etcd {{ $labels.name }}`.",
    },
    Alert {
        name: "EtcdNotReconciled",
        severity: Warning,
        after: "15m",
        expression: "max by (namespace, name) (capstan_etcd_condition{type=\"Reconciled\",$operator}) == 0",
        summary: "What was decided for EtcdCluster {{ $labels.namespace }}/{{ $labels.name }} cannot be carried out",
        advice: "It is tried again and again. The condition Reconciled names the object and the error: \
                 `kubectl -n {{ $labels.namespace }} describe etcd {{ $labels.name }}`. Mostly a right, a quota, an admission webhook, or an object of \
                 somebody else under a name that is needed.",
    },
    Alert {
        name: "EtcdWaitsForYou",
        severity: Warning,
        after: "15m",
        expression: "max by (namespace, name, phase) (capstan_etcd_phase{phase=\"WaitingForUser\",$operator}) == 1",
        summary: "EtcdCluster {{ $labels.namespace }}/{{ $labels.name }} waits for a decision",
        advice: "`kubectl -n {{ $labels.namespace }} get etcd {{ $labels.name }} -o wide` says which.",
    },
    Alert {
        name: "EtcdBackupsMissed",
        severity: Warning,
        after: "5m",
        expression: "max by (namespace, name, cluster) (capstan_etcd_schedule_missed{$backup}) > 0",
        summary: "{{ $value }} backups of {{ $labels.namespace }}/{{ $labels.cluster }} are missing (EtcdBackupSchedule {{ $labels.name }})",
        advice: "The newest good backup is older than the schedule allows. `kubectl -n {{ $labels.namespace }} describe etcdbackupschedule {{ $labels.name }}` \
                 has the last error; its Jobs have the logs.",
    },
    Alert {
        name: "EtcdBackupFailed",
        severity: Warning,
        after: "1m",
        expression: "max by (namespace, name, cluster) (capstan_etcd_backup_phase{phase=\"Failed\",$backup}) == 1 \
                     or max by (namespace, name, cluster) (increase(capstan_etcd_schedule_failures_total{$backup}[1h])) > 0",
        summary: "Backup {{ $labels.namespace }}/{{ $labels.name }} of {{ $labels.cluster }} has failed",
        advice: "`kubectl -n {{ $labels.namespace }} get etcdbackups,etcdbackupschedules -o wide` says why. Mend that, and create another EtcdBackup; \
                 delete the one that failed to end this alert.",
    },
    Alert {
        name: "EtcdCaptureBehind",
        severity: Warning,
        after: "5m",
        expression: "time() - max by (namespace, name, cluster) (capstan_etcd_schedule_recoverable_timestamp_seconds{$backup}) > 300",
        summary: "What is written to {{ $labels.namespace }}/{{ $labels.cluster }} has not been captured for {{ $value | humanizeDuration }}",
        advice: "A restore would lose what was written since. `kubectl -n {{ $labels.namespace }} describe etcdbackupschedule {{ $labels.name }}` says why: \
                 the condition Captured.",
    },
    Alert {
        name: "CapstanAbsent",
        severity: Warning,
        after: "10m",
        expression: "absent(capstan_build_info)",
        summary: "Nobody looks after the etcd clusters: Prometheus sees no Capstan",
        advice: "Clusters go on, and Kubernetes restarts members; but none is replaced and no certificate is renewed, and alerts from the operator's \
                 metrics are silent, EtcdCertificateEnds among them. Does it run? `kubectl -n capstan-system get deployment capstan`. If it does, \
                 Prometheus does not scrape it: the PodMonitor capstan in deploy/monitoring/etcd-alerts.yaml tells it to.",
    },
];

impl Alert {
    pub(super) fn rule(&self, of: Of<'_>) -> Value {
        let severity = match self.severity {
            Critical => "critical",
            Warning => "warning",
        };
        json!({
            "alert": self.name,
            "expr": of.apply(self.expression),
            "for": self.after,
            "labels": { "severity": severity },
            "annotations": { "summary": self.summary, "description": self.advice },
        })
    }
}
