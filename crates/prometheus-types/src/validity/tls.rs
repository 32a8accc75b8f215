//! What a TLS configuration must be, whatever the material it refers to.

use crate::auth::SecretOrConfigMap;
use crate::tls::{SafeTlsConfig, TlsConfig, WebTlsConfig};
use k8s_openapi::api::core::v1::SecretKeySelector;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidTls {
    #[error("{0} names a secret and a configmap: keep one of them")]
    TwoSources(&'static str),
    #[error("{0} and {1} are both set: keep one of them")]
    Both(&'static str, &'static str),
    #[error("{0} is set without {1}: a client needs both or neither")]
    Without(&'static str, &'static str),
    #[error("minVersion is above maxVersion: raise maxVersion or lower minVersion")]
    Versions,
    #[error("{0} is missing: set {0} or {1}")]
    Missing(&'static str, &'static str),
}

/// A client's configuration that refers to Secrets and ConfigMaps only.
pub fn validate_safe(tls: &SafeTlsConfig) -> Result<(), InvalidTls> {
    validate_common(tls)?;
    pair(is_set(&tls.cert), tls.key_secret.is_some())
}

/// A client's configuration that may name files.
pub fn validate(tls: &TlsConfig) -> Result<(), InvalidTls> {
    let TlsConfig { safe, ca_file, cert_file, key_file } = tls;
    validate_common(safe)?;
    exclusive("ca", is_set(&safe.ca), "caFile", !ca_file.is_empty())?;
    exclusive("cert", is_set(&safe.cert), "certFile", !cert_file.is_empty())?;
    exclusive("keySecret", safe.key_secret.is_some(), "keyFile", !key_file.is_empty())?;
    pair(is_set(&safe.cert) || !cert_file.is_empty(), safe.key_secret.is_some() || !key_file.is_empty())
}

/// A server's configuration: it needs a certificate and its key.
pub fn validate_web(tls: &WebTlsConfig) -> Result<(), InvalidTls> {
    let named = |file: &Option<String>| file.as_deref().is_some_and(|file| !file.is_empty());
    let has_key = tls.key_secret != SecretKeySelector::default();
    exclusive("client_ca", is_set(&tls.client_ca), "clientCAFile", named(&tls.client_ca_file))?;
    one_source("client_ca", &tls.client_ca)?;
    exclusive("cert", is_set(&tls.cert), "certFile", named(&tls.cert_file))?;
    one_source("cert", &tls.cert)?;
    exclusive("keySecret", has_key, "keyFile", named(&tls.key_file))?;
    if !has_key && !named(&tls.key_file) {
        return Err(InvalidTls::Missing("keySecret", "keyFile"));
    }
    if !is_set(&tls.cert) && !named(&tls.cert_file) {
        return Err(InvalidTls::Missing("cert", "certFile"));
    }
    Ok(())
}

fn validate_common(tls: &SafeTlsConfig) -> Result<(), InvalidTls> {
    one_source("ca", &tls.ca)?;
    one_source("cert", &tls.cert)?;
    match (&tls.min_version, &tls.max_version) {
        // The names TLS10 … TLS13 sort like the versions they stand for.
        (Some(min), Some(max)) if min > max => Err(InvalidTls::Versions),
        _ => Ok(()),
    }
}

fn is_set(selector: &SecretOrConfigMap) -> bool {
    selector.secret.is_some() || selector.config_map.is_some()
}

fn one_source(field: &'static str, selector: &SecretOrConfigMap) -> Result<(), InvalidTls> {
    if selector.secret.is_some() && selector.config_map.is_some() {
        Err(InvalidTls::TwoSources(field))
    } else {
        Ok(())
    }
}

fn exclusive(a: &'static str, has_a: bool, b: &'static str, has_b: bool) -> Result<(), InvalidTls> {
    if has_a && has_b { Err(InvalidTls::Both(a, b)) } else { Ok(()) }
}

fn pair(cert: bool, key: bool) -> Result<(), InvalidTls> {
    match (cert, key) {
        (true, false) => Err(InvalidTls::Without("the certificate", "its key")),
        (false, true) => Err(InvalidTls::Without("the key", "its certificate")),
        _ => Ok(()),
    }
}
