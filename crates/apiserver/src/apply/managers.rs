//! `metadata.managedFields`: who owns which fields, read and written in Kubernetes' order.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{
    compare::Change, conflicts::Conflict, fieldset::FieldSet, owned::follow_schema, path::Step, typed::Type,
};

/// So many entries of updates are kept; older ones are folded into one. Kubernetes' DefaultMaxUpdateManagers.
const MOST_UPDATES: usize = 10;
const FOLDED: &str = "ancient-changes";

/// What makes an entry one of its own. An applier has one whatever version it speaks.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Id {
    pub(crate) manager: String,
    pub(crate) operation: Operation,
    /// Empty for appliers.
    version: String,
    pub(crate) subresource: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Operation {
    Apply,
    Update,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Entry {
    pub(crate) api_version: String,
    /// Missing where a manager came to own fields without changing the object (kubernetes#127938).
    pub(crate) time: Option<Timestamp>,
    pub(crate) fields: FieldSet,
}

/// Every entry of an object.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Managers(pub(crate) BTreeMap<Id, Entry>);

impl Id {
    pub(crate) fn new(manager: &str, operation: Operation, api_version: &str, subresource: &str) -> Self {
        let version = if operation == Operation::Apply { "" } else { api_version };
        Self {
            manager: if manager.is_empty() { "unknown" } else { manager }.to_owned(),
            operation,
            version: version.to_owned(),
            subresource: subresource.to_owned(),
        }
    }

    /// As conflicts name it: `"kubectl" using apps/v1`.
    pub(crate) fn told(&self) -> String {
        let mut told = format!("{:?}", self.manager);
        if !self.subresource.is_empty() {
            told += &format!(" with subresource {:?}", self.subresource);
        }
        if self.operation == Operation::Update {
            told += &format!(" using {}", self.version);
        }
        told
    }
}

impl Managers {
    /// The entries of `object`, or what is wrong with them.
    pub(crate) fn decode(object: &Value) -> Result<Self, String> {
        let entries = managed_fields(object).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let decoded = entries.iter().enumerate().map(|(index, entry)| decode_entry(index, entry));
        decoded.collect::<Result<_, _>>().map(Self)
    }

    /// Writes the entries into `object`; none at all if there are none.
    pub(crate) fn encode(&self, object: &mut Value) {
        let Some(object) = object.as_object_mut() else { return };
        let metadata = object.entry("metadata").or_insert_with(|| json!({}));
        let Some(metadata) = metadata.as_object_mut() else { return };
        let mut entries: Vec<(&Id, &Entry)> = self.0.iter().collect();
        entries.sort_by(|(a, x), (b, y)| {
            (a.operation, seconds(x.time), &a.manager, &x.api_version, &a.subresource).cmp(&(
                b.operation,
                seconds(y.time),
                &b.manager,
                &y.api_version,
                &b.subresource,
            ))
        });
        if entries.is_empty() {
            metadata.remove("managedFields");
        } else {
            let entries = entries.into_iter().map(|(id, entry)| encode_entry(id, entry)).collect();
            metadata.insert("managedFields".into(), Value::Array(entries));
        }
    }

    pub(crate) fn follow_schema(&mut self, ty: Type<'_>) {
        for entry in self.0.values_mut() {
            entry.fields = follow_schema(ty, &entry.fields);
        }
    }

    /// Which of the fields that `change` writes others than `me` own.
    pub(crate) fn conflicts(&self, change: &Change, me: &Id) -> Vec<Conflict> {
        let written = change.written();
        let others = self.0.iter().filter(|(id, _)| *id != me);
        others
            .flat_map(|(id, entry)| {
                let paths = entry.fields.intersection(&written).paths();
                paths.into_iter().map(|path| Conflict::new(id, path.iter().map(Step::to_string).collect()))
            })
            .collect()
    }

    /// Takes what `change` wrote or removed from everybody but `me`; who is left with nothing goes.
    pub(crate) fn take(&mut self, change: &Change, me: Option<&Id>) {
        let lost = change.written().union(&change.removed);
        for (_, entry) in self.0.iter_mut().filter(|(id, _)| Some(*id) != me) {
            entry.fields = entry.fields.difference(&lost);
        }
        self.0.retain(|_, entry| !entry.fields.is_empty());
    }

    /// Folds the oldest updates into one entry per version until few enough are left.
    pub(crate) fn fold_old_updates(&mut self) {
        let mut updates: Vec<Id> =
            self.0.keys().filter(|id| id.operation == Operation::Update).cloned().collect();
        updates.sort_by_key(|id| (self.0.get(id).map(|entry| seconds(entry.time)), id.clone()));
        let mut surplus = updates.len().saturating_sub(MOST_UPDATES);
        let mut first_of: BTreeMap<String, Id> = BTreeMap::new();
        for id in updates {
            if surplus == 0 {
                break;
            }
            let Some(first) = first_of.get(&id.version) else {
                first_of.insert(id.version.clone(), id);
                continue;
            };
            let bucket = Id::new(FOLDED, Operation::Update, &id.version, "");
            let folded = self.0.remove(&bucket).or_else(|| self.0.remove(first));
            let (Some(folded), Some(newer)) = (folded, self.0.remove(&id)) else { continue };
            self.0.insert(bucket, Entry { fields: folded.fields.union(&newer.fields), ..newer });
            surplus -= 1;
        }
    }
}

pub(crate) fn managed_fields(object: &Value) -> Option<&Value> {
    object.get("metadata")?.get("managedFields")
}

fn decode_entry(index: usize, entry: &Value) -> Result<(Id, Entry), String> {
    let text = |name: &str| entry.get(name).and_then(Value::as_str).unwrap_or_default();
    let operation = match text("operation") {
        "Apply" => Operation::Apply,
        "Update" => Operation::Update,
        _ => return Err("operation must be `Apply` or `Update`".into()),
    };
    let api_version = text("apiVersion");
    if api_version.is_empty() {
        return Err("apiVersion must not be empty".into());
    }
    match text("fieldsType") {
        "FieldsV1" => {}
        "" => return Err(format!("missing fieldsType in managed fields entry {index}")),
        other => return Err(format!("invalid fieldsType {other:?} in managed fields entry {index}")),
    }
    let mut id = Id::new(text("manager"), operation, api_version, text("subresource"));
    id.manager = text("manager").to_owned();
    let fields = entry.get("fieldsV1").map(FieldSet::decode).unwrap_or_default();
    Ok((id, Entry { api_version: api_version.to_owned(), time: text("time").parse().ok(), fields }))
}

fn encode_entry(id: &Id, entry: &Entry) -> Value {
    let mut encoded = json!({
        "manager": id.manager,
        "operation": match id.operation { Operation::Apply => "Apply", Operation::Update => "Update" },
        "apiVersion": entry.api_version,
        "fieldsType": "FieldsV1",
        "fieldsV1": entry.fields.encode(),
    });
    if let Some(fields) = encoded.as_object_mut() {
        if let Some(time) = entry.time {
            fields.insert("time".into(), json!(time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()));
        }
        if !id.subresource.is_empty() {
            fields.insert("subresource".into(), json!(id.subresource));
        }
    }
    encoded
}

fn seconds(time: Option<Timestamp>) -> i64 {
    time.map_or(0, Timestamp::as_second)
}
