//! Apply: make an object what it is meant to be, and send nothing when it is so already.
//!
//! Invariants: one field manager owns what is applied, by force; an object that somebody else controls is never touched; an
//! object that is as its intent wants it costs no request, not even right after the operator was started.

mod differ;
mod intent;
mod lists;
mod memory;
mod own;
mod prune;
pub mod quantity;

use std::{borrow::Cow, hash::Hasher as _};

use kube::{
    Resource,
    api::{Patch, PatchParams},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

pub use differ::Difference;
pub(crate) use intent::prune_nulls;
pub(crate) use memory::Applied;
pub use own::{Labels, own, owned};
pub use prune::{Precious, Pruned};

use crate::{Context, Error, KindId, Result, Row, call::Target, fingerprint::Fingerprint};
use intent::Intent;
use memory::Accepted;

/// The annotation that holds the fingerprint of what was applied last. By it a field is noticed that is no longer asked for.
pub const APPLIED: &str = "capstan.dev/applied";

/// What [`Context::apply`] would do.
#[derive(Debug, Clone, PartialEq)]
pub enum Diff {
    /// Nothing: the object is as it should be.
    Nothing,
    /// Make a new object.
    Create,
    /// Change these fields. A difference in the annotation [`APPLIED`] alone means that fields are no longer asked for.
    Update(Vec<Difference>),
}

/// Compares, without any I/O. What Secrets hold is not shown.
pub fn diff<K>(desired: &K, live: Option<&K>) -> Result<Diff>
where
    K: Resource<DynamicType = ()> + Serialize,
    K::Scope: 'static,
{
    let Some(live) = live else { return Ok(Diff::Create) };
    let kind = KindId::of::<K>();
    let intent = Intent::of(&kind, desired).map_err(Error::other)?;
    let mut differences = compare(&intent, live)?;
    if kind.group.is_empty() && kind.kind == "Secret" {
        differences.iter_mut().filter(|difference| difference.path.starts_with("data")).for_each(redact);
    }
    Ok(if differences.is_empty() { Diff::Nothing } else { Diff::Update(differences) })
}

impl Context {
    /// Makes the object `desired`, by server-side apply. `live` is what the cache has; without it the server is asked.
    /// Returns the server's answer, or `None` when nothing differed and nothing was sent.
    ///
    /// Only fields that `desired` sets are touched; fields that it set before and no longer sets are removed.
    pub async fn apply<K>(&self, desired: &K, live: Option<&K>) -> Result<Option<K>>
    where
        K: Resource<DynamicType = ()> + Clone + Serialize + DeserializeOwned + Send + Sync + 'static,
        K::Scope: 'static,
    {
        match live {
            Some(live) => self.send(desired, Some((live, Sure::OfTheObject))).await,
            None => {
                let live = self.look(desired).await?;
                self.send(desired, live.as_ref().map(|live| (live, Sure::OfTheObject))).await
            }
        }
    }

    /// The same, if the server still has the object exactly as the cache has it, or as this reconcile itself wrote it; else it fails with
    /// [`Error::Stale`], and nothing was written. For what must not go back to what it was because a cache is behind.
    pub async fn apply_exactly<K>(&self, desired: &K, live: &K) -> Result<Option<K>>
    where
        K: Resource<DynamicType = ()> + Clone + Serialize + DeserializeOwned + Send + Sync + 'static,
        K::Scope: 'static,
    {
        self.send(desired, Some((live, Sure::OfItsContent))).await
    }

    /// The same for an object that should not be there yet. If it is, it is left alone, and `found` says what that means.
    pub async fn apply_new<K>(&self, desired: &K, found: impl FnOnce(&K) -> Error) -> Result<Option<K>>
    where
        K: Resource<DynamicType = ()> + Clone + Serialize + DeserializeOwned + Send + Sync + 'static,
        K::Scope: 'static,
    {
        match self.look(desired).await? {
            Some(live) => Err(found(&live)),
            None => self.send(desired, None).await,
        }
    }

    /// What the server has in its place.
    async fn look<K>(&self, desired: &K) -> Result<Option<K>>
    where
        K: Resource<DynamicType = ()> + Clone + Serialize + DeserializeOwned + Send + Sync + 'static,
        K::Scope: 'static,
    {
        let target = Target::of(desired)?;
        self.read(&target).await?.map(|text| decode::<K>("get", &target, &text)).transpose()
    }

    async fn send<K>(&self, desired: &K, live: Option<(&K, Sure)>) -> Result<Option<K>>
    where
        K: Resource<DynamicType = ()> + Clone + Serialize + DeserializeOwned + Send + Sync + 'static,
        K::Scope: 'static,
    {
        let target = Target::of(desired)?;
        let intent = Intent::of(&target.kind, desired).map_err(Error::other)?;
        if let Some((live, _)) = live {
            own::refuse_foreign(desired, live)?;
            let differences = self.news(&intent, live)?;
            if differences.is_empty() {
                return Ok(None);
            }
            tracing::debug!(kind = %target.kind, key = %target.key, fields = %paths(&differences), "apply");
        }
        let params = PatchParams::apply(&self.field_manager).force();
        let body = match live {
            None => Cow::Borrowed(&intent.body),
            Some((live, Sure::OfTheObject)) => Cow::Owned(only_if(&intent.body, live, None)),
            Some((live, Sure::OfItsContent)) => {
                Cow::Owned(only_if(&intent.body, live, self.based_on(live, &target)))
            }
        };
        let request = target.request().patch(target.key.name(), &params, &Patch::Apply(&body));
        let text = match self.write("apply", &target, request).await {
            Err(error) if live.is_some() && error.code() == Some(409) => return Err(target.stale()),
            answered => answered?,
        };
        let answer = decode::<K>("apply", &target, &text)?;
        let left = compare(&intent, &answer)?;
        if left.is_empty() {
            self.applied.forget(answer.uid());
        } else {
            self.applied.remember(answer.uid(), accepted(&intent, &left));
        }
        Ok(Some(answer))
    }

    /// Whether [`apply`](Self::apply) would send anything about this object.
    pub(crate) fn would_change<K: Row + Serialize>(&self, desired: &K, live: &K) -> Result<bool> {
        let intent = Intent::of(&K::kind(), desired).map_err(Error::other)?;
        Ok(!self.news(&intent, live)?.is_empty())
    }

    /// What differs, unless the server is known to keep it so.
    fn news<K: Row + Serialize>(&self, intent: &Intent, live: &K) -> Result<Vec<Difference>> {
        let differences = compare(intent, live)?;
        let is_known = || self.applied.knows(live.uid(), accepted(intent, &differences));
        Ok(if !differences.is_empty() && is_known() { Vec::new() } else { differences })
    }
}

/// Of what a write must be sure.
#[derive(Debug, Clone, Copy)]
enum Sure {
    /// It is the same object as in the cache.
    OfTheObject,
    /// And nobody has changed it since.
    OfItsContent,
}

/// The intent for this very object, at this version: the server answers 409 when it is gone or has changed. Without the UID, an apply that
/// meant to change an object creates it again when the cache has not yet seen it go.
fn only_if<K: Row>(body: &Value, live: &K, version: Option<String>) -> Value {
    let mut body = body.clone();
    if let Some(metadata) = body.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.insert("uid".to_owned(), live.uid().into());
        metadata.extend(version.map(|version| ("resourceVersion".to_owned(), version.into())));
    }
    body
}

fn compare(intent: &Intent, live: &impl Serialize) -> Result<Vec<Difference>> {
    let live = serde_json::to_value(live).map_err(Error::other)?;
    Ok(differ::differences(&intent.body, &live))
}

fn decode<K: Row>(verb: &'static str, target: &Target, text: &str) -> Result<K> {
    K::decode(text.as_bytes()).map_err(|error| target.failed(verb, kube::Error::SerdeError(error)))
}

fn accepted(intent: &Intent, differences: &[Difference]) -> Accepted {
    let mut fingerprint = Fingerprint::new();
    for Difference { path, live, desired } in differences {
        fingerprint.write(path.as_bytes());
        fingerprint.json(live.as_ref().unwrap_or(&Value::Null));
        fingerprint.json(desired);
    }
    Accepted { intent: intent.fingerprint, differences: fingerprint.finish() }
}

fn paths(differences: &[Difference]) -> String {
    let paths: Vec<&str> = differences.iter().map(|difference| difference.path.as_str()).collect();
    paths.join(", ")
}

fn redact(difference: &mut Difference) {
    let hidden = || Value::from("(hidden)");
    difference.live = difference.live.as_ref().map(|_| hidden());
    difference.desired = hidden();
}

#[cfg(test)]
mod tests;
