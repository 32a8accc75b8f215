//! Quorum: may this member go down, may that one leave? The one answer for every path that would stop a voter.

use std::time::Duration;

use jiff::Timestamp;

use crate::{MemberId, case::Health, text::seconds};

/// Time after which etcd counts a member as connected (`HealthInterval` in server/etcdserver/server.go). It refuses new members before
/// that. A member whose container has crashed must have been ready for as long before another member may go down.
pub const SETTLE: Duration = Duration::from_secs(5);

/// Time for which a member's pod must have been ready before another member may go down: until then, Services and clients may not
/// have found their way back to it. More is not needed. A member that serves has answered a linearizable read, so it has applied
/// everything that was committed before. What is on record is of whole seconds, so the real time is between 1 s and 2 s.
pub const READY: Duration = Duration::from_secs(2);

/// How many of `voters` must agree.
pub fn quorum(voters: usize) -> usize {
    voters / 2 + 1
}

/// A voter, as far as its health matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Voter {
    /// Who.
    pub id: MemberId,
    /// Whether it serves linearizable reads, and its pod is ready and stays.
    pub serves: bool,
    /// Whether it answers linearizable reads, ours or its kubelet's: then it votes.
    pub votes: bool,
    /// Whether it answers linearizable reads, and its pod is not ready because the alarm CORRUPT is raised: `/readyz` fails on every
    /// member then.
    pub alarmed: bool,
    /// Whether its process may run: then it may vote, though it does not answer us.
    pub runs: bool,
    /// Whether it is down for certain: its pod is not ready.
    pub down: bool,
    /// Since when it has answered; nothing if it has for as long as anybody knows.
    pub since: Option<Timestamp>,
    /// Since when its pod has been ready as well.
    pub ready_since: Timestamp,
    /// Whether the container of its pod has ended and was started again.
    pub crashed: bool,
}

impl Voter {
    /// Since when clients can have found it: its pod is ready, and it answers.
    fn back_since(&self) -> Timestamp {
        self.since.map_or(self.ready_since, |since| since.max(self.ready_since))
    }

    /// Time for which it must have been back before another member may go down.
    fn calm(&self) -> Duration {
        if self.crashed { SETTLE } else { READY }
    }
}

/// All voters of the live member list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Voters(pub Vec<Voter>);

/// The right to take a member down. Only this module grants it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Permit(Grounds);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Grounds {
    /// The others are enough.
    Spare,
    /// It does not serve anyway.
    Down,
    /// There is only this one.
    Alone,
    /// It has no vote.
    NoVoter,
}

/// Why a member must not go down now.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Hindrance {
    /// Too few would be left.
    #[error("{healthy} of {voters} voters serve, and {needed} must go on serving without it")]
    WouldLoseQuorum {
        /// Who serves now.
        healthy: usize,
        /// All voters.
        voters: usize,
        /// How many are needed.
        needed: usize,
    },
    /// Somebody else does not serve.
    #[error("member {0} does not serve yet")]
    AnotherIsDown(MemberId),
    /// Those who answer are no quorum, and yet there is one: this member votes, and nobody knows how well it is.
    #[error("it may be the one that votes with the {votes} who answer, and {needed} must")]
    StillVotes {
        /// Who answers, besides this one.
        votes: usize,
        /// How many are needed.
        needed: usize,
    },
    /// Its data is in memory, and too few others have it.
    #[error("its data is in memory (spec.storage.medium) and would be lost with its pod; {0}")]
    LosesData(Remedy),
    /// Somebody has just come back.
    #[error("member {last} has just come back; it must be ready for {}", seconds(*calm))]
    TooSoonAfter {
        /// Who.
        last: MemberId,
        /// How long it must have been ready.
        calm: Duration,
        /// How long to wait.
        wait: Duration,
    },
}

/// What helps where data would be lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Remedy {
    /// There never are enough others.
    #[error("set spec.size to 3 or more first")]
    Grow,
    /// There will be.
    #[error("too few others have it now")]
    Wait,
}

impl Voters {
    /// How many serve.
    pub fn serving(&self) -> usize {
        self.0.iter().filter(|voter| voter.serves).count()
    }

    /// Whether enough serve for anything to be written.
    pub fn has_quorum(&self) -> bool {
        self.serving() >= quorum(self.0.len())
    }

    /// Whether one more could be lost.
    pub fn can_lose_one(&self) -> bool {
        self.serving() > quorum(self.0.len())
    }

