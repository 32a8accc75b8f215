//! What changed between two objects, as three sets of fields.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{
    fieldset::FieldSet,
    path::{Step, same},
    typed::{Keys, Pair, Type, names},
};

/// Fields that went, fields that hold something else, and fields that came.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Change {
    pub(crate) removed: FieldSet,
    pub(crate) modified: FieldSet,
    pub(crate) added: FieldSet,
}

impl Change {
    pub(crate) fn between(ty: Type<'_>, old: &Value, new: &Value) -> Self {
        let mut change = Self::default();
        change.compare(ty, Some(old), Some(new), &mut Vec::new());
        change
    }

    /// What the writer now vouches for.
    pub(crate) fn written(&self) -> FieldSet {
        self.modified.union(&self.added)
    }

    /// Without `fields` and everything below them.
    pub(crate) fn without(&self, fields: &FieldSet) -> Self {
        Self {
            removed: self.removed.without(fields),
            modified: self.modified.without(fields),
            added: self.added.without(fields),
        }
    }

    fn compare(&mut self, ty: Type<'_>, old: Option<&Value>, new: Option<&Value>, path: &mut Vec<Step>) {
        match ty.pair(old, new) {
            Pair::Leaf => {
                if let (Some(old), Some(new)) = (old, new) {
                    if !same(old, new) {
                        self.modified.insert(path);
                    }
                    return;
                }
            }
            Pair::Map(a, b) => {
                for name in names(a, b) {
                    path.push(Step::field(name));
                    let (old, new) = (a.and_then(|map| map.get(name)), b.and_then(|map| map.get(name)));
                    self.compare(ty.field_or_any(name), old, new, path);
                    path.pop();
                }
            }
            Pair::List(keys, a, b) => self.compare_lists(ty, keys, a, b, path),
            // Everything below goes or comes, and the field itself is modified: that is what null does to either side.
            Pair::Different => {
                self.compare(ty, old, Some(&Value::Null), path);
                self.compare(ty, Some(&Value::Null), new, path);
                return;
            }
        }
        match (old, new) {
            (None, _) => self.added.insert(path),
            (_, None) => self.removed.insert(path),
            _ => {}
        }
    }

    fn compare_lists(
        &mut self,
        ty: Type<'_>,
        keys: Keys<'_>,
        old: &[Value],
        new: &[Value],
        path: &mut Vec<Step>,
    ) {
        let mut elements: BTreeMap<Step, (Vec<&Value>, Vec<&Value>)> = BTreeMap::new();
        for (step, item) in ty.steps_of(keys, old) {
            elements.entry(step).or_default().0.push(item);
        }
        for (step, item) in ty.steps_of(keys, new) {
            elements.entry(step).or_default().1.push(item);
        }
        for (step, sides) in elements {
            path.push(step);
            match (sides.0.as_slice(), sides.1.as_slice()) {
                ([] | [_], [] | [_]) => {
                    self.compare(ty.items(), sides.0.first().copied(), sides.1.first().copied(), path);
                }
                // Elements that share a key are one: compared as a whole, owned as a whole.
                (before @ [_, _, ..], after @ [_, _, ..]) => {
                    if before.len() != after.len() || before.iter().zip(after).any(|(a, b)| !same(a, b)) {
                        self.modified.insert(path);
                    }
                }
                ([_, _, ..], after) => {
                    if let Some(item) = after.first() {
                        self.compare(ty.items(), None, Some(item), path);
                    }
                    self.removed.insert(path);
                }
                (before, _) => {
                    if let Some(item) = before.first() {
                        self.compare(ty.items(), Some(item), None, path);
                    }
                    self.added.insert(path);
                }
            }
            path.pop();
        }
    }
}
