//! The Secrets and ConfigMaps that exist, as far as a generator may see them.

use std::collections::BTreeMap;

use base64::Engine;
use serde_json::Value;

/// Namespace, name, key, content.
type Objects = BTreeMap<String, BTreeMap<String, BTreeMap<String, Vec<u8>>>>;

/// The contents of Secrets and ConfigMaps. What is not in it does not exist.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Assets {
    secrets: Objects,
    config_maps: Objects,
}

/// A reference to something that is not there, or is not text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Missing {
    #[error("{kind} {namespace}/{name} does not exist; create it or correct the reference")]
    Object { kind: &'static str, namespace: String, name: String },
    #[error("{kind} {namespace}/{name} has no key {key:?}; add it or correct the reference")]
    Key { kind: &'static str, namespace: String, name: String, key: String },
    #[error("key {key:?} of {kind} {namespace}/{name} is not UTF-8 text")]
    NotText { kind: &'static str, namespace: String, name: String, key: String },
}

const SECRET: &str = "Secret";
const CONFIG_MAP: &str = "ConfigMap";

impl Assets {
    /// Stands for content that nobody has seen, such as that of a Secret which is in no file: no check of content refuses it.
    pub const UNSEEN: &[u8] = b"00000000-0000-0000-0000-000000000000";

    pub fn new() -> Self {
        Self::default()
    }

    /// Takes a key for there, in a Secret or in a ConfigMap, where no such object is known.
    pub fn assume(&mut self, namespace: &str, name: &str, key: &str) {
        for objects in [&mut self.secrets, &mut self.config_maps] {
            let object = objects.entry(namespace.to_owned()).or_default().entry(name.to_owned()).or_default();
            if object.values().all(|content| content == Self::UNSEEN) {
                object.insert(key.to_owned(), Self::UNSEEN.to_vec());
            }
        }
    }

    pub fn add_secret(
        &mut self,
        namespace: &str,
        name: &str,
        data: impl IntoIterator<Item = (String, Vec<u8>)>,
    ) {
        add(&mut self.secrets, namespace, name, data);
    }

    pub fn add_config_map(
        &mut self,
        namespace: &str,
        name: &str,
        data: impl IntoIterator<Item = (String, Vec<u8>)>,
    ) {
        add(&mut self.config_maps, namespace, name, data);
    }

    /// From Secrets and ConfigMaps in the form of the Kubernetes API (`data`, `stringData`, `binaryData`).
    pub fn from_objects(secrets: &[Value], config_maps: &[Value]) -> Self {
        let mut assets = Self::new();
        for object in secrets {
            let data = encoded(object, "data").chain(plain(object, "stringData"));
            assets.add_secret(meta(object, "namespace"), meta(object, "name"), data);
        }
        for object in config_maps {
            let data = plain(object, "data").chain(encoded(object, "binaryData"));
            assets.add_config_map(meta(object, "namespace"), meta(object, "name"), data);
        }
        assets
    }

    pub fn secret(&self, namespace: &str, name: &str, key: &str) -> Result<&[u8], Missing> {
        find(&self.secrets, SECRET, namespace, name, key)
    }

    pub fn config_map(&self, namespace: &str, name: &str, key: &str) -> Result<&[u8], Missing> {
        find(&self.config_maps, CONFIG_MAP, namespace, name, key)
    }

    /// The content of a Secret's key as text.
    pub fn secret_text(&self, namespace: &str, name: &str, key: &str) -> Result<&str, Missing> {
        text(self.secret(namespace, name, key)?, SECRET, namespace, name, key)
    }

    /// The content of a ConfigMap's key as text.
    pub fn config_map_text(&self, namespace: &str, name: &str, key: &str) -> Result<&str, Missing> {
        text(self.config_map(namespace, name, key)?, CONFIG_MAP, namespace, name, key)
    }

    /// All keys of a Secret.
    pub fn secret_data(&self, namespace: &str, name: &str) -> Option<&BTreeMap<String, Vec<u8>>> {
        self.secrets.get(namespace)?.get(name)
    }

    /// All keys of a ConfigMap.
    pub fn config_map_data(&self, namespace: &str, name: &str) -> Option<&BTreeMap<String, Vec<u8>>> {
        self.config_maps.get(namespace)?.get(name)
    }
}

fn add(
    objects: &mut Objects,
    namespace: &str,
    name: &str,
    data: impl IntoIterator<Item = (String, Vec<u8>)>,
) {
    objects.entry(namespace.to_owned()).or_default().entry(name.to_owned()).or_default().extend(data);
}

fn find<'a>(
    objects: &'a Objects,
    kind: &'static str,
    namespace: &str,
    name: &str,
    key: &str,
) -> Result<&'a [u8], Missing> {
    let object = objects.get(namespace).and_then(|names| names.get(name)).ok_or_else(|| Missing::Object {
        kind,
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    })?;
    object.get(key).map(Vec::as_slice).ok_or_else(|| Missing::Key {
        kind,
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        key: key.to_owned(),
    })
}

