//! The objects of an ExampleApp, one file each. Pure: from the picture to the object that should be there.

mod account;
mod claim;
mod deployment;
mod job;
mod pod;
mod schedule;
mod secret;
mod service;

pub(crate) use account::account;
pub(crate) use claim::claim;
pub(crate) use deployment::{deployment, selector};
pub(crate) use job::job;
pub(crate) use schedule::schedule;
pub(crate) use secret::secret;
pub(crate) use service::{service, url};

use kit::own;
use kube::Resource;

use crate::ExampleApp;

/// Where the application listens.
pub(crate) const PORT: i32 = 8080;

/// Makes `app` the owner, so that Kubernetes removes the object with it, whether this operator runs or not.
fn owned<K: Resource<DynamicType = ()>>(mut object: K, app: &ExampleApp) -> K
where
    K::Scope: 'static,
{
    // It cannot fail: both are in the same namespace, and the owner comes from the server.
    own(&mut object, app).ok();
    object
}
