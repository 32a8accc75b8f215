//! Status: what an object's owner reads, written only when it says something new.

mod conditions;

use kube::{
    Resource,
    api::{Patch, PatchParams},
};
use serde::Serialize;
use serde_json::{Map, Value, json};

pub use conditions::{Condition, Conditions, Truth};

use crate::{Context, Error, Result, apply::prune_nulls, call::Target};

impl Context {
    /// Makes `status` the status of `main`, which is as the cache has it. Returns whether anything was written.
    ///
    /// The times of conditions that did not flip are no news: they stay as they are. An object that is gone needs no status. One
    /// that changed meanwhile, or was deleted and made again, does not get a status that is not about it: that is
    /// [`Error::Stale`], and the next reconcile knows better.
    pub async fn write_status<K>(&self, main: &K, status: &impl Serialize) -> Result<bool>
    where
        K: Resource<DynamicType = ()> + Serialize,
        K::Scope: 'static,
    {
        let target = Target::of(main)?;
        let live = serde_json::to_value(main).map_err(Error::other)?;
        let live = live.get("status").cloned().unwrap_or_default();
        let status = serde_json::to_value(status).map_err(Error::other)?;
        let Some(changes) = changes(status, live) else { return Ok(false) };

        let version = self.based_on(main, &target);
        let patch = json!({ "metadata": { "resourceVersion": version }, "status": changes });
        let manager = Some(format!("{}-status", self.field_manager));
        let params = PatchParams { field_manager: manager, ..PatchParams::default() };
        let request =
            target.request().patch_subresource("status", target.key.name(), &params, &Patch::Merge(&patch));
        match self.write("write the status of", &target, request).await {
            Ok(_) => Ok(true),
            Err(error) if error.code() == Some(404) => Ok(false),
            Err(error) if error.code() == Some(409) => Err(target.stale()),
            Err(error) => Err(error),
        }
    }
}

/// The merge patch that makes `live` say what `desired` says, or `None` when it does so already.
fn changes(mut desired: Value, mut live: Value) -> Option<Value> {
    prune_nulls(&mut desired);
    prune_nulls(&mut live);
    keep_transition_times(&mut desired, &live);
    merge_patch(&desired, &live)
}

fn merge_patch(desired: &Value, live: &Value) -> Option<Value> {
    if desired == live {
        return None;
    }
    let (Value::Object(desired), Value::Object(live)) = (desired, live) else { return Some(desired.clone()) };
    let gone =
        live.keys().filter(|name| !desired.contains_key(*name)).map(|name| (name.clone(), Value::Null));
    let changed = desired.iter().filter_map(|(name, desired)| {
        let change = merge_patch(desired, live.get(name).unwrap_or(&Value::Null))?;
        Some((name.clone(), change))
    });
    Some(gone.chain(changed).collect::<Map<_, _>>().into())
}

/// A condition that has the same status as before has had it since the same time as before.
fn keep_transition_times(desired: &mut Value, live: &Value) {
    let known = live.get("conditions").and_then(Value::as_array);
    let wanted = desired.get_mut("conditions").and_then(Value::as_array_mut);
    let (Some(known), Some(wanted)) = (known, wanted) else { return };
    for condition in wanted {
        let same = |field: &str, other: &Value| condition.get(field) == other.get(field);
        let before = known.iter().find(|known| same("type", known) && same("status", known));
        let since = before.and_then(|known| known.get("lastTransitionTime")).cloned();
        if let (Some(since), Value::Object(condition)) = (since, condition) {
            condition.insert("lastTransitionTime".to_owned(), since);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_changed_is_written() {
        let condition = |status: &str, time: &str, message: &str| json!({"type": "Ready", "status": status, "lastTransitionTime": time, "message": message});
        let cases = [
            ("nothing", json!({"a": 1}), json!({"a": 1}), None),
            ("null is absent", json!({"a": 1, "b": null}), json!({"a": 1}), None),
            ("a first status", json!({"a": 1}), Value::Null, Some(json!({"a": 1}))),
            ("a field", json!({"a": 1, "b": 2}), json!({"a": 1, "b": 1}), Some(json!({"b": 2}))),
            (
                "a field that went",
                json!({"a": {}}),
                json!({"a": {"x": 1}, "b": 1}),
                Some(json!({"a": {"x": null}, "b": null})),
            ),
            ("a list as a whole", json!({"l": [1, 2]}), json!({"l": [1]}), Some(json!({"l": [1, 2]}))),
            (
                "a later time of the same condition is no news",
                json!({"conditions": [condition("True", "2026-02-02T00:00:00Z", "m")]}),
                json!({"conditions": [condition("True", "2026-01-01T00:00:00Z", "m")]}),
                None,
            ),
            (
                "a new message is, but the time stays",
                json!({"conditions": [condition("True", "2026-02-02T00:00:00Z", "n")]}),
                json!({"conditions": [condition("True", "2026-01-01T00:00:00Z", "m")]}),
                Some(json!({"conditions": [condition("True", "2026-01-01T00:00:00Z", "n")]})),
            ),
            (
                "a flip takes the new time",
                json!({"conditions": [condition("False", "2026-02-02T00:00:00Z", "m")]}),
                json!({"conditions": [condition("True", "2026-01-01T00:00:00Z", "m")]}),
                Some(json!({"conditions": [condition("False", "2026-02-02T00:00:00Z", "m")]})),
            ),
        ];
        for (name, desired, live, want) in cases {
            assert_eq!(changes(desired, live), want, "{name}");
        }
    }
}

#[cfg(test)]
mod writing;
