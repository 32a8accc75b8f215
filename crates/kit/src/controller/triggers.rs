//! What makes an object due: its own change, a change of what it owns, a change of what it looks at.

use std::sync::Arc;

use super::{Cache, Controller};
use crate::{
    Key, Reconciler, Row,
    informer::{Change, Store},
    metrics::Metrics,
    queue::{Priority, Queue},
};

impl<R: Reconciler> Controller<R> {
    /// Also reconciles the owner when an object that it controls changes or goes.
    #[must_use]
    pub fn owns<C: Row>(self, children: &Store<C>) -> Self {
        let owner = R::Kind::kind().kind;
        self.watches(children, move |change| {
            // Both: a child that changes hands concerns the old owner too.
            let owners = [change.old, change.new].into_iter().flatten().filter_map(|row| {
                let controller = row.controller()?;
                let namespace = row.key().namespace().to_owned();
                (controller.kind == owner).then(|| Key::new(namespace, controller.name))
            });
            let mut keys: Vec<Key> = owners.collect();
            keys.dedup();
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
        let (queue, metrics) = (self.queue.clone(), self.tools.metrics.clone());
        others.on_change(move |change| {
            let priority = if change.initial { Priority::LOW } else { Priority::NORMAL };
            for key in concerned(change) {
                add(&queue, R::NAME, &metrics, key, priority);
            }
        });
        self.caches.push(Arc::new(others.clone()) as Arc<dyn Cache>);
        self
    }
}

pub(super) fn on_main<K: Row>(main: &Store<K>, name: &'static str, queue: &Arc<Queue<Key>>, metrics: &Metrics) {
    let (queue, metrics) = (queue.clone(), metrics.clone());
    main.on_change(move |change| add(&queue, name, &metrics, change.key.clone(), urgency(change)));
}

/// A user waits for what they just asked for; the first list can wait.
fn urgency<K: Row>(change: &Change<'_, K>) -> Priority {
    match (change.old, change.new) {
        _ if change.initial => Priority::LOW,
        (Some(old), Some(new)) if old.generation() == new.generation() => Priority::NORMAL,
        _ => Priority::HIGH,
    }
}

fn add(queue: &Queue<Key>, name: &str, metrics: &Metrics, key: Key, priority: Priority) {
    metrics.queue_added(name, priority.0);
    queue.add(key, priority);
}
