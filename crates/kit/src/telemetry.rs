//! What the operator says about itself while it runs: logs to stderr, and traces to a collector.
//!
//! Invariant: what is logged is names, counts and reasons, never the content of an object: neither a request's body nor a
//! key ever reaches a log line, at any level.

mod filter;
mod otlp;

use std::{
    backtrace::{Backtrace, BacktraceStatus},
    fmt,
    io::{self, IsTerminal as _},
    panic::PanicHookInfo,
};

use tracing::{Metadata, Span, Subscriber, field::Empty};
use tracing_subscriber::{
    Layer,
    filter::{FilterExt as _, filter_fn},
    fmt as format,
    fmt::MakeWriter,
    layer::SubscriberExt as _,
    registry::LookupSpan,
};

pub use filter::{BadFilter, Filter};

use crate::Key;

/// How a log line looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum LogFormat {
    /// For people; in colour on a terminal.
    #[default]
    Text,
    /// One JSON object per line.
    Json,
    /// `key=value` pairs, as the Prometheus family writes them.
    Logfmt,
}

/// What to log and where to send traces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// The operator's name, as traces have it.
    pub service: String,
    /// How log lines look.
    pub format: LogFormat,
    /// Which of them are written.
    pub filter: Filter,
    /// The collector that takes traces; `None` for no traces.
    pub otlp_endpoint: Option<http::Uri>,
}

/// Telemetry that could not be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// It was started before: logs are one per process.
    #[error("logs were already started in this process")]
    Twice,
    /// The exporter of traces could not be built.
    #[error("cannot send traces to {endpoint}: {why}")]
    Traces {
        /// Where to.
        endpoint: http::Uri,
        /// Why not.
        why: String,
    },
}

/// Keeps traces flowing. [`stop`](Self::stop) it last, so that nothing is lost.
#[derive(Debug)]
#[must_use = "traces that are not flushed are lost"]
pub struct Telemetry {
    traces: Option<otlp::Traces>,
}

/// Starts logs and traces for the whole process. Panics are logged, too. Call it in the runtime that is to send the traces.
pub fn start(options: &Options) -> Result<Telemetry, StartError> {
    let ansi = options.format == LogFormat::Text && io::stderr().is_terminal();
    let registry = tracing_subscriber::registry().with(logs(options, io::stderr, ansi));

    let traces = match &options.otlp_endpoint {
        None => None,
        Some(endpoint) => Some(otlp::Traces::start(endpoint, &options.service, otlp::TIMEOUT)?),
    };
    let registry = registry.with(traces.as_ref().map(otlp::Traces::layer));

    tracing::subscriber::set_global_default(registry).map_err(|_| StartError::Twice)?;
    std::panic::set_hook(Box::new(log_panic));
    Ok(Telemetry { traces })
}

impl Telemetry {
    /// Sends what is left of the traces, for a few seconds at most.
    pub async fn stop(self) {
        if let Some(traces) = self.traces {
            traces.stop().await;
        }
    }
}

/// The span around one reconcile. Every log line in it names controller and object, and its trace if there is one.
///
/// `result` is empty, to be recorded when it is known. The level is the highest, because context is wanted most when only
/// warnings are logged.
pub fn reconcile_span(controller: &str, key: &Key) -> Span {
    let span = tracing::error_span!("reconcile", controller, %key, result = Empty, trace_id = Empty);
    otlp::record_trace_id(&span);
    span
}

/// This module of kube logs the whole body of an answer that it cannot read, as a warning: a Secret's, too. The error that
/// it returns says enough.
fn keeps_bodies_out(metadata: &Metadata<'_>) -> bool {
    metadata.target() != "kube_client::client"
}

/// The layer that writes log lines to `writer`.
fn logs<S, W>(options: &Options, writer: W, ansi: bool) -> Box<dyn Layer<S> + Send + Sync>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let filter = options.filter.to_env_filter().and(filter_fn(keeps_bodies_out));
    match options.format {
        LogFormat::Text => format::layer().with_writer(writer).with_ansi(ansi).with_filter(filter).boxed(),
        LogFormat::Json => {
            let json = format::layer().json().flatten_event(true).with_span_list(false);
            json.with_writer(writer).with_filter(filter).boxed()
        }
        LogFormat::Logfmt => {
            tracing_logfmt::builder().layer().with_writer(writer).with_filter(filter).boxed()
        }
    }
}

/// The default hook writes several lines of its own format to stderr, which breaks those who read JSON there.
fn log_panic(panic: &PanicHookInfo<'_>) {
    let backtrace = Backtrace::capture();
    let backtrace = (backtrace.status() == BacktraceStatus::Captured).then(|| backtrace.to_string());
    let message = panic.payload_as_str().unwrap_or("a panic without a message");
    let location = panic.location().map(ToString::to_string);
    tracing::error!(location, backtrace, "panicked: {message}");
}

/// Writes an error with all its sources, as one line: `cannot apply Pod a/b: timed out`.
pub fn chain(error: &dyn std::error::Error) -> impl fmt::Display {
    struct Chain<'a>(&'a dyn std::error::Error);
    impl fmt::Display for Chain<'_> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "{}", self.0)?;
            let mut said = self.0.to_string();
            let mut next = self.0.source();
            while let Some(source) = next {
                if let Some(text) = said_by_server(source) {
                    return write!(f, ": {text}");
                }
                // Many errors repeat their source in their own text.
                let text = source.to_string();
                if !said.contains(&text) {
                    write!(f, ": {text}")?;
                }
                said = text;
                next = source.source();
            }
            Ok(())
        }
    }
    Chain(error)
}

/// What the API server answered, in its own words: kube's text for it ends in a dump of the whole answer.
fn said_by_server(error: &(dyn std::error::Error + 'static)) -> Option<String> {
    let boxed = || error.downcast_ref::<Box<kube::Error>>().map(|error| &**error);
    match error.downcast_ref::<kube::Error>().or_else(boxed)? {
        kube::Error::Api(status) if !status.message.is_empty() => Some(status.message.clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
