//! The operator's own HTTP: metrics, health and, from the machine itself, what it is doing.
//!
//! | path | what |
//! |---|---|
//! | `/metrics` | Prometheus text, or OpenMetrics if asked for |
//! | `/healthz`, `/livez` | whether the process should go on living: the event loop turns |
//! | `/readyz` | whether it does its work: caches filled, certificates valid |
//! | `/debug/state.json` | watches, leases, queues; for callers on the loopback interface only |
//!
//! `?verbose` lists every check; `/readyz/<name>` asks for one. A failing check always says why.

mod door;
mod health;
mod listen;

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use axum::{
    Router,
    extract::{ConnectInfo, Path, RawQuery, State},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};
use futures::FutureExt as _;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::metrics::{Format, Metrics};
use health::{Checks, Heartbeat};

pub use door::{Door, Refused};
pub use listen::{BadListen, BindError, Listen};

/// How long requests in progress may take after the stop.
const GRACE: Duration = Duration::from_secs(5);

/// What is served; the parts of the operator register their checks and state here. Cheap to clone.
#[derive(Clone)]
pub struct Admin(Arc<Inner>);

struct Inner {
    metrics: Metrics,
    live: Checks,
    ready: Checks,
    state: Mutex<BTreeMap<String, StateOf>>,
}

type StateOf = Arc<dyn Fn() -> Value + Send + Sync>;

impl Admin {
    /// Serves these metrics, and is ready as long as nobody registers a check that says otherwise.
    pub fn new(metrics: Metrics) -> Self {
        Self(Arc::new(Inner {
            metrics,
            live: Checks::default(),
            ready: Checks::default(),
            state: Mutex::default(),
        }))
    }

    /// Adds a condition of life: when it fails for long, the kubelet restarts the process. The error is a sentence.
    pub fn live(
        &self,
        name: impl Into<String>,
        check: impl Fn() -> Result<(), String> + Send + Sync + 'static,
    ) {
        self.0.live.add(name.into(), Arc::new(check));
    }

    /// Adds a condition of readiness, for example one cache: `EtcdCluster: its CRD is not installed`.
    pub fn ready(
        &self,
        name: impl Into<String>,
        check: impl Fn() -> Result<(), String> + Send + Sync + 'static,
    ) {
        self.0.ready.add(name.into(), Arc::new(check));
    }

    /// Adds a part to `/debug/state.json`. It is asked on every request, and must not hold anything secret.
    pub fn state(&self, name: impl Into<String>, state: impl Fn() -> Value + Send + Sync + 'static) {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner).insert(name.into(), Arc::new(state));
    }

    /// Opens the ports. Metrics and health on the same address share one.
    pub async fn bind(self, metrics: &Listen, health: &Listen) -> Result<Bound, BindError> {
        let mut servers = Vec::new();
        if metrics == health {
            if let Some(listener) = metrics.bind("--metrics-bind-address").await? {
                servers.push((listener, self.metrics_routes().merge(self.health_routes())));
            }
        } else {
            if let Some(listener) = metrics.bind("--metrics-bind-address").await? {
                servers.push((listener, self.metrics_routes()));
            }
            if let Some(listener) = health.bind("--health-probe-bind-address").await? {
                servers.push((listener, self.health_routes()));
            }
        }
        Ok(Bound { admin: self, servers })
    }

    fn metrics_routes(&self) -> Router {
        Router::new().route("/metrics", get(metrics)).with_state(self.clone())
    }

    fn health_routes(&self) -> Router {
        Router::new()
            .route("/healthz", get(live))
            .route("/healthz/{check}", get(live))
            .route("/livez", get(live))
            .route("/livez/{check}", get(live))
            .route("/readyz", get(ready))
            .route("/readyz/{check}", get(ready))
            .route("/debug/state.json", get(state))
            .with_state(self.clone())
    }
}

/// The server with its ports open.
pub struct Bound {
    admin: Admin,
    servers: Vec<(TcpListener, Router)>,
}

impl Bound {
    /// The addresses that are listened on, in the order metrics, health.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.servers.iter().filter_map(|(listener, _)| listener.local_addr().ok()).collect()
    }

    /// Serves until `stop`, then lets requests in progress end.
    pub async fn run(self, stop: CancellationToken) {
        let heartbeat = Heartbeat::start(stop.clone());
        self.admin.live("event-loop", move || heartbeat.check());
        let servers = self
            .servers
            .into_iter()
            .map(|(listener, routes)| until(listener, routes, stop.clone().cancelled_owned(), GRACE));
        futures::future::join_all(servers).await;
    }
}

/// Serves `routes` until `stop`, then lets requests in progress end, if that takes no longer than `grace`. An application that serves
/// HTTP of its own ends by it as its operator does.
pub async fn until(
    listener: TcpListener,
    routes: Router,
    stop: impl Future<Output = ()> + Send + 'static,
    grace: Duration,
) {
    let stop = stop.shared();
    let service = routes.into_make_service_with_connect_info::<SocketAddr>();
    let server = axum::serve(listener, service).with_graceful_shutdown(stop.clone());
    tokio::select! {
        // axum retries errors of accept by itself and returns only when it was told to stop.
        _ = server.into_future() => {}
        () = async { stop.await; tokio::time::sleep(grace).await } => {}
    }
}

async fn metrics(State(admin): State<Admin>, headers: HeaderMap) -> Response {
    let accept = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    let format = Format::accepted(accept);
    ([(header::CONTENT_TYPE, format.content_type())], admin.0.metrics.encode_as(format)).into_response()
}

async fn live(
    State(admin): State<Admin>,
    check: Option<Path<String>>,
    RawQuery(query): RawQuery,
) -> Response {
    report(&admin.0.live, check.as_ref(), query)
}

async fn ready(
    State(admin): State<Admin>,
    check: Option<Path<String>>,
    RawQuery(query): RawQuery,
) -> Response {
    report(&admin.0.ready, check.as_ref(), query)
}

fn report(checks: &Checks, check: Option<&Path<String>>, query: Option<String>) -> Response {
    let verbose =
        query.is_some_and(|query| query.split('&').any(|part| part.split('=').next() == Some("verbose")));
    match checks.report(check.map(|Path(name)| name.as_str()), verbose) {
        None => (StatusCode::NOT_FOUND, "there is no such check\n").into_response(),
        Some(Ok(text)) => text.into_response(),
        Some(Err(text)) => (StatusCode::SERVICE_UNAVAILABLE, text).into_response(),
    }
}

/// Names of objects and namespaces are nobody's business but the administrator's, who comes through a port-forward.
async fn state(State(admin): State<Admin>, ConnectInfo(peer): ConnectInfo<SocketAddr>) -> Response {
    if !peer.ip().to_canonical().is_loopback() {
        return (StatusCode::FORBIDDEN, "only from the loopback interface; use kubectl port-forward\n")
            .into_response();
    }
    let parts = admin.0.state.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let state: serde_json::Map<String, Value> =
        parts.into_iter().map(|(name, part)| (name, part())).collect();
    axum::Json(state).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_state_is_refused_to_other_machines() {
        for (peer, status) in
            [("127.0.0.1:1", 200), ("[::1]:1", 200), ("[::ffff:127.0.0.1]:1", 200), ("10.0.0.7:1", 403)]
        {
            let admin = Admin::new(Metrics::new());
            let answer = state(State(admin), ConnectInfo(peer.parse().unwrap())).await;
            assert_eq!(answer.status(), status, "{peer}");
        }
    }
}
