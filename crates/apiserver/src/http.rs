//! From HTTP to a call and back: reading, routing, authorization, recording, and the faults around it all.

use std::{borrow::Cow, sync::Arc};

use bytes::{Bytes, BytesMut};
use futures::stream;
use http::{Request, Response, header};
use http_body::Frame;
use http_body_util::{BodyExt, Full, StreamBody, combinators::UnsyncBoxBody};
use serde_json::Value;
use tower::BoxError;

use crate::{
    ApiError, Kind, Recorded,
    access::{self, Attributes, User, review},
    cluster::Cluster,
    discovery,
    faults::{CrashPoint, Fault, Interference},
    handlers::{self, Answer, Call, Content},
    negotiate::{ContentType, Shape},
    request::{Params, Route, Target, Verb, verb},
    select::FieldSelector,
    server::Identity,
    watch::{Chunk, Feed},
};

/// Larger requests are not read. Source: `MaxRequestBodyBytes`.
const MAX_BODY: usize = 3 * 1024 * 1024;

/// A response's body.
pub type Body = UnsyncBoxBody<Bytes, BoxError>;

/// One request, read completely.
pub(crate) struct Incoming {
    pub(crate) head: http::request::Parts,
    pub(crate) body: Bytes,
}

impl Incoming {
    pub(crate) async fn read<B>(request: Request<B>) -> Result<Self, BoxError>
    where
        B: http_body::Body<Data = Bytes>,
        B::Error: Into<BoxError>,
    {
        let (head, body) = request.into_parts();
        let body = body.collect().await.map_err(Into::into)?.to_bytes();
        Ok(Self { head, body })
    }

    fn header(&self, name: header::HeaderName) -> &str {
        self.head.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }
}

/// The connection broke: what the client sees instead of an answer.
#[derive(Debug, thiserror::Error)]
#[error("connection reset by peer (injected)")]
struct ConnectionReset;

/// Serves one request on a client's connection.
pub(crate) async fn serve(
    cluster: &Arc<Cluster>,
    identity: &Identity,
    incoming: Incoming,
) -> Result<Response<Body>, BoxError> {
    let route = Route::parse(incoming.head.uri.path());
    let (index, recorded) = write_down(cluster, identity, &incoming, &route);
    if cluster.faults.is_dead(&identity.client, identity.connection) {
        std::future::pending::<()>().await;
    }
    let befalling = if identity.hidden { Vec::new() } else { cluster.faults.befalling(&recorded) };
    if !befalling.is_empty() {
        let told = befalling.iter().map(|fault| format!("{fault:?}")).collect();
        cluster.record.change(index, |request| request.faults = told);
    }
    // A get without a version is a quorum read: it goes to etcd, past the cache that is stuck.
    let quorum = recorded.verb == Some(Verb::Get) && !recorded.query.contains("resourceVersion=");
    let mut stale = cluster.faults.view_of(&identity.client).filter(|_| !quorum);
    let mut interference = Vec::new();
    for fault in &befalling {
        match fault {
            Fault::Refuse(error) => {
                cluster.record.change(index, |request| request.code = Some(error.code));
                return Ok(refusal(error));
            }
            Fault::Reset => return Err(ConnectionReset.into()),
            Fault::Hang => std::future::pending::<()>().await,
            Fault::DelayBefore(time) => tokio::time::sleep(*time).await,
            Fault::Compete(competitor) => compete(cluster, &route, competitor),
            Fault::Stale(revision) => stale = Some(*revision),
            Fault::Crash(CrashPoint::Before) => crash(cluster, identity, &recorded).await,
            Fault::Watch(fault) => interference.push(fault.clone()),
            Fault::Crash(_) | Fault::Lost | Fault::Torn | Fault::DelayAfter(_) | Fault::HangAfter => {}
        }
    }

    let answered = answer(cluster, identity, &incoming, &route, stale);
    let (code, revision) = match &answered {
        Ok((_, answer)) => (answer.code, answer.revision),
        Err(error) => (error.code, None),
    };
    cluster.record.change(index, |request| {
        request.code = Some(code);
        request.revision = revision;
    });

    let mut torn = false;
    for fault in &befalling {
        match fault {
            Fault::Crash(CrashPoint::AfterCommit) => crash(cluster, identity, &recorded).await,
            Fault::Crash(CrashPoint::AfterResponse) => cluster.faults.trip(&identity.client, &recorded),
            Fault::Lost => return Err(ConnectionReset.into()),
            Fault::HangAfter => std::future::pending::<()>().await,
            Fault::DelayAfter(time) => tokio::time::sleep(*time).await,
            Fault::Torn => torn = true,
            _ => {}
        }
    }
    let response = match answered {
        Err(error) => refusal(&error),
        Ok((kind, answer)) => respond(kind.as_deref(), answer, shape_of(&incoming), |feed| {
            feed.on(&identity.client, identity.connection, Interference::new(interference))
        }),
    };
    Ok(if torn { tear(response).await } else { response })
}

