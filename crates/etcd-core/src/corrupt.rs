//! Data that differs between members: which voters are the minority, how they are replaced, and when the alarm CORRUPT is disarmed.
//!
//! etcd finds a difference in two ways (`spec.etcd.corruptionChecks`):
//! - The leader compares members while they run, and raises the alarm CORRUPT. Every member then refuses writes, and `/readyz` fails on
//!   every member. Reads, member changes, `HashKV` and snapshots still work. The alarm may name the wrong member: the periodic check always
//!   trusts the leader, and the check at compactions names member 0 without a majority.
//! - A member that starts compares itself with the members that run, and exits when it differs from any of them, whichever of the two is
//!   wrong.
//!
//! Source: server/etcdserver/corrupt.go, server/etcdserver/api/etcdhttp/health.go, server/storage/mvcc/hash.go.
//!
//! So neither the alarm nor the exit says which data is right. A strict majority of all voters with equal hashes does. Invariants: without
//! such a majority nothing is changed; a voter is removed only when its data differs from that of the majority; the alarm is disarmed only
//! when no voter that may run has other data.

use std::collections::{BTreeMap, BTreeSet};

use etcd_types::OperationKind;

use crate::{
    AlarmKind, DataHash, Etcd, Member, MemberId, NodeState, Pod, Serial, Step, Template, Why,
    case::{Case, Seen},
    cause::{Cause, Remedy},
    leave,
    quorum::SETTLE,
    repair, restore,
    rule::{Deed, Verdict, on_record},
};

/// What etcd says before it exits because its data differs from that of a member that runs.
const INCONSISTENT: &str = "found data inconsistency with peers";
/// The arguments that make a member compare itself with the others when it starts: of 3.6 and later, and of 3.5.
const CHECKS_AT_START: &[&str] = &["InitialCorruptCheck=true", "experimental-initial-corrupt-check=true"];
/// What [`OperationKind::Disarm`] is about.
const ALARM: &str = "CORRUPT";

/// Whether members' data must be compared: the alarm CORRUPT is raised, or a member does not start because its data differs.
pub fn data_may_differ(members: &BTreeMap<Serial, Member>, etcd: &Etcd) -> bool {
    let refuses = |(serial, member): (&Serial, &Member)| {
        let answers = etcd.endpoints.get(serial).is_some_and(Result::is_ok);
        !answers && refuses_to_start(member.pod.as_ref())
    };
    is_raised(etcd) || members.iter().any(refuses)
}

/// Whether the alarm CORRUPT is raised.
pub(crate) fn is_raised(etcd: &Etcd) -> bool {
    etcd.alarms.iter().flatten().any(|alarm| alarm.kind == AlarmKind::Corrupt)
}

/// Whether its process ended because its data differs from that of another member.
pub(crate) fn refuses_to_start(pod: Option<&Pod>) -> bool {
    pod.is_some_and(|pod| {
        !pod.ready && pod.last_exit.as_ref().is_some_and(|exit| exit.message.contains(INCONSISTENT))
    })
}

/// What is known about the data of a voter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Known {
    Hash(DataHash),
    /// It exits at its start, because it differs from a member that runs.
    Refuses,
    Nothing,
}

/// Whether members accept writes while they are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Writes {
    Accepted,
    /// The alarm is raised, and every member that answered has applied it: nothing changes any more, compactions included.
    Refused,
}

/// The voters, by their data.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Comparison {
    /// A strict majority of all voters, which has the same data; empty if there is none.
    pub(crate) same: BTreeSet<MemberId>,
    /// Voters that have other data than the majority.
    pub(crate) differ: BTreeSet<MemberId>,
    /// Voters of which that is not known.
    pub(crate) unknown: BTreeSet<MemberId>,
    /// Whether there is no majority, whatever the unknown ones would say and however long one waits.
    pub(crate) hopeless: bool,
}

