//! Encryption of what is stored, in frames, so that no more than one frame is in memory: AES-256-GCM under a key of the file's own.
//!
//! ```text
//! file  = magic (8) ‖ salt (32) ‖ frame …        key of the file = HKDF-SHA256(key, salt)
//! frame = up to 64 KiB, sealed (+ 16)             nonce = 0 (7) ‖ number (4) ‖ last (1)
//! ```
//!
//! The number keeps frames in order, `last` tells a whole file from one that was cut between two frames (the STREAM construction of
//! Hoang, Reyhanitabar, Rogaway and Vizár). A key seals 2³² frames of a file: 256 TiB.

use std::{
    fmt,
    io::{self, Read, Write},
};

use aws_lc_rs::{
    aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey},
    hkdf::{HKDF_SHA256, Salt},
    rand,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};

use crate::sha256::{self, Sha256};

const MAGIC: &[u8; 8] = b"CAPSEAL1";
const SALT: usize = 32;
const FRAME: usize = 64 * 1024;
const TAG: usize = 16;
const KEY: usize = 32;

/// What manifests call this scheme.
pub const SCHEME: &str = "aes-256-gcm-frames-v1";

/// A secret of 32 bytes. Never shown; [`Self::id`] tells keys apart.
#[derive(Clone)]
pub struct Key([u8; KEY]);

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({})", self.id())
    }
}

#[derive(Debug, thiserror::Error)]
#[error(
    "the encryption key must be 32 bytes, raw or in base64 (`openssl rand -base64 32` makes one); there are {0}"
)]
pub struct NotAKey(usize);

impl Key {
    /// As it is in a Secret: 32 bytes, or their base64, with or without a line's end.
    pub fn parse(text: &[u8]) -> Result<Self, NotAKey> {
        let raw = |bytes: &[u8]| <[u8; KEY]>::try_from(bytes).map(Self).ok();
        let decoded = STANDARD.decode(text.trim_ascii()).unwrap_or_default();
        raw(text).or_else(|| raw(&decoded)).ok_or(NotAKey(text.len()))
    }

    /// A name for the key that tells nothing about it.
    pub fn id(&self) -> String {
        let mut hasher = sha256::Hasher::default();
        hasher.update(b"capstan etcd backup key id");
        hasher.update(&self.0);
        hasher.finish().0.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
    }

    fn of_file(&self, salt: &[u8; SALT]) -> io::Result<LessSafeKey> {
        let broken = |_| io::Error::other("the file's key cannot be derived");
        let derived = Salt::new(HKDF_SHA256, salt).extract(&self.0);
        let mut key = [0; KEY];
        derived
            .expand(&[b"capstan etcd backup"], &AES_256_GCM)
            .and_then(|it| it.fill(&mut key))
            .map_err(broken)?;
        UnboundKey::new(&AES_256_GCM, &key).map(LessSafeKey::new).map_err(broken)
    }
}

/// The frame's nonce. A file with so many frames that the number would repeat is refused.
fn nonce(number: u64, last: bool) -> io::Result<Nonce> {
    let number =
        u32::try_from(number).map_err(|_| io::Error::other("too long to be encrypted as one file"))?;
    let mut bytes = [0; NONCE_LEN];
    let (_, tail) = bytes.split_at_mut(NONCE_LEN - 5);
    if let Some((end, middle)) = tail.split_last_mut() {
        middle.copy_from_slice(&number.to_be_bytes());
        *end = u8::from(last);
    }
    Ok(Nonce::assume_unique_for_key(bytes))
}

/// Seals what is written to it. [`Self::finish`] seals the end: without it the file does not open.
pub struct Sealer<W> {
    to: W,
    key: LessSafeKey,
    frame: Vec<u8>,
    number: u64,
}

impl<W: Write> Sealer<W> {
    pub fn new(mut to: W, key: &Key) -> io::Result<Self> {
        let mut salt = [0; SALT];
        rand::fill(&mut salt).map_err(|_| io::Error::other("the system gives no random numbers"))?;
        to.write_all(MAGIC)?;
        to.write_all(&salt)?;
        Ok(Self { to, key: key.of_file(&salt)?, frame: Vec::with_capacity(FRAME + TAG), number: 0 })
    }

    fn seal(&mut self, last: bool) -> io::Result<()> {
        let nonce = nonce(self.number, last)?;
        self.key
            .seal_in_place_append_tag(nonce, Aad::empty(), &mut self.frame)
            .map_err(|_| io::Error::other("cannot be encrypted"))?;
        self.number += 1;
        self.to.write_all(&self.frame)?;
        self.frame.clear();
        Ok(())
    }

    pub fn finish(mut self) -> io::Result<W> {
        self.seal(true)?;
        Ok(self.to)
    }
}

