//! The admin server on a real socket.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Empty};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use kit::{
    metrics::Metrics,
    serve::{Admin, Bound, Listen},
};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

fn loopback() -> Listen {
    Listen::At { host: "127.0.0.1".into(), port: 0 }
}

struct Server {
    address: SocketAddr,
    client: Client<HttpConnector, Empty<Bytes>>,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

async fn start(admin: Admin) -> Server {
    let bound: Bound = admin.bind(&loopback(), &loopback()).await.unwrap();
    let address = bound.addresses()[0];
    let stop = CancellationToken::new();
    let task = tokio::spawn(bound.run(stop.clone()));
    Server { address, client: Client::builder(TokioExecutor::new()).build_http(), stop, task }
}

impl Server {
    async fn get(&self, path: &str, accept: &str) -> (u16, String, String) {
        let request = http::Request::get(format!("http://{}{path}", self.address))
            .header("accept", accept)
            .body(Empty::new())
            .unwrap();
        let response = self.client.request(request).await.unwrap();
        let status = response.status().as_u16();
        let kind = response.headers().get("content-type").map(|v| v.to_str().unwrap().to_owned());
        let body = response.into_body().collect().await.unwrap().to_bytes();
        (status, kind.unwrap_or_default(), String::from_utf8(body.to_vec()).unwrap())
    }

    async fn text(&self, path: &str) -> (u16, String) {
        let (status, _, body) = self.get(path, "*/*").await;
        (status, body)
    }
}

#[tokio::test]
async fn readiness_follows_its_checks_and_says_what_is_missing() {
    let installed = Arc::new(AtomicBool::new(false));
    let admin = Admin::new(Metrics::new());
    let seen = installed.clone();
    admin.ready("caches", move || match seen.load(Ordering::SeqCst) {
        true => Ok(()),
        false => Err("EtcdCluster: its CRD is not installed".into()),
    });
    let server = start(admin).await;

    let missing = "[-] caches failed: EtcdCluster: its CRD is not installed\nfailed\n";
    assert_eq!(server.text("/readyz").await, (503, missing.into()));
    assert_eq!(server.text("/healthz").await, (200, "ok\n".into()), "not ready is no reason to die");

    installed.store(true, Ordering::SeqCst);
    assert_eq!(server.text("/readyz").await, (200, "ok\n".into()));
    assert_eq!(server.text("/readyz?verbose").await, (200, "[+] caches ok\nok\n".into()));
    assert_eq!(server.text("/livez?verbose=1").await, (200, "[+] event-loop ok\nok\n".into()));
    assert_eq!(server.text("/readyz/caches").await, (200, "ok\n".into()));
    assert_eq!(server.text("/readyz/nonsense").await.0, 404);
}

#[tokio::test]
async fn metrics_come_in_the_format_that_was_asked_for() {
    let metrics = Metrics::new();
    metrics.event_dropped("full");
    let server = start(Admin::new(metrics)).await;

    let (status, kind, body) = server.get("/metrics", "*/*").await;
    assert_eq!((status, kind.as_str()), (200, "text/plain; version=0.0.4; charset=utf-8"));
    assert!(body.contains("# TYPE capstan_events_dropped_total counter\n"), "{body}");

    let (_, kind, body) = server.get("/metrics", "application/openmetrics-text;version=1.0.0").await;
    assert_eq!(kind, "application/openmetrics-text; version=1.0.0; charset=utf-8");
    assert!(body.ends_with("# EOF\n"), "{body}");
}

#[tokio::test]
async fn the_state_is_shown_to_the_machine_itself() {
    let admin = Admin::new(Metrics::new());
    admin.state("queues", || serde_json::json!({ "etcd": { "depth": 3 } }));
    admin.state("leases", || serde_json::json!([]));
    let server = start(admin).await;
    let (status, body) = server.text("/debug/state.json").await;
    assert_eq!((status, body.as_str()), (200, r#"{"leases":[],"queues":{"etcd":{"depth":3}}}"#));
}

#[tokio::test]
async fn a_stop_closes_the_port() {
    let server = start(Admin::new(Metrics::new())).await;
    assert_eq!(server.text("/healthz").await.0, 200);
    server.stop.cancel();
    server.task.await.unwrap();
    assert!(tokio::net::TcpStream::connect(server.address).await.is_err());
}

#[tokio::test]
async fn one_address_for_both_serves_both_and_off_serves_nothing() {
    let bound = Admin::new(Metrics::new()).bind(&loopback(), &loopback()).await.unwrap();
    assert_eq!(bound.addresses().len(), 1);
    let off = Admin::new(Metrics::new()).bind(&Listen::Off, &Listen::Off).await.unwrap();
    assert_eq!(off.addresses(), []);
}
