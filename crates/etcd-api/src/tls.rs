//! What a client needs to prove who it is, and to know whom it talks to.

use std::{fmt, sync::Arc};

/// Certificates as PEM. Clones share them; the key is never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Tls {
    parts: Arc<Parts>,
    server: Option<Arc<str>>,
}

#[derive(PartialEq, Eq)]
struct Parts {
    ca: Vec<u8>,
    certificate: Vec<u8>,
    key: Vec<u8>,
}

impl Tls {
    /// The authorities that servers are checked by, one or several, and our own certificate with its key.
    pub fn new(ca: impl Into<Vec<u8>>, certificate: impl Into<Vec<u8>>, key: impl Into<Vec<u8>>) -> Self {
        let parts = Parts { ca: ca.into(), certificate: certificate.into(), key: key.into() };
        Self { parts: Arc::new(parts), server: None }
    }

    /// The same for a server that is reached by an address which its certificate does not have, such as a pod's: it must prove
    /// that it is `name`.
    pub fn of_server(&self, name: &str) -> Self {
        Self { parts: self.parts.clone(), server: Some(name.into()) }
    }

    /// The authorities that servers are checked by, as PEM.
    pub fn authorities(&self) -> &[u8] {
        &self.parts.ca
    }

    /// Our own certificate, as PEM.
    pub fn certificate(&self) -> &[u8] {
        &self.parts.certificate
    }

    pub(crate) fn config(&self) -> tonic::transport::ClientTlsConfig {
        use tonic::transport::{Certificate, ClientTlsConfig, Identity};
        let Parts { ca, certificate, key } = &*self.parts;
        let config = ClientTlsConfig::new()
            .ca_certificate(Certificate::from_pem(ca))
            .identity(Identity::from_pem(certificate, key));
        match &self.server {
            Some(name) => config.domain_name(&**name),
            None => config,
        }
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tls")
    }
}
