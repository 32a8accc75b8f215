//! Log lines in every format.

use std::{
    io::Write,
    sync::{Arc, Mutex},
};

use super::*;

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Lines {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn subscriber(format: LogFormat, filter: &str) -> (Lines, impl Subscriber + Send + Sync) {
    let options =
        Options { service: "test".into(), format, filter: filter.parse().unwrap(), otlp_endpoint: None };
    let lines = Lines::default();
    let writer = lines.clone();
    let subscriber = tracing_subscriber::registry().with(logs(&options, move || writer.clone(), false));
    (lines, subscriber)
}

fn logged(format: LogFormat, filter: &str, say: impl FnOnce()) -> String {
    let (lines, subscriber) = subscriber(format, filter);
    tracing::subscriber::with_default(subscriber, say);
    lines.text()
}

fn a_warning() {
    let span = reconcile_span("etcd", &Key::new("default", "db"));
    let _inside = span.enter();
    tracing::info!("not a warning");
    tracing::warn!(member = 3, "disk is full");
}

#[test]
fn every_format_names_controller_and_object_even_when_only_warnings_are_logged() {
    for format in [LogFormat::Text, LogFormat::Json, LogFormat::Logfmt] {
        let text = logged(format, "warn", a_warning);
        assert_eq!(text.lines().count(), 1, "{text}");
        for part in ["disk is full", "controller", "etcd", "default/db", "member", "3"] {
            assert!(text.contains(part), "no {part} in {text}");
        }
        assert!(!text.contains('\u{1b}'), "no colour outside a terminal: {text}");
    }
}

#[test]
fn json_lines_are_objects_with_the_span() {
    let line: serde_json::Value = serde_json::from_str(&logged(LogFormat::Json, "warn", a_warning)).unwrap();
    assert_eq!(line["level"], "WARN");
    assert_eq!(line["message"], "disk is full");
    assert_eq!(line["member"], 3);
    assert_eq!(line["span"]["key"], "default/db");
}

#[test]
fn single_modules_have_their_own_level() {
    let say = || {
        tracing::debug!(target: "kit::queue", "wanted");
        tracing::debug!(target: "hyper", "noise");
    };
    let text = logged(LogFormat::Text, "info,kit=debug", say);
    assert!(text.contains("wanted") && !text.contains("noise"), "{text}");
}

#[test]
fn a_chain_of_errors_is_one_sentence_without_repetition() {
    #[derive(Debug, thiserror::Error)]
    #[error("connection refused")]
    struct Inner;
    #[derive(Debug, thiserror::Error)]
    #[error("cannot reach it: {0}")]
    struct Middle(#[source] Inner);
    #[derive(Debug, thiserror::Error)]
    #[error("cannot apply Pod a/b")]
    struct Outer(#[source] Middle);
    assert_eq!(
        chain(&Outer(Middle(Inner))).to_string(),
        "cannot apply Pod a/b: cannot reach it: connection refused"
    );
}

#[test]
fn a_panic_is_one_log_line() {
    let text = logged(LogFormat::Json, "info", || {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(log_panic));
        std::panic::catch_unwind(|| panic!("no such member")).unwrap_err();
        std::panic::set_hook(before);
    });
    let line = text.lines().find(|line| line.contains("no such member")).unwrap();
    let line: serde_json::Value = serde_json::from_str(line).unwrap();
    assert_eq!(line["message"], "panicked: no such member");
    assert!(line["location"].as_str().unwrap().contains("telemetry/tests.rs"), "{line}");
}

#[tokio::test]
async fn an_answer_that_cannot_be_read_is_not_logged_at_any_level() {
    let (lines, subscriber) = subscriber(LogFormat::Text, "trace");
    let _logging = tracing::subscriber::set_default(subscriber);
    let service = tower::service_fn(async |_: http::Request<kube::client::Body>| {
        let secret = r#"{"metadata":{"name":"a"},"data":7,"stringData":{"password":"hunter2"}}"#;
        Ok::<_, std::convert::Infallible>(http::Response::new(kube::client::Body::from(
            secret.as_bytes().to_vec(),
        )))
    });
    let secrets: kube::Api<k8s_openapi::api::core::v1::Secret> =
        kube::Api::default_namespaced(kube::Client::new(service, "default"));
    let mut created = secrets.get("a").await.map_err(|error| chain(&error).to_string()).unwrap_err();
    created += &secrets
        .create(&kube::api::PostParams::default(), &Default::default())
        .await
        .unwrap_err()
        .to_string();
    tracing::info!(created, "failed");
    assert!(lines.text().contains("failed") && !lines.text().contains("hunter2"), "{}", lines.text());
}

#[test]
fn what_the_server_refused_is_told_in_its_words_without_a_dump() {
    let status = kube::core::Status::failure("spec.size: must be odd", "Invalid").with_code(422);
    let key = Key::new("default", "db");
    let error = crate::Error::api(
        "apply",
        crate::KindId::of::<k8s_openapi::api::core::v1::Secret>(),
        key,
        kube::Error::Api(status.boxed()),
    );
    assert_eq!(chain(&error).to_string(), "cannot apply Secret default/db: spec.size: must be odd");
}
