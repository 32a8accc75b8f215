//! One collection of a server and the verbs on it, as plain JSON: typed clients hide what is tested here.

use http::{HeaderMap, Method, Request, header};
use http_body_util::BodyExt;
use kube::client::Body;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

use crate::{Failure, World, json::Json, watch::Watch};

pub(crate) const JSON: &str = "application/json";
pub(crate) const YAML: &str = "application/yaml";
pub(crate) const JSON_PATCH: &str = "application/json-patch+json";
pub(crate) const MERGE_PATCH: &str = "application/merge-patch+json";
pub(crate) const STRATEGIC_PATCH: &str = "application/strategic-merge-patch+json";
pub(crate) const APPLY_PATCH: &str = "application/apply-patch+yaml";

/// What a server answered.
#[derive(Debug)]
pub(crate) struct Reply {
    pub code: u16,
    /// JSON, or a string when the answer is none.
    pub body: Value,
    pub headers: HeaderMap,
    asked: String,
}

impl Reply {
    /// The body of a success.
    pub(crate) fn ok(self) -> Result<Value, Failure> {
        if (200..300).contains(&self.code) { Ok(self.body) } else { Err(self.unexpected("a success")) }
    }

    /// The body, when the answer has exactly this code.
    pub(crate) fn is(self, code: u16) -> Result<Value, Failure> {
        if self.code == code { Ok(self.body) } else { Err(self.unexpected(&code.to_string())) }
    }

    /// The Status of a refusal with this code and reason.
    pub(crate) fn refused(self, code: u16, reason: &str) -> Result<Value, Failure> {
        let as_told = self.body.text("kind") == "Status"
            && self.body.text("status") == "Failure"
            && self.body.text("reason") == reason
            && self.body.number("code") == i64::from(code);
        if self.code == code && as_told {
            Ok(self.body)
        } else {
            Err(self.unexpected(&format!("{code} {reason}")))
        }
    }

    /// The `Warning` headers' texts.
    pub(crate) fn warnings(&self) -> Vec<String> {
        self.headers
            .get_all(header::WARNING)
            .iter()
            .map(|w| String::from_utf8_lossy(w.as_bytes()).into_owned())
            .collect()
    }

    fn unexpected(&self, expected: &str) -> Failure {
        Failure::new(format!("{}: expected {expected}, got {} {}", self.asked, self.code, self.body))
    }
}

