//! The objects of a cluster, one file each. Pure: from what is wanted to the object that should be there.

mod account;
mod arguments;
mod claim;
mod identity;
mod pdb;
mod pod;
mod policy;
mod secret;
mod seed;
mod service;
mod stateful_set;
#[cfg(test)]
mod tests;
mod upgrade_backup;

pub(crate) use account::account;
pub(crate) use claim::claim;
pub(crate) use identity::{identity, latch};
pub(crate) use pdb::budget;
pub(crate) use policy::network_policy;
pub(crate) use secret::secret;
pub(crate) use seed::{REPLAY, SETTLE, replay, seed};
pub(crate) use service::{Access, client_service, peer_service};
pub(crate) use stateful_set::{record_trust, stateful_set, template_of};
pub(crate) use upgrade_backup::upgrade_backup;

/// The cluster is the owner, so that Kubernetes removes the object with it, whether this operator runs or not.
pub(crate) use kit::owned;
