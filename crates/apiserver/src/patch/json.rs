//! JSON patch, RFC 6902: all operations, or none.

use json_patch::Patch;
use serde::Deserialize;
use serde_json::Value;

use super::does_not_fit;
use crate::ApiError;

/// kube-apiserver's maxJSONPatchOperations.
const MOST_OPERATIONS: usize = 10_000;

pub(super) fn patch(document: &Value, body: &Value) -> Result<Value, ApiError> {
    let Some(operations) = body.as_array().filter(|operations| operations.iter().all(Value::is_object))
    else {
        return Err(ApiError::bad_request("error decoding patch: a JSON patch is a list of operations"));
    };
    if operations.len() > MOST_OPERATIONS {
        let count = operations.len();
        let message =
            format!("The allowed maximum operations in a JSON patch is {MOST_OPERATIONS}, got {count}");
        return Err(ApiError::new(413, "RequestEntityTooLarge", message));
    }
    let operations = Patch::deserialize(body).map_err(|_| does_not_fit())?;
    let mut patched = document.clone();
    json_patch::patch(&mut patched, &operations).map_err(|_| does_not_fit())?;
    Ok(patched)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn code(document: &Value, body: &Value) -> Result<Value, u16> {
        patch(document, body).map_err(|error| error.code)
    }

    #[test]
    fn operations_are_applied_in_order() {
        let body = json!([
            {"op": "test", "path": "/a", "value": 1},
            {"op": "replace", "path": "/a", "value": 2},
            {"op": "add", "path": "/list/-", "value": "z"},
            {"op": "add", "path": "/list/0", "value": "a"},
            {"op": "remove", "path": "/gone"},
            {"op": "copy", "from": "/a", "path": "/b~1c"},
            {"op": "move", "from": "/list/1", "path": "/moved"},
        ]);
        assert_eq!(
            code(&json!({"a": 1, "list": ["y"], "gone": true}), &body),
            Ok(json!({"a": 2, "list": ["a", "z"], "b/c": 2, "moved": "y"}))
        );
    }

    #[test]
    fn a_patch_that_does_not_fit_is_unprocessable_and_a_patch_that_is_none_is_bad() {
        let cases = [
            (json!([{"op": "test", "path": "/a", "value": 2}]), 422),
            (json!([{"op": "remove", "path": "/missing"}]), 422),
            (json!([{"op": "replace", "path": "/missing", "value": 1}]), 422),
            (json!([{"op": "add", "path": "/missing/below", "value": 1}]), 422),
            (json!([{"op": "add", "path": "/list/7", "value": 1}]), 422),
            (json!([{"op": "unknown", "path": "/a"}]), 422),
            (json!([{"op": "add", "path": "/a"}]), 422),
            (json!({"a": 2}), 400),
            (json!([1]), 400),
            (Value::Array(vec![json!({"op": "test", "path": "/a", "value": 1}); 10_001]), 413),
        ];
        for (body, expected) in cases {
            let told = body.to_string().chars().take(80).collect::<String>();
            assert_eq!(code(&json!({"a": 1, "list": []}), &body), Err(expected), "{told}");
        }
    }

    #[test]
    fn the_refusal_is_kubernetes_own() {
        let error = patch(&json!({}), &json!([{"op": "remove", "path": "/a"}])).unwrap_err();
        assert_eq!((error.code, error.reason), (422, "Invalid"));
        assert_eq!(error.message, "the server rejected our request due to an error in our request");
    }
}
