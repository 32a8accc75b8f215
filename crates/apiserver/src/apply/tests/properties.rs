//! What holds for every intent: generated objects of the test schema, generated histories.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{World, world};
use crate::apply::{
    fieldset::FieldSet,
    owned::{fields_of, with_declared},
    typed::Type,
};

fn maybe(name: &'static str, value: BoxedStrategy<Value>) -> BoxedStrategy<Option<(String, Value)>> {
    prop::option::of(value).prop_map(move |value| value.map(|value| (name.to_owned(), value))).boxed()
}

fn map(fields: Vec<BoxedStrategy<Option<(String, Value)>>>) -> BoxedStrategy<Value> {
    fields.prop_map(|fields| Value::Object(fields.into_iter().flatten().collect::<Map<_, _>>())).boxed()
}

fn text() -> BoxedStrategy<Value> {
    "[ab]".prop_map(Value::from).boxed()
}

fn texts() -> BoxedStrategy<Value> {
    prop::sample::subsequence(vec!["a", "b", "c", "d"], 0..=4)
        .prop_shuffle()
        .prop_map(|items| json!(items))
        .boxed()
}

fn env() -> BoxedStrategy<Value> {
    let element = map(vec![maybe("value", text()), maybe("from", map(vec![maybe("key", text())]))]);
    let names = prop::sample::subsequence(vec!["A", "B", "C"], 0..=3).prop_shuffle();
    (names, prop::collection::vec(element, 3))
        .prop_map(|(names, elements)| {
            let named = names.iter().zip(elements).map(|(name, mut element)| {
                element["name"] = json!(name);
                element
            });
            named.collect()
        })
        .boxed()
}

fn ports() -> BoxedStrategy<Value> {
    let keys =
        prop::sample::subsequence(vec![(1, None), (1, Some("UDP")), (2, Some("TCP"))], 0..=3).prop_shuffle();
    keys.prop_map(|keys| {
        let port = |(port, protocol): &(i32, Option<&str>)| match protocol {
            Some(protocol) => json!({"port": port, "protocol": protocol}),
            None => json!({"port": port}),
        };
        keys.iter().map(port).collect()
    })
    .boxed()
}

fn config() -> BoxedStrategy<Value> {
    let leaf = prop_oneof![text(), (0..2i64).prop_map(Value::from), texts()];
    let value = leaf.prop_recursive(2, 8, 3, |inner| {
        prop::collection::btree_map("[xy]", inner, 0..3).prop_map(|map| map.into_iter().collect())
    });
    prop::collection::btree_map("[xyz]", value, 0..3).prop_map(|map| map.into_iter().collect()).boxed()
}

fn pairs() -> BoxedStrategy<Value> {
    prop::collection::btree_map("[klm]", text(), 0..3).prop_map(|map| json!(map)).boxed()
}

/// Intents without empty maps and lists: those Kubernetes gives up and takes back in turn, see
/// `a_map_that_its_owner_empties_is_null_first`.
fn intents() -> BoxedStrategy<Value> {
    let limit = map(vec![maybe("cpu", text()), maybe("memory", text())]);
    let limits = prop::collection::btree_map("[xy]", limit, 0..2).prop_map(|map| json!(map)).boxed();
    let spec = map(vec![
        maybe("replicas", (0..2i64).prop_map(Value::from).boxed()),
        maybe("selector", pairs()),
        maybe("limits", limits),
        maybe("strategy", map(vec![maybe("type", text())])),
        maybe("tags", texts()),
        maybe("args", texts()),
        maybe("ports", ports()),
        maybe("env", env()),
        maybe("config", config()),
    ]);
    let metadata = map(vec![maybe("labels", pairs()), maybe("finalizers", texts())]);
    map(vec![maybe("metadata", metadata), maybe("spec", spec)])
        .prop_map(|intent| full(intent).unwrap_or(json!({})))
        .boxed()
}

