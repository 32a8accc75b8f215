//! Webhooks are part of the manager: served on a standby too, with a certificate that the API server trusts.

use std::sync::Arc;

use k8s_openapi::{ByteString, api::core::v1::Secret};
use kit::{
    flags::WebhookConfig,
    lead::Election,
    serve::Listen,
    webhook::{Server, Target},
};
use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, ServerName, pem::PemObject as _},
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use super::world::*;

/// The definition that trusts the webhooks, once it has been told to.
async fn trusted(server: &apiserver::Server) -> RootCertStore {
    let configurations: kube::Api<
        k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration,
    > = kube::Api::all(server.client());
    let mut every = tokio::time::interval(std::time::Duration::from_millis(20));
    let bundle = tokio::time::timeout(seconds(30), async {
        loop {
            every.tick().await;
            let webhooks = configurations.get("probe").await.unwrap().webhooks.unwrap();
            if let Some(ByteString(bundle)) =
                webhooks[0].client_config.ca_bundle.clone().filter(|bundle| !bundle.0.is_empty())
            {
                return bundle;
            }
        }
    });
    let mut roots = RootCertStore::empty();
    for ca in CertificateDer::pem_slice_iter(&bundle.await.expect("it is told whom to trust")) {
        roots.add(ca.unwrap()).unwrap();
    }
    roots
}

#[tokio::test]
async fn a_standby_serves_webhooks_that_the_api_server_trusts() {
    let server = server();
    server
        .install(json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": "probe"},
            "webhooks": [{
                "name": "check.kit.test", "admissionReviewVersions": ["v1"], "sideEffects": "None",
                "clientConfig": {"service": {"name": "probe", "namespace": "operators", "path": "/check"}},
            }],
        }))
        .unwrap();
    server
        .install(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "operators"}}))
        .unwrap();
    let mut setup = setup(&server, "operator");
    setup.namespace = "operators".into();
    // The caller checks the certificate by the machine's clock.
    setup.clock = kit::Clock::system();
    setup.election = Some(Election::new("operators", "probe"));
    let lease = json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "probe", "namespace": "operators"},
        "spec": {"holderIdentity": "somebody else", "leaseDurationSeconds": 3600},
    });
    server.install(lease).unwrap();
    let (mut manager, notes) = manager(setup, false);
    let webhooks = Server::new(manager.metrics()).validate::<Task>("/check", |_| Ok(()));
    let listen = Listen::At { host: "127.0.0.1".into(), port: 0 };
    let config = WebhookConfig { address: listen, cert_dir: None, service: Some("probe".into()) };
    let address =
        manager.webhooks(webhooks, &config, [Target::Validating("probe".into())]).await.unwrap().unwrap();
    assert!(manager.access().iter().any(|access| access.resource == "secrets"));
    let operator = run(manager, notes, &[]);

    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let client = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(trusted(&server).await)
        .with_no_client_auth();
    let name = ServerName::try_from("probe.operators.svc").unwrap();
    let socket = TcpStream::connect(address).await.unwrap();
    let mut tls = tokio_rustls::TlsConnector::from(Arc::new(client)).connect(name, socket).await.unwrap();
    let task =
        json!({"apiVersion": "kit.test/v1", "kind": "Task", "metadata": {"name": "a"}, "spec": {"size": 1}});
    let body = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "u", "operation": "CREATE", "object": task}});
    let body = body.to_string();
    let head = format!(
        "POST /check HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    tls.write_all((head + &body).as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    tls.read_to_end(&mut answer).await.ok();
    let answer = String::from_utf8(answer).unwrap();
    let review: Value = serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap();
    assert_eq!(review["response"]["allowed"], true, "{answer}");

    let secret: Secret = kube::Api::namespaced(server.client(), "operators").get("probe-tls").await.unwrap();
    assert_eq!(secret.metadata.name.as_deref(), Some("probe-tls"));
    assert_eq!(operator.metric("leader_election_master_status", &[]), 0.0, "it stands by");
    operator.stop().await.unwrap();
    assert!(TcpStream::connect(address).await.is_err(), "its port is closed");
}
