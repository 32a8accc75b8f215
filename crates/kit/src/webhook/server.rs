//! The TLS server of the webhooks: an accept loop of its own, because certificates change while it runs.

use std::{collections::BTreeMap, convert::Infallible, net::SocketAddr, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use rustls::ServerConfig;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Semaphore,
    time::{Instant, timeout},
};
use tokio_rustls::TlsAcceptor;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    certs::provider,
    review::{self, AdmissionRequest, BadReview, Denied},
    slot::CertSlot,
};
use crate::{
    metrics::Metrics,
    serve::{BindError, Listen},
};

/// A handshake or a request's head that takes longer is no API server.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// API servers wait 10 s unless told otherwise; who answers later answers nobody.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(9);
/// Two objects of the largest size that etcd takes, and their wrapping.
const BODY_LIMIT: usize = 7 * 1024 * 1024;
/// Each API server keeps a few; the rest is somebody scanning.
const CONNECTIONS: usize = 256;
/// How long open requests may take after the stop.
const GRACE: Duration = Duration::from_secs(10);
/// Out of file descriptors, mostly: trying at once would only burn CPU.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

type Handler = Arc<dyn Fn(&[u8]) -> Result<Value, BadReview> + Send + Sync>;

/// Webhooks by path.
pub struct Server {
    handlers: BTreeMap<String, Handler>,
    metrics: Metrics,
}

impl Server {
    /// A server without webhooks.
    pub fn new(metrics: Metrics) -> Self {
        Self { handlers: BTreeMap::new(), metrics }
    }

    /// Lets `check` decide on every `K` that is sent to `path`.
    pub fn validate<K: DeserializeOwned + 'static>(
        mut self,
        path: &str,
        check: impl Fn(&AdmissionRequest<K>) -> Result<(), Denied> + Send + Sync + 'static,
    ) -> Self {
        self.handlers.insert(path.to_owned(), Arc::new(move |body| review::validate(body, &check)));
        self
    }

    /// Lets `change` alter every `K` that is sent to `path`; `None` leaves it as it is.
    pub fn mutate<K: DeserializeOwned + Serialize + 'static>(
        mut self,
        path: &str,
        change: impl Fn(&AdmissionRequest<K>) -> Result<Option<K>, Denied> + Send + Sync + 'static,
    ) -> Self {
        self.handlers.insert(path.to_owned(), Arc::new(move |body| review::mutate(body, &change)));
        self
    }

    /// Opens the port; `None` when `listen` is off. Certificates come from `slot`, as they are at each handshake.
    pub async fn bind(self, listen: &Listen, slot: CertSlot) -> Result<Option<Bound>, BindError> {
        let Some(listener) = listen.bind("--webhook-bind-address").await? else { return Ok(None) };
        Ok(Some(Bound { listener, server: Arc::new(self), slot }))
    }

    /// Answers one request, whatever becomes of it.
    async fn answer(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        let path = request.uri().path().to_owned();
        // Only known paths become labels: everybody can make up new ones.
        let Some(handler) = self.handlers.get(&path) else {
            return text(StatusCode::NOT_FOUND, "there is no webhook at this path");
        };
        let _in_flight = InFlight::enter(&self.metrics, &path);
        let started = Instant::now();
        let response = match timeout(REQUEST_TIMEOUT, self.review(&path, handler.clone(), request)).await {
            Ok(Ok(review)) => json(&review),
            Ok(Err((code, why))) => text(code, &why),
            Err(_) => text(StatusCode::GATEWAY_TIMEOUT, "the webhook took too long"),
        };
        self.metrics.webhook(&path, response.status().as_u16(), started.elapsed());
        response
    }

    async fn review(
        &self,
        path: &str,
        handler: Handler,
        request: Request<Incoming>,
    ) -> Result<Value, Refused> {
        if request.method() != Method::POST {
            return Err((StatusCode::METHOD_NOT_ALLOWED, "a webhook takes POST only".into()));
        }
        let body = match Limited::new(request.into_body(), BODY_LIMIT).collect().await {
            Ok(body) => body.to_bytes(),
            Err(error) if error.is::<LengthLimitError>() => {
                return Err((
                    StatusCode::PAYLOAD_TOO_LARGE,
                    format!("the body is larger than {BODY_LIMIT} bytes"),
                ));
            }
            Err(_) => return Err((StatusCode::BAD_REQUEST, "the body ended too early".into())),
        };
        // On a thread of its own: a function that loops for ever or panics then takes nobody along.
        match tokio::task::spawn_blocking(move || handler(&body)).await {
            Ok(Ok(review)) => Ok(review),
            Ok(Err(bad)) => Err((StatusCode::BAD_REQUEST, bad.to_string())),
            Err(_) => {
                self.metrics.webhook_panicked(path);
                Err((StatusCode::INTERNAL_SERVER_ERROR, "the webhook panicked; its log says where".into()))
            }
        }
    }
}

