//! The alarm CORRUPT: which members still hold the same data. Pure.
//!
//! With the alarm, etcd refuses writes but still answers MemberList, Status, HashKV and Snapshot. Members are compared by HashKV at one
//! revision; hashes are comparable only where the compact revision is the same, too. A backup is taken only from a strict majority of all
//! voters, those that do not answer included.

use std::{collections::BTreeMap, fmt};

use etcd_api::HashKv;

use crate::manifest::{Corruption, Differing};

/// What a voter said when it was asked for its hash; `None` for one that cannot be asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vote {
    pub member: String,
    pub answer: Result<HashKv, String>,
}

/// No strict majority of the voters holds the same data.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "etcd: the alarm CORRUPT is raised, and no majority of its {} voters holds the same data at revision {revision}: {}; nothing is backed up. {ADVICE}",
    votes.len(), Listed(votes)
)]
pub struct NoMajority {
    pub revision: i64,
    pub votes: Vec<Vote>,
}

const ADVICE: &str = "Find out which member holds the right data, save it with `etcdctl snapshot save` at that member's own URL, and restore a new cluster from it, or restore an earlier backup";

impl NoMajority {
    /// Whether the members that could not be asked might make a majority.
    pub fn may_pass(&self) -> bool {
        let silent = self.votes.iter().filter(|vote| vote.answer.is_err()).count();
        let most = self.groups().values().map(Vec::len).max().unwrap_or_default();
        silent > 0 && is_majority(most + silent, self.votes.len())
    }

    fn groups(&self) -> BTreeMap<(u32, i64), Vec<usize>> {
        groups(&self.votes)
    }
}

struct Listed<'a>(&'a [Vote]);

impl fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let each = self.0.iter().map(|vote| format!("{}: {}", vote.member, found(vote)));
        f.write_str(&each.collect::<Vec<_>>().join(", "))
    }
}

/// The revision to compare at: the highest that a majority of the voters has reached. A member that has less differs.
pub fn common_revision(voters: usize, revisions: &[i64]) -> Option<i64> {
    let mut highest_first = revisions.to_vec();
    highest_first.sort_unstable_by(|a, b| b.cmp(a));
    highest_first.get(voters / 2).copied()
}

/// The places of the members that hold the same data, and what to put on record.
pub fn judge(votes: Vec<Vote>, revision: i64) -> Result<(Vec<usize>, Corruption), NoMajority> {
    let all = votes.len();
    let Some(agree) = groups(&votes).into_values().find(|group| is_majority(group.len(), all)) else {
        return Err(NoMajority { revision, votes });
    };
    let (same, others): (Vec<_>, Vec<_>) =
        votes.iter().enumerate().partition(|(place, _)| agree.contains(place));
    let differing = |(_, vote): (usize, &Vote)| Differing { member: vote.member.clone(), found: found(vote) };
    let corruption = Corruption {
        revision,
        agree: same.into_iter().map(|(_, vote)| vote.member.clone()).collect(),
        differ: others.into_iter().map(differing).collect(),
    };
    Ok((agree, corruption))
}

/// By what they hold: hash and compact revision.
fn groups(votes: &[Vote]) -> BTreeMap<(u32, i64), Vec<usize>> {
    let mut groups = BTreeMap::<_, Vec<usize>>::new();
    for (place, vote) in votes.iter().enumerate() {
        if let Ok(seen) = &vote.answer {
            groups.entry((seen.hash, seen.compact_revision)).or_default().push(place);
        }
    }
    groups
}

fn is_majority(count: usize, all: usize) -> bool {
    count > all / 2
}

fn found(vote: &Vote) -> String {
    match &vote.answer {
        Ok(seen) => format!("hash {:08x}, compacted at {}", seen.hash, seen.compact_revision),
        Err(why) => format!("no hash ({why})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vote(member: &str, hash: u32, compact_revision: i64) -> Vote {
        let answer = Ok(HashKv { hash, compact_revision, hash_revision: None });
        Vote { member: member.to_owned(), answer }
    }

    fn silent(member: &str) -> Vote {
        Vote { member: member.to_owned(), answer: Err("it does not answer".to_owned()) }
    }

    #[test]
    fn the_majority_with_the_same_hash_is_taken_and_the_others_are_named() {
        let (agree, corruption) =
            judge(vec![vote("db-1", 7, 5), vote("db-2", 8, 5), vote("db-3", 7, 5)], 40).unwrap();
        assert_eq!(agree, [0, 2]);
        assert_eq!(corruption.agree, ["db-1", "db-3"]);
        assert_eq!(corruption.differ[0].member, "db-2");
        assert_eq!(corruption.differ[0].found, "hash 00000008, compacted at 5");
    }

    #[test]
    fn without_a_strict_majority_of_all_voters_nothing_is_taken() {
        for votes in [
            vec![vote("db-1", 7, 5), vote("db-2", 8, 5)],
            vec![vote("db-1", 7, 5), vote("db-2", 8, 5), vote("db-3", 9, 5)],
            vec![vote("db-1", 7, 5), vote("db-2", 8, 5), silent("db-3")],
            // The same hash after another compaction is a hash of something else.
            vec![vote("db-1", 7, 5), vote("db-2", 7, 4), vote("db-3", 8, 5)],
            vec![vote("db-1", 7, 5), vote("db-2", 7, 5), vote("db-3", 8, 5), silent("db-4")],
        ] {
            let refused = judge(votes.clone(), 40).unwrap_err();
            let said = refused.to_string();
            assert!(votes.iter().all(|vote| said.contains(&vote.member)), "{said}");
            assert!(said.contains("etcdctl snapshot save"), "{said}");
        }
    }

    #[test]
    fn a_member_that_comes_back_may_make_a_majority() {
        let of = |votes| judge(votes, 40).unwrap_err().may_pass();
        assert!(of(vec![vote("db-1", 7, 5), vote("db-2", 8, 5), silent("db-3")]));
        assert!(!of(vec![vote("db-1", 7, 5), vote("db-2", 8, 5), vote("db-3", 9, 5)]));
        assert!(!of(vec![vote("db-1", 7, 5), vote("db-2", 8, 5)]));
    }

    #[test]
    fn the_only_member_is_its_own_majority() {
        assert_eq!(judge(vec![vote("db-1", 7, 5)], 40).unwrap().0, [0]);
    }

    #[test]
    fn members_are_compared_at_what_a_majority_has() {
        assert_eq!(common_revision(3, &[40, 12, 41]), Some(40));
        assert_eq!(common_revision(3, &[40, 41]), Some(40));
        assert_eq!(common_revision(3, &[40]), None);
        assert_eq!(common_revision(5, &[9, 8, 7, 6, 5]), Some(7));
        assert_eq!(common_revision(1, &[9]), Some(9));
    }
}
