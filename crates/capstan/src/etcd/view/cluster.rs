//! One cluster as a tree: how it is, what is not well, what is being done, and who its members are. And many as a table.

use etcd_types::{EtcdCluster, EtcdClusterStatus, Operation, Phase};
use jiff::Timestamp;
use kube::ResourceExt as _;

use super::{Tree, conditions, members, progress};
use crate::look::{
    Look, Paint, columns,
    words::{count, plain, since},
};

/// The tree of one cluster.
pub(in crate::etcd) fn cluster(cluster: &EtcdCluster, now: Timestamp, paint: Paint) -> Vec<String> {
    let nothing = EtcdClusterStatus::default();
    let status = cluster.status.as_ref().unwrap_or(&nothing);
    let mut tree = Tree::new(title(cluster, status, paint));
    if let Some(why) = unseen(cluster) {
        tree.add(paint.as_(Look::Warn, why));
    }
    if let Some(message) = status.message.as_ref().filter(|message| !message.is_empty()) {
        tree.add(plain(message));
    }
    for not_so in conditions::trees(status.conditions.as_deref().unwrap_or_default(), now, paint) {
        tree.add(not_so);
    }
    if let Some(operation) = &status.operation {
        tree.add(under_way(cluster, operation, now, paint));
    }
    if let Some(members) = status.members.as_ref().filter(|members| !members.is_empty()) {
        tree.add(Tree::new("members").with(members::lines(members, now, paint)));
    }
    if let Some(connection) = &status.connection {
        tree.add(Tree::new(connect(cluster, connection)));
    }
    tree.lines()
}

/// Many clusters, a line each.
pub(in crate::etcd) fn overview(clusters: &[EtcdCluster], now: Timestamp, paint: Paint) -> Vec<String> {
    let heading = ["NAMESPACE", "NAME", "PHASE", "VERSION", "SERVING", "LEADER", "AGE", "MESSAGE"];
    let mut rows = vec![heading.map(|name| paint.as_(Look::Dim, name)).to_vec()];
    rows.extend(clusters.iter().map(|cluster| {
        let status = cluster.status.clone().unwrap_or_default();
        let age = cluster.creation_timestamp().map(|born| since(&born, now));
        vec![
            cluster.namespace().unwrap_or_default(),
            cluster.name_any(),
            phase(status.phase, paint),
            version(&status),
            format!("{}/{}", status.ready_members.unwrap_or_default(), cluster.spec.size),
            status.leader.unwrap_or_else(|| "-".into()),
            age.unwrap_or_default(),
            plain(&status.message.unwrap_or_default()),
        ]
    }));
    columns(&rows)
}

/// One cluster in one line, for logs: the same text means that nothing has changed.
pub(in crate::etcd) fn line(cluster: &EtcdCluster) -> String {
    let status = cluster.status.clone().unwrap_or_default();
    let serving = format!("{} of {} serve", status.ready_members.unwrap_or_default(), cluster.spec.size);
    let doing = status.operation.as_ref().map(|operation| {
        let whom = operation.member.as_ref().map_or_else(String::new, |member| format!(" {member}"));
        format!(", {:?} {}: {}{whom}", operation.kind, operation.target, operation.step)
    });
    let message = status.message.as_ref().map_or_else(String::new, |message| format!(": {}", plain(message)));
    let phase = phase(status.phase, Paint { colours: false });
    let old = unseen(cluster).map_or_else(String::new, |why| format!(" ({why})"));
    format!("{} {phase}, {serving}{}{message}{old}", name(cluster), doing.unwrap_or_default())
}

pub(in crate::etcd) fn name(cluster: &EtcdCluster) -> String {
    format!("{}/{}", cluster.namespace().unwrap_or_default(), cluster.name_any())
}

fn title(cluster: &EtcdCluster, status: &EtcdClusterStatus, paint: Paint) -> String {
    let serving = status.ready_members.unwrap_or_default();
    let members = count(usize::try_from(cluster.spec.size).unwrap_or_default(), "member");
    let name = paint.as_(Look::Strong, format!("EtcdCluster {}", name(cluster)));
    format!("{name}  {}  etcd {}, {serving} of {members} serve", phase(status.phase, paint), version(status))
}

