//! Traces to an OpenTelemetry collector, as OTLP over HTTP with JSON.
//!
//! Spans are queued and sent by a thread of the SDK: a collector that is slow or dead costs spans, never a reconcile.

use std::{
    future::Future,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use http::{Request, Response, Uri};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use opentelemetry::trace::{TraceContextExt as _, TraceId, TracerProvider as _};
use opentelemetry_http::{HttpClient, HttpError};
use opentelemetry_otlp::{Protocol, RetryPolicy, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::{Resource, trace::SdkTracerProvider};
use tokio::runtime::Handle;
use tracing::{Span, Subscriber, level_filters::LevelFilter};
use tracing_opentelemetry::OpenTelemetrySpanExt as _;
use tracing_subscriber::{
    Layer,
    filter::{FilterExt as _, filter_fn},
    registry::LookupSpan,
};

use super::{StartError, keeps_bodies_out};

/// How long one batch may take, and the flush at the end.
pub(super) const TIMEOUT: Duration = Duration::from_secs(5);

/// A collector's answer is empty or a short list of what it refused.
const ANSWER_LIMIT: usize = 64 * 1024;

#[derive(Debug)]
pub(super) struct Traces {
    provider: SdkTracerProvider,
    timeout: Duration,
}

impl Traces {
    /// Must be called in the runtime that is to do the sending.
    pub(super) fn start(endpoint: &Uri, service: &str, timeout: Duration) -> Result<Self, StartError> {
        let exporter = opentelemetry_otlp::SpanExporter::builder()
            .with_http()
            .with_endpoint(traces_url(endpoint))
            .with_protocol(Protocol::HttpJson)
            .with_timeout(timeout)
            // The SDK waits between attempts on the thread that drains the queue. The next batch is the next attempt.
            .with_retry_policy(RetryPolicy::disabled())
            .with_http_client(Collector::new(timeout))
            .build()
            .map_err(|error| StartError::Traces { endpoint: endpoint.clone(), why: error.to_string() })?;
        let provider = SdkTracerProvider::builder()
            .with_resource(Resource::builder().with_service_name(service.to_owned()).build())
            .with_batch_exporter(exporter)
            .build();
        Ok(Self { provider, timeout })
    }

    pub(super) fn layer<S>(&self) -> impl Layer<S> + use<S>
    where
        S: Subscriber + for<'a> LookupSpan<'a>,
    {
        let filter = LevelFilter::INFO.and(filter_fn(keeps_bodies_out));
        tracing_opentelemetry::layer().with_tracer(self.provider.tracer("kit")).with_filter(filter)
    }

    /// Sends what is left. The SDK blocks while it does so, therefore elsewhere than on the event loop.
    pub(super) async fn stop(self) {
        let flushed =
            tokio::task::spawn_blocking(move || self.provider.shutdown_with_timeout(self.timeout)).await;
        if let Ok(Err(error)) = flushed {
            tracing::warn!(%error, "the last traces were not sent");
        }
    }
}

/// Notes the id of the trace that `span` belongs to in its field `trace_id`.
pub(super) fn record_trace_id(span: &Span) {
    let trace = span.context().span().span_context().trace_id();
    if trace != TraceId::INVALID {
        span.record("trace_id", tracing::field::display(trace));
    }
}

/// `http://collector:4318` means its `/v1/traces`; a path that is written out is taken as it is.
fn traces_url(endpoint: &Uri) -> String {
    match endpoint.path() {
        "/" => format!("{}/v1/traces", endpoint.to_string().trim_end_matches('/')),
        _ => endpoint.to_string(),
    }
}

/// The way to the collector, on the runtime that the operator has anyway.
#[derive(Debug)]
struct Collector {
    client: Client<HttpConnector, Full<Bytes>>,
    runtime: Handle,
    timeout: Duration,
    /// Whether the last batch failed: only changes are logged.
    failing: Arc<AtomicBool>,
}

impl Collector {
    fn new(timeout: Duration) -> Self {
        let client = Client::builder(TokioExecutor::new()).build_http();
        Self { client, runtime: Handle::current(), timeout, failing: Arc::default() }
    }
}

impl HttpClient for Collector {
    // The shape that `#[async_trait]` gives the method.
    fn send_bytes<'a, 'async_trait>(
        &'a self,
        request: Request<Bytes>,
    ) -> Pin<Box<dyn Future<Output = Result<Response<Bytes>, HttpError>> + Send + 'async_trait>>
    where
        'a: 'async_trait,
        Self: 'async_trait,
    {
        let (client, failing, timeout) = (self.client.clone(), self.failing.clone(), self.timeout);
        // The caller is a thread of the SDK without a reactor.
        let sent = self.runtime.spawn(async move {
            let answer = match tokio::time::timeout(timeout, exchange(client, request)).await {
                Ok(answer) => answer,
                Err(_) => Err(format!("no answer within {timeout:?}").into()),
            };
            note(&failing, &answer);
            answer
        });
        Box::pin(async move { sent.await? })
    }
}

async fn exchange(
    client: Client<HttpConnector, Full<Bytes>>,
    request: Request<Bytes>,
) -> Result<Response<Bytes>, HttpError> {
    let (head, body) = client.request(request.map(Full::new)).await?.into_parts();
    let body = Limited::new(body, ANSWER_LIMIT).collect().await?.to_bytes();
    Ok(Response::from_parts(head, body))
}

fn note(failing: &AtomicBool, answer: &Result<Response<Bytes>, HttpError>) {
    let problem = match answer {
        Ok(answer) if answer.status().is_success() => None,
        Ok(answer) => Some(format!("it answered {}", answer.status())),
        Err(error) => Some(super::chain(error.as_ref()).to_string()),
    };
    match (&problem, failing.swap(problem.is_some(), Ordering::Relaxed)) {
        (Some(why), false) => tracing::warn!("the collector of traces fails, its traces are lost: {why}"),
        (None, true) => tracing::info!("the collector of traces works again"),
        (Some(_), true) | (None, false) => {}
    }
}

#[cfg(test)]
mod tests;
