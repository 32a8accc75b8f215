//! What a case has: a namespace and an API group of its own, the collections in them, and patience.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use http::Method;
use kube::Client;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::{
    Compact, Failure, Options,
    json::Json,
    resource::{JSON, MERGE_PATCH, Reply, Resource, reply, request},
    watch::Watch,
};

/// How often something awaited is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The surroundings of one case. Nothing in it is shared with another case.
#[derive(Clone)]
pub struct World {
    client: Client,
    namespace: String,
    patience: Duration,
    compact: Option<Compact>,
    left: Arc<Mutex<Left>>,
}

/// What the clean-up removes: URLs.
#[derive(Default)]
struct Left {
    objects: Vec<String>,
    held: Vec<String>,
}

impl World {
    pub(crate) async fn create(client: Client, options: &Options) -> Result<Self, Failure> {
        let mut world = Self {
            client,
            namespace: String::new(),
            patience: options.patience,
            compact: options.compact.clone(),
            left: Arc::default(),
        };
        world.namespace = world.another_namespace().await?;
        Ok(world)
    }

    /// The name of the case's namespace. The server made it, so it is unique on it: other names derive from it.
    pub(crate) fn namespace(&self) -> &str {
        &self.namespace
    }

    /// An API group that no other case uses.
    pub(crate) fn group(&self) -> String {
        format!("{}.capstan.dev", self.namespace)
    }

    /// A name for a cluster-scoped object or a user.
    pub(crate) fn unique(&self, what: &str) -> String {
        format!("{}-{what}", self.namespace)
    }

    pub(crate) async fn another_namespace(&self) -> Result<String, Failure> {
        let namespaces = self.cluster("v1", "namespaces");
        let body =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"generateName": "contract-"}});
        let name = namespaces.create(&body).await?.ok()?.name().to_owned();
        self.remember(namespaces.url(Some(&name)));
        Ok(name)
    }

    /// A collection in the case's namespace.
    pub(crate) fn resource(&self, api_version: &str, plural: &str) -> Resource {
        Resource::new(self.clone(), api_version, plural, Some(self.namespace.clone()))
    }

    /// A cluster-scoped collection.
    pub(crate) fn cluster(&self, api_version: &str, plural: &str) -> Resource {
        Resource::new(self.clone(), api_version, plural, None)
    }

    pub(crate) fn config_maps(&self) -> Resource {
        self.resource("v1", "configmaps")
    }

    pub(crate) fn secrets(&self) -> Resource {
        self.resource("v1", "secrets")
    }

    pub(crate) fn services(&self) -> Resource {
        self.resource("v1", "services")
    }

    pub(crate) fn deployments(&self) -> Resource {
        self.resource("apps/v1", "deployments")
    }

    pub(crate) fn stateful_sets(&self) -> Resource {
        self.resource("apps/v1", "statefulsets")
    }

    pub(crate) fn namespaces(&self) -> Resource {
        self.cluster("v1", "namespaces")
    }

    pub(crate) fn crds(&self) -> Resource {
        self.cluster("apiextensions.k8s.io/v1", "customresourcedefinitions")
    }

    /// Pods, with a service account that they may use: a real cluster makes the default one only some time
    /// after the namespace.
    pub(crate) async fn pods(&self) -> Result<Resource, Failure> {
        let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "pods"}});
        self.resource("v1", "serviceaccounts").create(&account).await?.ok()?;
        Ok(self.resource("v1", "pods"))
    }

    /// Creates a cluster-scoped object that goes away with the case.
    pub(crate) async fn create_cluster(
        &self,
        api_version: &str,
        plural: &str,
        object: &Value,
    ) -> Result<Value, Failure> {
        let resource = self.cluster(api_version, plural);
        self.remember(resource.url(Some(object.name())));
        resource.create(object).await?.ok()
    }

    /// Any GET, for documents that are no objects.
    pub(crate) async fn get(&self, url: &str) -> Result<Reply, Failure> {
        self.send(Method::GET, url, &[], None).await
    }

    pub(crate) async fn get_with(
        &self,
        url: &str,
        headers: &[(&'static str, String)],
    ) -> Result<Reply, Failure> {
        self.send(Method::GET, url, headers, None).await
    }

    pub(crate) async fn send(
        &self,
        method: Method,
        url: &str,
        headers: &[(&'static str, String)],
        body: Option<(&str, String)>,
    ) -> Result<Reply, Failure> {
        let asked = format!("{method} {url}");
        reply(asked, self.client.send(request(method, url, headers, body)?).await?).await
    }

    pub(crate) async fn watch(
        &self,
        url: &str,
        headers: &[(&'static str, String)],
    ) -> Result<Result<Watch, Reply>, Failure> {
        let mut headers = headers.to_vec();
        // Some servers compress a watch event by event, which the client cannot read.
        headers.push(("accept-encoding", "identity".to_owned()));
        let response = self.client.send(request(Method::GET, url, &headers, None)?).await?;
        if response.status().is_success() {
            return Ok(Ok(Watch::new(response.into_body(), self.patience)));
        }
        Ok(Err(reply(format!("GET {url}"), response).await?))
    }

    /// Looks until the probe finds something; a failure when patience ends.
    pub(crate) async fn eventually<T>(
        &self,
        what: &str,
        probe: impl AsyncFn() -> Result<Option<T>, Failure>,
    ) -> Result<T, Failure> {
        self.within(self.patience, what, probe).await
    }

    pub(crate) async fn within<T>(
        &self,
        patience: Duration,
        what: &str,
        probe: impl AsyncFn() -> Result<Option<T>, Failure>,
    ) -> Result<T, Failure> {
        let end = Instant::now() + patience;
        loop {
            if let Some(found) = probe().await? {
                return Ok(found);
            }
            if Instant::now() >= end {
                return Err(Failure::new(format!("not within {patience:?}: {what}")));
            }
            sleep(LOOK_EVERY).await;
        }
    }

    /// Makes the server forget all but its newest revision.
    pub(crate) async fn compact(&self) -> Result<(), Failure> {
        let Some(compact) = &self.compact else {
            return Err(Failure::new("this server cannot be compacted"));
        };
        compact().await;
        Ok(())
    }

    /// Something to delete when the case is over.
    pub(crate) fn remember(&self, url: String) {
        self.left.lock().unwrap_or_else(PoisonError::into_inner).objects.push(url);
    }

    pub(crate) fn remember_held(&self, url: String) {
        self.left.lock().unwrap_or_else(PoisonError::into_inner).held.push(url);
    }

    /// Best effort: what a case leaves must not fail it, and most of it is gone already.
    pub(crate) async fn clean_up(&self) {
        let Left { objects, held } =
            std::mem::take(&mut *self.left.lock().unwrap_or_else(PoisonError::into_inner));
        let free = json!({"metadata": {"finalizers": null}}).to_string();
        for url in held {
            let _freed = self.send(Method::PATCH, &url, &[], Some((MERGE_PATCH, free.clone()))).await;
        }
        let background = json!({"propagationPolicy": "Background"}).to_string();
        for url in objects.into_iter().rev() {
            let _deleted = self.send(Method::DELETE, &url, &[], Some((JSON, background.clone()))).await;
        }
    }
}
