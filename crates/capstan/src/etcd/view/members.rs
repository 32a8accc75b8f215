//! Members: a line each in the tree, or a table of their own.

use etcd_types::{EtcdCluster, MemberStatus, Role};
use jiff::Timestamp;

use super::cluster;
use crate::look::{
    Look, Paint, columns,
    words::{bytes, plain, since},
};

/// A line each, for the tree.
pub(super) fn lines(members: &[MemberStatus], now: Timestamp, paint: Paint) -> Vec<String> {
    let rows: Vec<Vec<String>> = members.iter().map(|member| row(member, now, paint)).collect();
    columns(&rows).into_iter().chain(legend(members, paint)).collect()
}

/// What to say about a member that the cluster does not have; nothing if it does.
pub(in crate::etcd) fn unknown(cluster: &EtcdCluster, name: &str) -> Option<String> {
    let members = cluster.status.iter().flat_map(|status| status.members.iter().flatten());
    let names: Vec<&str> = members.map(|member| member.name.as_str()).collect();
    let has = if names.is_empty() { "none yet".to_owned() } else { names.join(", ") };
    (!names.contains(&name))
        .then(|| format!("EtcdCluster {} has no member {name}; it has {has}", cluster::name(cluster)))
}

/// One member in one line, for logs: the same text means that nothing has changed.
pub(in crate::etcd) fn member_line(member: &MemberStatus) -> String {
    let paint = Paint { colours: false };
    let health = if member.healthy { "serves" } else { "down" };
    let why = member.reason.as_ref().map_or_else(String::new, |reason| format!(": {}", plain(reason)));
    format!("{} {}, {}, {health}{why}", member.name, role(member.role, paint), version(member))
}

/// With headings, and the IDs that etcd's own tools know.
pub(in crate::etcd) fn table(members: &[MemberStatus], now: Timestamp, paint: Paint) -> Vec<String> {
    let heading = ["MEMBER", "ID", "ROLE", "VERSION", "HEALTH", "DB", "IN USE", "NODE", "REASON"];
    let mut rows = vec![heading.map(|name| paint.as_(Look::Dim, name)).to_vec()];
    rows.extend(members.iter().map(|member| {
        vec![
            member.name.clone(),
            member.id.clone().unwrap_or_else(none),
            role(member.role, paint),
            version(member),
            health(member, now, paint),
            member.db_size.map_or_else(none, bytes),
            member.db_size_in_use.map_or_else(none, bytes),
            member.node.clone().unwrap_or_else(none),
            plain(member.reason.as_deref().unwrap_or_default()),
        ]
    }));
    columns(&rows).into_iter().chain(legend(members, paint)).collect()
}

/// What the star means, where there is one.
fn legend(members: &[MemberStatus], paint: Paint) -> Option<String> {
    let text = "* not yet as the spec asks for: another version, or other settings";
    members.iter().any(|member| !member.updated).then(|| paint.as_(Look::Dim, text))
}

fn row(member: &MemberStatus, now: Timestamp, paint: Paint) -> Vec<String> {
    let dot = match (member.healthy, member.role) {
        (true, Role::Leader) => paint.as_(Look::Good, "★"),
        (true, _) => paint.as_(Look::Good, "●"),
        (false, _) => paint.as_(Look::Bad, "○"),
    };
    let size = match (member.db_size, member.db_size_in_use) {
        (Some(all), Some(used)) => format!("{}, {} in use", bytes(all), bytes(used)),
        (Some(all), None) => bytes(all),
        (None, _) => none(),
    };
    vec![
        format!("{dot} {}", member.name),
        role(member.role, paint),
        version(member),
        health(member, now, paint),
        size,
        member.node.clone().unwrap_or_else(none),
        plain(member.reason.as_deref().unwrap_or_default()),
    ]
}

fn role(role: Role, paint: Paint) -> String {
    match role {
        Role::Leader => paint.as_(Look::Strong, "leader"),
        Role::Follower => "follower".to_owned(),
        Role::Learner => paint.as_(Look::Busy, "learner"),
        Role::Voter => "voter".to_owned(),
        Role::None => paint.as_(Look::Dim, "no member"),
    }
}

/// With a star when it is not (yet) as the spec asks for.
fn version(member: &MemberStatus) -> String {
    let version = member.version.clone().unwrap_or_else(none);
    if member.updated { version } else { format!("{version}*") }
}

fn health(member: &MemberStatus, now: Timestamp, paint: Paint) -> String {
    let time = since(&member.since, now);
    match member.healthy {
        true => paint.as_(Look::Good, format!("serves for {time}")),
        false => paint.as_(Look::Bad, format!("down for {time}")),
    }
}

fn none() -> String {
    "-".to_owned()
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::{super::samples, *};

    #[test]
    fn a_table_names_everybody_with_id_and_cause() {
        let members = samples::upgrading().status.unwrap().members.unwrap();
        let lines = table(&members, samples::now(), Paint { colours: false });
        expect![[r#"
            MEMBER  ID               ROLE      VERSION  HEALTH             DB        IN USE    NODE   REASON
            db-1    8e9e05c52164691  leader    3.6.16*  serves for 60 min  25.0 MiB  11.4 MiB  node1
            db-2    8e9e05c52164692  follower  3.7.3    serves for 30 s    25.0 MiB  11.4 MiB  node2
            db-3    8e9e05c52164693  voter     3.6.16   down for 9 s       25.0 MiB  11.4 MiB  node3  has no pod yet
            * not yet as the spec asks for: another version, or other settings
        "#]].assert_eq(&format!("{}\n", lines.join("\n")));
        let settled = samples::healthy().status.unwrap().members.unwrap();
        let lines = table(&settled, samples::now(), Paint { colours: false });
        assert!(!lines.join("\n").contains('*'), "no star, no legend: {lines:?}");
    }

    #[test]
    fn a_line_for_logs_has_no_times() {
        let members = samples::upgrading().status.unwrap().members.unwrap();
        let lines: Vec<String> = members.iter().map(member_line).collect();
        expect![[r#"
            db-1 leader, 3.6.16*, serves
            db-2 follower, 3.7.3, serves
            db-3 voter, 3.6.16, down: has no pod yet"#]]
        .assert_eq(&lines.join("\n"));
    }
}
