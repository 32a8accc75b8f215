//! Reading answers by JSON pointer, and assertions that say what was expected and what came.

use serde_json::Value;

/// Why a case failed, for people.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Failure(String);

impl Failure {
    pub fn new(why: impl Into<String>) -> Self {
        Self(why.into())
    }
}

impl From<kube::Error> for Failure {
    fn from(error: kube::Error) -> Self {
        Self(format!("the request did not get through: {error}"))
    }
}

impl From<http::Error> for Failure {
    fn from(error: http::Error) -> Self {
        Self(format!("not a request: {error}"))
    }
}

/// Reading JSON by pointers written without the leading slash: `metadata/labels/app`.
pub(crate) trait Json {
    /// The value there; `null` when there is none.
    fn at(&self, pointer: &str) -> &Value;
    fn has(&self, pointer: &str) -> bool;
    /// The string there; empty when there is none.
    fn text(&self, pointer: &str) -> &str;
    fn number(&self, pointer: &str) -> i64;
    fn list(&self, pointer: &str) -> &[Value];
    fn set(&mut self, pointer: &str, value: impl Into<Value>);
    fn remove(&mut self, pointer: &str);

    fn name(&self) -> &str {
        self.text("metadata/name")
    }
    fn uid(&self) -> &str {
        self.text("metadata/uid")
    }
    fn version(&self) -> &str {
        self.text("metadata/resourceVersion")
    }
    fn generation(&self) -> i64 {
        self.number("metadata/generation")
    }
}

const NULL: &Value = &Value::Null;

impl Json for Value {
    fn at(&self, pointer: &str) -> &Value {
        self.pointer(&format!("/{pointer}")).unwrap_or(NULL)
    }

    fn has(&self, pointer: &str) -> bool {
        self.pointer(&format!("/{pointer}")).is_some()
    }

    fn text(&self, pointer: &str) -> &str {
        self.at(pointer).as_str().unwrap_or_default()
    }

    fn number(&self, pointer: &str) -> i64 {
        self.at(pointer).as_i64().unwrap_or_default()
    }

    fn list(&self, pointer: &str) -> &[Value] {
        self.at(pointer).as_array().map_or(&[], Vec::as_slice)
    }

    /// Makes the maps on the way.
    fn set(&mut self, pointer: &str, value: impl Into<Value>) {
        let mut here = self;
        for key in pointer.split('/') {
            let key = key.replace("~1", "/");
            let Some(next) = step(here, &key) else { return };
            here = next;
        }
        *here = value.into();
    }

    fn remove(&mut self, pointer: &str) {
        let (parent, key) = pointer.rsplit_once('/').map_or(("", pointer), |(p, k)| (p, k));
        let parent = if parent.is_empty() { Some(self) } else { self.pointer_mut(&format!("/{parent}")) };
        if let Some(map) = parent.and_then(Value::as_object_mut) {
            map.remove(&key.replace("~1", "/"));
        }
    }
}

fn step<'a>(value: &'a mut Value, key: &str) -> Option<&'a mut Value> {
    if value.is_null() {
        *value = Value::Object(serde_json::Map::new());
    }
    match value {
        Value::Object(map) => Some(map.entry(key).or_insert(Value::Null)),
        Value::Array(list) => list.get_mut(key.parse::<usize>().ok()?),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

/// The names of the items of a list, in its order.
pub(crate) fn names(list: &Value) -> Vec<&str> {
    list.list("items").iter().map(Json::name).collect()
}

/// The managedFields entry of a manager; `null` when there is none.
pub(crate) fn entry<'a>(object: &'a Value, manager: &str, operation: &str) -> &'a Value {
    let of = |e: &&Value| e.text("manager") == manager && e.text("operation") == operation;
    object.list("metadata/managedFields").iter().find(of).unwrap_or(NULL)
}

/// The fields that a manager owns by apply, as FieldsV1; `null` when it owns none.
pub(crate) fn applied<'a>(object: &'a Value, manager: &str) -> &'a Value {
    entry(object, manager, "Apply").at("fieldsV1")
}

/// The cause that a refusal gives for a field; `null` when it gives none.
pub(crate) fn cause<'a>(status: &'a Value, field: &str) -> &'a Value {
    status.list("details/causes").iter().find(|c| c.text("field") == field).unwrap_or(NULL)
}

/// Fails the case unless both sides are the same JSON; the second is written as for `json!`.
macro_rules! equal {
    ($actual:expr, $($expected:tt)+) => {{
        let (actual, expected) = (serde_json::json!($actual), serde_json::json!($($expected)+));
        if actual != expected {
            return Err($crate::Failure::new(format!(
                "{}: expected {expected}, got {actual}",
                stringify!($actual).replace('\n', " ")
            )));
        }
    }};
}

/// Fails the case unless the condition holds; the rest says what was looked at.
macro_rules! check {
    ($condition:expr, $($seen:tt)+) => {
        if !$condition {
            return Err($crate::Failure::new(format!(
                "expected {}: {}",
                stringify!($condition).replace('\n', " "),
                format_args!($($seen)+)
            )));
        }
    };
}

/// The table of an area: functions, and after some of them what they need.
macro_rules! cases {
    ($area:literal: $($name:ident $([$($need:ident),+])?),+ $(,)?) => {
        pub(crate) const CASES: &[$crate::Case] = &[$($crate::Case {
            area: $area,
            name: stringify!($name),
            needs: &[$($($crate::Need::$need),+)?],
            run: |world| Box::pin($name(world)),
        }),+];
    };
}

pub(crate) use {cases, check, equal};

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn pointers_read_and_write_without_a_leading_slash() {
        let mut object = json!({"metadata": {"name": "a"}, "items": [{"x": 1}]});
        object.set("metadata/labels/a~1b", "c");
        object.set("items/0/x", 2);
        object.remove("metadata/name");
        assert_eq!(object, json!({"metadata": {"labels": {"a/b": "c"}}, "items": [{"x": 2}]}));
        assert_eq!(object.at("nowhere"), &Value::Null);
        assert_eq!(object.text("metadata/labels/a~1b"), "c");
    }

    #[test]
    fn an_assertion_says_what_was_expected_and_what_came() {
        fn case() -> crate::Outcome {
            let object = json!({"a": 1});
            equal!(object.at("a"), 2);
            Ok(())
        }
        assert_eq!(case(), Err(Failure::new(r#"object.at("a"): expected 2, got 1"#)));
    }
}
