//! Which fields an object has: what its applier owns, and how sets follow a schema that changes.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{
    fieldset::FieldSet,
    path::Step,
    typed::{Shape, Type},
};
use crate::schema::{ListType, Type as Kind};

/// Every leaf, list element and map key that the value speaks about.
pub(crate) fn fields_of(ty: Type<'_>, value: &Value) -> FieldSet {
    let mut set = FieldSet::default();
    walk(ty, value, &mut Vec::new(), &mut set);
    set
}

fn walk(ty: Type<'_>, value: &Value, path: &mut Vec<Step>, set: &mut FieldSet) {
    match (ty.shape(value), value) {
        (Shape::Map, Value::Object(fields)) => {
            for (name, value) in fields {
                path.push(Step::field(name));
                walk(ty.field_or_any(name), value, path, set);
                if !ty.declares(name) || value.as_object().is_some_and(serde_json::Map::is_empty) {
                    set.insert(path);
                }
                path.pop();
            }
        }
        (Shape::List(keys), Value::Array(items)) => {
            let items = ty.steps_of(keys, items);
            let mut seen = BTreeSet::new();
            let repeated: BTreeSet<Step> =
                items.iter().filter(|(step, _)| !seen.insert(step)).map(|(step, _)| step.clone()).collect();
            for (step, item) in items {
                let repeats = repeated.contains(&step);
                path.push(step);
                set.insert(path);
                // Elements that share a key are owned together: nobody could tell their fields apart.
                if !repeats {
                    walk(ty.items(), item, path, set);
                }
                path.pop();
            }
        }
        _ => set.insert(path),
    }
}

/// The set with every declared field on the way to a member: who owns `.spec.replicas` had a hand in `.spec`.
pub(crate) fn with_declared(ty: Type<'_>, set: &FieldSet) -> FieldSet {
    let mut all = FieldSet::default();
    for (step, member, below) in set.steps() {
        let declared = matches!(step, Step::Field(name) if !below.is_empty() && ty.declares(name));
        all.put(step.clone(), member || declared, with_declared(ty.child(step), below));
    }
    all
}

/// The set after a schema made lists or maps atomic that were not: the part becomes the whole.
pub(crate) fn follow_schema(ty: Type<'_>, set: &FieldSet) -> FieldSet {
    let mut all = FieldSet::default();
    for (step, member, below) in set.steps() {
        let child = ty.child(step);
        if !below.is_empty() && is_atomic(child) {
            all.put(step.clone(), true, FieldSet::default());
        } else {
            all.put(step.clone(), member, follow_schema(child, below));
        }
    }
    all
}

fn is_atomic(ty: Type<'_>) -> bool {
    ty.schema().is_some_and(|schema| match schema.kind {
        Some(Kind::Array) => *schema.list_type() == ListType::Atomic,
        Some(Kind::Object) => schema.is_atomic_map(),
        _ => false,
    })
}
