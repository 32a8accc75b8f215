//! Reads an object's metadata from its JSON; everything else is skipped without being stored.

use std::borrow::Cow;

use serde::{
    Deserialize,
    de::{Deserializer, IgnoredAny, MapAccess, Visitor},
};

use super::{
    Meta, Uid,
    intern::{INTERNED, Interner},
};
use crate::Key;

impl Meta {
    /// The metadata of the object in `json`, whatever its kind.
    pub fn decode(json: &[u8]) -> Result<Self, serde_json::Error> {
        let Head { metadata } = serde_json::from_slice(json)?;
        Ok(metadata.interned(&INTERNED))
    }
}

#[derive(Deserialize)]
struct Head<'a> {
    #[serde(borrow)]
    metadata: Wire<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Wire<'a> {
    #[serde(borrow)]
    name: Text<'a>,
    namespace: Option<Text<'a>>,
    uid: Option<Text<'a>>,
    resource_version: Option<Text<'a>>,
    generation: Option<i64>,
    deletion_timestamp: Option<IgnoredAny>,
    #[serde(borrow)]
    labels: Option<Labels<'a>>,
    owner_references: Option<Vec<Reference<'a>>>,
}

#[derive(Deserialize)]
struct Reference<'a> {
    #[serde(borrow)]
    uid: Text<'a>,
    kind: Text<'a>,
    name: Text<'a>,
    controller: Option<bool>,
}

/// A string that borrows from the input. serde does that for a plain `Cow` field only, not for one in an `Option`.
#[derive(Deserialize, PartialEq, Eq, PartialOrd, Ord)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

impl Wire<'_> {
    fn interned(self, strings: &Interner) -> Meta {
        let Self {
            name,
            namespace,
            uid,
            resource_version,
            generation,
            deletion_timestamp,
            labels,
            owner_references,
        } = self;
        let namespace = strings.intern(namespace.as_ref().map_or("", |text| &text.0));
        let mut buffer = String::new();
        for (label, value) in labels.map(|Labels(labels)| labels).unwrap_or_default() {
            buffer.extend([&label.0, "\0", &value.0, "\0"]);
        }
        let labels = strings.intern(&buffer);
        buffer.clear();
        let controller = |owner: &Reference<'_>| owner.controller == Some(true);
        if let Some(owner) = owner_references.unwrap_or_default().into_iter().find(controller) {
            buffer.extend([&owner.uid.0, "\0", &owner.kind.0, "\0", &owner.name.0]);
        }
        Meta {
            key: Key::new(namespace, &*name.0),
            uid: Uid::new(uid.as_ref().map_or("", |text| &text.0)),
            resource_version: resource_version.and_then(|text| text.0.parse().ok()).unwrap_or_default(),
            generation: generation.unwrap_or_default(),
            labels,
            owner: strings.intern(&buffer),
            deleting: deletion_timestamp.is_some(),
        }
    }
}

/// Labels in the order of their names.
struct Labels<'a>(Vec<(Text<'a>, Text<'a>)>);

impl<'de: 'a, 'a> Deserialize<'de> for Labels<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;

        impl<'de> Visitor<'de> for Collect {
            type Value = Labels<'de>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("labels")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut labels = Vec::with_capacity(map.size_hint().unwrap_or(8));
                while let Some(entry) = map.next_entry()? {
                    labels.push(entry);
                }
                labels.sort_unstable();
                Ok(Labels(labels))
            }
        }

        deserializer.deserialize_map(Collect)
    }
}