impl<W: Write> Write for Sealer<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // A full frame waits: it may turn out to be the last.
        if self.frame.len() == FRAME && !bytes.is_empty() {
            self.seal(false)?;
        }
        let room = FRAME - self.frame.len();
        let taken = bytes.get(..room).unwrap_or(bytes);
        self.frame.extend(taken);
        Ok(taken.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// Opens what a [`Sealer`] sealed.
pub struct Opener<R> {
    from: R,
    key: LessSafeKey,
    frame: Vec<u8>,
    /// Up to where the frame was given away.
    given: usize,
    /// What was read of the next frame, to know whether there is one.
    ahead: Vec<u8>,
    number: u64,
    ended: bool,
}

impl<R: Read> Opener<R> {
    pub fn new(mut from: R, key: &Key) -> io::Result<Self> {
        let mut magic = [0; MAGIC.len()];
        let mut salt = [0; SALT];
        from.read_exact(&mut magic)?;
        if magic != *MAGIC {
            return Err(invalid("it is not encrypted as its manifest says"));
        }
        from.read_exact(&mut salt)?;
        let key = key.of_file(&salt)?;
        let mut opener = Self {
            from,
            key,
            frame: Vec::with_capacity(FRAME + TAG),
            given: 0,
            ahead: Vec::new(),
            number: 0,
            ended: false,
        };
        opener.ahead = opener.sealed(Vec::with_capacity(FRAME + TAG))?;
        Ok(opener)
    }

    /// The next frame as it is stored, in the memory of one that was read.
    fn sealed(&mut self, mut frame: Vec<u8>) -> io::Result<Vec<u8>> {
        frame.clear();
        self.from.by_ref().take((FRAME + TAG) as u64).read_to_end(&mut frame)?;
        Ok(frame)
    }

    fn next(&mut self) -> io::Result<()> {
        let read = std::mem::take(&mut self.frame);
        let next = self.sealed(read)?;
        self.frame = std::mem::replace(&mut self.ahead, next);
        self.ended = self.ahead.is_empty();
        let nonce = nonce(self.number, self.ended)?;
        let wrong = "it cannot be decrypted: another key, or it was cut or changed";
        let opened =
            self.key.open_in_place(nonce, Aad::empty(), &mut self.frame).map_err(|_| invalid(wrong))?.len();
        self.frame.truncate(opened);
        self.number += 1;
        self.given = 0;
        Ok(())
    }
}

impl<R: Read> Read for Opener<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.given == self.frame.len() {
            if self.ended {
                return Ok(0);
            }
            self.next()?;
        }
        let rest = self.frame.get(self.given..).unwrap_or_default();
        // A slice is something to read from, and copies as much as fits.
        let taken = Read::read(&mut &*rest, into)?;
        self.given += taken;
        Ok(taken)
    }
}

fn invalid(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

/// The key of tests and documentation.
#[doc(hidden)]
pub fn example_key(seed: &str) -> Key {
    Key(Sha256::of(seed.as_bytes()).0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn seal(plain: &[u8], key: &Key) -> Vec<u8> {
        let mut sealer = Sealer::new(Vec::new(), key).unwrap();
        sealer.write_all(plain).unwrap();
        sealer.finish().unwrap()
    }

    fn open(sealed: &[u8], key: &Key) -> io::Result<Vec<u8>> {
        let mut plain = Vec::new();
        Opener::new(sealed, key)?.read_to_end(&mut plain)?;
        Ok(plain)
    }

    /// Around the ends of frames, where such things break.
    fn lengths() -> impl Strategy<Value = usize> {
        prop_oneof![Just(0), Just(1), FRAME - 1..FRAME + 2, 2 * FRAME - 1..2 * FRAME + 2, 0..300_000_usize]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]

        #[test]
        fn what_was_sealed_opens(length in lengths()) {
            let plain: Vec<u8> = (0..length).map(|at| at as u8).collect();
            let key = example_key("a");
            prop_assert_eq!(open(&seal(&plain, &key), &key).unwrap(), plain);
        }

        #[test]
        fn what_was_cut_does_not_open(length in lengths(), cut in 1_usize..200_000) {
            let key = example_key("a");
            let sealed = seal(&vec![1; length], &key);
            let rest = sealed.len().saturating_sub(cut);
            prop_assert!(open(&sealed[..rest], &key).is_err());
        }

        #[test]
        fn what_was_changed_does_not_open(length in 0_usize..200_000, at in any::<usize>(), change in 1_u8..) {
            let key = example_key("a");
            let mut sealed = seal(&vec![1; length], &key);
            let at = at % sealed.len();
            sealed[at] ^= change;
            prop_assert!(open(&sealed, &key).is_err());
        }
    }

    #[test]
    fn another_key_does_not_open_and_frames_do_not_change_places() {
        let key = example_key("a");
        let sealed = seal(&vec![9; 3 * FRAME], &key);
        assert!(open(&sealed, &example_key("b")).is_err());
        let (head, frames) = sealed.split_at(MAGIC.len() + SALT);
        let (first, others) = frames.split_at(FRAME + TAG);
        let (second, third) = others.split_at(FRAME + TAG);
        assert!(open(&[head, second, first, third].concat(), &key).is_err());
    }

    #[test]
    fn a_key_is_raw_or_base64_and_is_never_shown() {
        let raw = [7; 32];
        let text = format!("{}\n", STANDARD.encode(raw));
        assert_eq!(Key::parse(text.as_bytes()).unwrap().id(), Key::parse(&raw).unwrap().id());
        assert!(Key::parse(b"too short").unwrap_err().to_string().contains("there are 9"));
        assert!(!format!("{:?}", Key::parse(&raw).unwrap()).contains("07"));
    }
}
