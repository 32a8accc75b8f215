//! Certificates of an own CA, for the API servers that call our webhooks: what to do about them at a given time, and how.
//!
//! A CA lives a year and a leaf 90 days; each is renewed at two thirds of its life. A new CA is first only added to what is
//! trusted; leaves follow when they are due. Until then, API servers and the other replicas go on with what they have:
//! at no time is a leaf served that is not yet trusted everywhere.

mod pem;

use std::{fmt, sync::Arc};

use jiff::{SignedDuration, Timestamp};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose, PKCS_ECDSA_P256_SHA256,
};
use rustls::{
    RootCertStore,
    client::{WebPkiServerVerifier, danger::ServerCertVerifier as _},
    crypto::{CryptoProvider, aws_lc_rs},
    pki_types::{ServerName, UnixTime},
};

use pem::{Certificate, PrivateKey};
pub(super) use pem::{Parts, certified, valid_until};

const CA_LIFE: SignedDuration = SignedDuration::from_hours(365 * 24);
const LEAF_LIFE: SignedDuration = SignedDuration::from_hours(90 * 24);

/// An API server whose clock is behind ours must not find a new certificate "not yet valid".
const SKEW: SignedDuration = SignedDuration::from_mins(5);

/// By then every API server and replica has heard of a new CA.
const SETTLED: SignedDuration = SignedDuration::from_hours(1);

/// What the replicas share: a CA, the one before it, and the leaf that they serve.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bundle {
    pub(super) authority: Certificate,
    pub(super) authority_key: PrivateKey,
    /// Trusted until the next one takes its place; its key is gone, so nothing new is signed by it.
    pub(super) previous: Option<Certificate>,
    pub(super) leaf: Certificate,
    pub(super) leaf_key: PrivateKey,
}

/// What to do about a bundle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// Nothing, until `look_again`.
    Keep {
        /// When the next thing is due.
        look_again: Timestamp,
    },
    /// Sign a new leaf.
    RenewLeaf(Why),
    /// Make a new CA beside the old one; the leaf stays.
    RenewAuthority(Why),
    /// Make all anew.
    Replace(Why),
}

/// Why something is renewed, for the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// Two thirds of its life are over.
    Due,
    /// It is no longer valid.
    Expired,
    /// The leaf cannot be verified under one of the names that API servers use.
    NotTrusted(String),
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Due => f.write_str("two thirds of its life are over"),
            Self::Expired => f.write_str("it has expired"),
            Self::NotTrusted(why) => f.write_str(why),
        }
    }
}

