//! TLS of simulated members, with real certificates: a process reads whom it trusts once, at start; what it shows, at each handshake.
//!
//! Connections that exist go on whatever happens to the Secrets, as in etcd: only those that are made anew are checked. Names are not checked.

use std::{sync::Arc, time::Duration};

use apiserver::{ObjectId, Server};
use etcd_api::Tls;
use k8s_openapi::{
    ByteString,
    api::core::v1::{Pod, Secret},
};
use kube::ResourceExt as _;
use rustls::{
    RootCertStore,
    crypto::aws_lc_rs,
    pki_types::{CertificateDer, UnixTime, pem::PemObject as _},
    server::WebPkiClientVerifier,
};

/// Where a process has its certificates from, and whom it trusts since it was started.
#[derive(Debug, Clone)]
pub(super) struct Credentials {
    namespace: String,
    server_secret: String,
    peer_secret: String,
    client_trust: Vec<u8>,
    peer_trust: Vec<u8>,
}

impl Credentials {
    /// Those of a process that starts now; none for pods that mount no certificates.
    pub(super) fn of(pod: &Pod, server: &Server) -> Option<Self> {
        let namespace = pod.namespace()?;
        let volumes = pod.spec.as_ref()?.volumes.iter().flatten();
        let mounted = |name: &str| {
            let volume = volumes.clone().find(|volume| volume.name == name)?;
            volume.secret.as_ref()?.secret_name.clone()
        };
        let (server_secret, peer_secret) = (mounted("server-tls")?, mounted("peer-tls")?);
        let client_trust = part(server, &namespace, &server_secret, "ca.crt")?;
        let peer_trust = part(server, &namespace, &peer_secret, "ca.crt")?;
        Some(Self { namespace, server_secret, peer_secret, client_trust, peer_trust })
    }

    /// Whether a client and the process accept each other.
    pub(super) fn accept(&self, client: &Tls, server: &Server) -> Result<(), String> {
        let shown = part(server, &self.namespace, &self.server_secret, "tls.crt").unwrap_or_default();
        verify(&shown, client.authorities(), server)?;
        verify(client.certificate(), &self.client_trust, server)
            .map_err(|_| "received fatal alert: UnknownCA".to_owned())
    }

    /// Whether two members accept each other.
    pub(super) fn accept_peer(&self, other: &Self, server: &Server) -> bool {
        let shown = |it: &Self| part(server, &it.namespace, &it.peer_secret, "tls.crt").unwrap_or_default();
        verify(&shown(self), &other.peer_trust, server).is_ok()
            && verify(&shown(other), &self.peer_trust, server).is_ok()
    }
}

fn part(server: &Server, namespace: &str, secret: &str, key: &str) -> Option<Vec<u8>> {
    let found = server.store().get(&ObjectId::new("", "secrets", namespace, secret))?;
    let secret: Secret = serde_json::from_value(found.value().clone()).ok()?;
    let ByteString(bytes) = secret.data?.remove(key)?;
    Some(bytes)
}

/// Members' certificates are good for connecting, too.
fn verify(certificate: &[u8], trusted: &[u8], server: &Server) -> Result<(), String> {
    let mut roots = RootCertStore::empty();
    for root in CertificateDer::pem_slice_iter(trusted) {
        let added = root.map_err(|error| error.to_string()).map(|root| roots.add(root));
        added?.map_err(|error| error.to_string())?;
    }
    let mut chain = CertificateDer::pem_slice_iter(certificate)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| error.to_string())?;
    if chain.is_empty() {
        return Err("no certificate".to_owned());
    }
    let leaf = chain.remove(0);
    let now = Duration::from_secs(u64::try_from(server.now().as_second()).unwrap_or_default());
    let provider = Arc::new(aws_lc_rs::default_provider());
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
    let verifier = verifier.map_err(|error| error.to_string())?;
    let verified = verifier.verify_client_cert(&leaf, &chain, UnixTime::since_unix_epoch(now));
    verified.map(drop).map_err(|error| format!("invalid peer certificate: {error}"))
}