/// Without what is empty; `None` if nothing is left.
fn full(value: Value) -> Option<Value> {
    match value {
        Value::Object(fields) => {
            let fields: Map<_, _> =
                fields.into_iter().filter_map(|(name, value)| Some((name, full(value)?))).collect();
            (!fields.is_empty()).then_some(Value::Object(fields))
        }
        Value::Array(items) => {
            let items: Vec<_> = items.into_iter().filter_map(full).collect();
            (!items.is_empty()).then_some(Value::Array(items))
        }
        scalar => Some(scalar),
    }
}

/// Who wrote what, and how.
#[derive(Debug, Clone)]
enum Write {
    Apply(&'static str, Value),
    Update(&'static str, Value),
}

fn histories() -> impl Strategy<Value = Vec<Write>> {
    let manager = prop::sample::select(vec!["a", "b", "c"]);
    let write = (manager, any::<bool>(), intents()).prop_map(|(manager, apply, intent)| {
        if apply { Write::Apply(manager, intent) } else { Write::Update(manager, intent) }
    });
    prop::collection::vec(write, 0..5)
}

fn after(history: &[Write]) -> World {
    history.iter().fold(world(), |world, write| match write {
        Write::Apply(manager, intent) => world.forces(manager, intent),
        Write::Update(manager, fields) => world.updates(manager, fields),
    })
}

fn fields(world: &World) -> FieldSet {
    let ty = Type::of(&world.schema);
    with_declared(ty, &fields_of(ty, world.live()))
}

fn entries(world: &World) -> Vec<(String, FieldSet)> {
    let entries = world.live()["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
    entries
        .iter()
        .map(|entry| {
            (format!("{} {}", entry["operation"], entry["manager"]), FieldSet::decode(&entry["fieldsV1"]))
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn applying_twice_is_applying_once(history in histories(), intent in intents()) {
        let once = after(&history).forces("a", &intent);
        let before = once.live().clone();
        let again = once.applies("a", &intent);
        prop_assert_eq!(again.live(), &before);
    }

    #[test]
    fn nobody_owns_what_is_not_there(history in histories()) {
        let world = after(&history);
        if world.live.is_some() {
            let there = fields(&world);
            for (owner, owned) in entries(&world) {
                let missing = owned.difference(&there).paths();
                prop_assert!(missing.is_empty(), "{owner} owns {missing:?} of {}", world.live());
            }
        }
    }

    #[test]
    fn no_entry_is_empty_and_no_manager_has_two(history in histories()) {
        let world = after(&history);
        if world.live.is_some() {
            let entries = entries(&world);
            prop_assert!(entries.iter().all(|(_, owned)| !owned.is_empty()));
            let names: std::collections::BTreeSet<_> = entries.iter().map(|(name, _)| name).collect();
            prop_assert_eq!(names.len(), entries.len());
        }
    }

    #[test]
    fn what_an_applier_says_is_so(history in histories(), intent in intents()) {
        let world = after(&history).forces("a", &intent);
        let ty = Type::of(&world.schema);
        let said = fields_of(ty, &super::object(&intent));
        prop_assert!(said.difference(&fields(&world)).is_empty());
        // A forced apply laid over itself has no conflict left with anybody.
        prop_assert!(world.try_apply("a", &intent, false).is_ok());
    }

    #[test]
    fn an_applier_who_says_nothing_takes_away_what_was_only_its_own(first in intents(), second in intents()) {
        let alone = world().forces("b", &second);
        let both = world().forces("b", &second).forces("a", &first).forces("b", &second).forces("a", &json!({}));
        // b forced its fields last: what is left is exactly what b says.
        let ty = Type::of(&alone.schema);
        let left = fields_of(ty, both.live());
        let said = fields_of(ty, alone.live());
        prop_assert_eq!(strip(&left).paths(), strip(&said).paths());
    }
}

/// managedFields are no content.
fn strip(set: &FieldSet) -> FieldSet {
    set.without(&FieldSet::of_fields(&["metadata.managedFields"]))
}
