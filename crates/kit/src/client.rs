//! The way to the API server: what happens to every request, whoever sends it.
//!
//! ```text
//! caller ─> deadline ─> retry ─> limit ─> timeout ─> metrics ─> fence ─> kube's own stack (auth, TLS, hyper)
//!           (call)      └───────────────── once per attempt ─────────┘
//! ```
//!
//! Each hop is one file, with its reason. Retries happen in `retry` and nowhere else: kube's own are switched off. The fence
//! comes last, so that nothing can wait between its check and the request.

mod aimd;
mod budget;
mod connect;
mod fence;
mod limit;
mod metrics;
mod request;
mod retry;
mod timeout;

use std::{future::Future, time::Duration};

use http::{HeaderValue, Request, Response, header::USER_AGENT};
use kube::client::Body;
use tower::{BoxError, Service};

use self::{fence::Fenced, limit::Limit, metrics::Measured, retry::Retry, timeout::Timeout};
use crate::{lead::Fence, metrics::Metrics};

pub use self::{
    budget::RetryBudget,
    connect::connect,
    timeout::{Deadline, Reply, TimedOut},
};

/// How a client behaves. The defaults suit an operator; see the fields.
#[derive(Debug, Clone)]
pub struct ClientOptions {
    /// Who is calling, for the server's audit log: the `User-Agent`, for example `capstan/0.1.0`.
    pub name: String,
    /// The server's name in metrics. [`connect`] sets it.
    pub host: String,
    /// How long one attempt may take, from the first byte out to the last byte in. Of a watch, only until it begins.
    pub request_timeout: Duration,
    /// How many writes may be under way at once, at most: fewer after the server has answered 429.
    pub max_writes_in_flight: usize,
    /// The same for reads. Watches are not counted: they last.
    pub max_reads_in_flight: usize,
    /// How many retries all callers together may use.
    pub retry_budget: RetryBudget,
    /// Where requests are counted.
    pub metrics: Metrics,
    /// What must be open for a write to go out.
    pub fence: Fence,
}

impl ClientOptions {
    /// The defaults, unfenced.
    pub fn new(name: impl Into<String>, metrics: Metrics) -> Self {
        Self {
            name: name.into(),
            host: "in-process".into(),
            request_timeout: Duration::from_secs(15),
            max_writes_in_flight: 32,
            max_reads_in_flight: 64,
            retry_budget: RetryBudget::default(),
            metrics,
            fence: Fence::open(),
        }
    }

    /// The same, with every write behind `fence`.
    #[must_use]
    pub fn fenced(mut self, fence: Fence) -> Self {
        self.fence = fence;
        self
    }
}

/// A client over any service that answers as an API server does. Needs a tokio runtime.
pub fn layered<S, B>(service: S, default_namespace: &str, options: ClientOptions) -> kube::Client
where
    S: Service<Request<Body>, Response = Response<B>> + Send + 'static,
    S::Future: Send + 'static,
    S::Error: Into<BoxError>,
    B: http_body::Body<Data = bytes::Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    over(kube::Client::new(service, default_namespace), options)
}

/// Puts the hops in front of `server`. It is a `kube::Client` because that is cheap to clone, which a retry needs,
/// whatever service is in it.
fn over(server: kube::Client, options: ClientOptions) -> kube::Client {
    let (namespace, valid_until) = (server.default_namespace().to_owned(), *server.valid_until());
    let agent = HeaderValue::from_str(&options.name).ok();
    let attempt = Timeout::new(
        Measured::new(Fenced::new(Server(server), options.fence), options.metrics.clone(), &options.host),
        options.request_timeout,
    );
    let limited = Limit::new(attempt, options.max_reads_in_flight, options.max_writes_in_flight);
    let retry = Retry::new(limited, options.retry_budget, options.metrics, &options.host);
    let service = tower::service_fn(move |mut request: Request<Body>| {
        let retry = retry.clone();
        if let Some(agent) = &agent {
            request.headers_mut().entry(USER_AGENT).or_insert_with(|| agent.clone());
        }
        async move { timeout::until_deadline(&retry, request).await }
    });
    kube::Client::new(service, namespace).with_valid_until(valid_until)
}

/// One step on the way to the server. Not a `tower::Service`: that has readiness and `&mut self`, and both would be in the
/// way of sending a request twice.
trait Hop: Send + Sync {
    fn send(&self, request: Request<Body>) -> impl Future<Output = Result<Response<Reply>, BoxError>> + Send;
}

/// The last hop.
#[derive(Clone)]
struct Server(kube::Client);

impl Hop for Server {
    async fn send(&self, request: Request<Body>) -> Result<Response<Reply>, BoxError> {
        Ok(self.0.send(request).await?.map(Reply::from))
    }
}
