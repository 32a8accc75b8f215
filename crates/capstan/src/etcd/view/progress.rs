//! How far an operation is, as members done of members to do.

use etcd_types::{EtcdCluster, MemberStatus, Operation, OperationKind};

const CELLS: usize = 20;

/// Members done, of how many; nothing for what is not counted in members.
pub(super) fn of(cluster: &EtcdCluster, operation: &Operation) -> Option<(usize, usize)> {
    let status = cluster.status.as_ref()?;
    let members = || status.members.iter().flatten();
    let count = |number: Option<i32>| usize::try_from(number.unwrap_or_default()).unwrap_or_default();
    match operation.kind {
        OperationKind::Upgrade | OperationKind::Downgrade | OperationKind::Configure => {
            let done = |member: &&MemberStatus| member.updated && member.healthy;
            Some((members().filter(done).count(), members().count()))
        }
        OperationKind::Found | OperationKind::ScaleOut => {
            let wanted = operation.target.parse().unwrap_or_else(|_| count(Some(cluster.spec.size)));
            Some((count(status.ready_members).min(wanted), wanted))
        }
        // Nobody knows how many there were: it is over when as many are left as are wanted.
        // Nor is data counted in members.
        OperationKind::ScaleIn
        | OperationKind::Recover
        | OperationKind::Restore
        | OperationKind::Restart
        | OperationKind::Replace
        | OperationKind::Disarm
        | OperationKind::MoveLeader
        | OperationKind::CleanUp => None,
    }
}

/// `██████░░░░ 2 of 3`.
pub(super) fn bar((done, all): (usize, usize)) -> String {
    let full = (done * CELLS).checked_div(all).unwrap_or(0).min(CELLS);
    format!("{}{} {done} of {all}", "█".repeat(full), "░".repeat(CELLS - full))
}

#[cfg(test)]
mod tests {
    use super::{super::samples, *};

    #[test]
    fn an_upgrade_counts_members_that_have_it_and_serve() {
        let cluster = samples::upgrading();
        let operation = cluster.status.clone().unwrap().operation.unwrap();
        assert_eq!(of(&cluster, &operation), Some((1, 3)));
        assert_eq!(bar((1, 3)), "██████░░░░░░░░░░░░░░ 1 of 3");
        assert_eq!(bar((0, 0)), "░░░░░░░░░░░░░░░░░░░░ 0 of 0");
    }
}