fn phase(phase: Option<Phase>, paint: Paint) -> String {
    let look = match phase {
        Some(Phase::Healthy) => Look::Good,
        Some(Phase::QuorumLost | Phase::Unknown | Phase::Conflict | Phase::Invalid) => Look::Bad,
        // It serves, or would, and waits for somebody.
        Some(Phase::Degraded | Phase::WaitingForUser | Phase::Paused) => Look::Warn,
        Some(
            Phase::Bootstrapping
            | Phase::Scaling
            | Phase::Upgrading
            | Phase::Downgrading
            | Phase::ApplyingConfig
            | Phase::Repairing
            | Phase::Restoring
            | Phase::Deleting,
        )
        | None => Look::Busy,
    };
    paint.as_(look, phase.map_or_else(|| "New".to_owned(), |phase| format!("{phase:?}")))
}

fn version(status: &EtcdClusterStatus) -> String {
    let version = status.version.clone().unwrap_or_default();
    match (version.current, version.target) {
        (Some(current), Some(target)) if current != target => format!("{current} → {target}"),
        (Some(one), _) | (None, Some(one)) => one,
        (None, None) => "-".to_owned(),
    }
}

/// What is written here about may be older than what was asked for last.
pub(in crate::etcd) fn unseen(cluster: &EtcdCluster) -> Option<String> {
    let seen = cluster.status.as_ref().and_then(|status| status.observed_generation);
    (seen != cluster.metadata.generation).then(|| match seen {
        None => "the operator has not looked at it yet: does it run? kubectl -n capstan-system get deployment capstan".into(),
        Some(_) => "the operator has not seen the last change of the spec yet".into(),
    })
}

fn under_way(cluster: &EtcdCluster, operation: &Operation, now: Timestamp, paint: Paint) -> Tree {
    let Operation { kind, target, step, member, message, .. } = operation;
    let whom = member.as_ref().map_or_else(String::new, |member| format!(" {member}"));
    let what = paint.as_(Look::Busy, format!("{kind:?} {target}"));
    let time = format!(
        "for {}, of which {} in this step",
        since(&operation.started_at, now),
        since(&operation.step_started_at, now)
    );
    let mut tree = Tree::new(format!("{what}: {step}{whom} {}", paint.as_(Look::Dim, time)));
    if let Some(far) = progress::of(cluster, operation) {
        tree.add(progress::bar(far));
    }
    // Most of the time it is what the cluster's own sentence says.
    let said = cluster.status.as_ref().and_then(|status| status.message.as_ref());
    if let Some(message) = message.as_ref().filter(|message| said != Some(message)) {
        tree.add(plain(message));
    }
    tree
}

