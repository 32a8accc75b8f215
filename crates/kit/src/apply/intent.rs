//! The intent: what an operator wants an object to be, as the server gets it.

use std::hash::Hasher as _;

use k8s_openapi::ByteString;
use serde::Serialize;
use serde_json::{Map, Value};

use super::APPLIED;
use crate::{KindId, fingerprint::Fingerprint};

/// What belongs to the server: an intent never asks for it, not even when it was built from an object that was read.
const SERVERS_METADATA: &[&str] = &[
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
    "selfLink",
    "uid",
];

/// What is asked for, with its fingerprint in an annotation: an object that carries another fingerprint may have fields
/// that are no longer asked for.
#[derive(Debug)]
pub(super) struct Intent {
    pub(super) body: Value,
    pub(super) fingerprint: u64,
}

impl Intent {
    pub(super) fn of(kind: &KindId, desired: &impl Serialize) -> serde_json::Result<Self> {
        let mut body = serde_json::to_value(desired)?;
        prune_nulls(&mut body);
        let mut body = into_map(Some(body));
        body.remove("status");
        body.insert("apiVersion".into(), kind.api_version().into());
        body.insert("kind".into(), kind.kind.as_ref().into());
        if kind.group.is_empty() && kind.kind == "Secret" {
            encode_string_data(&mut body)?;
        }
        let mut metadata = into_map(body.remove("metadata"));
        metadata.retain(|name, _| !SERVERS_METADATA.contains(&name.as_str()));
        let mut annotations = into_map(metadata.remove("annotations"));
        annotations.remove(APPLIED);

        let mut fingerprint = Fingerprint::new();
        for part in [&body, &metadata, &annotations] {
            fingerprint.json_map(part);
        }
        let fingerprint = fingerprint.finish();

        annotations.insert(APPLIED.into(), format!("{fingerprint:016x}").into());
        metadata.insert("annotations".into(), annotations.into());
        body.insert("metadata".into(), metadata.into());
        Ok(Self { body: body.into(), fingerprint })
    }
}

/// `stringData` can be written but never read: the server keeps it as `data`, so that is what is asked for.
fn encode_string_data(secret: &mut Map<String, Value>) -> serde_json::Result<()> {
    let plain = into_map(secret.remove("stringData"));
    if plain.is_empty() {
        return Ok(());
    }
    let mut data = into_map(secret.remove("data"));
    for (name, value) in plain {
        let bytes = ByteString(value.as_str().unwrap_or_default().as_bytes().to_vec());
        data.insert(name, serde_json::to_value(bytes)?);
    }
    secret.insert("data".into(), data.into());
    Ok(())
}

/// A field that is null is not asked for. (In a list a null is an element, and stays.)
pub(crate) fn prune_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, field| !field.is_null());
            fields.values_mut().for_each(prune_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(prune_nulls),
        _ => {}
    }
}

fn into_map(value: Option<Value>) -> Map<String, Value> {
    match value {
        Some(Value::Object(fields)) => fields,
        _ => Map::new(),
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::{ConfigMap, Secret};
    use serde_json::json;

    use super::*;

    fn config_map(extra: Value) -> Value {
        let mut object =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "1"}});
        json_patch_merge(&mut object, extra);
        object
    }

    fn json_patch_merge(into: &mut Value, from: Value) {
        match (into, from) {
            (Value::Object(into), Value::Object(from)) => {
                for (name, value) in from {
                    json_patch_merge(into.entry(name).or_insert(Value::Null), value);
                }
            }
            (into, from) => *into = from,
        }
    }

    fn fingerprint(object: &Value) -> u64 {
        Intent::of(&KindId::of::<ConfigMap>(), object).unwrap().fingerprint
    }

    #[test]
    fn what_the_server_filled_in_does_not_change_the_intent() {
        let plain = fingerprint(&config_map(json!({})));
        for same in [
            json!({"metadata": {"uid": "u", "resourceVersion": "7", "generation": 3, "managedFields": [{}]}}),
            json!({"metadata": {"annotations": {APPLIED: "0123456789abcdef"}}}),
            json!({"metadata": {"creationTimestamp": null, "labels": null}, "status": {"a": 1}}),
        ] {
            assert_eq!(fingerprint(&config_map(same.clone())), plain, "{same}");
        }
        for other in [
            json!({"data": {"a": "2"}}),
            json!({"data": {"b": ""}}),
            json!({"metadata": {"labels": {"a": "b"}}}),
        ] {
            assert_ne!(fingerprint(&config_map(other.clone())), plain, "{other}");
        }
    }

    #[test]
    fn a_secret_is_asked_for_as_the_server_will_show_it() {
        let secret = Secret {
            string_data: Some([("password".to_owned(), "s3cret".to_owned())].into()),
            data: Some([("user".to_owned(), ByteString(b"me".to_vec()))].into()),
            ..Secret::default()
        };
        let intent = Intent::of(&KindId::of::<Secret>(), &secret).unwrap();
        assert_eq!(intent.body["data"], json!({"password": "czNjcmV0", "user": "bWU="}));
        assert_eq!(intent.body.get("stringData"), None);
    }
}
