//! Certificates: a company's own, and new ones without a restart.

use std::{net::TcpStream, sync::Arc, time::Duration};

use etcd_types::EtcdClusterStatus;
use k8s_openapi::api::core::v1::Secret;
use kube::{
    ResourceExt as _,
    api::{DeleteParams, Patch, PatchParams},
};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use rustls::{
    ClientConfig, ClientConnection, RootCertStore,
    pki_types::{CertificateDer, ServerName, pem::PemObject as _},
};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::{
    cluster::{Cluster, Clusters as _, conditions, is_true, spec},
    patience::{LONG, PATIENCE, until, when},
    world::{World, scenario},
};

/// Somebody who signs certificates, and knows nothing of us.
struct Company {
    certificate: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Company {
    fn found(name: &str) -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let certificate = params.self_signed(&key).unwrap().pem();
        Self { certificate, issuer: Issuer::new(params, key) }
    }

    /// What a Secret holds: a new certificate for these names, good for both sides.
    fn sign(&self, common_name: &str, names: &[String]) -> Value {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(names).unwrap();
        params.distinguished_name.push(DnType::CommonName, common_name);
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        let certificate = params.signed_by(&key, &self.issuer).unwrap().pem();
        json!({"ca.crt": self.certificate, "tls.crt": certificate, "tls.key": key.serialize_pem()})
    }

    /// The three Secrets that spec.tls.secrets asks for, by name.
    fn secrets(&self, world: &World, cluster: &str) -> [(&'static str, Value); 3] {
        let service = |name: &str| {
            ["", ".cluster.local"].map(|domain| format!("{name}.{}.svc{domain}", world.namespace))
        };
        let members = service(&format!("*.{cluster}-peer"));
        let client = service(&format!("{cluster}-client"));
        let all: Vec<String> =
            members.iter().cloned().chain(client).chain(["localhost".to_owned()]).collect();
        [
            ("own-peer", self.sign("a member", &members)),
            ("own-server", self.sign("a member", &all)),
            ("own-operator", self.sign("somebody", &[])),
        ]
    }
}

/// The certificates that every member shows at a port, without those behind it.
async fn shown(cluster: &Cluster<'_>, port: u16) -> Result<Vec<CertificateDer<'static>>, String> {
    let mut all = Vec::new();
    for pod in cluster.pods().await {
        let address = pod.status.as_ref().and_then(|it| it.pod_ip.clone()).ok_or("no address")?;
        let name = format!("{}.{}-peer.{}.svc", pod.name_any(), cluster.name, cluster.world.namespace);
        let roots = trusted(cluster).await?;
        let look = move || leaf(&format!("{address}:{port}"), name, roots);
        all.push(tokio::task::spawn_blocking(look).await.unwrap()?);
    }
    Ok(all)
}

async fn trusted(cluster: &Cluster<'_>) -> Result<RootCertStore, String> {
    let status = cluster.status().await;
    let name = status.connection.and_then(|it| it.secret_name).ok_or("status names no Secret")?;
    let mut roots = RootCertStore::empty();
    roots.add(first_in(cluster.world, &name, "ca.crt").await).map_err(|error| error.to_string())?;
    Ok(roots)
}

/// Of a server, it comes before it asks who we are.
fn leaf(address: &str, name: String, roots: RootCertStore) -> Result<CertificateDer<'static>, String> {
    let told = |error: &dyn std::fmt::Display| format!("{address}: {error}");
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.map_err(|error| told(&error))?.with_root_certificates(roots).with_no_client_auth();
    let name = ServerName::try_from(name).map_err(|error| told(&error))?;
    let mut tls = ClientConnection::new(Arc::new(config), name).map_err(|error| told(&error))?;
    let mut socket = TcpStream::connect(address).map_err(|error| told(&error))?;
    socket.set_read_timeout(Some(Duration::from_secs(3))).map_err(|error| told(&error))?;
    while tls.is_handshaking() {
        tls.complete_io(&mut socket).map_err(|error| told(&error))?;
    }
    let shown = tls.peer_certificates().and_then(<[_]>::first).ok_or_else(|| told(&"shows none"))?;
    Ok(shown.clone().into_owned())
}

async fn first_in(world: &World, secret: &str, part: &str) -> CertificateDer<'static> {
    let data = world.api::<Secret>().get(secret).await.unwrap().data.unwrap();
    CertificateDer::from_pem_slice(&data[part].0).unwrap()
}

/// Waits until every member shows what is in a Secret. The kubelet brings it to them: every minute or two.
async fn reaches_members(cluster: &Cluster<'_>, secret: &str, port: u16) {
    let began = Instant::now();
    let wanted = first_in(cluster.world, secret, "tls.crt").await;
    until(&format!("members show what is in {secret}"), LONG, async || {
        let shown = shown(cluster, port).await?;
        let there = shown.iter().filter(|it| **it == wanted).count();
        when(there == shown.len(), (there, shown.len()))
    })
    .await;
    println!("    all members show {secret} after {:.0} s", began.elapsed().as_secs_f32());
}

