//! An API server of which the test plays every answer: it sees each request, and says what comes back and when.

use std::{fmt::Display, sync::Arc, sync::Mutex, time::Duration};

use bytes::Bytes;
use futures::stream;
use http::{Request, Response};
use http_body::Frame;
use http_body_util::StreamBody;
use k8s_openapi::api::core::v1::ConfigMap;
use kit::{Informer, Row, Scope, Select, Store, Subscription, metrics::Metrics};
use kube::client::Body;
use serde_json::{Value, json};
use tokio::{
    sync::{mpsc, oneshot, watch},
    time::{Instant, timeout},
};
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

type Piece = Result<Frame<Bytes>, std::io::Error>;

/// The server's end: what the client asks.
pub(crate) struct Script(mpsc::UnboundedReceiver<Call>);

/// One request that waits for its answer.
pub(crate) struct Call {
    pub(crate) request: Request<Body>,
    answer: oneshot::Sender<(Response<()>, mpsc::UnboundedReceiver<Piece>)>,
}

/// The server's end of a watch. The stream ends when this is dropped.
pub(crate) struct Watching(mpsc::UnboundedSender<Piece>);

pub(crate) fn server() -> (kube::Client, Script) {
    let (calls, script) = mpsc::unbounded_channel();
    let service = tower::service_fn(move |request: Request<Body>| {
        let calls = calls.clone();
        async move {
            let (answer, answered) = oneshot::channel();
            let gone = || std::io::Error::other("connection refused");
            calls.send(Call { request, answer }).map_err(|_| gone())?;
            let (head, pieces) = answered.await.map_err(|_| gone())?;
            let pieces = stream::unfold(pieces, async |mut pieces| Some((pieces.recv().await?, pieces)));
            Ok::<_, std::io::Error>(head.map(|()| StreamBody::new(Box::pin(pieces))))
        }
    });
    (kube::Client::new(service, "default"), Script(script))
}

impl Script {
    /// The next request, however long it takes (in virtual time, at most an hour).
    pub(crate) async fn next(&mut self) -> Call {
        timeout(Duration::from_secs(3600), self.0.recv()).await.expect("a request").expect("a client")
    }

    /// The next request, which must come without any waiting.
    pub(crate) async fn at_once(&mut self) -> Call {
        let before = Instant::now();
        let call = self.next().await;
        assert_eq!(before.elapsed(), Duration::ZERO, "{call}");
        call
    }

    /// The next request, which must come after some waiting, and the time that it took.
    pub(crate) async fn later(&mut self) -> (Call, Duration) {
        let before = Instant::now();
        let call = self.next().await;
        assert_ne!(before.elapsed(), Duration::ZERO, "{call}");
        (call, before.elapsed())
    }

    /// No request comes within `time`.
    pub(crate) async fn silence(&mut self, time: Duration) {
        if let Ok(Some(call)) = timeout(time, self.0.recv()).await {
            panic!("an unexpected {call}");
        }
    }
}

impl Display for Call {
    /// `list /api/v1/configmaps`, `watch /api/v1/configmaps from 7`, with the selectors and the page, decoded.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let query = self.request.uri().query().unwrap_or_default();
        let get = |name: &str| {
            let value = query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))?;
            Some(value.replace("%3D", "=").replace("%21", "!").replace("%2C", ","))
        };
        let verb = if get("watch").is_some() { "watch" } else { "list" };
        write!(f, "{verb} {}", self.request.uri().path())?;
        for (parameter, word) in [
            ("resourceVersion", "from"),
            ("continue", "after"),
            ("labelSelector", "with"),
            ("fieldSelector", "where"),
        ] {
            if let Some(value) = get(parameter) {
                write!(f, " {word} {value}")?;
            }
        }
        Ok(())
    }
}

impl Call {
    pub(crate) fn query(&self, name: &str) -> Option<String> {
        let query = self.request.uri().query().unwrap_or_default();
        query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('=').map(String::from))
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.request.headers().get(name).map_or("", |value| value.to_str().unwrap())
    }

    fn answer(self, head: http::response::Builder) -> Watching {
        let (pieces, body) = mpsc::unbounded_channel();
        self.answer.send((head.body(()).unwrap(), body)).expect("the client waits");
        Watching(pieces)
    }

    pub(crate) fn page(self, version: &str, token: &str, items: &[Value]) {
        let list = json!({
            "apiVersion": "v1", "kind": "ConfigMapList",
            "metadata": {"resourceVersion": version, "continue": token}, "items": items,
        });
        self.answer(Response::builder()).raw(&list.to_string());
    }

    pub(crate) fn list(self, version: &str, items: &[Value]) {
        self.page(version, "", items);
    }

    pub(crate) fn status(self, code: u16, reason: &str, message: &str) {
        let status = json!({"kind": "Status", "code": code, "reason": reason, "message": message});
        self.answer(Response::builder().status(code)).raw(&status.to_string());
    }

    pub(crate) fn retry_after(self, code: u16, seconds: u32) {
        self.answer(Response::builder().status(code).header("Retry-After", seconds)).raw("slow down");
    }

    pub(crate) fn watch(self) -> Watching {
        self.answer(Response::builder())
    }

    /// The connection breaks instead of an answer.
    pub(crate) fn refuse(self) {}
}

