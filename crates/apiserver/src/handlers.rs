//! One file per verb; here what they share: the call that came in, and the answer that goes out.

mod admit;
mod create;
mod decode;
mod delete;
mod delete_collection;
mod get;
mod list;
mod patch;
mod subresources;
mod update;
mod watch;

use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Value, json};

use crate::{
    ApiError, Kind, ObjectId, Scope,
    access::User,
    cluster::Cluster,
    negotiate::{ContentType, Shape, Shown},
    request::{Params, Target, Verb},
    watch::Feed,
};

/// One request to a resource, read and routed.
pub(crate) struct Call<'a> {
    pub(crate) cluster: &'a Arc<Cluster>,
    pub(crate) kind: Arc<Kind>,
    pub(crate) verb: Verb,
    pub(crate) target: &'a Target,
    pub(crate) params: &'a Params,
    pub(crate) body: &'a Bytes,
    pub(crate) content: ContentType,
    pub(crate) shape: Shape,
    pub(crate) user: &'a User,
    pub(crate) user_agent: &'a str,
    /// Reads are served as of this revision: time travel.
    pub(crate) stale: Option<u64>,
}

/// What goes back.
pub(crate) struct Answer {
    pub(crate) code: u16,
    pub(crate) content: Content,
    /// For the `Warning` headers.
    pub(crate) warnings: Vec<String>,
    /// The revision that the request made.
    pub(crate) revision: Option<u64>,
}

pub(crate) enum Content {
    Object(Shown),
    /// A list, a Status, a Scale: as it goes out.
    Json(Bytes),
    Watch(Box<Feed>),
}

impl Answer {
    pub(crate) fn object(code: u16, shown: Shown) -> Self {
        Self { code, content: Content::Object(shown), warnings: Vec::new(), revision: None }
    }

    pub(crate) fn json(code: u16, value: &Value) -> Self {
        let bytes = serde_json::to_vec(value).unwrap_or_default();
        Self { code, content: Content::Json(bytes.into()), warnings: Vec::new(), revision: None }
    }
}

impl Call<'_> {
    pub(crate) fn namespace(&self) -> &str {
        self.target.namespace.as_deref().unwrap_or_default()
    }

    pub(crate) fn name(&self) -> &str {
        self.target.name.as_deref().unwrap_or_default()
    }

    pub(crate) fn id(&self, name: &str) -> ObjectId {
        ObjectId::new(&self.kind.group, &self.kind.plural, self.namespace(), name)
    }

    pub(crate) fn scope(&self) -> Scope {
        match &self.target.namespace {
            Some(namespace) => Scope::namespace(&self.kind.group, &self.kind.plural, namespace),
            None => Scope::all(&self.kind.group, &self.kind.plural),
        }
    }

    pub(crate) fn not_found(&self, name: &str) -> ApiError {
        ApiError::not_found(&self.kind.group, &self.kind.plural, name)
    }

    pub(crate) fn conflict(&self, name: &str) -> ApiError {
        let why =
            "the object has been modified; please apply your changes to the latest version and try again";
        ApiError::conflict(&self.kind.group, &self.kind.plural, name, why)
    }

    pub(crate) fn invalid(&self, name: &str, causes: Vec<crate::Cause>) -> ApiError {
        ApiError::invalid(&self.kind.group, &self.kind.kind, name, causes)
    }

    /// Who owns the fields that this request writes: the parameter, or what the client calls itself.
    pub(crate) fn manager_name(&self) -> &str {
        match &self.params.field_manager {
            Some(manager) => manager,
            None => self.user_agent.split('/').next().filter(|name| !name.is_empty()).unwrap_or("unknown"),
        }
    }
}

/// Does what the call asks for.
pub(crate) fn answer(call: &Call<'_>) -> Result<Answer, ApiError> {
    if let Some(subresource) = &call.target.subresource {
        return subresources::answer(call, subresource);
    }
    let placed = call.target.namespace.is_some() == call.kind.namespaced;
    match call.verb {
        _ if call.target.namespace.is_some() && !call.kind.namespaced => Err(page_not_found()),
        // Without a namespace, the objects of all namespaces can be listed and watched, and nothing else.
        Verb::List => list::answer(call),
        Verb::Watch => watch::answer(call),
        _ if !placed && call.target.name.is_some() => Err(page_not_found()),
        _ if !placed => Err(crate::request::method_not_allowed()),
        Verb::Get => get::answer(call),
        Verb::Create if call.target.name.is_some() => Err(crate::request::method_not_allowed()),
        Verb::Create => create::answer(call),
        Verb::Update => update::answer(call),
        Verb::Patch => patch::answer(call),
        Verb::Delete => delete::answer(call),
        Verb::DeleteCollection => delete_collection::answer(call),
    }
}

/// What a path that leads nowhere gets.
pub(crate) fn page_not_found() -> ApiError {
    ApiError::new(404, "NotFound", "the server could not find the requested resource")
}

/// `Status` of a deletion that is complete.
fn success(kind: &Kind, object: &Value) -> Value {
    let mut details = json!({"name": crate::meta::name(object), "kind": kind.plural, "uid": crate::meta::text(object, "uid")});
    if let (Some(details), false) = (details.as_object_mut(), kind.group.is_empty()) {
        details.insert("group".into(), json!(kind.group));
    }
    json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details})
}
