//! Putting objects into a server from the outside, as tests do before their story begins.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Value, json};

use crate::{
    ApiError, Expect, Kind, ObjectId, Scope,
    access::User,
    clock::rfc3339,
    cluster::Cluster,
    crd::{self, life},
    handlers::{self, Answer, Call},
    meta,
    negotiate::{ContentType, Shape},
    request::{Params, Target, Verb},
};

/// Creates or replaces an object, its status included. A definition is established and served at once.
pub(crate) fn install(cluster: &Arc<Cluster>, mut object: Value) -> Result<(), ApiError> {
    let api_version = object.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
    let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
    let kind = object.get("kind").and_then(Value::as_str).unwrap_or_default();
    let kind = cluster
        .registry
        .find_kind(group, version, kind)
        .ok_or_else(|| ApiError::bad_request(format!("no kind {kind} in version {api_version} is served")))?;
    if kind.namespaced && meta::text(&object, "namespace").is_empty() {
        meta::set(&mut object, "namespace", json!("default"));
    }
    let name = meta::name(&object).to_owned();
    let id = ObjectId::new(&kind.group, &kind.plural, meta::text(&object, "namespace"), &name);
    match cluster.store.get(&id) {
        None => write(cluster, &kind, Verb::Create, None, &object)?,
        Some(live) => {
            meta::set(&mut object, "resourceVersion", json!(live.revision().to_string()));
            write(cluster, &kind, Verb::Update, None, &object)?
        }
    };
    if kind.status && object.get("status").is_some() {
        if let Some(live) = cluster.store.get(&id) {
            meta::set(&mut object, "resourceVersion", json!(live.revision().to_string()));
        }
        write(cluster, &kind, Verb::Update, Some("status"), &object)?;
    }
    if kind.group == crd::GROUP && kind.plural == crd::PLURAL {
        establish(cluster, &id)?;
    }
    Ok(())
}

fn write(
    cluster: &Arc<Cluster>,
    kind: &Arc<Kind>,
    verb: Verb,
    subresource: Option<&str>,
    object: &Value,
) -> Result<Answer, ApiError> {
    let target = Target {
        group: kind.group.clone(),
        version: kind.version.clone(),
        plural: kind.plural.clone(),
        namespace: kind.namespaced.then(|| meta::text(object, "namespace").to_owned()),
        name: (verb == Verb::Update).then(|| meta::name(object).to_owned()),
        subresource: subresource.map(str::to_owned),
    };
    handlers::answer(&Call {
        cluster,
        kind: Arc::clone(kind),
        verb,
        target: &target,
        params: &Params { field_manager: Some("install".into()), ..Params::default() },
        body: &Bytes::from(object.to_string()),
        content: ContentType::Json,
        shape: Shape::Whole,
        user: &User::admin(),
        user_agent: "",
        stale: None,
    })
}

/// What the controllers do about a new definition, without waiting for them.
fn establish(cluster: &Cluster, id: &ObjectId) -> Result<(), ApiError> {
    let Some(found) = cluster.store.get(id) else { return Ok(()) };
    let (_, all) = cluster.store.list(&Scope::all(crd::GROUP, crd::PLURAL));
    let others: Vec<&Value> = all.iter().map(|object| object.value()).collect();
    let settled = life::settled(found.value(), &others, &rfc3339(cluster.clock.now()));
    let settled = settled.unwrap_or_else(|| found.value().clone());
    cluster
        .registry
        .serve(&settled)
        .map_err(|causes| ApiError::invalid(crd::GROUP, "CustomResourceDefinition", &id.name, causes))?;
    // A controller that was faster has written the same.
    let _ = cluster.store.commit(id, Expect::Revision(found.revision()), Some(settled));
    Ok(())
}
