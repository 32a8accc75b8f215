//! What makes an object due: its own change, a change of what it owns, a change of what it looks at, or news from elsewhere.

use std::sync::{Arc, OnceLock};

use super::{Cache, Controller};
use crate::{
    Key, KindId, Reconciler, Row,
    informer::{Change, Store},
    queue::{Priority, Queue},
};

/// Makes objects due for news that no watch brings, for example that a connection to the application broke. Clones trigger the
/// same controller.
#[derive(Clone, Default)]
pub struct Trigger(Arc<OnceLock<Arc<Queue<Key>>>>);

impl Trigger {
    /// Reconciles the object `key` soon. Before a controller [hears](Controller::hears) it, nobody does: then everything is due
    /// anyway.
    pub fn due(&self, key: &Key) {
        if let Some(queue) = self.0.get() {
            queue.add(key.clone(), Priority::NORMAL);
        }
    }
}

impl std::fmt::Debug for Trigger {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Trigger")
    }
}

impl<R: Reconciler> Controller<R> {
    /// Also reconciles the objects that `trigger` names. A trigger is heard by one controller: the first.
    #[must_use]
    pub fn hears(self, trigger: &Trigger) -> Self {
        trigger.0.set(self.queue.clone()).ok();
        self
    }

    /// Also reconciles the owner when an object that it controls changes or goes.
    #[must_use]
    pub fn owns<C: Row>(self, children: &Store<C>) -> Self {
        let owner = R::Kind::kind();
        self.watches(children, move |change| owners(change, &owner))
    }

    /// Also reconciles the object whose name the label `label` of a changed object has, or had.
    #[must_use]
    pub fn labels<C: Row>(self, others: &Store<C>, label: &'static str) -> Self {
        let main = self.main.clone();
        self.watches(others, move |change| {
            let rows = [change.old, change.new].into_iter().flatten();
            let names = rows.filter_map(|row| row.label(label));
            let mut keys: Vec<Key> = names.map(|name| Key::new(change.key.namespace(), name)).collect();
            keys.dedup();
            keys.retain(|key| main.get(key).is_some());
            keys
        })
    }

    /// Also reconciles the objects that `concerned` names when an object of another kind changes or goes.
    #[must_use]
    pub fn watches<C: Row>(
        mut self,
        others: &Store<C>,
        concerned: impl Fn(&Change<'_, C>) -> Vec<Key> + Send + Sync + 'static,
    ) -> Self {
        let queue = self.queue.clone();
        others.on_change(move |change| {
            let priority = if change.initial { Priority::LOW } else { Priority::NORMAL };
            for key in concerned(change) {
                queue.add(key, priority);
            }
        });
        self.caches.push(Arc::new(others.clone()) as Arc<dyn Cache>);
        self
    }
}

pub(super) fn on_main<K: Row>(main: &Store<K>, queue: &Arc<Queue<Key>>) {
    let queue = queue.clone();
    main.on_change(move |change| queue.add(change.key.clone(), urgency(change)));
}

/// A user waits for what they just asked for; the first list can wait.
fn urgency<K: Row>(change: &Change<'_, K>) -> Priority {
    match (change.old, change.new) {
        _ if change.initial => Priority::LOW,
        (Some(old), Some(new)) if old.generation() == new.generation() => Priority::NORMAL,
        _ => Priority::HIGH,
    }
}

/// The owners of the kind `owner` that a change of a child concerns. Both: one that changes hands concerns the old owner too.
fn owners<C: Row>(change: &Change<'_, C>, owner: &KindId) -> Vec<Key> {
    let owners = [change.old, change.new].into_iter().flatten().filter_map(|child| {
        let controller = child.controller().filter(|controller| controller.kind == owner.kind)?;
        let key = child.key();
        let namespace = if owner.namespaced { key.namespace() } else { "" };
        Some(Key::new(namespace, controller.name))
    });
    let mut keys: Vec<Key> = owners.collect();
    keys.dedup();
    keys
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::{ConfigMap, Node, Pod};
    use serde_json::json;

    use super::*;

    #[test]
    fn a_trigger_is_heard_by_the_first_controller_that_listens_and_by_nobody_before() {
        let (queue, late) = [(); 2].map(|()| Arc::new(Queue::new(crate::Backoff::default()))).into();
        let (trigger, key) = (Trigger::default(), Key::new("ns", "a"));
        trigger.due(&key);
        trigger.0.set(queue.clone()).ok();
        trigger.clone().due(&key);
        trigger.0.set(late.clone()).ok();
        let waiting = |queue: &Queue<Key>| queue.look(|order| order.depth(Priority::NORMAL));
        assert_eq!((waiting(&queue), waiting(&late)), (1, 0));
    }

    fn child(kind: &str, name: &str) -> Arc<ConfigMap> {
        let owner = json!({"apiVersion": "v1", "kind": kind, "name": name, "uid": name, "controller": true});
        let metadata = json!({"name": "c", "namespace": "ns", "ownerReferences": [owner]});
        Arc::new(serde_json::from_value(json!({"metadata": metadata})).unwrap())
    }

    #[test]
    fn a_childs_owners_are_found_by_kind_in_its_namespace_or_outside_of_all() {
        let (pod, other, node) = (child("Pod", "a"), child("Pod", "b"), child("Node", "n"));
        let check =
            |old: Option<&Arc<ConfigMap>>, new: Option<&Arc<ConfigMap>>, owner: KindId, expected: &[Key]| {
                let key = &Key::new("ns", "c");
                assert_eq!(
                    owners(&Change { key, old, new, undecodable: None, initial: false }, &owner),
                    expected
                );
            };
        let (a, b) = (Key::new("ns", "a"), Key::new("ns", "b"));
        check(None, Some(&pod), KindId::of::<Pod>(), std::slice::from_ref(&a));
        check(Some(&pod), Some(&pod), KindId::of::<Pod>(), std::slice::from_ref(&a));
        check(Some(&pod), Some(&other), KindId::of::<Pod>(), &[a.clone(), b]);
        check(Some(&pod), Some(&node), KindId::of::<Pod>(), &[a]);
        check(Some(&pod), Some(&node), KindId::of::<Node>(), &[Key::cluster("n")]);
    }
}
