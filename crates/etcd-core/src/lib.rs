//! What to do next for an etcd cluster. Pure: no client, no clock, no randomness.
//!
//! ```text
//! Picture ──> validate ──> case ──> rules, first that applies ──> Plan
//! all that    the spec,    who is    decide.rs: the list           objects, at most
//! is known    made valid   who       found, join, leave,           one step, status,
//!                          and how   repair, roll …                conditions, wake
//! ```
//!
//! | file | what it knows |
//! |---|---|
//! | `picture.rs`, `plan.rs` | what goes in and what comes out, as plain data |
//! | `version.rs`, `flags.rs` | etcd's versions and flags, as tables |
//! | `validate.rs` | what can be carried out; what is refused, by field |
//! | `decide.rs`, `rule.rs` | the rules in their order; what a rule says, and how that becomes an operation on record |
//! | `objects.rs` | what must be there, whatever is being done |
//! | `case.rs`, `cause.rs` | who is a member, who serves; why somebody does not, and what helps |
//! | `quorum.rs` | may this member go down, may that one leave? |
//! | `corrupt.rs` | whose data differs from that of the majority, and when the alarm CORRUPT is disarmed |
//! | `data.rs` | which version's data a member may have, seen or not |
//! | `identity.rs`, `found.rs`, `join.rs`, `leave.rs` | `new` or `existing`; the ways in and out |
//! | `restore.rs`, `record.rs` | data from a backup: into a new cluster, or in place; how far that is |
//! | `repair.rs`, `roll.rs`, `hand_over.rs` | restart and replace; other settings, other versions, and back; another leader, on request |
//! | `beforehand.rs`, `finish.rs` | the backup before another version; when an operation is over |
//! | `volumes.rs`, `adopt.rs`, `clean_up.rs` | which claims grow, what of `spec.storage` is refused; which are taken back, which are deleted |
//! | `report.rs`, `phase.rs`, `conditions.rs`, `news.rs` | what people read |
//! | `names.rs`, `ids.rs`, `template.rs` | what things are called; what a member's pod is made from |
//!
//! Invariants, each held by a property in `properties.rs`: quorum is never broken voluntarily; at most one learner; `new` is
//! rendered only while no cluster ID is known anywhere; no claim is deleted without consent; no membership step without a live
//! member list of the latched cluster; a reverted spec is always acted on.

mod adopt;
mod beforehand;
mod case;
mod cause;
mod clean_up;
pub mod conditions;
mod corrupt;
mod data;
mod decide;
mod finish;
pub mod flags;
mod found;
mod hand_over;
mod identity;
mod ids;
mod join;
mod leave;
mod names;
mod news;
mod objects;
mod phase;
mod picture;
mod plan;
pub mod quorum;
mod record;
mod repair;
mod report;
mod restore;
mod roll;
mod rule;
mod template;
pub mod text;
pub mod validate;
pub mod version;
mod volumes;

pub use cause::DATABASE_BLOCKED;
pub use conditions::{Condition, Truth, Why};
pub use corrupt::data_may_differ;
pub use decide::decide;
pub use hand_over::MOVE_LEADER;
pub use identity::{known_id, remembered};
pub use ids::{ClusterId, MemberId, NoId, Serial};
pub use names::{CLIENT_PORT, METRICS_PORT, Names, PEER_PORT};
pub use picture::{
    Alarm, AlarmKind, Certificates, Claim, ClaimPhase, ClaimState, Cluster, DataHash, Endpoint, Etcd, Exit,
    Latch, Listed, Member, Node, NodeState, Picture, Pod, Recovery, StatefulSet, Unreachable, UpgradeBackup,
    Waiting, Work, WorkState, Works,
};
pub use plan::{
    ClaimWish, DowngradeAction, Event, MemberWish, Objects, Plan, Refusal, ReplayWish, SeedWish, Step, Task,
};
pub use quorum::Permit;
pub use record::{BOOTSTRAP, Before, Record, Stage};
pub use restore::readable;
pub use template::{Start, Template};
pub use validate::Wanted;
pub use version::{Minor, Version};

#[cfg(test)]
mod model;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod released;
#[cfg(test)]
mod stories;
