//! Delete: this very object, as the cache has it, or not at all.

use std::time::Duration;

use kube::api::{DeleteParams, Preconditions};

use crate::{Context, Result, Row, call::Target};

impl Context {
    /// Deletes the object that `doomed` was seen as: its UID and resourceVersion are preconditions. One that has changed since is
    /// [`Error::Stale`](crate::Error::Stale): decide again. Returns whether there was something to delete.
    pub async fn delete<R: Row>(&self, doomed: &R) -> Result<bool> {
        self.delete_with(doomed, DeleteParams::background()).await
    }

    /// The same for a pod, whose processes are killed after `grace` instead of the time that the pod itself names.
    pub async fn delete_within<R: Row>(&self, doomed: &R, grace: Duration) -> Result<bool> {
        let seconds = u32::try_from(grace.as_secs()).unwrap_or(u32::MAX);
        self.delete_with(doomed, DeleteParams::background().grace_period(seconds)).await
    }

    async fn delete_with<R: Row>(&self, doomed: &R, params: DeleteParams) -> Result<bool> {
        let target = Target { kind: R::kind(), key: doomed.key() };
        let preconditions = Preconditions {
            uid: Some(doomed.uid().to_owned()),
            resource_version: Some(doomed.resource_version()).filter(|v| *v != 0).map(|v| v.to_string()),
        };
        let params = params.preconditions(preconditions);
        let request = target.request().delete(target.key.name(), &params);
        match self.write("delete", &target, request).await {
            Ok(_) => {
                self.applied.forget(doomed.uid());
                Ok(true)
            }
            Err(error) if error.code() == Some(404) => Ok(false),
            Err(error) if error.code() == Some(409) => Err(target.stale()),
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use apiserver::Server;
    use k8s_openapi::api::core::v1::{ConfigMap, Pod};
    use kube::{
        Api,
        api::{Patch, PatchParams},
    };
    use serde_json::json;

    use super::*;
    use crate::Error;

    #[tokio::test(start_paused = true)]
    async fn a_pod_is_deleted_within_the_time_that_is_given() {
        let server = Server::new();
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "default"},
            "spec": {"nodeName": "n", "terminationGracePeriodSeconds": 30, "containers": [{"name": "a", "image": "a"}]}});
        server.install(pod).unwrap();
        let (cx, _recorder) = Context::for_tests(server.client());
        let api: Api<Pod> = Api::namespaced(server.client(), "default");
        assert!(cx.delete_within(&api.get("a").await.unwrap(), Duration::from_secs(2)).await.unwrap());
        let left = api.get("a").await.unwrap().metadata;
        assert_eq!(left.deletion_grace_period_seconds, Some(2));
    }

    #[tokio::test(start_paused = true)]
    async fn only_what_was_seen_is_deleted() {
        let server = Server::new();
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}});
        server.install(object.clone()).unwrap();
        let (cx, _recorder) = Context::for_tests(server.client());
        let api: Api<ConfigMap> = Api::namespaced(server.client(), "default");
        let seen = api.get("a").await.unwrap();
        let patch = Patch::Merge(json!({"data": {"by": "others"}}));
        api.patch("a", &PatchParams::default(), &patch).await.unwrap();
        assert!(matches!(cx.delete(&seen).await, Err(Error::Stale { .. })));
        let seen = api.get("a").await.unwrap();
        assert!(cx.delete(&seen).await.unwrap());
        assert!(!cx.delete(&seen).await.unwrap());
        server.install(object).unwrap();
        assert!(matches!(cx.delete(&seen).await, Err(Error::Stale { .. })), "another object of its name");
    }
}
