//! What a client needs to prove who it is, and to know whom it talks to.

use std::{fmt, sync::Arc};

/// Certificates as PEM. Clones share them; the key is never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Tls(Arc<Parts>);

#[derive(PartialEq, Eq)]
struct Parts {
    ca: Vec<u8>,
    certificate: Vec<u8>,
    key: Vec<u8>,
}

impl Tls {
    /// The authorities that servers are checked by, one or several, and our own certificate with its key.
    pub fn new(
        ca: impl Into<Vec<u8>>,
        certificate: impl Into<Vec<u8>>,
        key: impl Into<Vec<u8>>,
    ) -> Self {
        Self(Arc::new(Parts { ca: ca.into(), certificate: certificate.into(), key: key.into() }))
    }

    pub(crate) fn config(&self) -> tonic::transport::ClientTlsConfig {
        use tonic::transport::{Certificate, ClientTlsConfig, Identity};
        ClientTlsConfig::new()
            .ca_certificate(Certificate::from_pem(&self.0.ca))
            .identity(Identity::from_pem(&self.0.certificate, &self.0.key))
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tls")
    }
}
