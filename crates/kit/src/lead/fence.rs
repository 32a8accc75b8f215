//! Until when this replica may write.
//!
//! Invariant: open for at most `renew_deadline` after the start of the last successful renewal, judged by whoever asks, at the
//! moment of asking. So a process that was frozen is refused at once when it wakes up, whichever of its tasks runs first.
//! Once closed, a fence stays closed: leadership ends with the process.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

use crate::Clock;

/// The right to write, which can lapse at any time. Cheap to clone; all clones are the same fence.
#[derive(Debug, Clone)]
pub struct Fence(Option<Arc<Shared>>);

/// Why a write was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotLeader {
    /// Another replica leads, or none does.
    #[error("this replica does not lead")]
    Standby,
    /// We led, and could not renew the lease in time.
    #[error("this replica no longer leads: its lease was last renewed {} s ago", .0.as_secs())]
    Lapsed(Duration),
}

#[derive(Debug)]
struct Shared {
    clock: Clock,
    renew_deadline: Duration,
    state: Mutex<State>,
}

#[derive(Debug, Clone, Copy)]
enum State {
    Standby,
    Leading(Term),
    Closed,
}

/// One leadership.
#[derive(Debug, Clone, Copy)]
struct Term {
    token: u64,
    renewed: Renewal,
}

/// When a renewal was started, on both of our clocks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Renewal {
    pub(super) at: Instant,
    pub(super) wall: Timestamp,
}

impl Fence {
    /// No election: always open.
    pub fn open() -> Self {
        Self(None)
    }

    /// Closed, until a first renewal opens it.
    pub(super) fn closed(clock: Clock, renew_deadline: Duration) -> Self {
        Self(Some(Arc::new(Shared { clock, renew_deadline, state: Mutex::new(State::Standby) })))
    }

    /// May this replica write, now?
    pub fn check(&self) -> Result<(), NotLeader> {
        let Some(shared) = &self.0 else { return Ok(()) };
        match shared.state() {
            State::Leading(term) => match shared.age(term.renewed) {
                age if age < shared.renew_deadline => Ok(()),
                age => Err(NotLeader::Lapsed(age)),
            },
            State::Standby | State::Closed => Err(NotLeader::Standby),
        }
    }

    /// Grows with every change of leader: what a write carries, so that a later leader's wins. 0 without an election.
    pub fn token(&self) -> u64 {
        match self.0.as_ref().map(|shared| shared.state()) {
            Some(State::Leading(term)) => term.token,
            _ => 0,
        }
    }

    /// When the fence closes if nothing is renewed; never, without an election.
    pub(crate) fn lapses_at(&self) -> Option<Instant> {
        let shared = self.0.as_ref()?;
        match shared.state() {
            State::Leading(term) => Some(term.renewed.at + shared.renew_deadline),
            State::Standby | State::Closed => None,
        }
    }

    /// A renewal that began at `renewed` succeeded. Returns whether the fence is open by that: not if the answer came too late.
    pub(super) fn renewed(&self, renewed: Renewal, token: u64) -> bool {
        let Some(shared) = &self.0 else { return true };
        let now = Instant::now();
        let alive = |renewal: Renewal| now < renewal.at + shared.renew_deadline;
        let mut state = shared.state.lock().unwrap_or_else(PoisonError::into_inner);
        *state = match *state {
            _ if !alive(renewed) => return false,
            State::Closed => return false,
            State::Leading(term) if !alive(term.renewed) => State::Closed,
            State::Standby | State::Leading(_) => State::Leading(Term { token, renewed }),
        };
        matches!(*state, State::Leading(_))
    }

    /// Closes for good.
    pub(super) fn close(&self) {
        if let Some(shared) = &self.0 {
            *shared.state.lock().unwrap_or_else(PoisonError::into_inner) = State::Closed;
        }
    }
}

impl Shared {
    fn state(&self) -> State {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// By the clock that says more. The monotonic clock stands still while a machine sleeps (CLOCK_MONOTONIC), our wall clock
    /// does not; and a wall clock that somebody sets forward costs no more than the writes until the next renewal.
    fn age(&self, renewed: Renewal) -> Duration {
        let wall = self.clock.now().duration_since(renewed.wall).max(SignedDuration::ZERO).unsigned_abs();
        renewed.at.elapsed().max(wall)
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    const DEADLINE: Duration = Duration::from_secs(10);

    fn renewal(clock: &Clock) -> Renewal {
        Renewal { at: Instant::now(), wall: clock.now() }
    }

    fn fence() -> (Fence, Clock) {
        let clock = Clock::starting_at(Timestamp::UNIX_EPOCH);
        (Fence::closed(clock, DEADLINE), clock)
    }

    #[tokio::test(start_paused = true)]
    async fn it_is_open_from_a_renewals_start_for_the_renew_deadline_and_not_a_moment_longer() {
        let (fence, clock) = fence();
        assert_eq!(fence.check(), Err(NotLeader::Standby));
        let began = renewal(&clock);
        advance(Duration::from_secs(3)).await;
        assert!(fence.renewed(began, 7));
        assert_eq!((fence.check(), fence.token()), (Ok(()), 7));
        advance(Duration::from_millis(6_999)).await;
        assert_eq!(fence.check(), Ok(()));
        advance(Duration::from_millis(1)).await;
        assert_eq!(fence.check(), Err(NotLeader::Lapsed(DEADLINE)));
    }

    #[tokio::test(start_paused = true)]
    async fn once_lapsed_it_never_opens_again() {
        let (fence, clock) = fence();
        assert!(fence.renewed(renewal(&clock), 1));
        advance(DEADLINE).await;
        assert!(!fence.renewed(renewal(&clock), 1));
        assert_eq!(fence.check(), Err(NotLeader::Standby));
        assert!(!fence.renewed(renewal(&clock), 2));
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_comes_too_late_opens_nothing_but_a_later_one_may() {
        let (fence, clock) = fence();
        let began = renewal(&clock);
        advance(DEADLINE).await;
        assert!(!fence.renewed(began, 1));
        assert_eq!(fence.check(), Err(NotLeader::Standby));
        assert!(fence.renewed(renewal(&clock), 1));
    }

    #[tokio::test(start_paused = true)]
    async fn a_machine_that_slept_while_its_monotonic_clock_stood_still_is_refused_until_it_renews() {
        let (fence, clock) = fence();
        let before_sleep = Renewal { at: Instant::now(), wall: clock.now() - DEADLINE };
        assert!(fence.renewed(before_sleep, 1));
        assert_eq!(fence.check(), Err(NotLeader::Lapsed(DEADLINE)));
        assert!(fence.renewed(renewal(&clock), 1));
        assert_eq!(fence.check(), Ok(()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_wall_clock_set_back_changes_nothing() {
        let (fence, clock) = fence();
        assert!(
            fence.renewed(Renewal { at: Instant::now(), wall: clock.now() + Duration::from_secs(21_600) }, 1)
        );
        assert_eq!(fence.check(), Ok(()));
        advance(DEADLINE).await;
        assert_eq!(fence.check(), Err(NotLeader::Lapsed(DEADLINE)));
    }

    #[test]
    fn without_an_election_it_is_always_open() {
        assert_eq!((Fence::open().check(), Fence::open().token()), (Ok(()), 0));
    }
}
