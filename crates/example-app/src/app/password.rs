//! The password, from a file that may change under a running process, and its comparison.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use sha2::{Digest, Sha256};

use super::{failure::Failure, tree::Stamp};

/// Kept as a digest: digests have one length, and the text itself is in no memory dump and no log.
pub(super) struct Password {
    file: PathBuf,
    known: Mutex<(Stamp, [u8; 32])>,
}

impl Password {
    pub(super) fn open(file: &Path) -> Result<Self, Failure> {
        let known = Mutex::new(read(file).map_err(Failure::Setup)?);
        Ok(Self { file: file.to_owned(), known })
    }

    /// Does this `Authorization` header carry the password? The user's name does not matter.
    pub(super) fn admits(&self, authorization: &str) -> Result<bool, String> {
        let current = self.current()?;
        let given = || {
            let (scheme, encoded) = authorization.split_once(' ')?;
            let decoded =
                STANDARD.decode(encoded.trim()).ok().filter(|_| scheme.eq_ignore_ascii_case("basic"))?;
            let colon = decoded.iter().position(|byte| *byte == b':')?;
            Some(digest(decoded.get(colon + 1..)?))
        };
        // Every byte is looked at, whatever the first ones are.
        let same = |given: [u8; 32]| given.iter().zip(&current).fold(0, |diff, (a, b)| diff | (a ^ b)) == 0;
        Ok(given().is_some_and(same))
    }

    fn current(&self) -> Result<[u8; 32], String> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        // A file that is gone has no stamp; reading it says so.
        if Stamp::of(&self.file).ok() != Some(known.0) {
            *known = read(&self.file)?;
        }
        Ok(known.1)
    }
}

fn read(file: &Path) -> Result<(Stamp, [u8; 32]), String> {
    let path = file.display();
    let unreadable = |error| format!("the password file {path} cannot be read: {error}");
    let stamp = Stamp::of(file).map_err(unreadable)?;
    let text = fs::read_to_string(file).map_err(unreadable)?;
    match text.lines().next().filter(|line| !line.is_empty()) {
        Some(password) => Ok((stamp, digest(password.as_bytes()))),
        None => Err(format!("the password file {path} is empty: write the password into its first line")),
    }
}

fn digest(password: &[u8]) -> [u8; 32] {
    Sha256::digest(password).into()
}