#[tokio::test]
async fn a_companys_own_certificates_and_their_renewal_without_a_restart() {
    scenario(async |world| {
        let (cluster, company) = (world.cluster("db"), Company::found("the company's CA"));
        let mut own = spec(3, "3.6.16");
        own["tls"] = json!({"mode": "Secrets", "secrets": {
            "peer": "own-peer", "server": "own-server", "operator": "own-operator"}});
        cluster.create(own).await;
        // They are not there yet: that is said, and nothing is made that could not start.
        let says = |status: &EtcdClusterStatus| {
            let told = status.conditions.iter().flatten().find(|it| it.type_ == "TLSValid");
            told.filter(|it| it.status == "False").map(|it| it.message.clone())
        };
        let object = cluster.until("misses a Secret", PATIENCE, |_, status| says(status).is_some()).await;
        let said = says(&object.status.unwrap_or_default()).unwrap_or_default();
        assert!(said.contains("own-"), "which Secret? {said}");
        assert!(cluster.pods().await.is_empty(), "members without certificates");
        for (name, data) in company.secrets(world, "db") {
            world.create_object::<Secret>(json!({"metadata": {"name": name}, "stringData": data})).await;
        }
        cluster.is_well(3, "3.6.16", PATIENCE).await;
        let (before, load) = (cluster.incarnations().await, cluster.load().await);
        replace(world, &company).await;
        reaches_members(&cluster, "own-server", 2379).await;
        reaches_members(&cluster, "own-peer", 2380).await;
        cluster.is_well(3, "3.6.16", PATIENCE).await;
        assert!(is_true(&cluster.object().await, "TLSValid"));
        assert_eq!(cluster.incarnations().await, before, "somebody was restarted");
        load.stop("own certificates renewed").await.nothing_failed();
        cluster.members_agree().await;
    })
    .await;
}

/// New certificates of this CA, in all three Secrets.
async fn replace(world: &World, company: &Company) {
    for (name, data) in company.secrets(world, "db") {
        let patch = Patch::Merge(json!({"stringData": data}));
        world.api::<Secret>().patch(name, &PatchParams::default(), &patch).await.unwrap();
    }
}

/// Members trust the CA that they were started with. Before, all three Secrets of a new one took the cluster down.
#[tokio::test]
async fn a_new_ca_in_all_secrets_is_held_and_a_renewal_is_not() {
    scenario(async |world| {
        let (cluster, company, other) =
            (world.cluster("db"), Company::found("old CA"), Company::found("new CA"));
        for (name, data) in company.secrets(world, "db") {
            world.create_object::<Secret>(json!({"metadata": {"name": name}, "stringData": data})).await;
        }
        let mut own = spec(3, "3.6.16");
        own["tls"] = json!({"mode": "Secrets", "secrets": {
            "peer": "own-peer", "server": "own-server", "operator": "own-operator"}});
        cluster.create(own).await;
        cluster.is_well(3, "3.6.16", PATIENCE).await;
        let load = cluster.load().await;

        replace(world, &other).await;
        // The Secrets are replaced one after the other, and the first one is held before the last one is there.
        let words = ["own-peer", "own-server", "own-operator", "CN=old CA", "CN=new CA", "SHA-256"];
        cluster
            .until("all three Secrets are held", PATIENCE, |object, _| {
                let held = conditions(object).into_iter().find(|it| it.reason == "CertificateHeld");
                held.is_some_and(|it| words.iter().all(|word| it.message.contains(word)))
            })
            .await;
        // A member that starts now connects to the others and to the operator anew.
        let pod = cluster.follower().await;
        cluster.delete_pod(&pod).await;
        until("the pod is another one", PATIENCE, async || {
            let pods = cluster.pods().await;
            when(pods.len() == 3 && pods.iter().all(|it| it.uid() != pod.uid()), pods.len())
        })
        .await;
        cluster.is_well(3, "3.6.16", PATIENCE).await;
        // The kubelet has had the time to bring the new CA to members, if it were to.
        cluster.patch(json!({"etcd": {"snapshotCount": 5000}})).await;
        cluster.is_well(3, "3.6.16", LONG).await;
        let object = cluster.object().await;
        assert!(is_true(&object, "Available") && !is_true(&object, "TLSValid"));

        let before = cluster.incarnations().await;
        replace(world, &company).await;
        cluster.until("the renewal is used", PATIENCE, |object, _| is_true(object, "TLSValid")).await;
        reaches_members(&cluster, "own-server", 2379).await;
        reaches_members(&cluster, "own-peer", 2380).await;
        cluster.is_well(3, "3.6.16", PATIENCE).await;
        assert_eq!(cluster.incarnations().await, before, "a member was restarted");
        load.stop("a new CA held, a renewal used").await.nothing_failed();
        cluster.members_agree().await;
    })
    .await;
}

#[tokio::test]
async fn a_certificate_of_ours_that_is_lost_is_signed_anew_and_nobody_restarts() {
    scenario(async |world| {
        let cluster = world.cluster("db");
        cluster.run(3, "3.6.16").await;
        let (before, load) = (cluster.incarnations().await, cluster.load().await);
        let old = first_in(world, "db-server-tls", "tls.crt").await;
        world.api::<Secret>().delete("db-server-tls", &DeleteParams::default()).await.unwrap();
        until("it is signed anew", PATIENCE, async || {
            let there = world.api::<Secret>().get_opt("db-server-tls").await.unwrap();
            when(there.is_some(), ())
        })
        .await;
        assert_ne!(first_in(world, "db-server-tls", "tls.crt").await, old, "of the same authority, but new");
        reaches_members(&cluster, "db-server-tls", 2379).await;
        cluster.is_well(3, "3.6.16", PATIENCE).await;
        assert_eq!(cluster.incarnations().await, before, "somebody was restarted");
        load.stop("server certificate signed anew").await.nothing_failed();
    })
    .await;
}
