//! Webhooks over real TLS, with certificates kept in a (simulated) cluster.

use std::{net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::{
    ByteString,
    api::{
        admissionregistration::v1::ValidatingWebhookConfiguration,
        core::v1::{ConfigMap, Secret},
    },
};
use kit::{
    Clock,
    metrics::Metrics,
    serve::Listen,
    webhook::{CertSlot, Denied, Files, Keeper, Server, Target, service_names},
};
use kube::{Api, api::PostParams};
use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, ServerName, pem::PemObject as _},
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};
use tokio_rustls::TlsConnector;
use tokio_util::sync::CancellationToken;

const NAME: &str = "capstan.default.svc";

fn keeper(cluster: &apiserver::Server, replica: &str, clock: Clock) -> Keeper {
    let names = service_names("capstan", "default");
    Keeper::new(cluster.client_named(replica), "default", "capstan-webhook", names, clock)
        .trusted_by(Target::Validating("capstan".into()))
}

fn noon() -> Timestamp {
    "2030-01-01T12:00:00Z".parse().unwrap()
}

async fn install_configuration(cluster: &apiserver::Server) {
    let configuration: ValidatingWebhookConfiguration = serde_json::from_value(json!({
        "metadata": { "name": "capstan" },
        "webhooks": [{
            "name": "check.capstan.dev", "admissionReviewVersions": ["v1"], "sideEffects": "None",
            "clientConfig": { "service": { "name": "capstan", "namespace": "default", "path": "/check" } },
        }],
    }))
    .unwrap();
    Api::all(cluster.client()).create(&PostParams::default(), &configuration).await.unwrap();
}

async fn trusted(cluster: &apiserver::Server) -> RootCertStore {
    let configurations: Api<ValidatingWebhookConfiguration> = Api::all(cluster.client());
    let configuration = configurations.get("capstan").await.unwrap();
    let ByteString(pem) = configuration.webhooks.unwrap()[0].client_config.ca_bundle.clone().unwrap();
    let mut roots = RootCertStore::empty();
    for ca in CertificateDer::pem_slice_iter(&pem) {
        roots.add(ca.unwrap()).unwrap();
    }
    roots
}

async fn secret(cluster: &apiserver::Server) -> Secret {
    Api::namespaced(cluster.client(), "default").get("capstan-webhook").await.unwrap()
}

/// An API server that calls the webhook: its TLS connection, or why there is none.
async fn dial(
    address: SocketAddr,
    roots: RootCertStore,
) -> std::io::Result<tokio_rustls::client::TlsStream<TcpStream>> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let socket = TcpStream::connect(address).await.unwrap();
    TlsConnector::from(Arc::new(config)).connect(ServerName::try_from(NAME).unwrap(), socket).await
}

