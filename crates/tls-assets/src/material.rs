//! PEM, certificates and keys: do they parse, and do a certificate and a key belong together?

use rendering::Assets;
use rustls::crypto::aws_lc_rs::sign::any_supported_type;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer, PrivateSec1KeyDer};
use x509_parser::pem::Pem;
use x509_parser::prelude::X509Certificate;
use x509_parser::public_key::PublicKey;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MaterialError {
    #[error("holds no PEM block: expected -----BEGIN CERTIFICATE-----")]
    NoPem,
    #[error("holds no certificate that can be read")]
    Certificate,
    #[error("the key holds no PEM block of a private key")]
    NoKey,
    #[error("the private key cannot be read: expected PKCS#1, PKCS#8 or SEC 1")]
    Key,
    #[error("the private key does not belong to the certificate")]
    Mismatch,
}

/// The first PEM block is a certificate.
pub fn check_authority(pem: &[u8]) -> Result<(), MaterialError> {
    if pem == Assets::UNSEEN {
        return Ok(());
    }
    let block = blocks(pem).next().ok_or(MaterialError::NoPem)?;
    block.parse_x509().map(|_| ()).map_err(|_| MaterialError::Certificate)
}

/// The first certificate belongs to the first private key.
pub fn check_pair(certificate: &[u8], key: &[u8]) -> Result<(), MaterialError> {
    if certificate == Assets::UNSEEN || key == Assets::UNSEEN {
        return Ok(());
    }
    let certificate =
        blocks(certificate).find(|block| block.label == "CERTIFICATE").ok_or(MaterialError::NoPem)?;
    let key = blocks(key)
        .find(|block| block.label == "PRIVATE KEY" || block.label.ends_with(" PRIVATE KEY"))
        .ok_or(MaterialError::NoKey)?;
    let certificate = certificate.parse_x509().map_err(|_| MaterialError::Certificate)?;
    if belongs(&certificate, &key.contents)? { Ok(()) } else { Err(MaterialError::Mismatch) }
}

fn blocks(pem: &[u8]) -> impl Iterator<Item = Pem> {
    Pem::iter_from_buffer(pem).map_while(Result::ok)
}

/// RSA keys are compared by their numbers, since the library that derives the others refuses RSA keys below 2048 bits.
fn belongs(certificate: &X509Certificate<'_>, key: &[u8]) -> Result<bool, MaterialError> {
    let public = certificate.public_key();
    if let Some((modulus, exponent)) = rsa_numbers(key).or_else(|| rsa_numbers(pkcs8_inner(key)?)) {
        return Ok(match public.parsed() {
            Ok(PublicKey::RSA(rsa)) => unpadded(rsa.modulus) == modulus && unpadded(rsa.exponent) == exponent,
            _ => false,
        });
    }
    let der = if pkcs8_inner(key).is_some() {
        PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key))
    } else {
        PrivateKeyDer::Sec1(PrivateSec1KeyDer::from(key))
    };
    let signing = any_supported_type(&der).map_err(|_| MaterialError::Key)?;
    let derived = signing.public_key().ok_or(MaterialError::Key)?;
    Ok(derived.as_ref() == public.raw)
}

const INTEGER: u8 = 0x02;
const OCTETS: u8 = 0x04;
const SEQUENCE: u8 = 0x30;

/// Modulus and public exponent of a PKCS#1 key: `SEQUENCE { version, n, e, d, … }`.
fn rsa_numbers(der: &[u8]) -> Option<(&[u8], &[u8])> {
    let (fields, _) = element(der, SEQUENCE)?;
    let (_version, rest) = element(fields, INTEGER)?;
    let (modulus, rest) = element(rest, INTEGER)?;
    let (exponent, rest) = element(rest, INTEGER)?;
    let (_private, _) = element(rest, INTEGER)?;
    Some((unpadded(modulus), unpadded(exponent)))
}

/// The key inside of PKCS#8: `SEQUENCE { version, SEQUENCE { algorithm, … }, OCTET STRING }`.
fn pkcs8_inner(der: &[u8]) -> Option<&[u8]> {
    let (fields, _) = element(der, SEQUENCE)?;
    let (_version, rest) = element(fields, INTEGER)?;
    let (_algorithm, rest) = element(rest, SEQUENCE)?;
    element(rest, OCTETS).map(|(inner, _)| inner)
}

/// The contents of the DER element that `bytes` begin with, and what follows it.
fn element(bytes: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (&found, rest) = bytes.split_first()?;
    let (&first, rest) = rest.split_first()?;
    let (length, rest) = if first < 0x80 {
        (usize::from(first), rest)
    } else {
        let (digits, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
        (
            digits.iter().try_fold(0_usize, |length, &digit| {
                length.checked_mul(256)?.checked_add(usize::from(digit))
            })?,
            rest,
        )
    };
    if found == tag { rest.split_at_checked(length) } else { None }
}

fn unpadded(number: &[u8]) -> &[u8] {
    let zeros = number.iter().take_while(|&&byte| byte == 0).count();
    number.get(zeros..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_ED25519, SignatureAlgorithm};

    use super::*;

    /// A certificate and its key, as PEM.
    fn pair(algorithm: &'static SignatureAlgorithm) -> (String, String) {
        let key = KeyPair::generate_for(algorithm).unwrap();
        let certificate =
            CertificateParams::new(vec!["a.example".to_owned()]).unwrap().self_signed(&key).unwrap();
        (certificate.pem(), key.serialize_pem())
    }

    #[test]
    fn a_certificate_belongs_to_its_own_key_only() {
        for algorithm in [&PKCS_ECDSA_P256_SHA256, &PKCS_ED25519] {
            let ((certificate, key), (_, other)) = (pair(algorithm), pair(algorithm));
            assert_eq!(check_pair(certificate.as_bytes(), key.as_bytes()), Ok(()));
            assert_eq!(check_pair(certificate.as_bytes(), other.as_bytes()), Err(MaterialError::Mismatch));
        }
    }

    #[test]
    fn what_is_no_certificate_or_key_is_refused() {
        let (certificate, key) = pair(&PKCS_ECDSA_P256_SHA256);
        assert_eq!(check_authority(certificate.as_bytes()), Ok(()));
        assert_eq!(check_authority(b"invalidCA"), Err(MaterialError::NoPem));
        assert_eq!(check_authority(key.as_bytes()), Err(MaterialError::Certificate));
        assert_eq!(check_pair(key.as_bytes(), key.as_bytes()), Err(MaterialError::NoPem));
        assert_eq!(check_pair(certificate.as_bytes(), certificate.as_bytes()), Err(MaterialError::NoKey));
        let nonsense = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
        assert_eq!(check_pair(certificate.as_bytes(), nonsense.as_bytes()), Err(MaterialError::Key));
    }

    #[test]
    fn text_before_a_block_is_passed_over() {
        let (certificate, key) = pair(&PKCS_ECDSA_P256_SHA256);
        let bundle = format!("# our certificate\n{certificate}");
        assert_eq!(check_pair(bundle.as_bytes(), key.as_bytes()), Ok(()));
    }
}
