//! What a TLS Secret holds: a certificate with its chain, its key, and whom it trusts.

use std::{collections::BTreeMap, fmt, net::IpAddr};

use jiff::Timestamp;
use k8s_openapi::{ByteString, api::core::v1::Secret};
use kube::ResourceExt as _;
use rustls::pki_types::{CertificateDer, pem::PemObject as _};
use x509_parser::{
    extensions::GeneralName,
    prelude::{FromDer as _, X509Certificate},
};

use super::{CA_CRT, Problem, TLS_CRT, TLS_KEY};

/// A private key as PEM. It has no `Display`, and its `Debug` says nothing.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct PrivateKey(String);

impl PrivateKey {
    pub(super) fn new(pem: String) -> Self {
        Self(pem)
    }

    pub(crate) fn pem(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PrivateKey(..)")
    }
}

/// From when until when a certificate is good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Validity {
    pub(crate) from: Timestamp,
    pub(crate) until: Timestamp,
}

/// The parts of a TLS Secret, as PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Material {
    pub(crate) ca: String,
    pub(crate) certificate: String,
    pub(crate) key: PrivateKey,
}

impl Material {
    /// Reads a Secret.
    pub(crate) fn of(secret: &Secret) -> Result<Self, Problem> {
        Ok(Self {
            ca: part(secret, CA_CRT)?,
            certificate: part(secret, TLS_CRT)?,
            key: PrivateKey::new(part(secret, TLS_KEY)?),
        })
    }

    /// As the data of a Secret.
    pub(crate) fn data(&self) -> BTreeMap<String, ByteString> {
        let Self { ca, certificate, key } = self;
        let parts = [(CA_CRT, ca.as_str()), (TLS_CRT, certificate), (TLS_KEY, key.pem())];
        parts.map(|(name, text)| (name.to_owned(), ByteString(text.as_bytes().to_vec()))).into()
    }

    /// From when until when the leaf is good.
    pub(crate) fn validity(&self) -> Result<Validity, Problem> {
        validity(&self.certificate, TLS_CRT)
    }

    /// The names in the leaf.
    pub(super) fn names(&self) -> Vec<String> {
        read(&self.certificate, TLS_CRT, |leaf| {
            let extension = leaf.subject_alternative_name().ok().flatten();
            let names = extension.iter().flat_map(|extension| &extension.value.general_names);
            names.filter_map(name).collect()
        })
        .unwrap_or_default()
    }
}

/// One part of a Secret, as text.
pub(super) fn part(secret: &Secret, key: &'static str) -> Result<String, Problem> {
    let name = || secret.name_any();
    let bytes = secret.data.as_ref().and_then(|data| data.get(key));
    let ByteString(bytes) = bytes.ok_or_else(|| Problem::Missing { secret: name(), key })?;
    let text = String::from_utf8(bytes.clone());
    text.map_err(|_| Problem::Unreadable { key, why: format!("Secret {} has no PEM there", name()) })
}

/// From when until when the first certificate of a PEM is good.
pub(super) fn validity(pem: &str, key: &'static str) -> Result<Validity, Problem> {
    let (from, until) = read(pem, key, |leaf| {
        (leaf.validity().not_before.timestamp(), leaf.validity().not_after.timestamp())
    })?;
    let time = |seconds| {
        Timestamp::from_second(seconds).map_err(|error| Problem::Unreadable { key, why: error.to_string() })
    };
    Ok(Validity { from: time(from)?, until: time(until)? })
}

/// The common name of the first certificate's subject.
pub(super) fn common_name(pem: &str, key: &'static str) -> Result<String, Problem> {
    read(pem, key, |certificate| {
        let name = certificate.subject().iter_common_name().next().and_then(|name| name.as_str().ok());
        name.unwrap_or_default().to_owned()
    })
}

fn read<T>(pem: &str, key: &'static str, what: impl FnOnce(&X509Certificate<'_>) -> T) -> Result<T, Problem> {
    let bad = |why: String| Problem::Unreadable { key, why };
    let der = CertificateDer::from_pem_slice(pem.as_bytes()).map_err(|error| bad(error.to_string()))?;
    let (_, parsed) = X509Certificate::from_der(&der).map_err(|error| bad(error.to_string()))?;
    Ok(what(&parsed))
}

fn name(name: &GeneralName<'_>) -> Option<String> {
    match name {
        GeneralName::DNSName(name) => Some((*name).to_owned()),
        GeneralName::IPAddress(bytes) => match bytes.len() {
            4 => <[u8; 4]>::try_from(*bytes).ok().map(|bytes| IpAddr::from(bytes).to_string()),
            _ => <[u8; 16]>::try_from(*bytes).ok().map(|bytes| IpAddr::from(bytes).to_string()),
        },
        _ => None,
    }
}
