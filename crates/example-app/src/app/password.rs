//! The password, from a file that may change under a running process, and its comparison.

use std::{fs, path::PathBuf};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use sha2::{Digest, Sha256};

/// The file's first line is it. It is read for each request, so that a new one counts at once and none stays in memory.
pub(super) struct Password(pub(super) PathBuf);

impl Password {
    /// Does this `Authorization` header carry the password? The user's name does not matter.
    pub(super) fn admits(&self, authorization: &str) -> Result<bool, String> {
        let current = self.digest()?;
        let given = || {
            let (scheme, encoded) = authorization.split_once(' ')?;
            let decoded = STANDARD.decode(encoded.trim()).ok()?;
            let colon = decoded.iter().position(|byte| *byte == b':')?;
            scheme
                .eq_ignore_ascii_case("basic")
                .then(|| Sha256::digest(decoded.get(colon + 1..).unwrap_or_default()))
        };
        // Digests have one length, and every byte is looked at, whatever the first ones are.
        Ok(given().is_some_and(|given| given.iter().zip(current).fold(0, |diff, (a, b)| diff | (a ^ b)) == 0))
    }

    pub(super) fn digest(&self) -> Result<[u8; 32], String> {
        let path = self.0.display();
        let text = fs::read_to_string(&self.0)
            .map_err(|error| format!("the password file {path} cannot be read: {error}"))?;
        match text.lines().next().filter(|line| !line.is_empty()) {
            Some(password) => Ok(Sha256::digest(password).into()),
            None => Err(format!("the password file {path} is empty: write the password into its first line")),
        }
    }
}