/// The client dies here: this request never ends.
async fn crash(cluster: &Arc<Cluster>, identity: &Identity, request: &Recorded) {
    cluster.faults.trip(&identity.client, request);
    std::future::pending::<()>().await;
}

fn shape_of(incoming: &Incoming) -> Shape {
    Shape::accepted(&incoming.head.headers).unwrap_or(Shape::Whole)
}

fn write_down(
    cluster: &Cluster,
    identity: &Identity,
    incoming: &Incoming,
    route: &Route,
) -> (usize, Recorded) {
    let query = incoming.head.uri.query().unwrap_or_default();
    let params = Params::parse(query).unwrap_or_default();
    let mut request = Recorded {
        index: 0,
        at: cluster.clock.now(),
        client: identity.client.to_string(),
        user: identity.user.name.clone(),
        verb: None,
        group: String::new(),
        resource: String::new(),
        namespace: String::new(),
        name: String::new(),
        subresource: String::new(),
        dry_run: params.dry_run,
        query: query.to_owned(),
        body: incoming.body.clone(),
        code: None,
        revision: None,
        faults: Vec::new(),
    };
    match route {
        Route::Other(path) => request.resource.clone_from(path),
        Route::Resource(target) => {
            request.verb = verb(&incoming.head.method, target, params.watch).ok();
            request.group.clone_from(&target.group);
            request.resource.clone_from(&target.plural);
            request.namespace = target.namespace.clone().unwrap_or_default();
            request.name = target.name.clone().unwrap_or_default();
            request.subresource = target.subresource.clone().unwrap_or_default();
        }
    }
    if identity.hidden {
        return (usize::MAX, request);
    }
    let index = cluster.record.begin(request.clone());
    request.index = index;
    (index, request)
}

type Answered = Result<(Option<Arc<Kind>>, Answer), ApiError>;

/// Authorizes and does what is asked, without any faults.
fn answer(
    cluster: &Arc<Cluster>,
    identity: &Identity,
    incoming: &Incoming,
    route: &Route,
    stale: Option<u64>,
) -> Answered {
    let user = access::impersonated(&cluster.store, identity.user.clone(), &incoming.head.headers)?;
    let target = match route {
        Route::Other(path) => return other(cluster, &user, incoming, path).map(|answer| (None, answer)),
        Route::Resource(target) => target,
    };
    let params = Params::parse(incoming.head.uri.query().unwrap_or_default())?;
    let verb = verb(&incoming.head.method, target, params.watch)?;
    authorize(cluster, &user, &by_name(target, &params), verb)?;
    let content = ContentType::of(&incoming.head.headers)?;
    if incoming.body.len() > MAX_BODY {
        let why = format!("Request entity too large: limit is {MAX_BODY}");
        return Err(ApiError::new(413, "RequestEntityTooLarge", why));
    }
    if verb == Verb::Create
        && let Some(answered) = reviewed(cluster, &user, target, incoming)
    {
        return answered.map(|value| (None, Answer::json(201, &value)));
    }
    let kind = cluster.registry.find(&target.group, &target.version, &target.plural);
    let kind = kind.ok_or_else(handlers::page_not_found)?;
    let call = Call {
        cluster,
        kind: Arc::clone(&kind),
        verb,
        target,
        params: &params,
        body: &incoming.body,
        content,
        shape: Shape::accepted(&incoming.head.headers)?,
        user: &user,
        user_agent: incoming.header(header::USER_AGENT),
        stale,
    };
    handlers::answer(&call).map(|answer| (Some(kind), answer))
}

/// A list of the one object that a field selector names asks for that object: a role may allow no more.
fn by_name<'a>(target: &'a Target, params: &Params) -> Cow<'a, Target> {
    let selector = params.field_selector.as_deref().and_then(|text| FieldSelector::parse(text).ok());
    let name = selector.and_then(|selector| {
        let named = selector.requirements().find(|(path, equals, _)| *path == "metadata.name" && *equals);
        named.map(|(_, _, name)| name.to_owned())
    });
    match name {
        Some(name) if target.name.is_none() => Cow::Owned(Target { name: Some(name), ..target.clone() }),
        _ => Cow::Borrowed(target),
    }
}

