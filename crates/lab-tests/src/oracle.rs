//! Checks of what clients of an etcd cluster were told. All of them are pure: a scenario records answers with their times, and the
//! checks decide whether the answers can all be true. Their unit tests play bad histories and need no lab.
//!
//! ```text
//! answers ──┬─> identity:     one cluster ID; it changes only by a restore that the scenario announced
//!           ├─> writes:       puts and gets are linearizable, no acknowledged write is lost
//!           ├─> counter:      compare-and-swap: no update is lost, none is applied twice
//!           ├─> leases:       a leased key stays while the lease is renewed, and goes when it is not
//!           ├─> events:       a watch delivers every event once, in the order of revisions
//!           └─> availability: the status does not claim health while no request is answered
//! ```

pub mod availability;
pub mod counter;
pub mod events;
pub mod identity;
pub mod leases;
pub mod writes;

/// The header of an answer: which cluster gave it, at which revision of its data, in which term of its leader.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stamp {
    pub cluster: u64,
    pub revision: i64,
    pub term: u64,
}
