//! The life of a CustomResourceDefinition: its names are accepted, it is established, it takes its objects with it.
//!
//! Source: apiextensions-apiserver `pkg/controller/{status,establish,finalizer}`.

use serde_json::{Value, json};

use crate::meta;

/// Holds a definition until its last object is gone.
pub(crate) const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

/// Names that are filled in when they are left out, and the status that a new definition starts with.
pub(crate) fn prepare(definition: &mut Value) {
    let Some(names) = definition.pointer_mut("/spec/names").and_then(Value::as_object_mut) else { return };
    let kind = names.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
    let mut default = |field: &str, value: String| {
        let entry = names.entry(field).or_insert_with(|| json!(""));
        if entry == "" || entry.is_null() {
            *entry = json!(value);
        }
    };
    default("singular", kind.to_lowercase());
    default("listKind", format!("{kind}List"));
    if let Some(spec) = definition.get_mut("spec").and_then(Value::as_object_mut) {
        spec.entry("conversion").or_insert_with(|| json!({"strategy": "None"}));
    }
}

/// The versions that objects have been stored in: the present one always belongs to them.
pub(crate) fn keep_stored_versions(definition: &mut Value) {
    let versions = definition.pointer("/spec/versions").and_then(Value::as_array);
    let storage = versions.into_iter().flatten().find(|version| version.get("storage") == Some(&json!(true)));
    let Some(storage) = storage.and_then(|version| version.get("name")).cloned() else { return };
    let stored = entry(definition, "storedVersions", json!([]));
    if let Some(stored) = stored.and_then(Value::as_array_mut)
        && !stored.contains(&storage)
    {
        stored.push(storage);
    }
}

/// The first request to delete it: it stays, terminating, until its objects are gone.
pub(crate) fn begin_deletion(definition: &mut Value, now: &str) {
    let mut finalizers: Vec<String> = meta::finalizers(definition).into_iter().map(str::to_owned).collect();
    if !finalizers.iter().any(|finalizer| finalizer == CLEANUP) {
        finalizers.push(CLEANUP.into());
    }
    meta::set_finalizers(definition, &finalizers);
    let message = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon";
    set_condition(definition, "Terminating", "True", "InstanceDeletionPending", message, now);
}

/// What becomes of a definition next to the others of its group; `None` when its status says so already.
pub(crate) fn settled(definition: &Value, others: &[&Value], now: &str) -> Option<Value> {
    let mut settled = definition.clone();
    match conflict(definition, others) {
        Some((reason, message)) => {
            set_condition(&mut settled, "NamesAccepted", "False", reason, &message, now);
            if condition(definition, "Established").is_none() {
                let message = "not all names are accepted";
                set_condition(&mut settled, "Established", "False", "NotAccepted", message, now);
            }
        }
        None => {
            let names = definition.pointer("/spec/names").cloned().unwrap_or_default();
            if let Some(accepted) = entry(&mut settled, "acceptedNames", json!({})) {
                *accepted = names;
            }
            set_condition(&mut settled, "NamesAccepted", "True", "NoConflicts", "no conflicts found", now);
            let message = "the initial names have been accepted";
            set_condition(&mut settled, "Established", "True", "InitialNamesAccepted", message, now);
        }
    }
    keep_stored_versions(&mut settled);
    (settled != *definition).then_some(settled)
}

/// Is it served?
pub(crate) fn is_established(definition: &Value) -> bool {
    condition(definition, "Established") == Some("True")
}

/// The names that must be a definition's own within its group, in the order in which they are checked (of several conflicts
/// the last one is told), and with which names they share a space.
const NAMES: &[(&str, &[&str], &str)] = &[
    ("plural", RESOURCES, "PluralConflict"),
    ("singular", RESOURCES, "SingularConflict"),
    ("shortNames", RESOURCES, "ShortNamesConflict"),
    ("kind", KINDS, "KindConflict"),
    ("listKind", KINDS, "ListKindConflict"),
];
const RESOURCES: &[&str] = &["plural", "singular", "shortNames"];
const KINDS: &[&str] = &["kind", "listKind"];

