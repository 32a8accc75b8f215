//! JSON merge patch, RFC 7386: objects are merged, null removes, everything else replaces.

use serde_json::{Map, Value};

use crate::ApiError;

pub(super) fn patch(document: &Value, body: &Value) -> Result<Value, ApiError> {
    if !body.is_object() {
        return Err(ApiError::bad_request("error decoding patch: a merge patch is an object"));
    }
    Ok(merged(document, body))
}

fn merged(document: &Value, patch: &Value) -> Value {
    let Value::Object(patch) = patch else { return patch.clone() };
    let mut result: Map<String, Value> = document.as_object().cloned().unwrap_or_default();
    for (name, value) in patch {
        if value.is_null() {
            result.remove(name);
        } else {
            let value = merged(result.get(name).unwrap_or(&Value::Null), value);
            result.insert(name.clone(), value);
        }
    }
    Value::Object(result)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn the_examples_of_the_rfc_hold() {
        let cases = [
            (json!({"a": "b"}), json!({"a": "c"}), json!({"a": "c"})),
            (json!({"a": "b"}), json!({"b": "c"}), json!({"a": "b", "b": "c"})),
            (json!({"a": "b"}), json!({"a": null}), json!({})),
            (json!({"a": "b", "b": "c"}), json!({"a": null}), json!({"b": "c"})),
            (json!({"a": ["b"]}), json!({"a": "c"}), json!({"a": "c"})),
            (json!({"a": "c"}), json!({"a": ["b"]}), json!({"a": ["b"]})),
            (json!({"a": {"b": "c"}}), json!({"a": {"b": "d", "c": null}}), json!({"a": {"b": "d"}})),
            (json!({"a": [{"b": "c"}]}), json!({"a": [1]}), json!({"a": [1]})),
            (json!({"e": null}), json!({"a": 1}), json!({"e": null, "a": 1})),
            (json!({"a": 1}), json!({"a": {"bb": {"ccc": null}}}), json!({"a": {"bb": {}}})),
        ];
        for (document, body, expected) in cases {
            assert_eq!(patch(&document, &body).unwrap(), expected, "{document} {body}");
        }
        assert_eq!(patch(&json!({}), &json!(["a"])).unwrap_err().code, 400);
    }

    fn documents() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![(0..3i64).prop_map(|i| json!(i)), "[xy]".prop_map(|s| json!(s))];
        let value = leaf.prop_recursive(3, 16, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Value::Array),
                prop::collection::btree_map("[a-d]", inner, 0..4).prop_map(|map| map.into_iter().collect()),
            ]
        });
        prop::collection::btree_map("[a-d]", value, 0..4).prop_map(|map| map.into_iter().collect())
    }

    /// The patch that leads from `a` to `b`.
    fn difference(a: &Value, b: &Value) -> Value {
        let (Value::Object(a), Value::Object(b)) = (a, b) else { return b.clone() };
        let mut patch = Map::new();
        for name in a.keys().filter(|name| !b.contains_key(*name)) {
            patch.insert(name.clone(), Value::Null);
        }
        for (name, value) in b.iter().filter(|(name, value)| a.get(*name) != Some(value)) {
            let before = a.get(name).unwrap_or(&Value::Null);
            patch.insert(name.clone(), difference(before, value));
        }
        Value::Object(patch)
    }

    proptest! {
        #[test]
        fn the_difference_of_two_documents_leads_from_one_to_the_other(a in documents(), b in documents()) {
            prop_assert_eq!(patch(&a, &difference(&a, &b)).unwrap(), b);
        }

        #[test]
        fn a_patch_is_idempotent(a in documents(), b in documents()) {
            let once = patch(&a, &b).unwrap();
            prop_assert_eq!(patch(&once, &b).unwrap(), once);
        }
    }
}
