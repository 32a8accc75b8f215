//! What is watched: a kind of the API, and the row that the informer keeps of each of its objects.

use std::{any::TypeId, borrow::Cow, fmt};

use kube::{
    Resource,
    core::{NamespaceResourceScope, ResourceExt as _},
};
use serde::de::DeserializeOwned;

use crate::{Key, slim};

/// A kind, with what it takes to build its URLs.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KindId {
    /// API group; empty for core.
    pub group: Cow<'static, str>,
    /// API version, for example `v1`.
    pub version: Cow<'static, str>,
    /// For example `StatefulSet`.
    pub kind: Cow<'static, str>,
    /// For example `statefulsets`.
    pub plural: Cow<'static, str>,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
}

impl KindId {
    /// The kind of a kube type.
    pub fn of<K: Resource<DynamicType = ()>>() -> Self
    where
        K::Scope: 'static,
    {
        Self {
            group: K::group(&()),
            version: K::version(&()),
            kind: K::kind(&()),
            plural: K::plural(&()),
            namespaced: TypeId::of::<K::Scope>() == TypeId::of::<NamespaceResourceScope>(),
        }
    }

    /// `v1` or `apps/v1`.
    pub fn api_version(&self) -> String {
        match &*self.group {
            "" => self.version.to_string(),
            group => format!("{group}/{}", self.version),
        }
    }

    /// The path of the collection, in one namespace or (with `""`) in all.
    pub fn path(&self, namespace: &str) -> String {
        let root = match &*self.group {
            "" => format!("/api/{}", self.version),
            group => format!("/apis/{group}/{}", self.version),
        };
        match namespace {
            "" => format!("{root}/{}", self.plural),
            namespace => format!("{root}/namespaces/{namespace}/{}", self.plural),
        }
    }
}

impl fmt::Display for KindId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.kind)
    }
}

/// How much of each object the server is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Projection {
    /// The whole object.
    Whole,
    /// Only its metadata (`PartialObjectMetadata`).
    Metadata,
}

/// What an informer keeps of an object. Every kube type is a row of itself, less its managedFields; a type of your own
/// can be much smaller, and 100,000 small rows are the difference between 80 MB and 5 GB.
pub trait Row: Sized + Send + Sync + 'static {
    /// What to ask the server for.
    const PROJECTION: Projection = Projection::Whole;

    /// The kind that is watched.
    fn kind() -> KindId;

    /// Reads a row from an object's JSON.
    fn decode(json: &[u8]) -> Result<Self, serde_json::Error>;

    /// The object's key.
    fn key(&self) -> Key;

    /// The object's UID.
    fn uid(&self) -> &str;

    /// The object's resourceVersion; `0` when the server's is no number.
    fn resource_version(&self) -> u64;

    /// Counts the changes of the object's spec; `0` when the row does not keep it.
    fn generation(&self) -> i64;

    /// The object's label, if it is set and kept.
    fn label(&self, name: &str) -> Option<&str>;

    /// The UID, kind and name of the object's controlling owner, if it has one and the row keeps it.
    fn controller(&self) -> Option<Owner<'_>>;
}

/// The owner that controls an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Owner<'a> {
    /// The owner's UID.
    pub uid: &'a str,
    /// The owner's kind.
    pub kind: &'a str,
    /// The owner's name.
    pub name: &'a str,
}

impl<K> Row for K
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Send + Sync + 'static,
    K::Scope: 'static,
{
    fn kind() -> KindId {
        KindId::of::<K>()
    }

    fn decode(json: &[u8]) -> Result<Self, serde_json::Error> {
        // Lists that grew while they were parsed have room to spare, their copies have none: a fifth of a pod.
        let grown: Self = slim::without_managed_fields(json)?;
        Ok(Self::clone(&grown))
    }

    fn key(&self) -> Key {
        Key::of(self)
    }

    fn uid(&self) -> &str {
        self.meta().uid.as_deref().unwrap_or_default()
    }

    fn resource_version(&self) -> u64 {
        self.meta().resource_version.as_deref().and_then(|v| v.parse().ok()).unwrap_or_default()
    }

    fn generation(&self) -> i64 {
        self.meta().generation.unwrap_or_default()
    }

    fn label(&self, name: &str) -> Option<&str> {
        self.labels().get(name).map(String::as_str)
    }

    fn controller(&self) -> Option<Owner<'_>> {
        let owner = self.owner_references().iter().find(|o| o.controller == Some(true))?;
        Some(Owner { uid: &owner.uid, kind: &owner.kind, name: &owner.name })
    }
}