/// A certificate that could not be made or read.
#[derive(Debug, thiserror::Error)]
pub enum CertError {
    /// It could not be made.
    #[error("cannot make a certificate")]
    Make(#[from] rcgen::Error),
    /// It could not be read.
    #[error("cannot read {what}: {why}")]
    Read {
        /// Which part.
        what: &'static str,
        /// Why not; never the content.
        why: String,
    },
    /// TLS does not take it.
    #[error("certificate and key do not fit")]
    Fit(#[source] rustls::Error),
}

/// What is to be done about `bundle` at `now`, if it is to be valid for `names`.
pub fn decide(now: Timestamp, bundle: &Bundle, names: &[String]) -> Decision {
    let Bundle { authority, previous, leaf, .. } = bundle;
    if now >= authority.until {
        return Decision::Replace(Why::Expired);
    }
    if now >= leaf.until {
        return Decision::RenewLeaf(Why::Expired);
    }
    for name in names {
        if let Err(error) = bundle.verify(name, now) {
            return Decision::RenewLeaf(Why::NotTrusted(format!("{name}: {error}")));
        }
    }
    if now >= authority.renew_at() {
        return Decision::RenewAuthority(Why::Due);
    }
    // The first CA of all is trusted by nobody but through us, so there is nothing to wait for.
    let settled = match previous {
        None => authority.from,
        Some(_) => authority.from + SKEW + SETTLED,
    };
    let leaf_due = leaf.renew_at().max(settled);
    match now >= leaf_due {
        true => Decision::RenewLeaf(Why::Due),
        false => Decision::Keep { look_again: leaf_due.min(authority.renew_at()) },
    }
}

/// Carries out what was decided; `None` when that is nothing.
pub fn carry_out(
    decision: &Decision,
    bundle: &Bundle,
    names: &[String],
    now: Timestamp,
) -> Result<Option<Bundle>, CertError> {
    Ok(match decision {
        Decision::Keep { .. } => None,
        Decision::Replace(_) => Some(Bundle::new(names, now)?),
        Decision::RenewLeaf(_) => {
            let (leaf, leaf_key) = sign_leaf(&bundle.authority, &bundle.authority_key, names, now)?;
            Some(Bundle { leaf, leaf_key, ..bundle.clone() })
        }
        Decision::RenewAuthority(_) => {
            let (authority, authority_key) = new_authority(now)?;
            Some(Bundle {
                authority,
                authority_key,
                previous: Some(bundle.authority.clone()),
                ..bundle.clone()
            })
        }
    })
}

impl Bundle {
    /// A new CA and a leaf for `names`.
    pub fn new(names: &[String], now: Timestamp) -> Result<Self, CertError> {
        let (authority, authority_key) = new_authority(now)?;
        let (leaf, leaf_key) = sign_leaf(&authority, &authority_key, names, now)?;
        Ok(Self { authority, authority_key, previous: None, leaf, leaf_key })
    }

    /// The CAs to trust, as the PEM for `caBundle`.
    pub fn trust(&self) -> String {
        let previous = self.previous.as_ref().map_or("", |ca| &ca.pem);
        format!("{}{previous}", self.authority.pem)
    }

    /// Until when the leaf is valid.
    pub fn valid_until(&self) -> Timestamp {
        self.leaf.until
    }

    /// Whether a client that trusts [`trust`](Self::trust) and calls `name` would be content.
    fn verify(&self, name: &str, now: Timestamp) -> Result<(), rustls::Error> {
        let mut roots = RootCertStore::empty();
        for ca in [Some(&self.authority), self.previous.as_ref()].into_iter().flatten() {
            roots.add(ca.der.clone())?;
        }
        let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider())
            .build()
            .map_err(|error| rustls::Error::General(error.to_string()))?;
        let name = ServerName::try_from(name).map_err(|error| rustls::Error::General(error.to_string()))?;
        let seconds = u64::try_from(now.as_second()).unwrap_or_default();
        let now = UnixTime::since_unix_epoch(std::time::Duration::from_secs(seconds));
        verifier.verify_server_cert(&self.leaf.der, &[], &name, &[], now).map(drop)
    }
}

/// The one TLS implementation of the workspace.
pub(super) fn provider() -> Arc<CryptoProvider> {
    Arc::new(aws_lc_rs::default_provider())
}

fn new_authority(now: Timestamp) -> Result<(Certificate, PrivateKey), CertError> {
    let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
    // Two CAs of one name would make a verifier guess which one signed.
    let mut params = params(&format!("capstan webhook CA {now:.0}"), now - SKEW, now + CA_LIFE);
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let certificate = Certificate::parse("the new CA", &params.self_signed(&key)?.pem())?;
    Ok((certificate, PrivateKey::new(key.serialize_pem())))
}

fn sign_leaf(
    authority: &Certificate,
    authority_key: &PrivateKey,
    names: &[String],
    now: Timestamp,
) -> Result<(Certificate, PrivateKey), CertError> {
    let mut issuer = params(&authority.common_name, authority.from, authority.until);
    issuer.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let issuer = Issuer::new(issuer, KeyPair::from_pem(authority_key.pem())?);

    let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
    let until = (now + LEAF_LIFE).min(authority.until);
    let mut leaf = params(names.first().map_or("webhook", String::as_str), now - SKEW, until);
    leaf.subject_alt_names = CertificateParams::new(names)?.subject_alt_names;
    leaf.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    leaf.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    leaf.use_authority_key_identifier_extension = true;
    let certificate = Certificate::parse("the new leaf", &leaf.signed_by(&key, &issuer)?.pem())?;
    Ok((certificate, PrivateKey::new(key.serialize_pem())))
}

fn params(common_name: &str, from: Timestamp, until: Timestamp) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, common_name);
    params.not_before =
        rcgen::date_time_ymd(1970, 1, 1) + from.duration_since(Timestamp::UNIX_EPOCH).unsigned_abs();
    params.not_after =
        rcgen::date_time_ymd(1970, 1, 1) + until.duration_since(Timestamp::UNIX_EPOCH).unsigned_abs();
    params
}

#[cfg(test)]
mod tests;
