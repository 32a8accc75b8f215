//! The material of many TLS configurations, as the files of a Secret.

use std::collections::BTreeMap;

use prometheus_types::tls::{SafeTlsConfig, TlsConfig};
use prometheus_types::validity::tls::{InvalidTls, validate, validate_safe};
use rendering::{Assets, Missing};

use crate::material::{MaterialError, check_authority, check_pair};
use crate::reference::Reference;

/// File name → contents. Only what was checked gets in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsAssets {
    files: BTreeMap<String, Vec<u8>>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TlsError {
    #[error(transparent)]
    Invalid(#[from] InvalidTls),
    #[error("{field}: {missing}")]
    Missing { field: &'static str, missing: Missing },
    #[error("{field} ({reference}): {problem}")]
    Material { field: &'static str, reference: String, problem: MaterialError },
}

impl TlsAssets {
    /// Checks a configuration of an object in `namespace` and adds what it refers to.
    pub fn add_safe(
        &mut self,
        assets: &Assets,
        namespace: &str,
        tls: &SafeTlsConfig,
    ) -> Result<(), TlsError> {
        validate_safe(tls)?;
        self.gather(assets, namespace, tls)
    }

    /// The same for one that may name files, which are the operand's affair.
    pub fn add(&mut self, assets: &Assets, namespace: &str, tls: &TlsConfig) -> Result<(), TlsError> {
        validate(tls)?;
        self.gather(assets, namespace, &tls.safe)
    }

    #[must_use]
    pub fn files(&self) -> &BTreeMap<String, Vec<u8>> {
        &self.files
    }

    #[must_use]
    pub fn into_files(self) -> BTreeMap<String, Vec<u8>> {
        self.files
    }

    fn gather(&mut self, assets: &Assets, namespace: &str, tls: &SafeTlsConfig) -> Result<(), TlsError> {
        let read = |field, reference: Option<Reference<'_>>| match reference {
            None => Ok(&[][..]),
            Some(reference) => {
                reference.bytes(assets, namespace).map_err(|missing| TlsError::Missing { field, missing })
            }
        };
        let (ca, cert) = (Reference::of(&tls.ca), Reference::of(&tls.cert));
        let key = tls.key_secret.as_ref().map(Reference::of_secret);
        let (ca_bytes, cert_bytes, key_bytes) =
            (read("ca", ca)?, read("cert", cert)?, read("keySecret", key)?);

        // An empty value counts as none, as upstream has it.
        if let (Some(ca), false) = (ca, ca_bytes.is_empty()) {
            check_authority(ca_bytes).map_err(|problem| material("ca", ca, problem))?;
            self.keep(namespace, ca, ca_bytes);
        }
        if let (Some(cert), Some(key), false, false) =
            (cert, key, cert_bytes.is_empty(), key_bytes.is_empty())
        {
            check_pair(cert_bytes, key_bytes)
                .map_err(|problem| material("cert and keySecret", cert, problem))?;
            self.keep(namespace, cert, cert_bytes);
            self.keep(namespace, key, key_bytes);
        }
        Ok(())
    }

    fn keep(&mut self, namespace: &str, reference: Reference<'_>, bytes: &[u8]) {
        self.files.entry(reference.file_name(namespace)).or_insert_with(|| bytes.to_vec());
    }
}

fn material(field: &'static str, reference: Reference<'_>, problem: MaterialError) -> TlsError {
    TlsError::Material { field, reference: reference.to_string(), problem }
}
