//! The CAs in a `ca.crt`: whom its holder trusts.
//!
//! A CA is identified by its name and its key, as verifiers do: a CA certificate that was renewed with the same key is the same CA.

use rustls::pki_types::{CertificateDer, pem::PemObject as _};
use sha2::{Digest as _, Sha256};
use x509_parser::prelude::{FromDer as _, X509Certificate};

use super::{CA_CRT, Problem};

/// How many characters of an identity are recorded: 128 bits.
const RECORDED: usize = 32;
/// How a certificate ends in PEM.
const END: &str = "-----END CERTIFICATE-----";

/// One CA.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Anchor {
    subject: String,
    /// SHA-256 of the certificate, as `openssl x509 -fingerprint -sha256` prints it.
    fingerprint: String,
    identity: String,
    pem: String,
}

impl std::fmt::Display for Anchor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "\"{}\" (SHA-256 {})", self.subject, self.fingerprint)
    }
}

/// The CAs of one `ca.crt`, in its order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Anchors(Vec<Anchor>);

impl Anchors {
    /// Reads a `ca.crt`.
    pub(crate) fn of(pem: &str) -> Result<Self, Problem> {
        let bad = |why: String| Problem::Unreadable { key: CA_CRT, why };
        let mut all = Vec::new();
        for pem in pem.split_inclusive(END).filter(|rest| !rest.trim().is_empty()) {
            let der =
                CertificateDer::from_pem_slice(pem.as_bytes()).map_err(|error| bad(error.to_string()))?;
            let (_, parsed) = X509Certificate::from_der(&der).map_err(|error| bad(error.to_string()))?;
            let hash =
                Sha256::new().chain_update(parsed.subject().as_raw()).chain_update(parsed.public_key().raw);
            let mut identity = hex(&hash.finalize(), "");
            identity.truncate(RECORDED);
            all.push(Anchor {
                subject: parsed.subject().to_string(),
                fingerprint: hex(&Sha256::digest(&der), ":"),
                identity,
                pem: format!("{}\n", pem.trim()),
            });
        }
        if all.is_empty() {
            return Err(bad("it holds no certificate".to_owned()));
        }
        Ok(Self(all))
    }

    /// Who they are, in one line: the same for the same CAs in any order.
    pub(crate) fn record(&self) -> String {
        let mut all: Vec<&str> = self.0.iter().map(|anchor| anchor.identity.as_str()).collect();
        all.sort_unstable();
        all.dedup();
        all.join(",")
    }

    /// Those of them that `record` names, as PEM, if all that it names are here.
    pub(crate) fn only(&self, record: &str) -> Option<String> {
        let named: Vec<&str> = record.split(',').collect();
        let has = |identity: &&str| self.0.iter().any(|anchor| anchor.identity == *identity);
        let kept = self.0.iter().filter(|anchor| named.contains(&anchor.identity.as_str()));
        named.iter().all(has).then(|| kept.map(|anchor| anchor.pem.as_str()).collect())
    }

    /// Those that `others` lack.
    pub(crate) fn beside<'a>(&'a self, others: &'a Self) -> impl Iterator<Item = &'a Anchor> {
        self.0.iter().filter(|anchor| others.0.iter().all(|other| other.identity != anchor.identity))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Anchor> {
        self.0.iter()
    }
}

fn hex(bytes: &[u8], between: &str) -> String {
    let bytes: Vec<String> = bytes
        .iter()
        .map(|byte| if between.is_empty() { format!("{byte:02x}") } else { format!("{byte:02X}") })
        .collect();
    bytes.join(between)
}
