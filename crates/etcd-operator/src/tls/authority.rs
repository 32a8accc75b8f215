//! The CA of one cluster: it signs leaves, and nothing else.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::{ByteString, api::core::v1::Secret};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose, PKCS_ECDSA_P256_SHA256,
};

use super::{
    CA_CRT, CA_KEY, CA_LIFE, LEAF_LIFE, Material, Names, PrivateKey, Problem, Role, SKEW, Validity,
    material::{common_name as common_name_of, part, validity},
};

/// A certificate of a CA, and its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Authority {
    pub(crate) certificate: String,
    key: PrivateKey,
}

impl Authority {
    /// A new CA.
    pub(crate) fn new(names: &Names, now: Timestamp) -> Result<Self, rcgen::Error> {
        let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
        let life = Validity { from: now - SKEW, until: now + CA_LIFE };
        // Two CAs of one name would make a verifier guess which one signed.
        let mut params = params(&format!("etcd CA {}/{} {now:.0}", names.namespace, names.cluster), life);
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let certificate = params.self_signed(&key)?.pem();
        Ok(Self { certificate, key: PrivateKey::new(key.serialize_pem()) })
    }

    /// Reads a Secret.
    pub(crate) fn of(secret: &Secret) -> Result<Self, Problem> {
        let authority =
            Self { certificate: part(secret, CA_CRT)?, key: PrivateKey::new(part(secret, CA_KEY)?) };
        authority.validity()?;
        authority.issuer().map_err(|error| Problem::Unreadable { key: CA_KEY, why: error.to_string() })?;
        Ok(authority)
    }

    /// As the data of a Secret.
    pub(crate) fn data(&self) -> BTreeMap<String, ByteString> {
        let parts = [(CA_CRT, self.certificate.as_str()), (CA_KEY, self.key.pem())];
        parts.map(|(name, text)| (name.to_owned(), ByteString(text.as_bytes().to_vec()))).into()
    }

    pub(crate) fn validity(&self) -> Result<Validity, Problem> {
        validity(&self.certificate, CA_CRT)
    }

    /// A new leaf. It does not outlive the CA.
    pub(crate) fn sign(&self, role: Role, names: &Names, now: Timestamp) -> Result<Material, rcgen::Error> {
        let ends = self.validity().map_or(now, |life| life.until);
        let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
        let life = Validity { from: now - SKEW, until: (now + LEAF_LIFE).min(ends) };
        let mut leaf = params(common_name(role), life);
        leaf.subject_alt_names = names.sans(role)?;
        leaf.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        // The server connects to itself (the gateway's loopback), peers to each other: all of them are clients too.
        leaf.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        if role.serves() {
            leaf.extended_key_usages.push(ExtendedKeyUsagePurpose::ServerAuth);
        }
        leaf.use_authority_key_identifier_extension = true;
        let certificate = leaf.signed_by(&key, &self.issuer()?)?.pem();
        Ok(Material { ca: self.certificate.clone(), certificate, key: PrivateKey::new(key.serialize_pem()) })
    }

    /// Of the CA's certificate, a signature needs the subject only.
    fn issuer(&self) -> Result<Issuer<'static, KeyPair>, rcgen::Error> {
        let subject = common_name_of(&self.certificate, CA_CRT).unwrap_or_default();
        let mut params = CertificateParams::default();
        params.distinguished_name = named(&subject);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        Ok(Issuer::new(params, KeyPair::from_pem(self.key.pem())?))
    }
}

/// By this name members know each other, see the arguments of etcd.
pub(crate) const PEER_COMMON_NAME: &str = "etcd-peer";

/// With authentication switched on, etcd takes the common name of a client's certificate for its user: the operator is root.
pub(super) fn common_name(role: Role) -> &'static str {
    match role {
        Role::Server => "etcd-server",
        Role::Peer => PEER_COMMON_NAME,
        Role::Client => "etcd-client",
        Role::Operator => "root",
    }
}

fn params(common_name: &str, Validity { from, until }: Validity) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = named(common_name);
    let time = |at: Timestamp| {
        rcgen::date_time_ymd(1970, 1, 1) + at.duration_since(Timestamp::UNIX_EPOCH).unsigned_abs()
    };
    params.not_before = time(from);
    params.not_after = time(until);
    params
}

fn named(common_name: &str) -> DistinguishedName {
    let mut name = DistinguishedName::new();
    name.push(DnType::CommonName, common_name);
    name
}