/// Compares the data of all voters.
pub(crate) fn compare(voters: &BTreeMap<MemberId, Known>, writes: Writes) -> Comparison {
    let mut groups: BTreeMap<DataHash, BTreeSet<MemberId>> = BTreeMap::new();
    for (id, known) in voters {
        if let Known::Hash(hash) = known {
            groups.entry(*hash).or_default().insert(*id);
        }
    }
    let all = || voters.keys().copied();
    let is_majority = |count: usize| count > 1 && count * 2 > voters.len();
    let largest = groups.values().map(BTreeSet::len).max().unwrap_or_default();
    let answered: usize = groups.values().map(BTreeSet::len).sum();
    let Some((right, same)) = groups.iter().find(|(_, members)| is_majority(members.len())) else {
        let known: BTreeSet<MemberId> = groups.values().flatten().copied().collect();
        return Comparison {
            unknown: all().filter(|id| !known.contains(id)).collect(),
            hopeless: writes == Writes::Refused && !is_majority(largest + voters.len() - answered),
            ..Comparison::default()
        };
    };
    // A member that has compacted another revision hashes other keys.
    let is_other = |known: &Known| match known {
        Known::Hash(hash) => {
            hash != right && (writes == Writes::Refused || hash.compact_revision == right.compact_revision)
        }
        Known::Refuses | Known::Nothing => false,
    };
    let mut differ: BTreeSet<MemberId> =
        voters.iter().filter(|(_, known)| is_other(known)).map(|(id, _)| *id).collect();
    // It may differ from another one of the minority only, and start when that one is gone.
    if differ.is_empty() {
        let refuses = voters.iter().filter(|(_, known)| **known == Known::Refuses);
        differ = refuses.map(|(id, _)| *id).collect();
    }
    let unknown = all().filter(|id| !same.contains(id) && !differ.contains(id)).collect();
    Comparison { same: same.clone(), differ, unknown, hopeless: false }
}

/// The voters of a case by their data; nothing while nothing says that it may differ.
pub(crate) fn of(case: &Case<'_>) -> Option<Comparison> {
    let etcd = &case.picture.etcd;
    if !case.has_list() || !data_may_differ(&case.picture.members, etcd) {
        return None;
    }
    let known = |id: MemberId, seen: Option<&Seen<'_>>| match etcd.hashes.get(&id) {
        Some(Ok(hash)) => Known::Hash(*hash),
        _ if seen.is_some_and(refuses) => Known::Refuses,
        _ => Known::Nothing,
    };
    let ours = case.voters().map(|seen| (seen.id(), known(seen.id(), Some(seen))));
    let strangers = case.strangers.iter().filter(|member| !member.learner);
    let voters = ours.chain(strangers.map(|member| (member.id, known(member.id, None)))).collect();
    let writes = if is_raised(etcd) { Writes::Refused } else { Writes::Accepted };
    Some(compare(&voters, writes))
}

fn refuses(seen: &Seen<'_>) -> bool {
    seen.endpoint.is_none() && refuses_to_start(seen.objects.pod.as_ref())
}

/// While the alarm is raised: replaces the minority; then disarms the alarm, so that clients are served before new members join.
pub(crate) fn resolve(case: &Case<'_>) -> Verdict {
    let Some(data) = &case.data else { return Verdict::Pass };
    if data.same.is_empty() {
        return wait(case);
    }
    match replace_minority(case) {
        Verdict::Pass => {}
        verdict => return verdict,
    }
    if !data.unknown.iter().all(|id| is_checked_before_it_runs(case, *id)) {
        return Verdict::Pass;
    }
    // Its data came from a member that may have been of the minority, and etcd answers no `HashKV` for learners.
    if let Some(learner) = case.learner() {
        return leave::remove(
            case,
            learner,
            deed(case, "Removing"),
            "it may have got its data from a corrupt member",
        );
    }
    let Some(ask) = case.someone_to_ask(None) else { return Verdict::Pass };
    let deed = deed(case, "Disarming").saying(format!("{} have the same data", names(case, &data.same)));
    Verdict::Do(deed.step(disarm(case, ask)))
}

/// A backup that was taken while the alarm was raised contains it, and `etcdutl snapshot restore` keeps it. The member that a restore
/// starts with is alone, and its data is what was asked for: the alarm is disarmed before anything is written to it.
pub(crate) fn inherited(case: &Case<'_>) -> Verdict {
    let Some(record) = restore::active(case).filter(|_| is_raised(&case.picture.etcd)) else {
        return Verdict::Pass;
    };
    let seed = case.voters().find(|seen| seen.serial == record.seed && seen.answers());
    let alone = case.voters.0.len() == 1 && case.learner().is_none();
    let Some(seed) = seed.filter(|_| alone) else { return Verdict::Pass };
    let kind = if record.is_in_place() { OperationKind::Restore } else { OperationKind::Recover };
    let deed = Deed::new(kind, &record.label, "Disarming").about(seed.serial);
    let deed = deed.saying(format!("{} was taken while the alarm CORRUPT was raised", record.label));
    Verdict::Do(deed.step(disarm(case, seed.serial)))
}