async fn send(
    address: SocketAddr,
    roots: &RootCertStore,
    method: &str,
    path: &str,
    body: &str,
) -> (u16, String) {
    let mut tls = dial(address, roots.clone()).await.unwrap();
    let length = body.len();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: {NAME}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n"
    );
    tls.write_all(head.as_bytes()).await.unwrap();
    // A server that refuses early closes before everything is written.
    tls.write_all(body.as_bytes()).await.ok();
    let mut answer = Vec::new();
    tls.read_to_end(&mut answer).await.ok();
    let answer = String::from_utf8(answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

fn review(data: &Value) -> String {
    let object = json!({ "metadata": { "name": "a" }, "data": data });
    let request = json!({ "uid": "u1", "operation": "CREATE", "object": object });
    json!({ "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request }).to_string()
}

/// Refuses the key `bad`, panics at the key `bug`.
fn server(metrics: Metrics) -> Server {
    Server::new(metrics).validate::<ConfigMap>("/check", |request| {
        let data = request.object.as_ref().and_then(|object| object.data.clone()).unwrap_or_default();
        assert!(!data.contains_key("bug"), "a bug");
        match data.contains_key("bad") {
            true => Err(Denied::invalid("data.bad: leave it out")),
            false => Ok(()),
        }
    })
}

async fn start(
    server: Server,
    slot: CertSlot,
) -> (SocketAddr, CancellationToken, tokio::task::JoinHandle<()>) {
    let listen = Listen::At { host: "127.0.0.1".into(), port: 0 };
    let bound = server.bind(&listen, slot).await.unwrap().unwrap();
    let address = bound.address().unwrap();
    let stop = CancellationToken::new();
    let stopped = stop.clone();
    let task = tokio::spawn(async move { bound.run(stopped).await.unwrap() });
    (address, stop, task)
}

#[tokio::test]
async fn an_api_server_that_trusts_the_bundle_gets_answers() {
    let cluster = apiserver::Server::new();
    install_configuration(&cluster).await;
    let slot = CertSlot::new();
    keeper(&cluster, "a", Clock::system()).once(&slot).await.unwrap();
    let metrics = Metrics::new();
    let (address, stop, task) = start(server(metrics.clone()), slot).await;
    let roots = trusted(&cluster).await;

    let (code, body) = send(address, &roots, "POST", "/check", &review(&json!({ "good": "1" }))).await;
    let answer: Value = serde_json::from_str(&body).unwrap();
    assert_eq!((code, &answer["response"]["allowed"]), (200, &json!(true)));

    let (_, body) = send(address, &roots, "POST", "/check", &review(&json!({ "bad": "1" }))).await;
    let answer: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(answer["response"]["status"]["message"], "data.bad: leave it out");

    let text = metrics.encode();
    assert!(
        text.contains("controller_runtime_webhook_requests_total{webhook=\"/check\",code=\"200\"} 2\n"),
        "{text}"
    );
    assert!(
        text.contains("controller_runtime_webhook_requests_in_flight{webhook=\"/check\"} 0.0\n"),
        "{text}"
    );
    stop.cancel();
    task.await.unwrap();
    assert!(TcpStream::connect(address).await.is_err(), "the port is closed");
}

#[tokio::test]
async fn what_is_no_review_is_told_so_and_a_panic_stays_alone() {
    let cluster = apiserver::Server::new();
    install_configuration(&cluster).await;
    let slot = CertSlot::new();
    keeper(&cluster, "a", Clock::system()).once(&slot).await.unwrap();
    let metrics = Metrics::new();
    let (address, ..) = start(server(metrics.clone()), slot).await;
    let roots = trusted(&cluster).await;

    let not_json =
        "this is no AdmissionReview of admission.k8s.io/v1: it is not valid JSON, line 1 column 1\n";
    for (method, path, body, code, says) in [
        ("POST", "/check", "secret".to_owned(), 400, not_json),
        ("POST", "/nowhere", String::new(), 404, "there is no webhook at this path\n"),
        ("GET", "/check", String::new(), 405, "a webhook takes POST only\n"),
        ("POST", "/check", review(&json!({ "bug": "1" })), 500, "the webhook panicked; its log says where\n"),
    ] {
        assert_eq!(
            send(address, &roots, method, path, &body).await,
            (code, says.to_owned()),
            "{method} {path}"
        );
    }
    let huge = "x".repeat(8 * 1024 * 1024);
    assert_eq!(send(address, &roots, "POST", "/check", &huge).await.0, 413);
    assert_eq!(send(address, &roots, "POST", "/check", &review(&json!({}))).await.0, 200, "it goes on");
    let text = metrics.encode();
    assert!(text.contains("controller_runtime_webhook_panics_total{webhook=\"/check\"} 1\n"), "{text}");
    assert!(!text.contains("nowhere"), "paths that people make up are no labels: {text}");
}

#[tokio::test]
async fn a_new_certificate_is_served_to_the_next_handshake() {
    let first = apiserver::Server::new();
    let second = apiserver::Server::new();
    let slot = CertSlot::new();
    let (address, ..) = start(server(Metrics::new()), slot.clone()).await;
    for cluster in [&first, &second] {
        install_configuration(cluster).await;
        keeper(cluster, "a", Clock::system()).once(&slot).await.unwrap();
        dial(address, trusted(cluster).await).await.unwrap();
    }
    dial(address, trusted(&first).await).await.expect_err("the first CA is no longer served");
}

#[tokio::test(start_paused = true)]
async fn who_connects_and_says_nothing_is_hung_up_on() {
    let (address, ..) = start(server(Metrics::new()), CertSlot::new()).await;
    let mut silent = TcpStream::connect(address).await.unwrap();
    assert_eq!(silent.read(&mut [0; 1]).await.unwrap_or_default(), 0);
}

#[tokio::test]
async fn replicas_that_start_at_once_share_one_certificate() {
    let cluster = apiserver::Server::new();
    install_configuration(&cluster).await;
    let slots = [CertSlot::new(), CertSlot::new(), CertSlot::new()];
    let keepers = ["a", "b", "c"].map(|replica| keeper(&cluster, replica, Clock::system()));
    let (a, b, c) =
        tokio::join!(keepers[0].once(&slots[0]), keepers[1].once(&slots[1]), keepers[2].once(&slots[2]));
    for result in [a, b, c] {
        result.unwrap();
    }
    let made = cluster.requests().resource("secrets").writes();
    assert_eq!(made.iter().filter(|request| request.code == Some(201)).count(), 1, "{:?}", made.told());
    let roots = trusted(&cluster).await;
    for slot in slots {
        let (address, ..) = start(server(Metrics::new()), slot).await;
        dial(address, roots.clone()).await.unwrap();
    }
}

#[tokio::test]
async fn a_restart_writes_nothing() {
    let cluster = apiserver::Server::new();
    install_configuration(&cluster).await;
    keeper(&cluster, "a", Clock::system()).once(&CertSlot::new()).await.unwrap();
    let before = cluster.request_count();
    let slot = CertSlot::new();
    keeper(&cluster, "a", Clock::system()).once(&slot).await.unwrap();
    assert_eq!(cluster.requests().since(before).writes().told(), Vec::<String>::new());
    assert_eq!(slot.check(Clock::system().now()), Ok(()));
}

#[tokio::test(start_paused = true)]
async fn over_a_year_the_leaf_is_renewed_in_time_and_the_trust_grows_before_it() {
    let cluster = apiserver::Server::builder().time(noon()).build();
    install_configuration(&cluster).await;
    let clock = Clock::starting_at(noon());
    let slots = [CertSlot::new(), CertSlot::new()];
    let keepers = ["a", "b"].map(|replica| keeper(&cluster, replica, clock));
    for days in (0..400).step_by(4) {
        let (a, b) = tokio::join!(keepers[0].once(&slots[0]), keepers[1].once(&slots[1]));
        a.unwrap();
        b.unwrap();
        tokio::time::advance(Duration::from_secs(4 * 24 * 3600)).await;
        for slot in &slots {
            assert_eq!(slot.check(clock.now()), Ok(()), "day {days}");
        }
    }
    let renewed = cluster.requests().resource("secrets").writes();
    let renewed: Vec<_> = renewed.iter().filter(|request| request.code == Some(200)).collect();
    assert_eq!(renewed.len(), 7, "six leaves and one CA, however many replicas");
    assert!(secret(&cluster).await.data.unwrap().contains_key("ca-previous.crt"));
    assert_eq!(trusted(&cluster).await.len(), 2, "the new CA and the one before");
}

#[tokio::test(start_paused = true)]
async fn at_rest_the_secret_is_read_once_an_hour_and_nothing_is_written() {
    let cluster = apiserver::Server::builder().time(noon()).build();
    install_configuration(&cluster).await;
    let stop = CancellationToken::new();
    let slot = CertSlot::new();
    let running =
        tokio::spawn(keeper(&cluster, "a", Clock::starting_at(noon())).run(slot.clone(), stop.clone()));
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(slot.check(noon()), Ok(()));
    let before = cluster.request_count();
    tokio::time::sleep(Duration::from_secs(3 * 3600)).await;
    let looks = cluster.requests().since(before);
    assert_eq!(looks.clone().writes().told(), Vec::<String>::new());
    assert_eq!(looks.resource("secrets").len(), 3);
    stop.cancel();
    running.await.unwrap();
}

#[tokio::test]
async fn everything_that_is_asked_of_the_server_is_declared() {
    let cluster = apiserver::Server::new();
    install_configuration(&cluster).await;
    let before = cluster.request_count();
    let keeper = keeper(&cluster, "a", Clock::system());
    keeper.once(&CertSlot::new()).await.unwrap();
    let access = keeper.access();
    for request in cluster.requests().since(before).iter() {
        let verb = request.verb.unwrap().as_str();
        let declared = access.iter().any(|access| {
            access.resource == request.resource
                && access.verbs.iter().any(|declared| declared.as_str() == verb)
                && (access.names.is_empty() || access.names.contains(request.name.as_str()))
        });
        assert!(declared, "{}", request.told());
    }
}

#[tokio::test]
async fn a_secret_that_cannot_be_used_is_replaced_and_keeps_its_labels() {
    let cluster = apiserver::Server::new();
    install_configuration(&cluster).await;
    let broken: Secret = serde_json::from_value(json!({
        "metadata": { "name": "capstan-webhook", "labels": { "team": "db" } },
        "data": { "tls.crt": ByteString(b"garbage".to_vec()) },
    }))
    .unwrap();
    Api::namespaced(cluster.client(), "default").create(&PostParams::default(), &broken).await.unwrap();
    let slot = CertSlot::new();
    keeper(&cluster, "a", Clock::system()).once(&slot).await.unwrap();
    assert_eq!(slot.check(Clock::system().now()), Ok(()));
    assert_eq!(secret(&cluster).await.metadata.labels.unwrap()["team"], "db");
}

#[tokio::test]
async fn a_configuration_that_is_not_installed_is_no_failure() {
    let cluster = apiserver::Server::new();
    let slot = CertSlot::new();
    keeper(&cluster, "a", Clock::system()).once(&slot).await.unwrap();
    assert_eq!(slot.check(Clock::system().now()), Ok(()));
}

struct Directory(PathBuf);

impl Drop for Directory {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}

impl Directory {
    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.0.join(name), text).unwrap();
    }
}

fn pair(until: (i32, u8)) -> (String, String) {
    let key = rcgen::KeyPair::generate().unwrap();
    let mut params = rcgen::CertificateParams::new([NAME.to_owned()]).unwrap();
    params.not_after = rcgen::date_time_ymd(until.0, until.1, 1);
    (params.self_signed(&key).unwrap().pem(), key.serialize_pem())
}

#[tokio::test(start_paused = true)]
async fn mounted_files_are_read_again_when_they_change_and_never_half() {
    let directory = Directory(std::env::temp_dir().join(format!("kit-webhook-files-{}", std::process::id())));
    std::fs::create_dir_all(&directory.0).unwrap();
    let slot = CertSlot::new();
    let stop = CancellationToken::new();
    let task = tokio::spawn(Files::new(&directory.0).run(slot.clone(), stop.clone()));
    let settle = || tokio::time::sleep(Duration::from_secs(60));

    settle().await;
    assert_eq!(slot.check(noon()), Err("there is no certificate yet".into()));

    let (old, old_key) = pair((2030, 3));
    directory.write("tls.crt", &old);
    directory.write("tls.key", &old_key);
    settle().await;
    assert_eq!(format!("{slot:?}"), "CertSlot(until 2030-03-01T00:00:00Z)");

    let (new, new_key) = pair((2030, 6));
    directory.write("tls.crt", &new);
    settle().await;
    assert_eq!(format!("{slot:?}"), "CertSlot(until 2030-03-01T00:00:00Z)", "the key is still the old one");

    directory.write("tls.key", &new_key);
    settle().await;
    assert_eq!(format!("{slot:?}"), "CertSlot(until 2030-06-01T00:00:00Z)");
    assert!(
        slot.check(noon() + SignedDuration::from_hours(24 * 200))
            .unwrap_err()
            .starts_with("the certificate expired")
    );
    stop.cancel();
    task.await.unwrap();
}
