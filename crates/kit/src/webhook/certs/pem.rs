//! Certificates and keys as they are stored: PEM, of which a key never shows itself.

use std::fmt;

use jiff::Timestamp;
use rcgen::KeyPair;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _};
use rustls::sign::CertifiedKey;
use x509_parser::prelude::{FromDer as _, X509Certificate};

use super::{Bundle, CertError, provider};

/// A certificate, and what we need to know of it.
#[derive(Clone, PartialEq, Eq)]
pub(in crate::webhook) struct Certificate {
    pub(in crate::webhook) pem: String,
    pub(super) der: CertificateDer<'static>,
    pub(super) common_name: String,
    pub(super) from: Timestamp,
    pub(in crate::webhook) until: Timestamp,
}

impl Certificate {
    pub(super) fn parse(what: &'static str, pem: &str) -> Result<Self, CertError> {
        let bad = |why: String| CertError::Read { what, why };
        let der = CertificateDer::from_pem_slice(pem.as_bytes()).map_err(|error| bad(error.to_string()))?;
        let (_, x509) = X509Certificate::from_der(&der).map_err(|error| bad(error.to_string()))?;
        let time = |seconds| Timestamp::from_second(seconds).map_err(|error| bad(error.to_string()));
        let common_name = x509.subject().iter_common_name().next().and_then(|name| name.as_str().ok());
        let (common_name, from, until) = (
            common_name.unwrap_or_default().to_owned(),
            time(x509.validity().not_before.timestamp())?,
            time(x509.validity().not_after.timestamp())?,
        );
        Ok(Self { pem: pem.to_owned(), der, common_name, from, until })
    }

    /// Two thirds of the way: time enough to mend whatever keeps us from renewing.
    pub(super) fn renew_at(&self) -> Timestamp {
        self.from + self.until.duration_since(self.from) * 2 / 3
    }
}

impl fmt::Debug for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({} to {})", self.common_name, self.from, self.until)
    }
}

/// A private key. It has no `Display`, and its `Debug` says nothing.
#[derive(Clone, PartialEq, Eq)]
pub(in crate::webhook) struct PrivateKey(String);

impl PrivateKey {
    pub(super) fn new(pem: String) -> Self {
        Self(pem)
    }

    pub(in crate::webhook) fn pem(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PrivateKey(..)")
    }
}

/// The parts of a bundle, as PEM.
pub(in crate::webhook) struct Parts<'a> {
    pub(in crate::webhook) authority: &'a str,
    pub(in crate::webhook) authority_key: &'a str,
    pub(in crate::webhook) previous: Option<&'a str>,
    pub(in crate::webhook) leaf: &'a str,
    pub(in crate::webhook) leaf_key: &'a str,
}

impl Bundle {
    /// Reads a bundle, and makes sure that its keys belong to its certificates.
    pub(in crate::webhook) fn parse(parts: &Parts<'_>) -> Result<Self, CertError> {
        let bundle = Self {
            authority: Certificate::parse("the CA", parts.authority)?,
            authority_key: PrivateKey::new(parts.authority_key.to_owned()),
            previous: parts.previous.map(|pem| Certificate::parse("the previous CA", pem)).transpose()?,
            leaf: Certificate::parse("the leaf", parts.leaf)?,
            leaf_key: PrivateKey::new(parts.leaf_key.to_owned()),
        };
        let key = KeyPair::from_pem(parts.authority_key)
            .map_err(|error| CertError::Read { what: "the key of the CA", why: error.to_string() })?;
        let fits = X509Certificate::from_der(&bundle.authority.der)
            .is_ok_and(|(_, ca)| ca.public_key().subject_public_key.data.as_ref() == key.public_key_raw());
        if !fits {
            let why = "it is not the key of this CA".into();
            return Err(CertError::Read { what: "the key of the CA", why });
        }
        certified(parts.leaf, parts.leaf_key)?;
        Ok(bundle)
    }

    /// What TLS serves.
    pub(in crate::webhook) fn certified(&self) -> Result<CertifiedKey, CertError> {
        certified(&self.leaf.pem, self.leaf_key.pem())
    }
}

/// A chain and its key, if they fit.
pub(in crate::webhook) fn certified(chain: &str, key: &str) -> Result<CertifiedKey, CertError> {
    let read = |what, error: rustls::pki_types::pem::Error| CertError::Read { what, why: error.to_string() };
    let chain = CertificateDer::pem_slice_iter(chain.as_bytes())
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| read("the certificate", error))?;
    let key =
        PrivateKeyDer::from_pem_slice(key.as_bytes()).map_err(|error| read("the private key", error))?;
    CertifiedKey::from_der(chain, key, &provider()).map_err(CertError::Fit)
}

/// Until when the first certificate of a chain is valid.
pub(in crate::webhook) fn valid_until(chain: &str) -> Result<Timestamp, CertError> {
    Ok(Certificate::parse("the certificate", chain)?.until)
}
