//! The certificate that is served right now. It is swapped while connections are open; each handshake takes the newest.

use std::{
    fmt,
    sync::{Arc, PoisonError, RwLock},
};

use jiff::Timestamp;
use rustls::{
    server::{ClientHello, ResolvesServerCert},
    sign::CertifiedKey,
};

/// A place for one certificate. Cheap to clone; all clones are the same place.
#[derive(Clone, Default)]
pub struct CertSlot(Arc<RwLock<Option<Serving>>>);

#[derive(Clone)]
struct Serving {
    key: Arc<CertifiedKey>,
    until: Timestamp,
}

impl CertSlot {
    /// An empty one: handshakes fail until there is a certificate.
    pub fn new() -> Self {
        Self::default()
    }

    pub(super) fn put(&self, key: CertifiedKey, until: Timestamp) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Some(Serving { key: Arc::new(key), until });
    }

    /// Whether there is a certificate that is valid at `now`: a check for `/readyz`.
    pub fn check(&self, now: Timestamp) -> Result<(), String> {
        match self.current() {
            None => Err("there is no certificate yet".into()),
            Some(Serving { until, .. }) if until <= now => Err(format!("the certificate expired at {until}")),
            Some(_) => Ok(()),
        }
    }

    fn current(&self) -> Option<Serving> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl ResolvesServerCert for CertSlot {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.current().map(|serving| serving.key)
    }
}

impl fmt::Debug for CertSlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.current() {
            None => f.write_str("CertSlot(empty)"),
            Some(serving) => write!(f, "CertSlot(until {})", serving.until),
        }
    }
}
