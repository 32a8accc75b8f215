//! One step of a field path, in Kubernetes' order and spelling: `f:name`, `k:{"name":"x"}`, `v:"x"`, `i:0`.

use std::{cmp::Ordering, collections::BTreeMap, fmt};

use serde_json::Value;

/// How a child is chosen from what holds it.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    /// A field of an object, or a key of a map.
    Field(String),
    /// The element of a list of type map that has these key fields.
    Key(BTreeMap<String, Value>),
    /// The element of a list of type set.
    Value(Value),
    /// An element of an atomic list. Nobody owns one; managedFields from elsewhere may hold it.
    Index(i64),
}

impl Step {
    pub(crate) fn field(name: impl Into<String>) -> Self {
        Self::Field(name.into())
    }

    /// `None` for what this version of FieldsV1 does not know: Kubernetes drops it too.
    pub(crate) fn decode(text: &str) -> Option<Self> {
        let (kind, rest) = text.split_once(':')?;
        match kind {
            "f" => Some(Self::field(rest)),
            "k" => serde_json::from_str(rest).ok().map(Self::Key),
            "v" => serde_json::from_str(rest).ok().map(Self::Value),
            "i" => rest.parse().ok().map(Self::Index),
            _ => None,
        }
    }

    pub(crate) fn encode(&self) -> String {
        match self {
            Self::Field(name) => format!("f:{name}"),
            Self::Key(key) => format!("k:{}", Value::Object(key.clone().into_iter().collect())),
            Self::Value(value) => format!("v:{value}"),
            Self::Index(index) => format!("i:{index}"),
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Field(_) => 0,
            Self::Key(_) => 1,
            Self::Value(_) => 2,
            Self::Index(_) => 3,
        }
    }
}

/// As conflicts print it: `.spec`, `[name="x"]`, `[="x"]`, `[0]`.
impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(f, ".{name}"),
            Self::Key(key) => {
                let fields: Vec<String> = key.iter().map(|(name, value)| format!("{name}={value}")).collect();
                write!(f, "[{}]", fields.join(","))
            }
            Self::Value(value) => write!(f, "[={value}]"),
            Self::Index(index) => write!(f, "[{index}]"),
        }
    }
}

impl Ord for Step {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Field(a), Self::Field(b)) => a.cmp(b),
            (Self::Key(a), Self::Key(b)) => compare_keys(a, b),
            (Self::Value(a), Self::Value(b)) => compare_values(a, b),
            (Self::Index(a), Self::Index(b)) => a.cmp(b),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl PartialOrd for Step {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Step {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Step {}

fn compare_keys(a: &BTreeMap<String, Value>, b: &BTreeMap<String, Value>) -> Ordering {
    let by_field = |(one, other): ((&String, &Value), (&String, &Value))| {
        one.0.cmp(other.0).then_with(|| compare_values(one.1, other.1))
    };
    a.iter().zip(b).map(by_field).find(|order| order.is_ne()).unwrap_or_else(|| a.len().cmp(&b.len()))
}

/// A total order in which 1 and 1.0 are the same, as for Kubernetes.
pub(crate) fn compare_values(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Number(x), Value::Number(y)) => match (x.as_i64(), y.as_i64()) {
            (Some(x), Some(y)) => x.cmp(&y),
            _ => x.as_f64().partial_cmp(&y.as_f64()).unwrap_or(Ordering::Equal),
        },
        (Value::String(x), Value::String(y)) => x.cmp(y),
        (Value::Bool(x), Value::Bool(y)) => x.cmp(y),
        (Value::Array(x), Value::Array(y)) => x
            .iter()
            .zip(y)
            .map(|(x, y)| compare_values(x, y))
            .find(|order| order.is_ne())
            .unwrap_or_else(|| x.len().cmp(&y.len())),
        (Value::Object(x), Value::Object(y)) => x
            .iter()
            .zip(y)
            .map(|((k, x), (l, y))| k.cmp(l).then_with(|| compare_values(x, y)))
            .find(|order| order.is_ne())
            .unwrap_or_else(|| x.len().cmp(&y.len())),
        _ => kind_rank(a).cmp(&kind_rank(b)),
    }
}

/// Are they the same value for ownership? Unlike `==`, 1 equals 1.0.
pub(crate) fn same(a: &Value, b: &Value) -> bool {
    compare_values(a, b).is_eq()
}

fn kind_rank(value: &Value) -> u8 {
    match value {
        Value::Number(_) => 0,
        Value::String(_) => 1,
        Value::Bool(_) => 2,
        Value::Array(_) => 3,
        Value::Object(_) => 4,
        Value::Null => 5,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_print_as_conflicts_and_encode_as_fields_v1() {
        let cases = [
            ("f:replicas", ".replicas"),
            ("f:app.kubernetes.io/name", ".app.kubernetes.io/name"),
            (r#"k:{"containerPort":80,"protocol":"TCP"}"#, r#"[containerPort=80,protocol="TCP"]"#),
            (r#"v:"a:b""#, r#"[="a:b"]"#),
            ("v:5", "[=5]"),
            ("i:3", "[3]"),
        ];
        for (encoded, printed) in cases {
            let step = Step::decode(encoded).unwrap();
            assert_eq!((step.encode().as_str(), step.to_string().as_str()), (encoded, printed));
        }
    }

    #[test]
    fn unknown_steps_are_nothing() {
        assert!(["x:1", "f", "i:one", "k:[]", "v:{", ""].iter().all(|text| Step::decode(text).is_none()));
    }

    #[test]
    fn steps_sort_fields_then_keys_then_values_then_indices_and_numbers_by_size() {
        let sorted = [
            "f:b",
            r#"k:{"a":9}"#,
            r#"k:{"a":10}"#,
            r#"k:{"a":10,"b":1}"#,
            "v:1",
            "v:2.5",
            r#"v:"x""#,
            "v:true",
            "i:0",
        ];
        let mut steps: Vec<Step> = sorted.iter().rev().filter_map(|text| Step::decode(text)).collect();
        steps.sort();
        assert_eq!(steps.iter().map(Step::encode).collect::<Vec<_>>(), sorted);
    }
}
