//! Through a real port, in real time: it starts without its CRD, says so, and goes on by itself when the CRD comes.

use std::{
    io,
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Empty};
use hyper_util::{client::legacy::Client, rt::TokioExecutor};
use kit::{lead::Election, serve::Listen};
use kube::CustomResourceExt as _;
use serde_json::{Value, json};

use super::world::*;

async fn get(address: SocketAddr, path: &str) -> (u16, String) {
    let client = Client::builder(TokioExecutor::new()).build_http::<Empty<Bytes>>();
    let response = client.get(format!("http://{address}{path}").parse().unwrap()).await.unwrap();
    let status = response.status().as_u16();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (status, String::from_utf8(body.to_vec()).unwrap())
}

/// Asks until the answer is as `wanted`, and returns it.
async fn until(address: SocketAddr, path: &str, wanted: impl Fn(u16, &str) -> bool) -> String {
    let mut every = tokio::time::interval(Duration::from_millis(20));
    let asking = async {
        loop {
            every.tick().await;
            let (status, body) = get(address, path).await;
            if wanted(status, &body) {
                return body;
            }
        }
    };
    tokio::time::timeout(seconds(30), asking).await.unwrap_or_else(|_| panic!("{path} never said so"))
}

/// Where log lines are collected.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn it_starts_without_its_definition_says_so_once_and_goes_on_when_it_comes() {
    let log = Log::default();
    let lines = log.clone();
    let writer = move || lines.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::INFO)
        .with_ansi(false)
        .with_writer(writer)
        .finish();
    let _logging = tracing::subscriber::set_default(subscriber);

    let server = bare_server();
    let mut setup = setup(&server, "operator");
    setup.election = Some(Election { identity: "me".into(), ..Election::new("default", "probe") });
    setup.health_listen = Listen::At { host: "127.0.0.1".into(), port: 0 };
    setup.metrics_listen = setup.health_listen.clone();
    let (mut manager, notes) = manager(setup, false);
    let address = manager.bind().await.unwrap()[0];
    let operator = run(manager, notes, &[("a", &[Do::Apply("one")])]);

    let why =
        until(address, "/readyz", |status, text| status == 503 && text.contains("CustomResourceDefinition"))
            .await;
    assert!(why.contains("[-] cache-tasks failed: the server does not know the kind"), "{why}");
    assert!(
        why.contains("tasks of kit.test/v1: install the CustomResourceDefinition; going on when it is there"),
        "{why}"
    );
    until(address, "/readyz/cache-configmaps", |status, _| status == 200).await;
    assert_eq!(get(address, "/healthz").await.0, 200, "to wait is no reason to be restarted");

    server.install(json!(Task::crd())).unwrap();
    until(address, "/readyz", |status, _| status == 200).await;
    user(&server).create("a").await;
    let metrics = until(address, "/metrics", |_, text| {
        text.contains("reconcile_total{controller=\"probe\",result=\"success\"} 2")
    })
    .await;
    assert!(metrics.contains("leader_election_master_status{name=\"probe\"} 1"));
    let state: Value = serde_json::from_str(&get(address, "/debug/state.json").await.1).unwrap();
    assert_eq!(state["cache-tasks"], json!({"objects": 1, "state": "synced"}));
    assert_eq!(state["queue-probe"], json!({"busy": 0, "running": []}));
    assert_eq!((&state["lease"]["leading"], &state["lease"]["holder"]), (&json!(true), &json!("me")));
    operator.stop().await.unwrap();

    let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    let warnings: Vec<&str> = log.lines().filter(|line| line.contains("WARN")).collect();
    assert_eq!(warnings.len(), 1, "{log}");
    assert!(warnings[0].contains("install the CustomResourceDefinition"), "{log}");
}

#[tokio::test]
async fn a_lease_that_may_not_be_read_is_told_where_readiness_is_asked_for() {
    let server = server();
    let forbidden = apiserver::ApiError::forbidden("coordination.k8s.io", "leases", "probe", "no");
    server
        .faults()
        .add(apiserver::When::any().resource("leases").always(), apiserver::Fault::Refuse(forbidden));
    let mut setup = setup(&server, "operator");
    setup.election = Some(Election::new("default", "probe"));
    setup.health_listen = Listen::At { host: "127.0.0.1".into(), port: 0 };
    let (mut manager, notes) = manager(setup, false);
    manager.background("forgetful", |_| async {});
    let address = manager.bind().await.unwrap()[0];
    let operator = run(manager, notes, &[]);
    let why = until(address, "/readyz/lease", |status, _| status == 503).await;
    assert!(
        why.contains("nobody leads: not allowed to get lease default/probe: grant get, create and update"),
        "{why}"
    );
    let why = until(address, "/readyz/background-forgetful", |status, _| status == 503).await;
    assert!(why.contains("the background task forgetful ended by itself"), "{why}");
    operator.stop().await.unwrap();
}
