//! Members: a line each in the tree, or a table of their own.

use etcd_types::{MemberStatus, Role};
use jiff::Timestamp;

use crate::look::{
    Look, Paint, columns,
    words::{bytes, plain, since},
};

/// A line each, for the tree.
pub(super) fn lines(members: &[MemberStatus], now: Timestamp, paint: Paint) -> Vec<String> {
    let rows: Vec<Vec<String>> = members.iter().map(|member| row(member, now, paint)).collect();
    columns(&rows)
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
    columns(&rows)
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
            db-2    8e9e05c52164692  voter     3.6.16*  down for 9 s       25.0 MiB  11.4 MiB  node2  its pod is not ready yet
            db-3    8e9e05c52164693  follower  3.7.3    serves for 60 min  25.0 MiB  11.4 MiB  node3
        "#]].assert_eq(&format!("{}\n", lines.join("\n")));
    }
}
