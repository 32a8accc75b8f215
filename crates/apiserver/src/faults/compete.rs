//! Competing writes: what somebody else does to an object while a client is about to.

use serde_json::{Value, json};

use super::Competitor;
use crate::{Expect, ObjectId, cluster::Cluster, meta};

impl Competitor {
    /// Does it, past all admission: the competitor is somebody whose write was fine.
    pub(crate) fn act(&self, cluster: &Cluster, id: &ObjectId) {
        let live = cluster.store.get(id).map(|object| object.value().clone());
        let steps: Vec<Option<Value>> = match (self, live) {
            (Self::Put(object), _) => vec![Some(completed(cluster, id, object.clone()))],
            (_, None) => Vec::new(),
            (Self::Touch, Some(live)) => vec![Some(touched(cluster, live))],
            (Self::Delete, Some(_)) => vec![None],
            (Self::Recreate, Some(mut live)) => {
                meta::set(&mut live, "uid", json!(cluster.new_uid(id)));
                meta::remove(&mut live, "deletionTimestamp");
                meta::remove(&mut live, "deletionGracePeriodSeconds");
                vec![None, Some(live)]
            }
        };
        for step in steps {
            // Nothing to delete is nothing to do.
            let _ = cluster.store.commit(id, Expect::Anything, step);
        }
    }
}

fn touched(cluster: &Cluster, mut object: Value) -> Value {
    let stamp = cluster.store.revision().to_string();
    if let Some(metadata) = meta::of_mut(&mut object) {
        let annotations = metadata.entry("annotations").or_insert_with(|| json!({}));
        if let Some(annotations) = annotations.as_object_mut() {
            annotations.insert("competitor".into(), json!(stamp));
        }
    }
    object
}

/// A foreign object under that name, with what the server would have given it.
fn completed(cluster: &Cluster, id: &ObjectId, mut object: Value) -> Value {
    meta::set(&mut object, "name", json!(&*id.name));
    if !id.namespace.is_empty() {
        meta::set(&mut object, "namespace", json!(&*id.namespace));
    }
    if meta::text(&object, "uid").is_empty() {
        meta::set(&mut object, "uid", json!(cluster.new_uid(id)));
        meta::set(&mut object, "creationTimestamp", json!(crate::clock::rfc3339(cluster.clock.now())));
    }
    object
}
