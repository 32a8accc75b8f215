//! Confirm: is the object still what the cache says? A question for the server, before a step that cannot be taken back.
//!
//! A cache can be old without knowing it, when the API server behind it is (kubernetes#59848). Server-side apply of an old wish
//! mends itself with the next event; what was deleted, or created beside what exists, does not.

use std::fmt::Debug;

use k8s_openapi::NamespaceResourceScope;
use kube::{Api, Resource, api::ListParams};
use serde::{Deserialize, de::DeserializeOwned};

use crate::{Context, Error, Key, KindId, Result, call::Target};

/// Of the answer, what identifies a state of an object.
#[derive(Deserialize)]
struct Version {
    metadata: Metadata,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    uid: Option<String>,
    resource_version: Option<String>,
}

impl Context {
    /// Fails with [`Error::Stale`](crate::Error::Stale) unless the server has `main` exactly as the cache has it, or as this
    /// reconcile itself has written it. It is a quorum read: call it before what must not be done on an old picture, not in every
    /// reconcile.
    pub async fn confirm<K: Resource<DynamicType = ()>>(&self, main: &K) -> Result<()>
    where
        K::Scope: 'static,
    {
        let target = Target::of(main)?;
        let live = self.read(&target).await?;
        let live = live.and_then(|text| serde_json::from_str::<Version>(&text).ok());
        let same = live.is_some_and(|live| {
            live.metadata.uid == main.meta().uid
                && live.metadata.resource_version == self.based_on(main, &target)
        });
        if same { Ok(()) } else { Err(target.stale()) }
    }

    /// Fails with [`Error::Stale`] when the server has an object, among those in `namespace` that `labels` select, of which `is_one`
    /// is true: the cache did not know it, and will soon. For what must be alone, such as a Job on a volume.
    pub async fn confirm_none<K>(
        &self,
        namespace: &str,
        labels: &str,
        is_one: impl Fn(&K) -> bool,
    ) -> Result<()>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + DeserializeOwned,
    {
        let (kind, all) = (KindId::of::<K>(), Key::new(namespace, labels));
        let objects: Api<K> = Api::namespaced(self.client(), namespace);
        let found = objects.list(&ListParams::default().labels(labels)).await;
        let found = found.map_err(|error| Error::api("list", kind.clone(), all, error))?;
        match found.iter().find(|object| is_one(object)) {
            Some(object) => Err(Error::Stale { kind: Box::new(kind), key: Key::of(object) }),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use apiserver::Server;
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::{
        ResourceExt as _,
        api::{DeleteParams, Patch, PatchParams},
    };
    use serde_json::json;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_this_reconcile_wrote_is_known_and_what_others_wrote_is_not() {
        let server = Server::new();
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}});
        server.install(object.clone()).unwrap();
        let (cx, _recorder) = Context::for_tests(server.client());
        let api: Api<ConfigMap> = Api::namespaced(server.client(), "default");
        let seen = api.get("a").await.unwrap();
        cx.confirm(&seen).await.unwrap();
        cx.ensure_finalizer(&seen, "kit.test/f").await.unwrap();
        cx.confirm(&seen).await.unwrap();
        cx.remove_finalizer(&api.get("a").await.unwrap(), "kit.test/f").await.unwrap();

        let is_stale = |answer: Result<()>| assert!(matches!(answer, Err(Error::Stale { .. })), "{answer:?}");
        let seen = api.get("a").await.unwrap();
        api.patch("a", &PatchParams::default(), &Patch::Merge(json!({"data": {"by": "others"}})))
            .await
            .unwrap();
        is_stale(cx.confirm(&seen).await);
        let seen = api.get("a").await.unwrap();
        api.delete("a", &DeleteParams::default()).await.unwrap();
        is_stale(cx.confirm(&seen).await);
        server.install(object).unwrap();
        is_stale(cx.confirm(&seen).await);
        is_stale(cx.confirm_none::<ConfigMap>("default", "", |_| true).await);
        cx.confirm_none::<ConfigMap>("default", "", |other| other.name_any() != "a").await.unwrap();
        cx.confirm_none::<ConfigMap>("default", "app=b", |_| true).await.unwrap();
    }
}
