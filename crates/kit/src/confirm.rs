//! Confirm: is the object still what the cache says? A question for the server, before a step that cannot be taken back.
//!
//! A cache can be old without knowing it, when the API server behind it is (kubernetes#59848). Server-side apply of an old wish
//! mends itself with the next event; what was deleted, or created beside what exists, does not.

use kube::Resource;
use serde::Deserialize;

use crate::{Context, Result, call::Target};

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
    /// Fails with [`Error::Stale`](crate::Error::Stale) unless the server has `main` exactly as the cache has it. It is a quorum read: call it before
    /// what must not be done on an old picture, not in every reconcile.
    pub async fn confirm<K: Resource<DynamicType = ()>>(&self, main: &K) -> Result<()>
    where
        K::Scope: 'static,
    {
        let target = Target::of(main)?;
        let live = self.read(&target).await?;
        let live = live.and_then(|text| serde_json::from_str::<Version>(&text).ok());
        let same = live.is_some_and(|live| {
            live.metadata.uid == main.meta().uid && live.metadata.resource_version == main.meta().resource_version
        });
        if same { Ok(()) } else { Err(target.stale()) }
    }
}