/// What to say instead of a review. It never holds anything of the body.
type Refused = (StatusCode, String);

fn text(code: StatusCode, why: &str) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(format!("{why}\n")));
    *response.status_mut() = code;
    response
}

fn json(review: &Value) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(review.to_string()));
    response.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static("application/json"));
    response
}

/// Counts a request for as long as it lives, even if the caller hangs up.
struct InFlight<'a>(&'a Metrics, &'a str);

impl<'a> InFlight<'a> {
    fn enter(metrics: &'a Metrics, path: &'a str) -> Self {
        metrics.webhook_in_flight(path, 1);
        Self(metrics, path)
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.webhook_in_flight(self.1, -1);
    }
}

/// The server with its port open.
pub struct Bound {
    listener: TcpListener,
    server: Arc<Server>,
    slot: CertSlot,
}

impl Bound {
    /// The address that is listened on.
    pub fn address(&self) -> Option<SocketAddr> {
        self.listener.local_addr().ok()
    }

    /// Serves until `stop`, then lets requests in progress end.
    pub async fn run(self, stop: CancellationToken) -> Result<(), rustls::Error> {
        let mut config = ServerConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(self.slot));
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let connections = TaskTracker::new();
        let room = Arc::new(Semaphore::new(CONNECTIONS));

        while let Some(accepted) = stop.run_until_cancelled(accept(&self.listener, &room)).await {
            let (socket, room) = accepted;
            let (acceptor, server, stop) = (acceptor.clone(), self.server.clone(), stop.clone());
            connections.spawn(async move {
                connection(acceptor, socket, server, stop).await;
                drop(room);
            });
        }
        drop(self.listener);
        connections.close();
        if timeout(GRACE, connections.wait()).await.is_err() {
            tracing::warn!("{} webhook connections were cut off", connections.len());
        }
        Ok(())
    }
}

/// The next connection, as soon as there is room for it.
async fn accept(
    listener: &TcpListener,
    room: &Arc<Semaphore>,
) -> (TcpStream, Option<tokio::sync::OwnedSemaphorePermit>) {
    // The semaphore is never closed.
    let permit = room.clone().acquire_owned().await.ok();
    loop {
        match listener.accept().await {
            Ok((socket, _)) => return (socket, permit),
            Err(error) => {
                tracing::warn!(%error, "cannot accept a webhook connection");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

async fn connection(acceptor: TlsAcceptor, socket: TcpStream, server: Arc<Server>, stop: CancellationToken) {
    let tls = match timeout(HANDSHAKE_TIMEOUT, acceptor.accept(socket)).await {
        Ok(Ok(tls)) => tls,
        // API servers that do not trust us (yet) end here, and port scanners: not worth more than a debug line each.
        Ok(Err(error)) => return tracing::debug!(%error, "TLS handshake failed"),
        Err(_) => return tracing::debug!("TLS handshake took too long"),
    };
    let service = service_fn(move |request| {
        let server = server.clone();
        async move { Ok::<_, Infallible>(server.answer(request).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HANDSHAKE_TIMEOUT)
        .serve_connection(TokioIo::new(tls), service);
    let mut connection = std::pin::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "webhook connection ended");
    }
}
