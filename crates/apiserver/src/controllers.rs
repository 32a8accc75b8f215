//! What kube-controller-manager and the apiserver's own loops do about stored objects: garbage, namespaces, definitions.
//!
//! They watch the log of the store and act as clients do, on a connection of their own that is neither recorded nor broken.

use std::sync::{Arc, Weak};

use serde_json::{Value, json};

use crate::{
    Change, Event, Expect, ObjectId, Scope,
    access::User,
    clock::rfc3339,
    cluster::Cluster,
    collect::{self, Action, Graph},
    crd::{self, life},
    meta, namespaces,
};

/// Works until the server is gone.
pub(crate) async fn run(cluster: Weak<Cluster>, client: kube::Client) {
    let Some((mut revisions, mut seen)) =
        cluster.upgrade().map(|cluster| (cluster.store.subscribe(), cluster.store.compacted()))
    else {
        return;
    };
    let mut graph = Graph::default();
    loop {
        let Some(cluster) = cluster.upgrade() else { return };
        let events = cluster.store.events_since(seen, usize::MAX).unwrap_or_else(|_| {
            // A compaction has overtaken us: what was forgotten is still in the store.
            graph = Graph::default();
            everything(&cluster)
        });
        if events.is_empty() {
            drop(cluster);
            if revisions.changed().await.is_err() {
                return;
            }
            continue;
        }
        // Who depends on whom is known before anything is decided.
        for event in &events {
            seen = event.revision;
            let old = event.previous.as_ref().map(|object| object.value());
            let new = cluster.store.get(&event.id);
            graph.changed(&event.id, old, new.as_ref().map(|object| object.value()));
        }
        for event in events {
            definition(&cluster, &client, &event).await;
            namespace(&cluster, &client, &event).await;
            for id in concerned(&cluster, &graph, &event) {
                for action in collect::decide(&cluster.store, &cluster.registry, &graph, &id) {
                    carry_out(&cluster, &client, &action).await;
                }
            }
        }
    }
}

/// All objects as if they had just changed.
fn everything(cluster: &Cluster) -> Vec<Event> {
    let revision = cluster.store.revision();
    let all = cluster.store.everything().into_iter();
    all.map(|(id, object)| Event { revision, id, change: Change::Modified, object, previous: None }).collect()
}

/// Whom the collector looks at after a change: the object, those that depend on it, those that it depends on.
fn concerned(cluster: &Cluster, graph: &Graph, event: &Event) -> Vec<ObjectId> {
    let object = event.object.value();
    let mut ids = vec![event.id.clone()];
    if meta::is_deleting(object) || cluster.store.get(&event.id).is_none() {
        ids.extend(graph.dependents(meta::text(object, "uid")));
    }
    let sources = [Some(object), event.previous.as_ref().map(|previous| previous.value())];
    for source in sources.into_iter().flatten() {
        let owners = collect::owners(source);
        ids.extend(
            owners.filter_map(|owner| collect::owner_id(&cluster.registry, &owner, &event.id.namespace)),
        );
    }
    ids
}

async fn carry_out(cluster: &Cluster, client: &kube::Client, action: &Action) {
    match action {
        Action::Delete { id, uid, policy } => delete(cluster, client, id, Some(uid), policy).await,
        Action::DropOwners { id, uids } => edit(cluster, id, |object| {
            let Some(metadata) = meta::of_mut(object) else { return };
            let Some(owners) = metadata.get_mut("ownerReferences").and_then(Value::as_array_mut) else {
                return;
            };
            owners.retain(|owner| {
                owner.get("uid").and_then(Value::as_str).is_none_or(|uid| !uids.iter().any(|u| u == uid))
            });
            if owners.is_empty() {
                metadata.remove("ownerReferences");
            }
        }),
        Action::DropFinalizer { id, finalizer } => {
            edit(cluster, id, |object| drop_finalizer(object, finalizer));
        }
    }
}

/// Names are accepted, the kind is served; a definition that goes takes its objects with it.
async fn definition(cluster: &Cluster, client: &kube::Client, event: &Event) {
    let custom = &*event.id.group != crd::GROUP;
    if custom {
        // The last object of a terminating definition is gone: it may go now.
        let name = format!("{}.{}", event.id.plural, event.id.group);
        let id = ObjectId::new(crd::GROUP, crd::PLURAL, "", &name);
        if let Some(definition) = cluster.store.get(&id).filter(|_| cluster.store.get(&event.id).is_none()) {
            finish_definition(cluster, client, &id, definition.value()).await;
        }
        return;
    }
    if &*event.id.plural != crd::PLURAL {
        return;
    }
    let Some(found) = cluster.store.get(&event.id) else {
        cluster.registry.withdraw(&event.id.name);
        // Its names are free: a definition that had to wait for them may have them now.
        for id in ids(cluster, &Scope::all(crd::GROUP, crd::PLURAL)) {
            settle(cluster, &id);
        }
        return;
    };
    if meta::is_deleting(found.value()) {
        finish_definition(cluster, client, &event.id, found.value()).await;
        return;
    }
    settle(cluster, &event.id);
}

