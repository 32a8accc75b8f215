//! What the server has where the cache has nothing: whose is it, and what does that mean for whoever wanted to make it?
//!
//! Invariant: what was not looked at is not changed, but for its labels. A StatefulSet or a latch that nobody saw is no part of the
//! picture that was decided on; with its labels it is part of the next.

use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use kit::{Context, Error, Key, KindId, Result};
use kube::{
    Api, Resource, ResourceExt as _,
    api::{Patch, PatchParams},
};
use serde_json::json;

use super::Kind;
use crate::names;

/// Whose it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Whose {
    /// Ours, and newer than the cache.
    Ours,
    /// Ours, and out of our sight: somebody has changed the labels that it is found by.
    OursUnlabelled,
    /// Somebody else's.
    Others,
}

fn whose<K: Resource<DynamicType = ()>>(wanted: &K, found: &K) -> Whose {
    let has = |label: &str| found.labels().get(label) == wanted.labels().get(label);
    let labelled = wanted.labels().keys().all(|label| has(label));
    match is_of_the_same_cluster(wanted, found) {
        true if !labelled => Whose::OursUnlabelled,
        true => Whose::Ours,
        // An earlier cluster's, which is about to go, or one that was left behind.
        false if has(names::CLUSTER) => Whose::Ours,
        false => Whose::Others,
    }
}

/// Whether both belong to the same EtcdCluster. Claims have no owner: they say whose they are.
fn is_of_the_same_cluster<K: Resource<DynamicType = ()>>(wanted: &K, found: &K) -> bool {
    let owner = |object: &K| {
        let owners = object.owner_references().iter();
        owners.filter(|owner| owner.controller == Some(true)).map(|owner| owner.uid.clone()).next()
    };
    let said = |object: &K| object.annotations().get(names::CLUSTER_UID).cloned();
    let same = |wanted: Option<String>, found: Option<String>| wanted.is_some() && wanted == found;
    same(owner(wanted), owner(found)) || same(said(wanted), said(found))
}

/// Why `wanted` is not made where `found` is. What is ours and out of our sight gets its labels back.
pub(crate) async fn instead<K: Kind>(cx: &Context, wanted: &K, found: &K) -> Error {
    let (kind, key) = (KindId::of::<K>(), Key::of(wanted));
    match whose(wanted, found) {
        Whose::Ours => Error::Stale { kind: Box::new(kind), key },
        Whose::OursUnlabelled => label(cx, wanted, found).await,
        Whose::Others => stranger(kind, key),
    }
}

/// Puts the labels back on `found` if it is ours; anything else is left alone.
pub(crate) async fn label_if_ours<K: Kind>(cx: &Context, wanted: &K, found: &K) -> Result<()> {
    match whose(wanted, found) {
        Whose::OursUnlabelled => Err(label(cx, wanted, found).await),
        Whose::Ours | Whose::Others => Ok(()),
    }
}

/// A claim that is not to be made, and may be there all the same.
pub(super) async fn look_for(cx: &Context, wanted: &PersistentVolumeClaim) -> Result<()> {
    match get(cx, wanted).await? {
        Some(found) => label_if_ours(cx, wanted, &found).await,
        None => Ok(()),
    }
}

/// What the server has of that name.
pub(crate) async fn get<K: Kind>(cx: &Context, wanted: &K) -> Result<Option<K>> {
    let key = Key::of(wanted);
    let api: Api<K> = Api::namespaced(cx.client(), key.namespace());
    let found = api.get_opt(key.name()).await;
    found.map_err(|error| Error::api("get", KindId::of::<K>(), key, error))
}

/// Puts our labels back on `found`, if it is still as it was found. Then it is seen, and looked at anew.
async fn label<K: Kind>(cx: &Context, wanted: &K, found: &K) -> Error {
    let (kind, key) = (KindId::of::<K>(), Key::of(wanted));
    tracing::warn!(%kind, %key, "somebody took labels off an object of ours, so that it was not seen; they are put back");
    let exactly =
        json!({"uid": found.uid(), "resourceVersion": found.resource_version(), "labels": wanted.labels()});
    let patch = Patch::Merge(json!({ "metadata": exactly }));
    let api: Api<K> = Api::namespaced(cx.client(), key.namespace());
    match api.patch(key.name(), &PatchParams::default(), &patch).await {
        Ok(now) if whose(wanted, &now) == Whose::OursUnlabelled => Error::other(format!(
            "{kind} {key} cannot be looked after: the labels {} were put on it and did not stay. Find who takes them off, such as a policy",
            wanted.labels().keys().cloned().collect::<Vec<_>>().join(", ")
        )),
        Ok(_) => Error::Stale { kind: Box::new(kind), key },
        Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409 | 422) => {
            Error::Stale { kind: Box::new(kind), key }
        }
        Err(error) => Error::api("label", kind, key, error),
    }
}

fn stranger(kind: KindId, key: Key) -> Error {
    let remedy = format!("Delete that {kind}, or give the EtcdCluster another name");
    Error::Foreign {
        kind: Box::new(kind),
        key,
        owner: "somebody else (it lacks our labels)".to_owned(),
        remedy,
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Secret;
    use serde_json::Value;

    use super::*;

    fn object(labels: Value, owner: &str, said: &str) -> Secret {
        let owner = json!([{"apiVersion": "v1", "kind": "EtcdCluster", "name": "db", "uid": owner, "controller": true}]);
        let owners = if owner[0]["uid"] == "" { json!([]) } else { owner };
        let annotations = if said.is_empty() { json!({}) } else { json!({names::CLUSTER_UID: said}) };
        let metadata =
            json!({"name": "db", "labels": labels, "ownerReferences": owners, "annotations": annotations});
        serde_json::from_value(json!({ "metadata": metadata })).unwrap()
    }

    #[test]
    fn what_is_ours_is_known_by_its_owner_whatever_its_labels_are() {
        let labels =
            |by: &str, cluster: &str| json!({"app.kubernetes.io/managed-by": by, names::CLUSTER: cluster});
        let ours = || labels("capstan", "db");
        let owned = object(ours(), "u-2", "");
        let claim = object(ours(), "", "u-2");
        let cases = [
            ("the cache is behind", &owned, object(ours(), "u-2", ""), Whose::Ours),
            ("managed by Helm", &owned, object(labels("Helm", "db"), "u-2", ""), Whose::OursUnlabelled),
            ("another name", &owned, object(labels("capstan", "other"), "u-2", ""), Whose::OursUnlabelled),
            ("no labels", &owned, object(json!({}), "u-2", ""), Whose::OursUnlabelled),
            ("an earlier cluster's", &owned, object(ours(), "u-1", ""), Whose::Ours),
            ("left behind", &owned, object(ours(), "", ""), Whose::Ours),
            ("a user's own", &owned, object(json!({}), "", ""), Whose::Others),
            ("another's", &owned, object(labels("capstan", "other"), "u-9", ""), Whose::Others),
            ("a claim", &claim, object(ours(), "", "u-2"), Whose::Ours),
            ("a claim without labels", &claim, object(json!({}), "", "u-2"), Whose::OursUnlabelled),
            ("a claim of nobody", &claim, object(json!({}), "", ""), Whose::Others),
        ];
        for (name, wanted, found, expected) in cases {
            assert_eq!(whose(wanted, &found), expected, "{name}");
        }
    }
}