/// The objects of one kind in one namespace, or in all.
#[derive(Clone)]
pub(crate) struct Resource {
    world: World,
    /// `/api/v1` or `/apis/apps/v1`.
    root: String,
    namespace: Option<String>,
    plural: String,
    subresource: Option<&'static str>,
    query: Vec<(&'static str, String)>,
    headers: Vec<(&'static str, String)>,
}

impl Resource {
    pub(crate) fn new(world: World, api_version: &str, plural: &str, namespace: Option<String>) -> Self {
        let root = if api_version.contains('/') { "/apis/" } else { "/api/" };
        Self {
            world,
            root: format!("{root}{api_version}"),
            namespace,
            plural: plural.to_owned(),
            subresource: None,
            query: Vec::new(),
            headers: Vec::new(),
        }
    }

    /// With a query parameter on every request.
    pub(crate) fn with(&self, key: &'static str, value: impl ToString) -> Self {
        let mut resource = self.clone();
        resource.query.push((key, value.to_string()));
        resource
    }

    pub(crate) fn header(&self, key: &'static str, value: impl ToString) -> Self {
        let mut resource = self.clone();
        resource.headers.push((key, value.to_string()));
        resource
    }

    pub(crate) fn accepting(&self, media_type: &str) -> Self {
        self.header("accept", media_type)
    }

    pub(crate) fn as_manager(&self, manager: &str) -> Self {
        self.with("fieldManager", manager)
    }

    /// As somebody else; the user name decides, groups come from the server (`system:authenticated`).
    pub(crate) fn as_user(&self, name: &str) -> Self {
        self.header("impersonate-user", name)
    }

    pub(crate) fn in_group(&self, group: &str) -> Self {
        self.header("impersonate-group", group)
    }

    pub(crate) fn in_namespace(&self, namespace: &str) -> Self {
        Self { namespace: Some(namespace.to_owned()), ..self.clone() }
    }

    pub(crate) fn in_all_namespaces(&self) -> Self {
        Self { namespace: None, ..self.clone() }
    }

    pub(crate) fn subresource(&self, name: &'static str) -> Self {
        Self { subresource: Some(name), ..self.clone() }
    }

    pub(crate) fn status(&self) -> Self {
        self.subresource("status")
    }

    pub(crate) fn scale(&self) -> Self {
        self.subresource("scale")
    }

    pub(crate) async fn get(&self, name: &str) -> Result<Reply, Failure> {
        self.send(Method::GET, Some(name), None).await
    }

    pub(crate) async fn list(&self) -> Result<Reply, Failure> {
        self.send(Method::GET, None, None).await
    }

    pub(crate) async fn create(&self, object: &Value) -> Result<Reply, Failure> {
        self.held_by_finalizers(object.name(), object);
        self.send(Method::POST, None, Some((JSON, object.to_string()))).await
    }

    /// PUT at the object's own name.
    pub(crate) async fn replace(&self, object: &Value) -> Result<Reply, Failure> {
        self.replace_at(object.name(), object).await
    }

    pub(crate) async fn replace_at(&self, name: &str, object: &Value) -> Result<Reply, Failure> {
        self.held_by_finalizers(name, object);
        self.send(Method::PUT, Some(name), Some((JSON, object.to_string()))).await
    }

    pub(crate) async fn patch(
        &self,
        name: &str,
        content_type: &str,
        patch: &Value,
    ) -> Result<Reply, Failure> {
        self.held_by_finalizers(name, patch);
        self.send(Method::PATCH, Some(name), Some((content_type, patch.to_string()))).await
    }

    pub(crate) async fn merge(&self, name: &str, patch: &Value) -> Result<Reply, Failure> {
        self.patch(name, MERGE_PATCH, patch).await
    }

    /// Server-side apply as `manager`.
    pub(crate) async fn apply(&self, manager: &str, object: &Value) -> Result<Reply, Failure> {
        self.as_manager(manager).patch(object.name(), APPLY_PATCH, object).await
    }

    pub(crate) async fn force(&self, manager: &str, object: &Value) -> Result<Reply, Failure> {
        self.with("force", "true").apply(manager, object).await
    }

    pub(crate) async fn delete(&self, name: &str) -> Result<Reply, Failure> {
        self.send(Method::DELETE, Some(name), None).await
    }

    pub(crate) async fn delete_with(&self, name: &str, options: &Value) -> Result<Reply, Failure> {
        self.send(Method::DELETE, Some(name), Some((JSON, delete_options(options).to_string()))).await
    }

    pub(crate) async fn delete_all(&self) -> Result<Reply, Failure> {
        self.send(Method::DELETE, None, None).await
    }

    /// A body as it is, for what no well-behaved client sends.
    pub(crate) async fn send(
        &self,
        method: Method,
        name: Option<&str>,
        body: Option<(&str, String)>,
    ) -> Result<Reply, Failure> {
        self.world.send(method, &self.url(name), &self.headers, body).await
    }

    pub(crate) async fn watch(&self) -> Result<Watch, Failure> {
        self.try_watch().await?.map_err(|reply| reply.unexpected("a watch"))
    }

    /// A watch, or the refusal.
    pub(crate) async fn try_watch(&self) -> Result<Result<Watch, Reply>, Failure> {
        let url = self.with("watch", "true").url(None);
        self.world.watch(&url, &self.headers).await
    }

    pub(crate) async fn exists(&self, name: &str) -> Result<bool, Failure> {
        Ok(self.get(name).await?.code != 404)
    }

    /// Waits until the object is gone.
    pub(crate) async fn gone(&self, name: &str) -> Result<(), Failure> {
        let gone = async || Ok((!self.exists(name).await?).then_some(()));
        self.world.eventually(&format!("{name} is gone"), gone).await
    }

    /// Waits until the object is as wanted.
    pub(crate) async fn until(
        &self,
        name: &str,
        what: &str,
        wanted: impl Fn(&Value) -> bool,
    ) -> Result<Value, Failure> {
        let probe = async || {
            let reply = self.get(name).await?;
            Ok(((200..300).contains(&reply.code) && wanted(&reply.body)).then_some(reply.body))
        };
        self.world.eventually(&format!("{name}: {what}"), probe).await
    }

    pub(crate) fn url(&self, name: Option<&str>) -> String {
        let mut url = self.root.clone();
        if let Some(namespace) = &self.namespace {
            url += &format!("/namespaces/{namespace}");
        }
        url += &format!("/{}", self.plural);
        for part in [name, name.and(self.subresource)].into_iter().flatten() {
            url += &format!("/{}", utf8_percent_encode(part, NON_ALPHANUMERIC));
        }
        let query: Vec<String> = self
            .query
            .iter()
            .map(|(key, value)| format!("{key}={}", utf8_percent_encode(value, NON_ALPHANUMERIC)))
            .collect();
        if query.is_empty() { url } else { format!("{url}?{}", query.join("&")) }
    }

    /// An object that a case leaves with finalizers would keep its namespace for ever: remembered for the clean-up.
    fn held_by_finalizers(&self, name: &str, object: &Value) {
        if !name.is_empty() && object.to_string().contains("finalizers") {
            let plain = Self { subresource: None, query: Vec::new(), headers: Vec::new(), ..self.clone() };
            self.world.remember_held(plain.url(Some(name)));
        }
    }
}

fn delete_options(options: &Value) -> Value {
    let mut body = json!({"kind": "DeleteOptions", "apiVersion": "v1"});
    for (key, value) in options.as_object().into_iter().flatten() {
        body.set(key, value.clone());
    }
    body
}

pub(crate) async fn reply(asked: String, response: http::Response<Body>) -> Result<Reply, Failure> {
    let (parts, body) = response.into_parts();
    let bytes = body.collect().await?.to_bytes();
    let body = serde_json::from_slice(&bytes).unwrap_or_else(|_| json!(String::from_utf8_lossy(&bytes)));
    Ok(Reply { code: parts.status.as_u16(), body, headers: parts.headers, asked })
}

pub(crate) fn request(
    method: Method,
    url: &str,
    headers: &[(&'static str, String)],
    body: Option<(&str, String)>,
) -> Result<Request<Body>, Failure> {
    let mut request = Request::builder().method(method).uri(url);
    if !headers.iter().any(|(key, _)| *key == "accept") {
        request = request.header(header::ACCEPT, JSON);
    }
    for (key, value) in headers {
        request = request.header(*key, value);
    }
    Ok(match body {
        Some((content_type, text)) => {
            request.header(header::CONTENT_TYPE, content_type).body(Body::from(text.into_bytes()))?
        }
        None => request.body(Body::empty())?,
    })
}
