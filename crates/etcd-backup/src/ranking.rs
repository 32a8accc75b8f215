//! Which voter gives the snapshot. Pure: from what the members say of themselves.

use etcd_api::Status;

/// What is asked of the member besides its snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Load {
    /// Nothing: the leader is best, because it has everything that was acknowledged.
    Snapshot,
    /// HashKV, during which the member applies nothing: on the leader, that stalls every write of the cluster.
    SnapshotAndHash,
}

/// The raft index that a snapshot taken from now on must contain: what the leader has committed. Nothing beyond it was acknowledged.
pub fn committed(voters: &[Status]) -> u64 {
    let leader = voters.iter().find(|it| leads(it)).map(|it| it.raft_index);
    leader.or_else(|| voters.iter().map(|it| it.raft_index).max()).unwrap_or_default()
}

/// The voter to take, by its place in `voters`, if one has applied everything up to `needed`. None: ask again in a moment.
///
/// With [`Load::SnapshotAndHash`] that is never the leader, unless it is the only voter that answers.
pub fn pick(voters: &[Status], needed: u64, load: Load) -> Option<usize> {
    let caught_up = voters.iter().enumerate().filter(|(_, it)| it.raft_applied_index >= needed);
    let spares_leader = load == Load::SnapshotAndHash && voters.len() > 1;
    let best = caught_up
        .filter(|(_, it)| !(spares_leader && leads(it)))
        .max_by_key(|(_, it)| (leads(it), it.raft_applied_index));
    best.map(|(place, _)| place)
}

/// The voter to take when none catches up in time: the leader, or else the one that has applied most.
pub fn furthest(voters: &[Status]) -> Option<usize> {
    let best = voters.iter().enumerate().max_by_key(|(_, it)| (leads(it), it.raft_applied_index));
    best.map(|(place, _)| place)
}

fn leads(status: &Status) -> bool {
    status.leader == Some(status.member)
}

#[cfg(test)]
pub(crate) mod tests {
    use etcd_api::{ClusterId, MemberId, Role};

    use super::*;

    /// Member 1 leads; each has its number, its committed and its applied index.
    pub(crate) fn voter(member: u64, committed: u64, applied: u64) -> Status {
        Status {
            cluster: ClusterId(1),
            member: MemberId(member),
            version: "3.6.16".to_owned(),
            role: Role::Voter,
            leader: Some(MemberId(1)),
            raft_term: 2,
            raft_index: committed,
            raft_applied_index: applied,
            revision: 40,
            db_size: 0,
            db_size_in_use: 0,
            db_size_quota: None,
            storage_version: None,
            downgrade_target: None,
            errors: Vec::new(),
        }
    }

    fn picked(voters: &[Status], load: Load) -> Option<u64> {
        pick(voters, committed(voters), load).map(|place| voters[place].member.0)
    }

    #[test]
    fn a_snapshot_comes_from_the_leader() {
        let voters = [voter(2, 100, 100), voter(1, 100, 100), voter(3, 100, 100)];
        assert_eq!(picked(&voters, Load::Snapshot), Some(1));
    }

    /// It once ran on the leader, and stalled every write for a second per gigabyte.
    #[test]
    fn a_hash_is_computed_by_a_follower_that_has_caught_up() {
        let voters = [voter(1, 100, 100), voter(2, 99, 99), voter(3, 100, 100)];
        assert_eq!(picked(&voters, Load::SnapshotAndHash), Some(3));
    }

    #[test]
    fn a_follower_that_lags_is_waited_for_and_not_taken() {
        let behind = [voter(1, 100, 100), voter(2, 99, 99), voter(3, 98, 98)];
        assert_eq!(picked(&behind, Load::SnapshotAndHash), None);
        // A moment later: what counts is what the leader had committed then.
        let later = [voter(1, 120, 120), voter(2, 101, 101), voter(3, 98, 98)];
        assert_eq!(pick(&later, committed(&behind), Load::SnapshotAndHash), Some(1));
        assert_eq!(furthest(&behind), Some(0), "in the end the leader");
    }

    /// A follower may acknowledge what the leader has committed and not applied yet.
    #[test]
    fn what_is_committed_counts_and_not_what_the_leader_has_applied() {
        let voters = [voter(1, 100, 97), voter(2, 100, 98), voter(3, 100, 100)];
        assert_eq!(picked(&voters, Load::Snapshot), Some(3));
        assert_eq!(picked(&voters, Load::SnapshotAndHash), Some(3));
    }

    #[test]
    fn the_only_member_does_everything() {
        assert_eq!(picked(&[voter(1, 100, 100)], Load::SnapshotAndHash), Some(1));
        assert_eq!(picked(&[], Load::Snapshot), None);
    }

    #[test]
    fn without_the_leader_the_furthest_committed_index_counts() {
        let voters = [voter(2, 100, 99), voter(3, 101, 101)];
        assert_eq!(committed(&voters), 101);
        assert_eq!(picked(&voters, Load::Snapshot), Some(3));
    }
}
