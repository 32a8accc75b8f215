//! The state of a server with everything taken out that differs between two runs of the same story.

use std::{collections::BTreeMap, fmt};

use serde_json::{Map, Value, json};

use crate::{Store, meta};

/// Fields whose text is a time.
const TIMES: &[&str] = &[
    "creationTimestamp",
    "deletionTimestamp",
    "lastTransitionTime",
    "lastUpdateTime",
    "lastProbeTime",
    "lastHeartbeatTime",
    "firstTimestamp",
    "lastTimestamp",
    "eventTime",
    "acquireTime",
    "renewTime",
    "time",
    "startTime",
    "completionTime",
    "startedAt",
    "finishedAt",
    "lastScheduleTime",
    "lastSuccessfulTime",
];

/// The lengths of a UID, and of what stands before its first dash.
const WHOLE: usize = 36;
const FIRST_PART: usize = 8;

/// Every object, by `group/plural/namespace/name`, normalised: UIDs are replaced by the place of the object that has them, revisions and
/// times are dropped.
#[derive(Debug, Clone, PartialEq)]
pub struct Dump(BTreeMap<String, Value>);

impl Dump {
    pub(super) fn of(store: &Store) -> Self {
        let all = store.everything();
        let places: BTreeMap<String, String> = all
            .iter()
            .map(|(id, object)| (id, meta::text(object.value(), "uid")))
            .flat_map(|(id, uid)| {
                let first = uid
                    .get(..FIRST_PART)
                    .map(|part| (part.to_owned(), format!("first part of the uid of {id}")));
                [(uid.to_owned(), format!("uid of {id}"))].into_iter().chain(first)
            })
            .filter(|(uid, _)| !uid.is_empty())
            .collect();
        let normal = |object: &Value| {
            let mut value = object.clone();
            normalise(&mut value, &places);
            if let Some(metadata) = meta::of_mut(&mut value) {
                metadata.remove("resourceVersion");
                sort_managers(metadata);
            }
            value
        };
        let place = |id: String| without_uids(&id, &places).unwrap_or(id);
        Self(all.iter().map(|(id, object)| (place(id.to_string()), normal(object.value()))).collect())
    }

    /// Without the objects of a resource, for example `leases` or `events`.
    #[must_use]
    pub fn without(mut self, plural: &str) -> Self {
        self.0.retain(|place, _| place.split([' ', '.']).next() != Some(plural));
        self
    }

    /// With every object changed, for what differs between two runs by design: passwords, for example.
    #[must_use]
    pub fn edited(mut self, edit: impl Fn(&str, &mut Value)) -> Self {
        self.0.iter_mut().for_each(|(place, object)| edit(place, object));
        self
    }

    pub fn objects(&self) -> &BTreeMap<String, Value> {
        &self.0
    }

    /// What differs, one line per field: empty when the two are the same.
    pub fn difference(&self, other: &Self) -> Vec<String> {
        let mut lines = Vec::new();
        let places: std::collections::BTreeSet<&String> = self.0.keys().chain(other.0.keys()).collect();
        for place in places {
            match (self.0.get(place), other.0.get(place)) {
                (Some(_), None) => lines.push(format!("{place}: only here")),
                (None, Some(_)) => lines.push(format!("{place}: only there")),
                (Some(a), Some(b)) => compare(&format!("{place}: "), "", a, b, &mut lines),
                (None, None) => {}
            }
        }
        lines
    }
}

impl fmt::Display for Dump {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, object) in &self.0 {
            writeln!(f, "{place}\n{object:#}")?;
        }
        Ok(())
    }
}

fn compare(place: &str, path: &str, a: &Value, b: &Value, lines: &mut Vec<String>) {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            let keys: std::collections::BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            for key in keys {
                let none = Value::Null;
                let (a, b) = (a.get(key).unwrap_or(&none), b.get(key).unwrap_or(&none));
                compare(place, &format!("{path}.{key}"), a, b, lines);
            }
        }
        (a, b) if a == b => {}
        (a, b) => lines.push(format!("{place}{path}: {a} here, {b} there")),
    }
}

fn normalise(value: &mut Value, places: &BTreeMap<String, String>) {
    match value {
        Value::Object(map) => {
            for (key, mut value) in std::mem::take(map) {
                if TIMES.contains(&key.as_str()) && (value.is_string() || value.is_null()) {
                    value = json!("(time)");
                } else {
                    normalise(&mut value, places);
                }
                map.insert(without_uids(&key, places).unwrap_or(key), value);
            }
        }
        Value::Array(list) => list.iter_mut().for_each(|value| normalise(value, places)),
        Value::String(text) => {
            if let Some(replaced) = without_uids(text, places) {
                *text = replaced;
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The text with every known UID in it replaced; `None` when there is none. Field managers have UIDs within their keys, and names that
/// must not be given twice end on the first part of one.
fn without_uids(text: &str, places: &BTreeMap<String, String>) -> Option<String> {
    let (start, uid) = (0..text.len())
        .find_map(|start| Some((start, uid_at(text, start)?)).filter(|(_, uid)| places.contains_key(*uid)))?;
    let rest = text.get(start + uid.len()..).unwrap_or_default();
    let rest = without_uids(rest, places).unwrap_or_else(|| rest.to_owned());
    Some(format!("{}{}{rest}", text.get(..start)?, places.get(uid)?))
}

/// What has the form of a UID at a place of a text, or of the first part of one behind a name.
fn uid_at(text: &str, start: usize) -> Option<&str> {
    let dash = |at: Option<usize>| at.and_then(|at| text.as_bytes().get(at)) == Some(&b'-');
    let length = match (dash(start.checked_add(FIRST_PART)), dash(start.checked_sub(1))) {
        (true, _) => WHOLE,
        (false, true) => FIRST_PART,
        (false, false) => return None,
    };
    text.get(start..start + length)
}

/// The order of `managedFields` follows their times, which are gone.
fn sort_managers(metadata: &mut Map<String, Value>) {
    if let Some(managers) = metadata.get_mut("managedFields").and_then(Value::as_array_mut) {
        managers.sort_by_key(Value::to_string);
    }
}