    /// Somebody who answers for less than `settle`, and how long to wait for that one.
    pub fn unsettled(&self, settle: Duration, now: Timestamp) -> Option<(MemberId, Duration)> {
        let wait = |voter: &Voter| Some((voter.id, left(voter.since?, settle, now)?));
        self.0.iter().filter_map(wait).max_by_key(|(_, wait)| *wait)
    }

    /// How long until so many have answered for `settle`; nothing if they have.
    pub fn settled_in(&self, enough: usize, settle: Duration, now: Timestamp) -> Option<Duration> {
        let wait = |voter: &Voter| voter.since.and_then(|since| left(since, settle, now)).unwrap_or_default();
        let mut waits: Vec<Duration> = self.0.iter().filter(|voter| voter.serves).map(wait).collect();
        waits.sort_unstable();
        waits.into_iter().take(enough).next_back().filter(|wait| !wait.is_zero())
    }

    /// The voter that clients may not have found again yet, and how long to wait for it.
    fn just_back(&self, now: Timestamp) -> Option<(&Voter, Duration)> {
        let wait = |voter: &Voter| left(voter.back_since(), voter.calm(), now);
        self.0.iter().filter_map(|voter| Some((voter, wait(voter)?))).max_by_key(|(_, wait)| *wait)
    }
}

/// What is left of `time` from `then` on.
fn left(then: Timestamp, time: Duration, now: Timestamp) -> Option<Duration> {
    let for_so_long = Duration::try_from(now.duration_since(then)).unwrap_or_default();
    time.checked_sub(for_so_long).filter(|left| !left.is_zero())
}

/// May `member` go down now, to come back with the same data?
///
/// Whoever does not serve may: nothing is lost by it, unless it is the vote without which the others could not serve. A cluster of one may, as there is no other way to change it. Everybody else
/// only when all others serve, have done so for a while, and are enough.
pub fn may_go_down(member: MemberId, voters: &Voters, now: Timestamp) -> Result<Permit, Hindrance> {
    let Some(it) = voters.0.iter().find(|voter| voter.id == member) else {
        return Ok(Permit(Grounds::NoVoter));
    };
    if it.down {
        let votes = voters.0.iter().filter(|voter| voter.votes && voter.id != member).count();
        let needed = quorum(voters.0.len());
        // The list was read from a quorum: if those who answer are fewer than one, somebody else votes.
        return match it.runs && votes > 0 && votes < needed {
            true => Err(Hindrance::StillVotes { votes, needed }),
            false => Ok(Permit(Grounds::Down)),
        };
    }
    if voters.0.len() == 1 {
        return Ok(Permit(Grounds::Alone));
    }
    if let Some(other) = voters.0.iter().find(|voter| voter.id != member && !voter.serves) {
        return Err(Hindrance::AnotherIsDown(other.id));
    }
    let needed = quorum(voters.0.len());
    let healthy = voters.serving();
    if healthy <= needed {
        return Err(Hindrance::WouldLoseQuorum { healthy, voters: voters.0.len(), needed });
    }
    match voters.just_back(now) {
        Some((last, wait)) => Err(Hindrance::TooSoonAfter { last: last.id, calm: last.calm(), wait }),
        None => Ok(Permit(Grounds::Spare)),
    }
}

/// May `member` lose its data? Enough others must have it.
pub fn may_forget(member: MemberId, voters: &Voters) -> Result<(), Hindrance> {
    let others = voters.0.iter().filter(|voter| voter.id != member);
    let enough = others.filter(|voter| voter.votes).count() >= quorum(voters.0.len());
    match voters.0.len() {
        _ if enough => Ok(()),
        0..3 => Err(Hindrance::LosesData(Remedy::Grow)),
        _ => Err(Hindrance::LosesData(Remedy::Wait)),
    }
}

/// The right to restart somebody who is certain not to serve.
pub(crate) fn down_already(health: &Health) -> Option<Permit> {
    matches!(health, Health::Down(_) | Health::CatchingUp(_)).then_some(Permit(Grounds::Down))
}