/// The name that another definition of the same group has taken already.
fn conflict(definition: &Value, others: &[&Value]) -> Option<(&'static str, String)> {
    let own = definition.pointer("/spec/names")?;
    let rivals = || {
        let rival = |other: &&&Value| {
            meta::name(other) != meta::name(definition)
                && other.pointer("/spec/group") == definition.pointer("/spec/group")
        };
        others.iter().filter(rival).filter_map(|other| other.pointer("/status/acceptedNames"))
    };
    NAMES.iter().rev().find_map(|(field, space, reason)| {
        let is_taken = |name: &String| {
            rivals().any(|names| space.iter().any(|field| names_in(names, field).contains(name)))
        };
        let name = names_in(own, field).into_iter().find(is_taken)?;
        Some((*reason, format!("\"{name}\" is already in use")))
    })
}

/// The value or values of a field of `names`.
fn names_in(names: &Value, field: &str) -> Vec<String> {
    let single = names.get(field).and_then(Value::as_str).filter(|name| !name.is_empty()).map(str::to_owned);
    single.into_iter().chain(list(names, field)).collect()
}

fn list(object: &Value, field: &str) -> Vec<String> {
    let items = object.get(field).and_then(Value::as_array);
    items.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

fn condition<'a>(definition: &'a Value, kind: &str) -> Option<&'a str> {
    let conditions = definition.pointer("/status/conditions")?.as_array()?;
    conditions.iter().find(|c| c.get("type").is_some_and(|t| t == kind))?.get("status")?.as_str()
}

fn set_condition(definition: &mut Value, kind: &str, status: &str, reason: &str, message: &str, now: &str) {
    if condition(definition, kind) == Some(status) {
        return;
    }
    let Some(conditions) = entry(definition, "conditions", json!([])).and_then(Value::as_array_mut) else {
        return;
    };
    conditions.retain(|c| c.get("type").is_none_or(|t| t != kind));
    conditions.push(json!({
        "type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": now,
    }));
}

/// `status.<field>`, made when it is missing.
fn entry<'a>(definition: &'a mut Value, field: &str, empty: Value) -> Option<&'a mut Value> {
    let status = definition.as_object_mut()?.entry("status").or_insert_with(|| json!({}));
    let value = status.as_object_mut()?.entry(field).or_insert_with(|| empty.clone());
    if value.is_null() {
        *value = empty;
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn definition(plural: &str, kind: &str, short: &[&str]) -> Value {
        let mut definition = json!({
            "metadata": {"name": format!("{plural}.g.io")},
            "spec": {"group": "g.io", "names": {"plural": plural, "kind": kind, "shortNames": short},
                     "versions": [{"name": "v1", "served": true, "storage": true}]}});
        prepare(&mut definition);
        definition
    }

    #[test]
    fn a_definition_without_rivals_is_established_and_then_left_alone() {
        let established = settled(&definition("foos", "Foo", &[]), &[], "t").unwrap();
        assert!(is_established(&established));
        assert_eq!(established.pointer("/status/acceptedNames/singular"), Some(&json!("foo")));
        assert_eq!(established.pointer("/status/storedVersions"), Some(&json!(["v1"])));
        assert_eq!(settled(&established, &[], "later"), None);
    }

    #[test]
    fn a_name_that_is_taken_is_not_accepted() {
        let first = settled(&definition("foos", "Foo", &["f"]), &[], "t").unwrap();
        for (plural, kind, short, reason) in
            [("bars", "Foo", &[][..], "ListKindConflict"), ("bars", "Bar", &["f"][..], "ShortNamesConflict")]
        {
            let second = settled(&definition(plural, kind, short), &[&first], "t").unwrap();
            assert!(!is_established(&second), "{kind} {short:?}");
            assert_eq!(second.pointer("/status/conditions/0/reason"), Some(&json!(reason)));
        }
    }
}