fn connect(cluster: &EtcdCluster, connection: &etcd_types::Connection) -> String {
    let url = connection.endpoints.first().map_or("-", String::as_str);
    match &connection.secret_name {
        Some(secret) => format!(
            "connect to {url} with ca.crt, tls.crt and tls.key of Secret {}/{secret}",
            cluster.namespace().unwrap_or_default()
        ),
        None => format!("connect to {url}, without TLS"),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::{super::samples, *};

    fn check(cluster_: &EtcdCluster, expected: Expect) {
        let lines = cluster(cluster_, samples::now(), Paint { colours: false });
        expected.assert_eq(&format!("{}\n", lines.join("\n")));
    }

    #[test]
    fn a_healthy_cluster_is_short() {
        check(
            &samples::healthy(),
            expect![[r#"
            EtcdCluster shop/db  Healthy  etcd 3.6.16, 3 of 3 members serve
            ├─ 3 members serve
            ├─ members
            │  ├─ ★ db-1  leader    3.6.16  serves for 60 min  25.0 MiB, 11.4 MiB in use  node1
            │  ├─ ● db-2  follower  3.6.16  serves for 60 min  25.0 MiB, 11.4 MiB in use  node2
            │  └─ ● db-3  follower  3.6.16  serves for 60 min  25.0 MiB, 11.4 MiB in use  node3
            └─ connect to https://db-client.shop.svc:2379 with ca.crt, tls.crt and tls.key of Secret shop/db-client-tls
        "#]],
        );
    }

    #[test]
    fn an_upgrade_shows_how_far_it_is_and_what_is_not_well_meanwhile() {
        check(
            &samples::upgrading(),
            expect![[r#"
                EtcdCluster shop/db  Upgrading  etcd 3.6.16 → 3.7.3, 2 of 3 members serve
                ├─ db-1 waits: db-3 does not serve yet
                ├─ not well
                │  ├─ AllMembersHealthy=False 2 of 3 members serve etcd 3.6.16; db-3 has no pod yet (MembersDown, 9 s)
                │  └─ QuorumSafe=False 2 of 3 voters serve, 2 are needed (NoSpare, 9 s)
                ├─ not yet
                │  └─ UpToDate=False members without the version and settings of the spec: db-1 (Outdated, 9 s)
                ├─ Upgrade 3.7.3: Restarting db-1 for 42 s, of which 9 s in this step
                │  └─ ██████░░░░░░░░░░░░░░ 1 of 3
                ├─ members
                │  ├─ ★ db-1  leader    3.6.16*  serves for 60 min  25.0 MiB, 11.4 MiB in use  node1
                │  ├─ ● db-2  follower  3.7.3    serves for 30 s    25.0 MiB, 11.4 MiB in use  node2
                │  ├─ ○ db-3  voter     3.6.16   down for 9 s       25.0 MiB, 11.4 MiB in use  node3  has no pod yet
                │  └─ * not yet as the spec asks for: another version, or other settings
                └─ connect to https://db-client.shop.svc:2379 with ca.crt, tls.crt and tls.key of Secret shop/db-client-tls
            "#]],
        );
    }

    #[test]
    fn the_documentation_shows_what_is_printed() {
        let docs = include_str!("../../../../../docs/etcd.md");
        let shown = docs.split("```text\n").find(|block| block.starts_with("EtcdCluster "));
        let shown = shown.and_then(|block| block.split("```").next()).expect("a sample in docs/etcd.md");
        let lines = cluster(&samples::upgrading(), samples::now(), Paint { colours: false });
        assert_eq!(shown, format!("{}\n", lines.join("\n")), "put this into docs/etcd.md");
    }

    #[test]
    fn a_cluster_that_nobody_has_looked_at_says_what_to_check() {
        check(
            &samples::untouched(),
            expect![[r#"
            EtcdCluster shop/db  New  etcd -, 0 of 3 members serve
            └─ the operator has not looked at it yet: does it run? kubectl -n capstan-system get deployment capstan
        "#]],
        );
    }

    #[test]
    fn colours_follow_meaning() {
        let lines = cluster(&samples::healthy(), samples::now(), Paint { colours: true });
        assert!(lines[0].contains("\x1b[32mHealthy\x1b[0m"), "{lines:?}");
        let lines = cluster(&samples::upgrading(), samples::now(), Paint { colours: true }).join("\n");
        assert!(lines.contains("\x1b[1;31mAllMembersHealthy=False\x1b[0m"), "{lines}");
    }

    #[test]
    fn what_still_serves_and_what_waits_look_neither_lost_nor_busy() {
        let look = |it| phase(Some(it), Paint { colours: true });
        assert_eq!(look(Phase::QuorumLost), "\x1b[1;31mQuorumLost\x1b[0m");
        assert_eq!(look(Phase::Degraded), "\x1b[1;33mDegraded\x1b[0m");
        assert_eq!(look(Phase::WaitingForUser), "\x1b[1;33mWaitingForUser\x1b[0m");
        assert_eq!(look(Phase::Upgrading), "\x1b[36mUpgrading\x1b[0m");
    }

    #[test]
    fn many_clusters_are_a_table() {
        let all = [samples::healthy(), samples::upgrading(), samples::untouched()];
        let lines = overview(&all, samples::now(), Paint { colours: false });
        expect![[r#"
            NAMESPACE  NAME  PHASE      VERSION         SERVING  LEADER  AGE   MESSAGE
            shop       db    Healthy    3.6.16          3/3      db-1    27 h  3 members serve
            shop       db    Upgrading  3.6.16 → 3.7.3  2/3      db-1    27 h  db-1 waits: db-3 does not serve yet
            shop       db    New        -               0/3      -       27 h
        "#]]
        .assert_eq(&format!("{}\n", lines.join("\n")));
    }

    #[test]
    fn a_line_for_logs_has_what_changes_and_no_times() {
        expect!["shop/db Upgrading, 2 of 3 serve, Upgrade 3.7.3: Restarting db-1: db-1 waits: db-3 does not serve yet"]
            .assert_eq(&line(&samples::upgrading()));
        let told = line(&samples::untouched());
        assert!(
            told.starts_with("shop/db New, 0 of 3 serve (the operator has not looked at it yet"),
            "{told}"
        );
    }
}