fn disarm(case: &Case<'_>, ask: Serial) -> Step {
    let raised = case.picture.etcd.alarms.iter().flatten();
    let raised = raised.filter(|alarm| alarm.kind == AlarmKind::Corrupt);
    Step::Disarm { members: raised.map(|alarm| alarm.member).collect(), ask }
}

/// Replaces a voter whose data differs from that of the majority; its volume is kept.
pub(crate) fn replace_minority(case: &Case<'_>) -> Verdict {
    let Some(data) = &case.data else { return Verdict::Pass };
    let Some(seen) = case.voters().find(|seen| data.differ.contains(&seen.id())) else {
        return Verdict::Pass;
    };
    let what = format!("has other data than {}", names(case, &data.same));
    repair::replace(case, seen, &Cause { what, remedy: Remedy::ReplaceNow })
}

/// Whether a voter does not run, and compares itself with the others before it does.
fn is_checked_before_it_runs(case: &Case<'_>, id: MemberId) -> bool {
    let Some(seen) = case.voters().find(|seen| seen.id() == id) else { return false };
    let stopped = seen.objects.pod.as_ref().is_none_or(|pod| {
        !pod.running && pod.node.as_ref().is_none_or(|node| node.state == NodeState::Ready)
    });
    let checks = |made: &Template| {
        made.args.iter().any(|argument| CHECKS_AT_START.iter().any(|check| argument.contains(check)))
    };
    stopped && seen.recorded().is_some_and(checks)
}

/// Nothing can be done now, and nothing else is done meanwhile.
pub(crate) fn wait(case: &Case<'_>) -> Verdict {
    let Some(data) = &case.data else { return Verdict::Pass };
    let deed = deed(case, "Comparing").saying(explain(case).unwrap_or_default());
    Verdict::Do(match data.hopeless {
        true => deed.stuck(Why::WaitingForUser),
        false => deed.look_again(SETTLE, "whether the data of all voters is known"),
    })
}

fn deed(case: &Case<'_>, doing: &'static str) -> Deed {
    match on_record(case, &[OperationKind::Replace]) {
        Some(replacing) => Deed::new(OperationKind::Replace, &replacing.target, doing),
        None => Deed::new(OperationKind::Disarm, ALARM, doing),
    }
}

/// Which members have which data, and what is done about it.
pub(crate) fn explain(case: &Case<'_>) -> Option<String> {
    let data = case.data.as_ref()?;
    let alarm = match is_raised(&case.picture.etcd) {
        true => "the alarm CORRUPT is raised, and no writes are accepted",
        false => "a member does not start because its data differs",
    };
    let (hashes, all) = (hashes(case), case.voters.0.len());
    let then = match () {
        () if all == 1 => "there is no other member to compare it with, so nothing is changed; check the data, then disarm the alarm with `etcdctl alarm disarm`, or restore a backup with an EtcdRestore".to_owned(),
        () if data.hopeless => {
            format!("no majority of the {all} voters has the same data, so nothing is changed; restore a backup with an EtcdRestore")
        }
        () if data.same.is_empty() && case.voters().any(refuses) => {
            format!("no majority of the {all} voters is known to have the same data; set spec.etcd.corruptionChecks.initial to false, so that all of them start and can be compared")
        }
        () if data.same.is_empty() => {
            format!("a majority of the {all} voters must have the same data before anything is changed")
        }
        () if !data.differ.is_empty() => {
            format!("{} is replaced, and its volume is kept", names(case, &data.differ))
        }
        () if !data.unknown.is_empty() => {
            format!("the alarm is disarmed when {} can be compared, or is replaced", names(case, &data.unknown))
        }
        () => "all voters have the same data, and the alarm is disarmed".to_owned(),
    };
    Some(format!("{alarm}; {hashes}: {then}"))
}

