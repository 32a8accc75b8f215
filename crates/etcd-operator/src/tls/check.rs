//! Is a certificate good for what it is meant for? Asked of what users give us, and of what we made ourselves.

use std::sync::Arc;

use jiff::Timestamp;
use rustls::{
    RootCertStore,
    client::{WebPkiServerVerifier, danger::ServerCertVerifier as _},
    crypto::{CryptoProvider, aws_lc_rs},
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime, pem::PemObject as _},
    server::WebPkiClientVerifier,
    sign::CertifiedKey,
};

use super::{CA_CRT, Material, Names, Role, TLS_CRT, TLS_KEY, Validity};

/// What is wrong with a certificate. None of these shows a key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Problem {
    #[error("Secret {secret} has no {key}")]
    Missing { secret: String, key: &'static str },
    #[error("Secret {0} does not exist")]
    NoSecret(String),
    #[error("{key} cannot be read: {why}")]
    Unreadable { key: &'static str, why: String },
    #[error("{TLS_KEY} is not the key of {TLS_CRT}")]
    NotItsKey,
    #[error("{TLS_CRT} is not good for {what}: {why}")]
    NotGoodFor { what: String, why: String },
    #[error("{TLS_CRT} expired at {0}")]
    Expired(Timestamp),
    #[error("it is of another CA")]
    OfAnotherAuthority,
    #[error("it lacks a name")]
    LacksName,
}

/// Whether `material` is good for `role`, and for how long.
pub(crate) fn check(
    role: Role,
    material: &Material,
    names: &Names,
    now: Timestamp,
) -> Result<Validity, Problem> {
    let validity = material.validity()?;
    if now >= validity.until {
        return Err(Problem::Expired(validity.until));
    }
    let (leaf, rest) = chain(material)?;
    let roots = Arc::new(roots(material)?);
    let at = UnixTime::since_unix_epoch(std::time::Duration::from_secs(
        u64::try_from(now.as_second()).unwrap_or_default(),
    ));
    let not_good = |what: &str, why: &dyn std::fmt::Display| Problem::NotGoodFor {
        what: what.to_owned(),
        why: why.to_string(),
    };
    if role.serves() {
        let verifier = WebPkiServerVerifier::builder_with_provider(roots.clone(), provider())
            .build()
            .map_err(|error| not_good("serving", &error))?;
        for called in names.called(role) {
            let name = ServerName::try_from(called.clone()).map_err(|error| not_good(&called, &error))?;
            verifier
                .verify_server_cert(&leaf, &rest, &name, &[], at)
                .map_err(|error| not_good(&called, &error))?;
        }
    }
    // Members connect too: to each other, and by the gateway to themselves.
    let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider())
        .build()
        .map_err(|error| not_good("connecting", &error))?;
    verifier
        .verify_client_cert(&leaf, &rest, at)
        .map_err(|error| not_good("connecting (extended key usage clientAuth)", &error))?;
    Ok(validity)
}

/// The leaf and what stands between it and the CA, if the key is theirs.
fn chain(material: &Material) -> Result<(CertificateDer<'static>, Vec<CertificateDer<'static>>), Problem> {
    let certificates = certificates(&material.certificate, TLS_CRT)?;
    let key = PrivateKeyDer::from_pem_slice(material.key.pem().as_bytes())
        .map_err(|_| Problem::Unreadable { key: TLS_KEY, why: "it is no private key in PEM".to_owned() })?;
    CertifiedKey::from_der(certificates.clone(), key, &provider()).map_err(|_| Problem::NotItsKey)?;
    let mut certificates = certificates.into_iter();
    let none = || Problem::Unreadable { key: TLS_CRT, why: "it holds no certificate".to_owned() };
    Ok((certificates.next().ok_or_else(none)?, certificates.collect()))
}

fn roots(material: &Material) -> Result<RootCertStore, Problem> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(&material.ca, CA_CRT)? {
        let bad = |error: rustls::Error| Problem::Unreadable { key: CA_CRT, why: error.to_string() };
        roots.add(certificate).map_err(bad)?;
    }
    Ok(roots)
}

fn certificates(pem: &str, key: &'static str) -> Result<Vec<CertificateDer<'static>>, Problem> {
    CertificateDer::pem_slice_iter(pem.as_bytes())
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| Problem::Unreadable { key, why: error.to_string() })
}

/// The one TLS implementation of the workspace.
fn provider() -> Arc<CryptoProvider> {
    Arc::new(aws_lc_rs::default_provider())
}
