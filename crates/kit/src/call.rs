//! One call to the server about one object: the verbs of [`Context`] go through here, so that every failure names the object
//! and every write is remembered.

use kube::{Resource, core::request};
use serde::Deserialize;

use crate::{Context, Error, Key, KindId, Result, context::Made};

/// The object that a call is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) kind: KindId,
    pub(crate) key: Key,
}

impl Target {
    /// The target `object`, if its name is complete.
    pub(crate) fn of<K: Resource<DynamicType = ()>>(object: &K) -> Result<Self>
    where
        K::Scope: 'static,
    {
        let target = Self { kind: KindId::of::<K>(), key: Key::of(object) };
        let Self { kind, key } = &target;
        if object.meta().name.as_deref().unwrap_or_default().is_empty() {
            return Err(Error::Invalid(format!("a {kind} without a name cannot be written")));
        }
        match (kind.namespaced, key.namespace()) {
            (true, "") => Err(Error::Invalid(format!("{kind} {key} has no namespace: it cannot be written"))),
            (false, namespace) if !namespace.is_empty() => Err(Error::Invalid(format!(
                "{kind} {key} is cluster-scoped and cannot be in namespace {namespace}"
            ))),
            _ => Ok(target),
        }
    }

    pub(crate) fn request(&self) -> kube::core::Request {
        kube::core::Request::new(self.kind.path(self.key.namespace()))
    }

    pub(crate) fn failed(&self, verb: &'static str, source: kube::Error) -> Error {
        Error::api(verb, self.kind.clone(), self.key.clone(), source)
    }

    /// The cache is behind what the server has.
    pub(crate) fn stale(self) -> Error {
        Error::Stale { kind: Box::new(self.kind), key: self.key }
    }
}

/// What the answers to writes say: the object as it is now, or, of a delete that was final, a `Status` with the object's UID.
#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    metadata: Metadata,
    #[serde(default)]
    details: Details,
}

#[derive(Default, Deserialize)]
struct Details {
    uid: Option<String>,
}

impl Answer {
    fn made(self) -> Option<Made> {
        let version = self.metadata.resource_version.and_then(|version| version.parse().ok());
        version.map(Made::Version).or(self.details.uid.map(Made::Removed))
    }
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    resource_version: Option<String>,
}

/// A request as kube builds it.
pub(crate) type Built = std::result::Result<http::Request<Vec<u8>>, request::Error>;

impl Context {
    /// Reads `target` from the server; `None` when it is not there.
    pub(crate) async fn read(&self, target: &Target) -> Result<Option<String>> {
        let request = target.request().get(target.key.name(), &Default::default());
        match self.call("get", target, request).await {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.code() == Some(404) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Sends a write, and remembers what it led to, so that the next reconcile waits until the caches have seen it.
    pub(crate) async fn write(&self, verb: &'static str, target: &Target, request: Built) -> Result<String> {
        let text = self.call(verb, target, request).await?;
        let answer = serde_json::from_str::<Answer>(&text).ok();
        if let Some(made) = answer.and_then(Answer::made) {
            self.writes.record(target.kind.clone(), target.key.clone(), made);
        }
        Ok(text)
    }

    /// The resourceVersion that a decision about `object` was made on: that of the cache, or of our own last write, which the
    /// decision knows of. A write that carries it fails with a conflict when somebody else was faster, and also when the object
    /// was deleted and made again.
    pub(crate) fn based_on<K: Resource>(&self, object: &K, target: &Target) -> Option<String> {
        let own = self.writes.latest(&target.kind, &target.key).map(|version| version.to_string());
        own.or_else(|| object.meta().resource_version.clone())
    }

    async fn call(&self, verb: &'static str, target: &Target, request: Built) -> Result<String> {
        let request = request.map_err(|error| target.failed(verb, kube::Error::BuildRequest(error)))?;
        self.client.request_text(request).await.map_err(|error| target.failed(verb, error))
    }
}
