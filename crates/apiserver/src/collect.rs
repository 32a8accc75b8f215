//! Garbage collection, the rules: what becomes of an object when its owners or its dependents go.
//!
//! Background: a dependent whose owners are all gone goes too. Foreground: an owner that is being deleted waits for those of its
//! dependents that block it. Orphan: dependents lose the reference and stay.
//!
//! Source: Kubernetes "Garbage collection" and "Owners and dependents", `pkg/controller/garbagecollector`.

use std::collections::{BTreeSet, HashMap};

use serde_json::Value;

use crate::{ObjectId, Store, crd::Registry, meta};

/// Who depends on whom, by the owner's UID.
#[derive(Debug, Default)]
pub(crate) struct Graph {
    dependents: HashMap<String, BTreeSet<ObjectId>>,
}

/// What the collector has to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Action {
    Delete { id: ObjectId, uid: String, policy: &'static str },
    DropOwners { id: ObjectId, uids: Vec<String> },
    DropFinalizer { id: ObjectId, finalizer: &'static str },
}

impl Graph {
    /// Takes note of an object's owners before and after a change.
    pub(crate) fn changed(&mut self, id: &ObjectId, old: Option<&Value>, new: Option<&Value>) {
        for owner in old.into_iter().flat_map(owners) {
            if let Some(set) = self.dependents.get_mut(owner.uid) {
                set.remove(id);
                if set.is_empty() {
                    self.dependents.remove(owner.uid);
                }
            }
        }
        for owner in new.into_iter().flat_map(owners) {
            self.dependents.entry(owner.uid.to_owned()).or_default().insert(id.clone());
        }
    }

    /// The objects that name `uid` as their owner.
    pub(crate) fn dependents(&self, uid: &str) -> Vec<ObjectId> {
        self.dependents.get(uid).into_iter().flatten().cloned().collect()
    }
}

/// One owner reference.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OwnerRef<'a> {
    api_version: &'a str,
    kind: &'a str,
    name: &'a str,
    uid: &'a str,
    blocks: bool,
}

pub(crate) fn owners(object: &Value) -> impl Iterator<Item = OwnerRef<'_>> {
    let list = meta::of(object).get("ownerReferences").and_then(Value::as_array);
    list.into_iter().flatten().map(|owner| {
        let text = |field: &str| owner.get(field).and_then(Value::as_str).unwrap_or_default();
        OwnerRef {
            api_version: text("apiVersion"),
            kind: text("kind"),
            name: text("name"),
            uid: text("uid"),
            blocks: owner.get("blockOwnerDeletion").and_then(Value::as_bool).unwrap_or_default(),
        }
    })
}

/// Where the object that an owner reference names would be; `None` when its kind is not served.
pub(crate) fn owner_id(registry: &Registry, owner: &OwnerRef<'_>, namespace: &str) -> Option<ObjectId> {
    let (group, version) = owner.api_version.rsplit_once('/').unwrap_or(("", owner.api_version));
    let kind = registry.find_kind(group, version, owner.kind)?;
    let namespace = if kind.namespaced { namespace } else { "" };
    Some(ObjectId::new(&kind.group, &kind.plural, namespace, owner.name))
}

/// How things stand with an owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    Present,
    /// It is being deleted and waits for this dependent.
    Waiting,
    Absent,
}

/// What to do about the object at `id`.
pub(crate) fn decide(store: &Store, registry: &Registry, graph: &Graph, id: &ObjectId) -> Vec<Action> {
    let Some(object) = store.get(id) else { return Vec::new() };
    let object = object.value();
    let uid = meta::text(object, "uid");
    let finalizers = meta::finalizers(object);
    let deleting = meta::is_deleting(object);
    if deleting && finalizers.contains(&meta::ORPHAN) {
        return orphan(graph, id, uid);
    }
    if deleting && finalizers.contains(&meta::FOREGROUND) {
        return foreground(store, graph, id, uid);
    }
    if deleting {
        return Vec::new();
    }
    let standings: Vec<(&str, Standing)> =
        owners(object).map(|owner| (owner.uid, standing(store, registry, &owner, id))).collect();
    let gone: Vec<String> =
        standings.iter().filter(|(_, s)| *s != Standing::Present).map(|(uid, _)| (*uid).to_owned()).collect();
    if gone.is_empty() {
        return Vec::new();
    }
    if gone.len() < standings.len() {
        return vec![Action::DropOwners { id: id.clone(), uids: gone }];
    }
    let awaited = standings.iter().any(|(_, standing)| *standing == Standing::Waiting);
    let has_dependents = !graph.dependents(uid).is_empty();
    let policy = if awaited && has_dependents { "Foreground" } else { "Background" };
    vec![Action::Delete { id: id.clone(), uid: uid.to_owned(), policy }]
}

fn orphan(graph: &Graph, id: &ObjectId, uid: &str) -> Vec<Action> {
    let drop = |dependent| Action::DropOwners { id: dependent, uids: vec![uid.to_owned()] };
    let mut actions: Vec<Action> = graph.dependents(uid).into_iter().map(drop).collect();
    actions.push(Action::DropFinalizer { id: id.clone(), finalizer: meta::ORPHAN });
    actions
}

/// The dependents that block go first; each is looked at by itself (it may have other owners). Then the owner may go.
fn foreground(store: &Store, graph: &Graph, id: &ObjectId, uid: &str) -> Vec<Action> {
    let blocking = graph.dependents(uid).into_iter().any(|dependent| {
        store.get(&dependent).is_some_and(|d| owners(d.value()).any(|owner| owner.uid == uid && owner.blocks))
    });
    if blocking {
        Vec::new()
    } else {
        vec![Action::DropFinalizer { id: id.clone(), finalizer: meta::FOREGROUND }]
    }
}

fn standing(store: &Store, registry: &Registry, owner: &OwnerRef<'_>, dependent: &ObjectId) -> Standing {
    // A kind that is not served cannot be looked up: nothing is deleted on a guess.
    let Some(id) = owner_id(registry, owner, &dependent.namespace) else { return Standing::Present };
    match store.get(&id) {
        Some(found) if meta::text(found.value(), "uid") == owner.uid => {
            let waits = meta::is_deleting(found.value())
                && meta::finalizers(found.value()).contains(&meta::FOREGROUND);
            if waits && owner.blocks { Standing::Waiting } else { Standing::Present }
        }
        _ => Standing::Absent,
    }
}
