//! A SHA-256, and its sixty-four letters.

use std::{fmt, str::FromStr};

use aws_lc_rs::digest;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// How many bytes it has.
pub const BYTES: usize = 32;

/// The SHA-256 of something. Shown, stored and read as hexadecimal.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Sha256(pub [u8; BYTES]);

/// One that is being computed.
pub struct Hasher(digest::Context);

impl Hasher {
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    pub fn finish(self) -> Sha256 {
        let mut hash = [0; BYTES];
        hash.copy_from_slice(self.0.finish().as_ref());
        Sha256(hash)
    }
}

impl Default for Hasher {
    fn default() -> Self {
        Self(digest::Context::new(&digest::SHA256))
    }
}

impl fmt::Debug for Hasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hasher")
    }
}

impl Sha256 {
    pub fn of(bytes: &[u8]) -> Self {
        let mut hasher = Hasher::default();
        hasher.update(bytes);
        hasher.finish()
    }
}

impl fmt::Display for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[derive(Debug, thiserror::Error)]
#[error("not a SHA-256: 64 hexadecimal digits are expected")]
pub struct NotASha256;

impl FromStr for Sha256 {
    type Err = NotASha256;

    fn from_str(text: &str) -> Result<Self, NotASha256> {
        let mut hash = [0; BYTES];
        if text.len() != 2 * BYTES || !text.is_ascii() {
            return Err(NotASha256);
        }
        for (byte, digits) in hash.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
            let digits = std::str::from_utf8(digits).map_err(|_| NotASha256)?;
            *byte = u8::from_str_radix(digits, 16).map_err(|_| NotASha256)?;
        }
        Ok(Self(hash))
    }
}

impl Serialize for Sha256 {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Sha256 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_read_as_it_is_shown() {
        let hash = Sha256::of(b"abc");
        assert_eq!(hash.to_string(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(hash.to_string().parse::<Sha256>().unwrap(), hash);
        assert!("ba78".parse::<Sha256>().is_err());
        assert!("zz".repeat(32).parse::<Sha256>().is_err());
    }
}