fn hashes(case: &Case<'_>) -> String {
    let told = case.voters().map(|seen| {
        let name = case.name(seen.serial);
        match case.picture.etcd.hashes.get(&seen.id()) {
            Some(Ok(hash)) => {
                format!("{name} has the hash {:08x} at revision {}", hash.hash, hash.revision)
            }
            _ if refuses(seen) => format!("{name} does not start because its data differs"),
            Some(Err(why)) => format!("{name} did not tell its hash ({why})"),
            None => format!("{name} did not tell its hash"),
        }
    });
    told.collect::<Vec<_>>().join(", ")
}

fn names(case: &Case<'_>, ids: &BTreeSet<MemberId>) -> String {
    let name = |id: &MemberId| {
        let ours = case.voters().find(|seen| seen.id() == *id);
        ours.map_or_else(|| format!("member {id}"), |seen| case.name(seen.serial))
    };
    ids.iter().map(name).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A letter per voter: `a` to `c` are hashes, in capitals with another compact revision; `!` refuses to start, `?` is unknown.
    fn voters(letters: &str) -> BTreeMap<MemberId, Known> {
        let known = |letter: char| match letter {
            '!' => Known::Refuses,
            '?' => Known::Nothing,
            _ => Known::Hash(DataHash {
                revision: 9,
                compact_revision: i64::from(letter.is_ascii_uppercase()),
                hash: u32::from(letter),
            }),
        };
        (1..).map(MemberId).zip(letters.chars().map(known)).collect()
    }

    fn told(found: &Comparison) -> String {
        let ids = |ids: &BTreeSet<MemberId>| ids.iter().map(|id| id.0.to_string()).collect::<String>();
        let hopeless = if found.hopeless { " hopeless" } else { "" };
        format!("{}|{}|{}{hopeless}", ids(&found.same), ids(&found.differ), ids(&found.unknown))
    }

    #[test]
    fn strict_majority_of_all_voters_is_right() {
        let cases = [
            ("aaa", "123||"),
            ("aab", "12|3|"),
            ("baa", "23|1|"),
            ("aa?", "12||3"),
            ("aa!", "12|3|"),
            ("ab?", "||3"),
            ("ab!", "||3"),
            ("a??", "||23"),
            ("abc", "|| hopeless"),
            ("ab", "|| hopeless"),
            ("a!", "||2"),
            ("aa", "12||"),
            ("a", "|| hopeless"),
            ("?", "||1 hopeless"),
            ("aabb", "|| hopeless"),
            ("aabb?", "||5"),
            ("aaabb", "123|45|"),
            ("aaab!", "123|4|5"),
            ("aaab?", "123|4|5"),
            ("aaa!?", "123|4|5"),
            ("aaabbbb", "4567|123|"),
        ];
        for (letters, expected) in cases {
            assert_eq!(told(&compare(&voters(letters), Writes::Refused)), expected, "{letters}");
        }
    }

    #[test]
    fn other_compact_revision_is_other_data_only_while_nothing_is_written() {
        assert_eq!(told(&compare(&voters("aaA"), Writes::Refused)), "12|3|");
        assert_eq!(told(&compare(&voters("aaA"), Writes::Accepted)), "12||3");
        assert_eq!(told(&compare(&voters("aaAb"), Writes::Accepted)), "||");
        assert_eq!(told(&compare(&voters("aaaAb"), Writes::Accepted)), "123|5|4");
    }

    proptest! {
        #[test]
        fn whoever_differs_is_outvoted_by_all_voters(letters in "[abcA!?]{1,7}", accepted in any::<bool>()) {
            let writes = if accepted { Writes::Accepted } else { Writes::Refused };
            let voters = voters(&letters);
            let found = compare(&voters, writes);
            let all = found.same.len() + found.differ.len() + found.unknown.len();
            if found.same.is_empty() {
                prop_assert!(found.differ.is_empty());
            } else {
                prop_assert_eq!(all, voters.len());
                prop_assert!(found.same.len() * 2 > voters.len() && found.same.len() > 1);
                let right = voters[found.same.first().unwrap()];
                prop_assert!(matches!(right, Known::Hash(_)));
                prop_assert!(found.same.iter().all(|id| voters[id] == right));
                prop_assert!(found.differ.iter().all(|id| voters[id] != right && voters[id] != Known::Nothing));
            }
        }
    }
}
