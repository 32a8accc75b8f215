//! Small rows: an object's metadata, with every string that rows have in common kept once.
//!
//! A cached `Pod` costs 50 KB, a `Slim<Pod>` about 0.4 KB (measured in `make bench`). Keep whole objects of your own kinds only,
//! and watch everything else as slim rows; a reconcile reads the few whole objects that it needs.

mod decode;
mod intern;
mod without;

use std::{fmt, marker::PhantomData, ops::Deref, sync::Arc};

use kube::Resource;

use crate::{Key, KindId, Owner, Projection, Row};

pub(crate) use without::without_managed_fields;

/// The metadata of an object, small: no annotations, no managedFields, one owner.
#[derive(Clone, PartialEq, Eq)]
pub struct Meta {
    key: Key,
    uid: Uid,
    resource_version: u64,
    generation: i64,
    /// `name NUL value NUL` for each label, ordered by name: pods of one ReplicaSet share one such string.
    labels: Arc<str>,
    /// `uid NUL kind NUL name` of the controlling owner; empty when there is none.
    owner: Arc<str>,
    deleting: bool,
}

/// A row with the metadata of `K` and nothing else. Only metadata is asked of the server.
pub struct Slim<K> {
    meta: Meta,
    kind: PhantomData<fn() -> K>,
}

/// The text of a UID, without an allocation for what every API server hands out: a UUID.
#[derive(Clone, PartialEq, Eq)]
enum Uid {
    Uuid([u8; 36]),
    Other(Box<str>),
}

impl Uid {
    fn new(text: &str) -> Self {
        text.as_bytes().try_into().map_or_else(|_| Self::Other(text.into()), Self::Uuid)
    }

    fn as_str(&self) -> &str {
        match self {
            Self::Uuid(text) => str::from_utf8(text).unwrap_or_default(),
            Self::Other(text) => text,
        }
    }
}

impl Meta {
    /// The object's key.
    pub fn key(&self) -> &Key {
        &self.key
    }

    /// The object's UID.
    pub fn uid(&self) -> &str {
        self.uid.as_str()
    }

    /// The object's resourceVersion; `0` when the server's is no number.
    pub fn resource_version(&self) -> u64 {
        self.resource_version
    }

    /// How often the object's spec has changed; `0` for kinds that do not count.
    pub fn generation(&self) -> i64 {
        self.generation
    }

    /// Whether the object is being deleted: it has a deletionTimestamp, and waits for its finalizers.
    pub fn is_deleting(&self) -> bool {
        self.deleting
    }

    /// The labels, ordered by name.
    pub fn labels(&self) -> impl Iterator<Item = (&str, &str)> {
        let mut parts = self.labels.split_terminator('\0');
        std::iter::from_fn(move || Some((parts.next()?, parts.next()?)))
    }

    /// The value of the label `name`, if it is set.
    pub fn label(&self, name: &str) -> Option<&str> {
        self.labels().find_map(|(label, value)| (label == name).then_some(value))
    }

    /// The controlling owner, if there is one.
    pub fn controller(&self) -> Option<Owner<'_>> {
        let mut parts = self.owner.splitn(3, '\0').filter(|_| !self.owner.is_empty());
        Some(Owner { uid: parts.next()?, kind: parts.next()?, name: parts.next()? })
    }
}

impl fmt::Debug for Meta {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (uid {}, resourceVersion {})", self.key, self.uid(), self.resource_version)
    }
}

impl<K> Slim<K> {
    /// The metadata.
    pub fn meta(&self) -> &Meta {
        &self.meta
    }
}

impl<K> Deref for Slim<K> {
    type Target = Meta;

    fn deref(&self) -> &Meta {
        &self.meta
    }
}

impl<K> fmt::Debug for Slim<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.meta.fmt(f)
    }
}

impl<K> Row for Slim<K>
where
    K: Resource<DynamicType = ()> + 'static,
    K::Scope: 'static,
{
    const PROJECTION: Projection = Projection::Metadata;

    fn kind() -> KindId {
        KindId::of::<K>()
    }

    fn decode(json: &[u8]) -> Result<Self, serde_json::Error> {
        Ok(Self { meta: Meta::decode(json)?, kind: PhantomData })
    }

    fn key(&self) -> Key {
        self.meta.key.clone()
    }

    fn uid(&self) -> &str {
        self.meta.uid()
    }

    fn resource_version(&self) -> u64 {
        self.meta.resource_version
    }

    fn generation(&self) -> i64 {
        self.meta.generation
    }

    fn label(&self, name: &str) -> Option<&str> {
        self.meta.label(name)
    }

    fn controller(&self) -> Option<Owner<'_>> {
        self.meta.controller()
    }
}

#[cfg(test)]
mod tests;
