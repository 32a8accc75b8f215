//! A certificate for an etcd that is thrown away after it was looked at, such as a restored backup.
//!
//! With authentication on, etcd takes the common name of a client's certificate for its user. There is always a user root then: without one
//! it cannot be switched on. So this certificate may read everything, whatever users and passwords came with the backup.

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose,
};

use super::{CA_CRT, TLS_CRT, TLS_KEY};

/// Creates a CA, which is forgotten, and a certificate for `localhost` and `127.0.0.1` that is good for the server and for its user root. Returns
/// the files by name.
pub fn certificate_of_root() -> Result<[(&'static str, String); 3], rcgen::Error> {
    let named = |name: &str| {
        let mut names = DistinguishedName::new();
        names.push(DnType::CommonName, name);
        names
    };
    let mut ca = CertificateParams::default();
    ca.distinguished_name = named("throwaway etcd CA");
    ca.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    ca.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    let ca_key = KeyPair::generate()?;
    let ca_certificate = ca.self_signed(&ca_key)?.pem();
    let mut leaf = CertificateParams::new(["localhost".to_owned(), "127.0.0.1".to_owned()])?;
    leaf.distinguished_name = named("root");
    leaf.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    leaf.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
    let key = KeyPair::generate()?;
    let certificate = leaf.signed_by(&key, &Issuer::new(ca, ca_key))?.pem();
    Ok([(CA_CRT, ca_certificate), (TLS_CRT, certificate), (TLS_KEY, key.serialize_pem())])
}
