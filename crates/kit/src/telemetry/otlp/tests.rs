//! Traces to a collector that is there, that is not, and that never answers.

use std::convert::Infallible;

use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::{net::TcpListener, sync::mpsc};
use tracing_subscriber::layer::SubscriberExt as _;

use super::*;
use crate::{Key, telemetry::reconcile_span};

/// A collector that hands over what it is sent.
async fn collector() -> (Uri, mpsc::UnboundedReceiver<(String, Value)>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
    let (sender, received) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let sender = sender.clone();
            let service = service_fn(move |request: Request<hyper::body::Incoming>| {
                let sender = sender.clone();
                async move {
                    let path = request.uri().path().to_owned();
                    let body = request.into_body().collect().await.unwrap().to_bytes();
                    sender.send((path, serde_json::from_slice(&body).unwrap())).ok();
                    Ok::<_, Infallible>(Response::new(Full::new(Bytes::from("{}"))))
                }
            });
            tokio::spawn(
                hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(socket), service),
            );
        }
    });
    (endpoint, received)
}

fn reconciles(traces: &Traces, times: usize) {
    let subscriber = tracing_subscriber::registry().with(traces.layer());
    tracing::subscriber::with_default(subscriber, || {
        for _ in 0..times {
            reconcile_span("etcd", &Key::new("default", "db")).in_scope(|| tracing::info!("applied"));
        }
    });
}

#[tokio::test]
async fn a_span_reaches_the_collector_when_the_operator_stops() {
    let (endpoint, mut received) = collector().await;
    let traces = Traces::start(&endpoint, "capstan", TIMEOUT).unwrap();
    reconciles(&traces, 1);
    traces.stop().await;

    let (path, body) = received.recv().await.unwrap();
    assert_eq!(path, "/v1/traces");
    let resource = &body["resourceSpans"][0];
    assert!(resource["resource"].to_string().contains("capstan"), "{body}");
    let span = &resource["scopeSpans"][0]["spans"][0];
    assert_eq!(span["name"], "reconcile");
    for attribute in ["controller", "etcd", "key", "default/db"] {
        assert!(span["attributes"].to_string().contains(attribute), "{span}");
    }
    let trace = span["traceId"].as_str().unwrap();
    assert!(span["attributes"].to_string().contains(trace), "the log's trace_id is the trace's: {span}");
}

#[tokio::test]
async fn a_collector_that_is_not_there_loses_spans_and_nothing_else() {
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", closed.local_addr().unwrap()).parse().unwrap();
    drop(closed);
    let traces = Traces::start(&endpoint, "capstan", TIMEOUT).unwrap();
    reconciles(&traces, 1);
    traces.stop().await;
}

#[tokio::test]
async fn a_collector_that_never_answers_does_not_hold_up_the_stop() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", silent.local_addr().unwrap()).parse().unwrap();
    let traces = Traces::start(&endpoint, "capstan", Duration::from_millis(50)).unwrap();
    reconciles(&traces, 10_000);
    tokio::time::timeout(Duration::from_secs(10), traces.stop()).await.expect("stop must end");
}

#[test]
fn a_bare_endpoint_means_its_standard_path() {
    for (endpoint, url) in [
        ("http://c:4318", "http://c:4318/v1/traces"),
        ("http://c:4318/", "http://c:4318/v1/traces"),
        ("http://c/custom", "http://c/custom"),
    ] {
        assert_eq!(traces_url(&endpoint.parse().unwrap()), url);
    }
}

#[test]
fn only_changes_of_the_collectors_health_are_noted() {
    let failing = AtomicBool::new(false);
    let answer = |code: u16| Ok(Response::builder().status(code).body(Bytes::new()).unwrap());
    for (code, state) in [(200, false), (503, true), (503, true), (200, false)] {
        note(&failing, &answer(code));
        assert_eq!(failing.load(Ordering::Relaxed), state, "{code}");
    }
}
