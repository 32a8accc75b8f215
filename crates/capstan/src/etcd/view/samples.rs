//! Clusters to look at in tests.

use etcd_types::{
    Connection, EtcdCluster, EtcdClusterStatus, MemberStatus, Operation, OperationKind, Phase, Role,
    VersionStatus,
};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use serde_json::json;

pub(in crate::etcd) fn now() -> Timestamp {
    "2026-11-16T06:00:00Z".parse().unwrap()
}

fn before(seconds: i64) -> Time {
    Time(now() - SignedDuration::from_secs(seconds))
}

fn member(name: &str, role: Role, version: &str, node: &str) -> MemberStatus {
    MemberStatus {
        name: name.into(),
        id: Some(format!("8e9e05c5216469{}", name.trim_start_matches("db-"))),
        role,
        healthy: true,
        since: before(3600),
        reason: None,
        version: Some(version.into()),
        updated: true,
        db_size: Some(26_214_400),
        db_size_in_use: Some(12_000_000),
        node: Some(node.into()),
    }
}

pub(in crate::etcd) fn condition(kind: &str, status: &str, reason: &str, message: &str) -> Condition {
    Condition {
        type_: kind.into(),
        status: status.into(),
        reason: reason.into(),
        message: message.into(),
        last_transition_time: before(9),
        observed_generation: Some(2),
    }
}

/// Just applied.
pub(in crate::etcd) fn untouched() -> EtcdCluster {
    // As the API has it, with its defaults.
    let spec = serde_json::from_value(json!({"size": 3, "version": "3.6.16"})).unwrap();
    let mut cluster = EtcdCluster::new("db", spec);
    cluster.metadata.namespace = Some("shop".into());
    cluster.metadata.generation = Some(1);
    cluster.metadata.creation_timestamp = Some(before(100_000));
    cluster
}

/// Everything is well.
pub(in crate::etcd) fn healthy() -> EtcdCluster {
    let mut cluster = untouched();
    cluster.metadata.generation = Some(2);
    cluster.status = Some(EtcdClusterStatus {
        phase: Some(Phase::Healthy),
        message: Some("3 members serve".into()),
        observed_generation: Some(2),
        ready_members: Some(3),
        leader: Some("db-1".into()),
        version: Some(VersionStatus { current: Some("3.6.16".into()), ..VersionStatus::default() }),
        members: Some(vec![
            member("db-1", Role::Leader, "3.6.16", "node1"),
            member("db-2", Role::Follower, "3.6.16", "node2"),
            member("db-3", Role::Follower, "3.6.16", "node3"),
        ]),
        connection: Some(Connection {
            endpoints: vec!["https://db-client.shop.svc:2379".into()],
            secret_name: Some("db-client-tls".into()),
        }),
        conditions: Some(vec![
            condition("Available", "True", "Serving", "a linearizable read succeeded"),
            condition("Progressing", "False", "Settled", "nothing is being changed"),
        ]),
        ..EtcdClusterStatus::default()
    });
    cluster
}

/// Everything is well, but what was asked for cannot be done.
pub(in crate::etcd) fn refused() -> EtcdCluster {
    let mut cluster = healthy();
    let refused = condition("SpecValid", "False", "Refused", "spec.version: 3.7.3 cannot follow 3.5.35");
    cluster.status.get_or_insert_default().conditions.get_or_insert_default().push(refused);
    cluster
}

/// One member of three has the new version, the second restarts. The words are those of etcd-core (src/stories/versions.rs).
pub(in crate::etcd) fn upgrading() -> EtcdCluster {
    let mut cluster = healthy();
    cluster.spec.version = "3.7.3".into();
    let status = cluster.status.get_or_insert_default();
    status.phase = Some(Phase::Upgrading);
    let waits = "db-1 waits: db-3 does not serve yet";
    status.message = Some(waits.into());
    status.ready_members = Some(2);
    status.version = Some(VersionStatus {
        current: Some("3.6.16".into()),
        target: Some("3.7.3".into()),
        ..VersionStatus::default()
    });
    let outdated = |member: MemberStatus| MemberStatus { updated: false, ..member };
    status.members = Some(vec![
        outdated(member("db-1", Role::Leader, "3.6.16", "node1")),
        MemberStatus { since: before(30), ..member("db-2", Role::Follower, "3.7.3", "node2") },
        MemberStatus {
            healthy: false,
            since: before(9),
            reason: Some("has no pod yet".into()),
            ..member("db-3", Role::Voter, "3.6.16", "node3")
        },
    ]);
    status.operation = Some(Operation {
        kind: OperationKind::Upgrade,
        target: "3.7.3".into(),
        step: "Restarting".into(),
        member: Some("db-1".into()),
        started_at: before(42),
        step_started_at: before(9),
        message: Some(waits.into()),
    });
    status.conditions = Some(vec![
        condition("Available", "True", "Serving", "a linearizable read succeeded"),
        condition(
            "AllMembersHealthy",
            "False",
            "MembersDown",
            "2 of 3 members serve etcd 3.6.16; db-3 has no pod yet",
        ),
        condition("Progressing", "True", "Operating", waits),
        condition(
            "UpToDate",
            "False",
            "Outdated",
            "members without the version and settings of the spec: db-1",
        ),
        condition("QuorumSafe", "False", "NoSpare", "2 of 3 voters serve, 2 are needed"),
    ]);
    cluster
}
