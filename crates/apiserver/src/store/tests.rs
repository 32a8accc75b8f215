//! Revisions, expectations, the past, and its compaction.

use serde_json::json;

use super::*;

fn id(name: &str) -> ObjectId {
    ObjectId::new("", "configmaps", "default", name)
}

fn map(name: &str, data: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}, "data": {"k": data}})
}

fn names(objects: &[Arc<Object>]) -> Vec<&str> {
    objects.iter().filter_map(|o| o.value().pointer("/metadata/name")?.as_str()).collect()
}

#[test]
fn every_commit_is_one_revision_of_one_counter() {
    let store = Store::new();
    let a = store.commit(&id("a"), Expect::Absent, Some(map("a", "1"))).unwrap();
    let b = store.commit(&id("b"), Expect::Absent, Some(map("b", "1"))).unwrap();
    assert_eq!((a.revision() + 1, store.revision()), (b.revision(), b.revision()));
    assert_eq!(a.value()["metadata"]["resourceVersion"], a.revision().to_string());
}

#[test]
fn a_commit_that_changes_nothing_makes_no_revision() {
    let store = Store::new();
    let a = store.commit(&id("a"), Expect::Absent, Some(map("a", "1"))).unwrap();
    let mut same = map("a", "1");
    same["metadata"]["resourceVersion"] = json!("whatever");
    let (again, made) = store.commit_event(&id("a"), Expect::Anything, Some(same)).unwrap();
    assert_eq!((again.revision(), made), (a.revision(), None));
}

#[test]
fn expectations_guard_a_commit() {
    let store = Store::new();
    let a = store.commit(&id("a"), Expect::Absent, Some(map("a", "1"))).unwrap();
    let commit = |name: &str, expect, value| store.commit(&id(name), expect, value).map(|_| ()).unwrap_err();
    assert_eq!(commit("a", Expect::Absent, Some(map("a", "2"))), CommitError::Exists);
    assert_eq!(
        commit("a", Expect::Revision(7), Some(map("a", "2"))),
        CommitError::Changed { live: a.revision() }
    );
    assert_eq!(commit("b", Expect::Revision(7), Some(map("b", "2"))), CommitError::Missing);
    assert_eq!(commit("b", Expect::Anything, None), CommitError::Missing);
}

#[test]
fn the_past_is_served_as_it_was() {
    let store = Store::new();
    let first = store.commit(&id("a"), Expect::Absent, Some(map("a", "1"))).unwrap().revision();
    store.commit(&id("b"), Expect::Absent, Some(map("b", "1"))).unwrap();
    store.commit(&id("a"), Expect::Anything, Some(map("a", "2"))).unwrap();
    store.commit(&id("a"), Expect::Anything, None).unwrap();
    let scope = Scope::namespace("", "configmaps", "default");
    assert_eq!(names(&store.list(&scope).1), ["b"]);
    assert_eq!(names(&store.list_at(&scope, first).unwrap()), ["a"]);
    assert_eq!(names(&store.list_at(&scope, first + 1).unwrap()), ["a", "b"]);
    assert_eq!(store.get_at(&id("a"), first + 2).unwrap().unwrap().value()["data"]["k"], "2");
    assert!(store.get_at(&id("a"), first + 3).unwrap().is_none());
}

#[test]
fn events_follow_a_revision_and_a_deletion_carries_its_own() {
    let store = Store::new();
    let start = store.revision();
    store.commit(&id("a"), Expect::Absent, Some(map("a", "1"))).unwrap();
    store.commit(&id("a"), Expect::Anything, None).unwrap();
    let events = store.events_since(start, 10).unwrap();
    assert_eq!(events.iter().map(|e| e.change).collect::<Vec<_>>(), [Change::Added, Change::Deleted]);
    assert_eq!(events[1].object.revision(), start + 2);
    assert_eq!(store.events_since(start + 1, 10).unwrap().len(), 1);
    assert!(store.events_since(start + 2, 10).unwrap().is_empty());
}

#[test]
fn compaction_forgets_the_past_and_keeps_the_present() {
    let store = Store::new();
    let first = store.commit(&id("a"), Expect::Absent, Some(map("a", "1"))).unwrap().revision();
    store.commit(&id("b"), Expect::Absent, Some(map("b", "1"))).unwrap();
    store.commit(&id("b"), Expect::Anything, None).unwrap();
    let compacted = store.revision();
    store.compact(compacted);
    store.commit(&id("a"), Expect::Anything, Some(map("a", "2"))).unwrap();
    assert_eq!(store.get_at(&id("a"), first).unwrap_err(), Compacted { compacted });
    assert_eq!(store.events_since(first, 10).unwrap_err(), Compacted { compacted });
    assert_eq!(store.get_at(&id("a"), compacted).unwrap().unwrap().value()["data"]["k"], "1");
    assert_eq!(store.events_since(compacted, 10).unwrap().len(), 1);
    assert_eq!(names(&store.list(&Scope::all("", "configmaps")).1), ["a"]);
}

#[test]
fn scopes_do_not_reach_into_their_neighbours() {
    let store = Store::new();
    for (group, plural, namespace) in
        [("", "configmaps", "a"), ("", "configmaps", "b"), ("", "secrets", "a"), ("apps", "configmaps", "a")]
    {
        store
            .commit(&ObjectId::new(group, plural, namespace, "x"), Expect::Absent, Some(map("x", "1")))
            .unwrap();
    }
    assert_eq!(store.list(&Scope::all("", "configmaps")).1.len(), 2);
    assert_eq!(store.list(&Scope::namespace("", "configmaps", "b")).1.len(), 1);
    assert_eq!(store.list(&Scope::all("", "config")).1.len(), 0);
}

#[test]
fn the_wire_form_carries_the_version_that_was_asked_for() {
    let store = Store::new();
    let object = store.commit(&id("a"), Expect::Absent, Some(map("a", "1"))).unwrap();
    let mut out = bytes::BytesMut::new();
    object.write_json(Some(("v2", "Map")), &mut out);
    let read: Value = serde_json::from_slice(&out).unwrap();
    assert_eq!(
        (&read["apiVersion"], &read["kind"], &read["data"]["k"]),
        (&json!("v2"), &json!("Map"), &json!("1"))
    );
}
