//! One object as the server sent it: a row, or the reason why it is none.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use super::blame;
use crate::{Key, Row, slim::Meta};

/// An object that is there and could not be decoded as what it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undecodable {
    /// Which object.
    pub meta: Meta,
    /// Which field is wrong, and what was expected there; not what it holds.
    pub error: String,
}

pub(super) enum Object<R> {
    Row(Arc<R>),
    Undecodable(Arc<Undecodable>),
}

impl<R: Row> Object<R> {
    /// Reads an object. It fails only when not even the metadata can be read, and so nobody knows which object it is.
    pub(super) fn decode(json: &[u8]) -> Result<Self, serde_json::Error> {
        // A row's decode is code of the application: one object that makes it panic must not end the watch of all others.
        let error = match catch_unwind(AssertUnwindSafe(|| R::decode(json))) {
            Ok(Ok(row)) => return Ok(Self::Row(Arc::new(row))),
            Ok(Err(error)) => blame::explain(json, &error),
            Err(_) => "decoding panicked".to_owned(),
        };
        Ok(Self::Undecodable(Arc::new(Undecodable { meta: Meta::decode(json)?, error })))
    }

    pub(super) fn row(&self) -> Option<&Arc<R>> {
        match self {
            Self::Row(row) => Some(row),
            Self::Undecodable(_) => None,
        }
    }

    pub(super) fn undecodable(&self) -> Option<&Arc<Undecodable>> {
        match self {
            Self::Row(_) => None,
            Self::Undecodable(why) => Some(why),
        }
    }

    pub(super) fn key(&self) -> Key {
        match self {
            Self::Row(row) => row.key(),
            Self::Undecodable(why) => why.meta.key().clone(),
        }
    }

    pub(super) fn resource_version(&self) -> u64 {
        match self {
            Self::Row(row) => row.resource_version(),
            Self::Undecodable(why) => why.meta.resource_version(),
        }
    }

    pub(super) fn uid(&self) -> &str {
        match self {
            Self::Row(row) => row.uid(),
            Self::Undecodable(why) => why.meta.uid(),
        }
    }

    /// Whether this is the same version of the same object. Versions that are no numbers cannot be told apart.
    pub(super) fn same_as(&self, other: &Self) -> bool {
        let number = self.resource_version();
        number != 0 && number == other.resource_version() && self.uid() == other.uid()
    }
}

impl<R> Clone for Object<R> {
    fn clone(&self) -> Self {
        match self {
            Self::Row(row) => Self::Row(row.clone()),
            Self::Undecodable(why) => Self::Undecodable(why.clone()),
        }
    }
}

/// A resourceVersion: what to send back to the server, and its place in time if it is a number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Version {
    pub(super) text: String,
    pub(super) number: Option<u64>,
}

impl Version {
    pub(super) fn new(text: impl Into<String>) -> Self {
        let text = text.into();
        let number = text.parse().ok();
        Self { text, number }
    }
}
