//! The difference between two JSON values, as a JSON patch (RFC 6902).

use serde_json::{Value, json};

/// The operations that make `after` of `before`. Lists are replaced whole.
pub(super) fn difference(before: &Value, after: &Value) -> Vec<Value> {
    let mut operations = Vec::new();
    walk("", before, after, &mut operations);
    operations
}

fn walk(path: &str, before: &Value, after: &Value, operations: &mut Vec<Value>) {
    let (Value::Object(old), Value::Object(new)) = (before, after) else {
        if before != after {
            operations.push(json!({ "op": "replace", "path": path, "value": after }));
        }
        return;
    };
    for name in old.keys().filter(|name| !new.contains_key(*name)) {
        operations.push(json!({ "op": "remove", "path": child(path, name) }));
    }
    for (name, value) in new {
        match old.get(name) {
            Some(old) => walk(&child(path, name), old, value, operations),
            None => operations.push(json!({ "op": "add", "path": child(path, name), "value": value })),
        }
    }
}

/// RFC 6901: `~` and `/` in a name are escaped.
fn child(path: &str, name: &str) -> String {
    format!("{path}/{}", name.replace('~', "~0").replace('/', "~1"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_told_at_the_deepest_place() {
        let before = json!({ "a": 1, "b": { "c": [1], "d": 2 }, "gone": 0, "same": [1, 2] });
        let after = json!({ "a": 2, "b": { "c": [1, 2], "d": 2 }, "x/y~z": {}, "same": [1, 2] });
        let expected = [
            json!({ "op": "remove", "path": "/gone" }),
            json!({ "op": "replace", "path": "/a", "value": 2 }),
            json!({ "op": "replace", "path": "/b/c", "value": [1, 2] }),
            json!({ "op": "add", "path": "/x~1y~0z", "value": {} }),
        ];
        assert_eq!(difference(&before, &after), expected);
        assert!(difference(&before, &before).is_empty());
    }
}