fn text<'a>(
    bytes: &'a [u8],
    kind: &'static str,
    namespace: &str,
    name: &str,
    key: &str,
) -> Result<&'a str, Missing> {
    std::str::from_utf8(bytes).map_err(|_| Missing::NotText {
        kind,
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        key: key.to_owned(),
    })
}

fn meta<'a>(object: &'a Value, field: &str) -> &'a str {
    object
        .get("metadata")
        .and_then(|metadata| metadata.get(field))
        .and_then(Value::as_str)
        .unwrap_or_default()
}

fn entries<'a>(object: &'a Value, field: &str) -> impl Iterator<Item = (&'a String, &'a str)> + use<'a> {
    let map = object.get(field).and_then(Value::as_object);
    map.into_iter().flatten().filter_map(|(key, value)| Some((key, value.as_str()?)))
}

fn plain<'a>(object: &'a Value, field: &str) -> impl Iterator<Item = (String, Vec<u8>)> + use<'a> {
    entries(object, field).map(|(key, value)| (key.clone(), value.as_bytes().to_vec()))
}

fn encoded<'a>(object: &'a Value, field: &str) -> impl Iterator<Item = (String, Vec<u8>)> + use<'a> {
    let engine = base64::engine::general_purpose::STANDARD;
    entries(object, field).filter_map(move |(key, value)| Some((key.clone(), engine.decode(value).ok()?)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_reference_to_nothing_is_named_in_full() {
        let assets = Assets::from_objects(
            &[json!({"metadata": {"namespace": "a", "name": "s"}, "data": {"k": "dmFs", "raw": "/w=="}})],
            &[json!({"metadata": {"namespace": "a", "name": "c"}, "data": {"k": "text"}})],
        );
        assert_eq!(assets.secret_text("a", "s", "k"), Ok("val"));
        assert_eq!(assets.config_map_text("a", "c", "k"), Ok("text"));
        let message = |result: Result<&str, Missing>| result.unwrap_err().to_string();
        assert_eq!(
            message(assets.secret_text("a", "s", "x")),
            r#"Secret a/s has no key "x"; add it or correct the reference"#
        );
        assert_eq!(
            message(assets.config_map_text("b", "c", "k")),
            "ConfigMap b/c does not exist; create it or correct the reference"
        );
        assert_eq!(
            message(assets.secret_text("a", "s", "raw")),
            r#"key "raw" of Secret a/s is not UTF-8 text"#
        );
    }

    #[test]
    fn only_objects_that_are_not_known_are_assumed() {
        let known = json!({"metadata": {"namespace": "a", "name": "s"}, "stringData": {"k": "v"}});
        let mut assets = Assets::from_objects(&[known], &[]);
        for (name, key) in [("s", "k"), ("s", "other"), ("t", "k"), ("t", "l")] {
            assets.assume("a", name, key);
        }
        assert_eq!(assets.secret("a", "s", "k"), Ok(&b"v"[..]));
        assert!(assets.secret("a", "s", "other").is_err());
        assert_eq!(assets.secret("a", "t", "l"), Ok(Assets::UNSEEN));
        assert_eq!(assets.config_map("a", "t", "k"), Ok(Assets::UNSEEN));
    }
}
