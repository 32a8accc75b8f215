//! The objects of a cluster, one file each. Pure: from what is wanted to the object that should be there.

mod account;
mod arguments;
mod claim;
mod identity;
mod pdb;
mod pod;
mod policy;
mod secret;
mod service;
mod stateful_set;
#[cfg(test)]
mod tests;

pub(crate) use account::account;
pub(crate) use claim::claim;
pub(crate) use identity::{identity, latch};
pub(crate) use pdb::budget;
pub(crate) use policy::network_policy;
pub(crate) use secret::secret;
pub(crate) use service::{client_service, peer_service};
pub(crate) use stateful_set::{stateful_set, template_of};

use etcd_types::EtcdCluster;
use kit::own;
use kube::Resource;

/// Makes `cluster` the owner, so that Kubernetes removes the object with it, whether this operator runs or not.
pub(crate) fn owned<K: Resource<DynamicType = ()>>(mut object: K, cluster: &EtcdCluster) -> K
where
    K::Scope: 'static,
{
    // It cannot fail: both are in the same namespace, and the owner comes from the server.
    own(&mut object, cluster).ok();
    object
}