impl Watching {
    pub(crate) fn raw(&self, text: &str) {
        // It may be gone already: a client that has stopped listening is no failure of the test.
        let _ = self.0.send(Ok(Frame::data(Bytes::from(text.to_owned()))));
    }

    pub(crate) fn event(&self, kind: &str, object: &Value) {
        self.raw(&format!("{}\n", json!({"type": kind, "object": object})));
    }

    pub(crate) fn added(&self, object: &Value) {
        self.event("ADDED", object);
    }

    pub(crate) fn modified(&self, object: &Value) {
        self.event("MODIFIED", object);
    }

    pub(crate) fn deleted(&self, object: &Value) {
        self.event("DELETED", object);
    }

    pub(crate) fn bookmark(&self, version: &str) {
        self.event("BOOKMARK", &json!({"kind": "ConfigMap", "metadata": {"resourceVersion": version}}));
    }

    pub(crate) fn breaks(self) {
        let _ = self.0.send(Err(std::io::Error::other("connection reset by peer")));
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.0.is_closed()
    }
}

/// A ConfigMap `namespace/name` at a version; its UID is its name.
pub(crate) fn object(key: &str, version: u64) -> Value {
    let (namespace, name) = key.split_once('/').unwrap();
    let version = version.to_string();
    json!({
        "metadata": {"namespace": namespace, "name": name, "uid": name, "resourceVersion": version},
        "data": {"version": version},
    })
}

/// The same, but no ConfigMap.
pub(crate) fn broken(key: &str, version: u64) -> Value {
    let mut object = object(key, version);
    object["data"] = json!("not a map");
    object
}

/// An informer that runs, everything that its listener hears, and the way to stop and to steer it.
pub(crate) struct World<R: Row = ConfigMap> {
    pub(crate) server: Script,
    pub(crate) store: Store<R>,
    pub(crate) scope: watch::Sender<Scope>,
    pub(crate) metrics: Metrics,
    pub(crate) stop: CancellationToken,
    pub(crate) task: AbortOnDropHandle<()>,
    heard: Arc<Mutex<Vec<String>>>,
    dirty: Subscription,
}

impl World {
    pub(crate) fn new(scope: Scope) -> Self {
        Self::selecting(Select::all(), scope)
    }

    /// Listed once, and watching.
    pub(crate) async fn synced(items: &[Value], version: &str) -> (Self, Watching) {
        let mut world = Self::new(Scope::All);
        world.server.next().await.list(version, items);
        let watch = world.server.next().await.watch();
        world.heard();
        (world, watch)
    }
}

impl<R: Row> World<R> {
    pub(crate) fn selecting(select: Select, scope: Scope) -> Self {
        let (client, server) = server();
        let (scope, receiver) = watch::channel(scope);
        let metrics = Metrics::new();
        let informer = Informer::<R>::new(client, select, receiver, metrics.clone());
        let store = informer.store();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let log = heard.clone();
        store.on_change(move |change| {
            let version =
                |row: Option<&Arc<R>>| row.map_or("-".into(), |row| row.resource_version().to_string());
            let new = change
                .undecodable
                .map_or_else(|| version(change.new), |why| format!("broken {}", why.meta.resource_version()));
            let note = if change.initial { " (initial)" } else { "" };
            log.lock().unwrap().push(format!("{}: {} to {new}{note}", change.key, version(change.old)));
        });
        let dirty = store.subscribe();
        let stop = CancellationToken::new();
        let task = AbortOnDropHandle::new(tokio::spawn(informer.run(stop.clone())));
        Self { server, store, scope, metrics, stop, task, heard, dirty }
    }

    /// What the listener heard since it was asked last.
    pub(crate) fn heard(&self) -> Vec<String> {
        std::mem::take(&mut self.heard.lock().unwrap())
    }

    /// Waits until all events that are on their way have arrived: sends one more, and waits for it.
    pub(crate) async fn arrived(&mut self, watch: &Watching, version: u64) {
        watch.bookmark(&version.to_string());
        self.store.reached("", version).await;
    }

    /// The keys that the subscription has as changed.
    pub(crate) fn dirty(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.dirty.try_next()).map(|key| key.to_string()).collect()
    }

    /// `namespace/name@version` of everything in the store.
    pub(crate) fn content(&self) -> Vec<String> {
        self.store.list().iter().map(|row| format!("{}@{}", row.key(), row.resource_version())).collect()
    }
}