/// May the user do that to the target?
pub(crate) fn authorize(cluster: &Cluster, user: &User, target: &Target, verb: Verb) -> Result<(), ApiError> {
    let resource = match &target.subresource {
        Some(subresource) => format!("{}/{subresource}", target.plural),
        None => target.plural.clone(),
    };
    // A namespace is in itself: a role there may allow reading it.
    let own =
        (target.group.is_empty() && target.plural == "namespaces").then(|| target.name.clone()).flatten();
    let wanted = Attributes::Resource {
        verb: verb.as_str().to_owned(),
        group: target.group.clone(),
        resource,
        namespace: target.namespace.clone().or(own).unwrap_or_default(),
        name: target.name.clone().unwrap_or_default(),
    };
    access::check(&cluster.store, user, &wanted)
}

fn reviewed(
    cluster: &Cluster,
    user: &User,
    target: &Target,
    incoming: &Incoming,
) -> Option<Result<Value, ApiError>> {
    let is_review = review::REVIEWS
        .iter()
        .any(|(group, plural, _, _)| *group == target.group && *plural == target.plural);
    if !is_review || target.version != "v1" {
        return None;
    }
    let body = match serde_json::from_slice(&incoming.body) {
        Ok(body) => body,
        Err(error) => return Some(Err(ApiError::bad_request(format!("json parse error: {error}")))),
    };
    let namespace = target.namespace.as_deref().unwrap_or_default();
    review::answer(&cluster.store, user, &target.group, &target.plural, namespace, &body)
}

/// Discovery, health, version.
fn other(cluster: &Cluster, user: &User, incoming: &Incoming, path: &str) -> Result<Answer, ApiError> {
    let wanted =
        Attributes::Path { verb: incoming.head.method.as_str().to_lowercase(), path: path.to_owned() };
    access::check(&cluster.store, user, &wanted)?;
    let aggregated = incoming.header(header::ACCEPT).contains("as=APIGroupDiscoveryList");
    let document =
        discovery::document(&cluster.registry, path, aggregated).ok_or_else(handlers::page_not_found)?;
    Ok(match document {
        // Health checks answer in plain text.
        Value::String(text) => Answer {
            code: 200,
            content: Content::Json(Bytes::from(text)),
            warnings: Vec::new(),
            revision: None,
        },
        document => Answer::json(200, &document),
    })
}

/// Somebody else's write, just before the request's own.
fn compete(cluster: &Cluster, route: &Route, competitor: &crate::Competitor) {
    if let Route::Resource(target) = route
        && let Some(name) = &target.name
    {
        let namespace = target.namespace.as_deref().unwrap_or_default();
        let id = crate::ObjectId::new(&target.group, &target.plural, namespace, name);
        competitor.act(cluster, &id);
    }
}

fn respond(
    kind: Option<&Kind>,
    answer: Answer,
    shape: Shape,
    place: impl FnOnce(Feed) -> Feed,
) -> Response<Body> {
    let body = match answer.content {
        Content::Json(bytes) => whole(bytes),
        Content::Object(shown) => {
            let mut out = BytesMut::with_capacity(1024);
            if let Some(kind) = kind {
                shown.write(kind, shape, &mut out);
            }
            whole(out.freeze())
        }
        Content::Watch(feed) => streamed(place(*feed)),
    };
    let mut response = build(answer.code, body);
    for warning in answer.warnings {
        let quoted = warning.replace('\\', "\\\\").replace('"', "\\\"");
        if let Ok(value) = header::HeaderValue::from_str(&format!("299 - \"{quoted}\"")) {
            response.headers_mut().append(header::WARNING, value);
        }
    }
    response
}

/// An error as the Status that clients read.
pub(crate) fn refusal(error: &ApiError) -> Response<Body> {
    let mut response = build(error.code, whole(Bytes::from(error.to_status().to_string())));
    if let Some(seconds) = error.details.retry_after_seconds {
        response.headers_mut().insert(header::RETRY_AFTER, header::HeaderValue::from(seconds));
    }
    response
}

fn build(code: u16, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() =
        http::StatusCode::from_u16(code).unwrap_or(http::StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static("application/json"));
    response
}

fn whole(bytes: Bytes) -> Body {
    Full::new(bytes).map_err(|never| match never {}).boxed_unsync()
}

/// A watch's lines, as they come.
fn streamed(feed: Feed) -> Body {
    let lines = stream::unfold(feed, |mut feed| async move {
        match feed.next().await? {
            Chunk::Line(line) => Some((Ok(Frame::data(line)), feed)),
            Chunk::Broken => Some((Err(BoxError::from(ConnectionReset)), feed)),
        }
    });
    StreamBody::new(lines).boxed_unsync()
}

/// Half of the answer, then a broken connection.
async fn tear(response: Response<Body>) -> Response<Body> {
    let (head, body) = response.into_parts();
    let bytes = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    let half = bytes.slice(..bytes.len() / 2);
    let frames: [Result<Frame<Bytes>, BoxError>; 2] = [Ok(Frame::data(half)), Err(ConnectionReset.into())];
    Response::from_parts(head, StreamBody::new(stream::iter(frames)).boxed_unsync())
}
