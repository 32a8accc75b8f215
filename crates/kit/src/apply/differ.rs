//! What an intent asks for that an object does not have, field by field.
//!
//! The comparison is one-sided: what the object has beyond the intent (defaults, other people's fields) is no difference. Fields
//! that an intent no longer mentions are not seen here but by the intent's fingerprint on the object.

use std::fmt;

use serde_json::Value;

use super::{
    lists::{self, KeyField, List},
    quantity,
};

/// One field that is not as it is meant to be.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// Where, for example `spec.template.spec.containers[name=etcd].image`.
    pub path: String,
    /// What is there; `None` when nothing is.
    pub live: Option<Value>,
    /// What it should be; null when it should not be there.
    pub desired: Value,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.live {
            Some(live) => write!(f, "{}: {live} -> {}", self.path, self.desired),
            None => write!(f, "{}: {}", self.path, self.desired),
        }
    }
}

/// Every difference of `live` from `desired`, in the order of the fields.
pub(super) fn differences(desired: &Value, live: &Value) -> Vec<Difference> {
    let mut differ = Differ { path: Vec::new(), found: Vec::new() };
    differ.value("", desired, Some(live), Within::default());
    differ.found
}

/// What the fields above say about this one.
#[derive(Debug, Clone, Copy, Default)]
struct Within {
    /// It is a quantity, or holds some.
    quantities: bool,
    /// It is in a list that is owned as a whole, and so is it.
    atomic: bool,
}

struct Differ {
    path: Vec<String>,
    found: Vec<Difference>,
}

impl Differ {
    fn value(&mut self, field: &str, desired: &Value, live: Option<&Value>, within: Within) {
        let live = live.filter(|live| !live.is_null());
        if live.is_none() && is_nothing(field, desired) {
            return;
        }
        match (desired, live) {
            (Value::Object(fields), Some(Value::Object(live))) => {
                let extra = live
                    .iter()
                    .filter(|(name, value)| !fields.contains_key(*name) && !is_nothing(name, value));
                for (name, live) in extra.filter(|_| lists::is_exact(field)) {
                    self.path.push(self.step(name));
                    self.differs(&Value::Null, Some(live));
                    self.path.pop();
                }
                for (name, desired) in fields {
                    let quantities = within.quantities || lists::holds_quantities(name);
                    self.path.push(self.step(name));
                    self.value(name, desired, live.get(name), Within { quantities, ..within });
                    self.path.pop();
                }
            }
            (Value::Array(desired), Some(Value::Array(live))) => self.list(field, desired, live, within),
            (desired, Some(live)) if same_scalar(desired, live, within) => {}
            (desired, live) => self.differs(desired, live),
        }
    }

    fn list(&mut self, field: &str, desired: &[Value], live: &[Value], within: Within) {
        match how_told_apart(field, desired, within) {
            List::Map(keys) => {
                for element in desired {
                    let counterpart = live.iter().find(|live| same_element(keys, element, live));
                    self.path.push(key_path(keys, element));
                    match counterpart {
                        Some(live) => self.value("", element, Some(live), within),
                        None => self.differs(element, None),
                    }
                    self.path.pop();
                }
            }
            List::Set => {
                for (position, element) in
                    desired.iter().enumerate().filter(|(_, element)| !live.contains(element))
                {
                    self.path.push(format!("[{position}]"));
                    self.differs(element, None);
                    self.path.pop();
                }
            }
            List::Atomic if desired.len() == live.len() => {
                for (position, (desired, live)) in desired.iter().zip(live).enumerate() {
                    self.path.push(format!("[{position}]"));
                    self.value("", desired, Some(live), Within { atomic: true, ..within });
                    self.path.pop();
                }
            }
            List::Atomic => self.differs(&desired.into(), Some(&live.into())),
        }
    }

    /// `.image`, or `[capstan.dev/applied]` for a name with dots or slashes.
    fn step(&self, name: &str) -> String {
        match (self.path.is_empty(), name.contains(['.', '/'])) {
            (_, true) => format!("[{name}]"),
            (true, false) => name.to_owned(),
            (false, false) => format!(".{name}"),
        }
    }

    fn differs(&mut self, desired: &Value, live: Option<&Value>) {
        let path = self.path.concat();
        self.found.push(Difference { path, live: live.cloned(), desired: desired.clone() });
    }
}

/// Whether asking for `desired` is asking for nothing that an absent `field` would not give.
fn is_nothing(field: &str, desired: &Value) -> bool {
    match desired {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => {
            !lists::meant_when_empty(field) && fields.iter().all(|(name, value)| is_nothing(name, value))
        }
        Value::Bool(false) => lists::left_out_when_zero(field),
        Value::Number(number) => number.as_i64() == Some(0) && lists::left_out_when_zero(field),
        Value::String(text) => text.is_empty() && lists::left_out_when_zero(field),
        Value::Bool(true) => false,
    }
}

fn same_scalar(desired: &Value, live: &Value, within: Within) -> bool {
    match (desired, live) {
        (Value::Number(desired), Value::Number(live)) => desired == live || desired.as_f64() == live.as_f64(),
        (Value::String(desired), Value::String(live)) if within.quantities && desired != live => {
            quantity::billionths(desired).is_some_and(|value| quantity::billionths(live) == Some(value))
        }
        _ => desired == live,
    }
}

/// A list with two elements of the same key is no map, whatever its name; nor is one within a list that is owned as a whole.
fn how_told_apart(field: &str, desired: &[Value], within: Within) -> List {
    let how = desired.first().map_or(List::Atomic, |first| lists::list(field, first));
    match how {
        _ if within.atomic => List::Atomic,
        List::Map(keys) => {
            let mut seen: Vec<Vec<String>> = desired.iter().map(|e| key_values(keys, e)).collect();
            seen.sort_unstable();
            if seen.windows(2).any(|pair| pair.first() == pair.last()) { List::Atomic } else { how }
        }
        List::Set | List::Atomic => how,
    }
}

fn key_values(keys: &[KeyField], element: &Value) -> Vec<String> {
    keys.iter().map(|key| key_value(key, element)).collect()
}

fn same_element(keys: &[KeyField], one: &Value, other: &Value) -> bool {
    keys.iter().all(|key| key_value(key, one) == key_value(key, other))
}

fn key_value(key: &KeyField, element: &Value) -> String {
    match element.get(key.name) {
        None | Some(Value::Null) => key.default.to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

fn key_path(keys: &[KeyField], element: &Value) -> String {
    let keys: Vec<String> =
        keys.iter().map(|key| format!("{}={}", key.name, key_value(key, element))).collect();
    format!("[{}]", keys.join(","))
}

#[cfg(test)]
mod tests;