/// Names are accepted or refused; what is established is served.
fn settle(cluster: &Cluster, id: &ObjectId) {
    let Some(found) = cluster.store.get(id).filter(|found| !meta::is_deleting(found.value())) else { return };
    let (_, all) = cluster.store.list(&Scope::all(crd::GROUP, crd::PLURAL));
    let others: Vec<&Value> = all.iter().map(|object| object.value()).collect();
    let now = rfc3339(cluster.clock.now());
    let settled = life::settled(found.value(), &others, &now);
    if life::is_established(settled.as_ref().unwrap_or(found.value()))
        && let Err(causes) = cluster.registry.serve(found.value())
    {
        tracing::error!(name = %id.name, ?causes, "a stored definition cannot be served");
    }
    if let Some(settled) = settled {
        edit(cluster, id, |object| {
            if let (Some(object), Some(status)) = (object.as_object_mut(), settled.get("status")) {
                object.insert("status".into(), status.clone());
            }
        });
    }
}

async fn finish_definition(cluster: &Cluster, client: &kube::Client, id: &ObjectId, definition: &Value) {
    if !meta::is_deleting(definition) || !meta::finalizers(definition).contains(&life::CLEANUP) {
        return;
    }
    let text = |pointer: &str| definition.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let scope = Scope::all(text("/spec/group"), text("/spec/names/plural"));
    for object_id in ids(cluster, &scope) {
        delete(cluster, client, &object_id, None, "Background").await;
    }
    if ids(cluster, &scope).is_empty() {
        edit(cluster, id, |object| drop_finalizer(object, life::CLEANUP));
    }
}

/// A terminating namespace is emptied; when nothing is left in it, it goes.
async fn namespace(cluster: &Cluster, client: &kube::Client, event: &Event) {
    let name = match (&*event.id.plural, &*event.id.group) {
        ("namespaces", "") => &event.id.name,
        _ => &event.id.namespace,
    };
    let id = ObjectId::new("", "namespaces", "", name);
    let Some(found) = cluster.store.get(&id).filter(|found| meta::is_deleting(found.value())) else { return };
    if !namespaces::is_held(found.value()) {
        return;
    }
    let content = |cluster: &Cluster| -> Vec<ObjectId> {
        let kinds = cluster.registry.all();
        let scopes = kinds.iter().filter(|kind| kind.namespaced && kind.storage);
        scopes.flat_map(|kind| ids(cluster, &Scope::namespace(&kind.group, &kind.plural, name))).collect()
    };
    for object_id in content(cluster) {
        delete(cluster, client, &object_id, None, "Background").await;
    }
    if content(cluster).is_empty() {
        edit(cluster, &id, |object| {
            if let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) {
                spec.remove("finalizers");
            }
        });
    }
}

fn ids(cluster: &Cluster, scope: &Scope) -> Vec<ObjectId> {
    let (_, objects) = cluster.store.list(scope);
    let id = |object: &Value| {
        ObjectId::new(&scope.group, &scope.plural, meta::text(object, "namespace"), meta::name(object))
    };
    objects.iter().map(|object| id(object.value())).collect()
}

fn drop_finalizer(object: &mut Value, finalizer: &str) {
    let rest: Vec<String> =
        meta::finalizers(object).into_iter().filter(|f| *f != finalizer).map(str::to_owned).collect();
    meta::set_finalizers(object, &rest);
}

/// Deletes as a client does; an object that is deleted already is left alone.
async fn delete(cluster: &Cluster, client: &kube::Client, id: &ObjectId, uid: Option<&String>, policy: &str) {
    let Some(object) = cluster.store.get(id).filter(|object| !meta::is_deleting(object.value())) else {
        return;
    };
    let Some(kind) = cluster.registry.storage(&id.group, &id.plural) else { return };
    let root = if id.group.is_empty() { "/api".to_owned() } else { format!("/apis/{}", id.group) };
    let place = if kind.namespaced { format!("namespaces/{}/", id.namespace) } else { String::new() };
    let path = format!("{root}/{}/{place}{}/{}", kind.version, id.plural, id.name);
    let uid = uid.map_or_else(|| meta::text(object.value(), "uid"), String::as_str);
    let options = json!({"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": policy, "preconditions": {"uid": uid}});
    let request = http::Request::delete(path).header("content-type", "application/json");
    let Ok(request) = request.body(options.to_string().into_bytes()) else { return };
    if let Err(error) = client.request_text(request).await {
        // It went, or changed hands, in between: the next event will tell.
        tracing::debug!(%id, %error, "not deleted");
    }
}

/// Changes an object in the store; one that is being deleted and is held by nothing any more is gone then.
fn edit(cluster: &Cluster, id: &ObjectId, change: impl Fn(&mut Value)) {
    while let Some(object) = cluster.store.get(id) {
        let mut value = object.value().clone();
        change(&mut value);
        let free = meta::is_deleting(&value) && meta::finalizers(&value).is_empty();
        let held = &*id.plural == "namespaces" && id.group.is_empty() && namespaces::is_held(&value);
        let next = (!free || held).then_some(value);
        if cluster.store.commit(id, Expect::Revision(object.revision()), next).is_ok() {
            return;
        }
    }
}

/// Who the controllers are.
pub(crate) fn user() -> User {
    User::admin()
}

/// Starts the loops on the current runtime.
pub(crate) fn start(cluster: &Arc<Cluster>, client: kube::Client) {
    tokio::spawn(run(Arc::downgrade(cluster), client));
}
