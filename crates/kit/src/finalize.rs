//! Finalizers: an object stays until its operator has cleaned up after it.
//!
//! Every change carries the resourceVersion that the decision was made on, and fails with [`Error::Stale`](crate::Error::Stale)
//! otherwise: a finalizer of somebody else is never lost.

use kube::{
    Resource,
    api::{Patch, PatchParams},
};
use serde_json::json;

use crate::{Context, Result, call::Target};

impl Context {
    /// Sees to it that `main` carries the finalizer `name`. Returns whether it was written. An object that is being deleted
    /// gets no finalizer any more: the server would refuse it.
    pub async fn ensure_finalizer<K>(&self, main: &K, name: &str) -> Result<bool>
    where
        K: Resource<DynamicType = ()>,
        K::Scope: 'static,
    {
        let mut finalizers = main.meta().finalizers.clone().unwrap_or_default();
        if main.meta().deletion_timestamp.is_some() || finalizers.iter().any(|known| known == name) {
            return Ok(false);
        }
        finalizers.push(name.to_owned());
        self.set_finalizers("add a finalizer to", main, &finalizers).await
    }

    /// Takes the finalizer `name` off `main`: the operator is done with it. Returns whether it was written.
    pub async fn remove_finalizer<K>(&self, main: &K, name: &str) -> Result<bool>
    where
        K: Resource<DynamicType = ()>,
        K::Scope: 'static,
    {
        let mut finalizers = main.meta().finalizers.clone().unwrap_or_default();
        let before = finalizers.len();
        finalizers.retain(|known| known != name);
        if finalizers.len() == before {
            return Ok(false);
        }
        self.set_finalizers("remove a finalizer from", main, &finalizers).await
    }

    async fn set_finalizers<K>(&self, verb: &'static str, main: &K, finalizers: &[String]) -> Result<bool>
    where
        K: Resource<DynamicType = ()>,
        K::Scope: 'static,
    {
        let target = Target::of(main)?;
        let version = self.based_on(main, &target);
        let patch = json!({ "metadata": { "resourceVersion": version, "finalizers": finalizers } });
        let manager = Some(self.field_manager.to_string());
        let params = PatchParams { field_manager: manager, ..PatchParams::default() };
        let request = target.request().patch(target.key.name(), &params, &Patch::Merge(&patch));
        match self.write(verb, &target, request).await {
            Ok(_) => Ok(true),
            Err(error) if error.code() == Some(404) => Ok(false),
            Err(error) if error.code() == Some(409) => Err(target.stale()),
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests;
