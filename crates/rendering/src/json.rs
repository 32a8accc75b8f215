//! JSON to and from a [`Tree`], and any serializable value into one.

use serde::Serialize;
use serde_json::{Number, Value};

use crate::tree::{Map, Tree};

impl Tree {
    /// The tree of what a value serializes to.
    pub fn of<T: Serialize>(value: &T) -> Result<Self, serde_json::Error> {
        Ok(Self::from(serde_json::to_value(value)?))
    }

    /// The tree as JSON; numbers that JSON cannot hold become null.
    pub fn to_json(&self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Bool(value) => Value::Bool(*value),
            Self::Int(value) => i64::try_from(*value)
                .map(Value::from)
                .or_else(|_| u64::try_from(*value).map(Value::from))
                .unwrap_or(Value::Null),
            Self::Float(value) => Number::from_f64(*value).map_or(Value::Null, Value::Number),
            Self::Str(text) => Value::String(text.to_string()),
            Self::List(items) => Value::Array(items.iter().map(Self::to_json).collect()),
            Self::Map(map) => {
                Value::Object(map.iter().map(|(key, value)| (key.to_owned(), value.to_json())).collect())
            }
        }
    }
}

impl From<Value> for Tree {
    fn from(value: Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Bool(value),
            Value::Number(number) => from_number(&number),
            Value::String(text) => text.into(),
            Value::Array(items) => items.into_iter().collect(),
            Value::Object(map) => Self::Map(map.into_iter().collect::<Map>()),
        }
    }
}

impl From<&Value> for Tree {
    fn from(value: &Value) -> Self {
        value.clone().into()
    }
}

fn from_number(number: &Number) -> Tree {
    match (number.as_i64(), number.as_u64()) {
        (Some(value), _) => value.into(),
        (None, Some(value)) => value.into(),
        (None, None) => number.as_f64().map_or(Tree::Null, Tree::Float),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_survives_the_way_there_and_back() {
        let json = serde_json::json!({"a": [1, -1, 1.5, u64::MAX, "x", null, true], "b": {}});
        assert_eq!(Tree::from(&json).to_json(), json);
    }
}