/// May `member` leave for good? Enough of the others must serve for what remains, and now. While the alarm CORRUPT is raised, no pod is
/// ready; then it is enough that they answer linearizable reads: they commit the removal.
pub fn may_leave(member: MemberId, voters: &Voters) -> Result<(), Hindrance> {
    let Some(it) = voters.0.iter().find(|voter| voter.id == member) else { return Ok(()) };
    let others = voters.0.len() - 1;
    let answers = |voter: &Voter| voter.serves || voter.alarmed;
    let answering = voters.0.iter().filter(|voter| answers(voter)).count();
    let healthy = answering - usize::from(answers(it));
    let needed = quorum(others);
    if others == 0 || healthy < needed || answering < quorum(voters.0.len()) {
        return Err(Hindrance::WouldLoseQuorum { healthy: answering, voters: voters.0.len(), needed });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> Timestamp {
        "2026-11-16T03:00:00Z".parse().unwrap()
    }

    fn ago(seconds: i64) -> Timestamp {
        now() - jiff::SignedDuration::from_secs(seconds)
    }

    /// One letter per voter: `u`p, `d`own though its process runs, `x` without one, `?` up for others but not for us, `n`ew (connected since a second), `r`eady since a second,
    /// `c`rashed and ready since 3 s, `a` answers though its pod is not ready because of CORRUPT.
    fn voters(letters: &str) -> Voters {
        let voter = |(at, letter): (usize, char)| Voter {
            id: MemberId(at as u64 + 1),
            serves: matches!(letter, 'u' | 'n' | 'r' | 'c'),
            votes: matches!(letter, 'u' | 'n' | 'r' | 'c' | 'a'),
            alarmed: letter == 'a',
            runs: letter != 'x',
            down: matches!(letter, 'd' | 'x'),
            since: match letter {
                'n' => Some(ago(1)),
                'r' => Some(ago(60)),
                _ => None,
            },
            ready_since: match letter {
                'r' => ago(1),
                'c' => ago(3),
                _ => ago(60),
            },
            crashed: letter == 'c',
        };
        Voters(letters.chars().enumerate().map(voter).collect())
    }

    #[test]
    fn one_may_go_down_when_all_others_serve_and_are_enough() {
        let cases = [
            ("uuu", Ok("Spare")),
            ("duu", Ok("Down")),
            ("ddd", Ok("Down")),
            ("ddu", Err("it may be the one that votes with the 1 who answer, and 2 must")),
            ("dxu", Err("it may be the one that votes with the 1 who answer, and 2 must")),
            ("xdu", Ok("Down")),
            ("dduuu", Ok("Down")),
            ("ddduu", Err("it may be the one that votes with the 2 who answer, and 3 must")),
            ("u", Ok("Alone")),
            ("uud", Err("member 3 does not serve yet")),
            ("uu?", Err("member 3 does not serve yet")),
            ("uuuuu", Ok("Spare")),
            ("uuuud", Err("member 5 does not serve yet")),
            ("uu", Err("2 of 2 voters serve, and 2 must go on serving without it")),
            ("uun", Err("member 3 has just come back; it must be ready for 2 s")),
            ("uur", Err("member 3 has just come back; it must be ready for 2 s")),
            ("ruu", Err("member 1 has just come back; it must be ready for 2 s")),
            ("uuc", Err("member 3 has just come back; it must be ready for 5 s")),
            ("urc", Err("member 3 has just come back; it must be ready for 5 s")),
        ];
        for (letters, expected) in cases {
            let answer = may_go_down(MemberId(1), &voters(letters), now());
            let told =
                answer.map(|Permit(grounds)| format!("{grounds:?}")).map_err(|error| error.to_string());
            assert_eq!(told.as_deref().map_err(String::as_str), expected, "{letters}");
        }
    }

    #[test]
    fn whoever_has_just_come_is_waited_for_only_where_those_who_were_there_are_too_few() {
        let second = Duration::from_secs(1);
        let cases = [
            ("u", 1, None),
            ("un", 2, Some(4 * second)),
            ("uun", 3, Some(4 * second)),
            ("uuun", 3, None),
            ("uu?n", 3, Some(4 * second)),
            ("uuunn", 4, Some(4 * second)),
            ("uuuunn", 4, None),
        ];
        for (letters, enough, wait) in cases {
            assert_eq!(voters(letters).settled_in(enough, SETTLE, now()), wait, "{letters}");
        }
    }

    #[test]
    fn a_learner_may_always_go_down() {
        assert_eq!(may_go_down(MemberId(9), &voters("udd"), now()), Ok(Permit(Grounds::NoVoter)));
    }

    #[test]
    fn one_may_leave_when_those_who_remain_are_a_quorum() {
        let cases = [
            ("uuu", true),
            ("duu", true),
            ("uud", false),
            ("uu", true),
            ("du", false),
            ("u", false),
            ("uuudd", false),
            ("dduuu", true),
            ("uudddd", false),
            ("aaa", true),
            ("daa", true),
            ("uaa", true),
            ("aad", false),
            ("aa?", false),
            ("aa", true),
            ("a", false),
            ("aaaad", true),
            ("aaadd", false),
        ];
        for (letters, may) in cases {
            assert_eq!(may_leave(MemberId(1), &voters(letters)).is_ok(), may, "{letters}");
        }
    }
}
