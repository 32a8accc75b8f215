//! Versions of operands, in the order of semantic versioning.
//!
//! Users write `v2.45.0`, `2.45.0-rc.1`, `3.5`: what is missing is zero, a leading `v` and leading zeros are let pass.

use std::cmp::Ordering;
use std::fmt;

/// A released version, as tables of facts name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Release {
    pub major: u64,
    pub minor: u64,
    pub patch: u64,
}

impl Release {
    /// Reads `"2.45.0"` while the program is compiled, for tables of constants; other characters than digits and
    /// dots are not meant to occur and are passed over.
    pub const fn of(text: &str) -> Self {
        let mut numbers = [0u64; 3];
        let mut at = 0;
        let mut rest = text.as_bytes();
        while let [first, tail @ ..] = rest {
            if *first == b'.' {
                at += 1;
            } else if first.is_ascii_digit() {
                let digit = (*first - b'0') as u64;
                match (at, &mut numbers) {
                    (0, [n, _, _]) | (1, [_, n, _]) | (2, [_, _, n]) => *n = *n * 10 + digit,
                    _ => {}
                }
            }
            rest = tail;
        }
        let [major, minor, patch] = numbers;
        Self { major, minor, patch }
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// A version of an operand, a release or what came before it (`-rc.1`); build metadata has no part in the order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Version {
    release: Release,
    pre: Vec<Identifier>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Identifier {
    Number(u64),
    Word(String),
}

/// Why a text is not a version.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("version {text:?} cannot be read: {why}; write it as in 3.5.0 or v3.5.0-rc.1")]
pub struct VersionError {
    text: String,
    why: &'static str,
}

impl Version {
    pub const fn new(major: u64, minor: u64, patch: u64) -> Self {
        Self { release: Release { major, minor, patch }, pre: Vec::new() }
    }

    pub fn parse(text: &str) -> Result<Self, VersionError> {
        let refuse = |why| VersionError { text: text.to_owned(), why };
        let rest = text.trim();
        let rest = rest.strip_prefix('v').unwrap_or(rest);
        let rest = rest.split_once('+').map_or(rest, |(before, _build)| before);
        let (numbers, pre) = match rest.split_once('-') {
            Some((numbers, pre)) => (numbers, Some(pre)),
            None => (rest, None),
        };
        let mut release = [0u64; 3];
        let mut given = 0;
        for part in numbers.split('.') {
            let slot = release.get_mut(given).ok_or_else(|| refuse("it has more than three numbers"))?;
            if part.is_empty() || !part.bytes().all(|b| b.is_ascii_digit()) {
                return Err(refuse("its parts are not numbers"));
            }
            *slot = part.parse().map_err(|_| refuse("a number is too large"))?;
            given += 1;
        }
        if given < 3 && pre.is_some() {
            return Err(refuse("a pre-release needs three numbers before it"));
        }
        let pre = match pre {
            None => Vec::new(),
            Some(pre) => pre
                .split('.')
                .map(|word| {
                    Identifier::parse(word)
                        .ok_or_else(|| refuse("its pre-release has an empty or strange part"))
                })
                .collect::<Result<_, _>>()?,
        };
        let [major, minor, patch] = release;
        Ok(Self { release: Release { major, minor, patch }, pre })
    }

    pub fn major(&self) -> u64 {
        self.release.major
    }

    pub fn minor(&self) -> u64 {
        self.release.minor
    }

    pub fn patch(&self) -> u64 {
        self.release.patch
    }

    /// The release that this version is, or leads up to.
    pub fn release(&self) -> Release {
        self.release
    }

    /// Whether it is not older than a release; `2.45.0-rc.1` is older than `2.45.0`.
    pub fn at_least(&self, release: Release) -> bool {
        match self.release.cmp(&release) {
            Ordering::Less => false,
            Ordering::Equal => self.pre.is_empty(),
            Ordering::Greater => true,
        }
    }
}

impl Identifier {
    fn parse(word: &str) -> Option<Self> {
        if word.is_empty() || !word.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-') {
            return None;
        }
        // A number with leading zeros is no number of semantic versioning.
        if word.len() > 1 && word.starts_with('0') && word.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        Some(word.parse().map_or_else(|_| Self::Word(word.to_owned()), Self::Number))
    }
}

impl std::str::FromStr for Version {
    type Err = VersionError;
    fn from_str(text: &str) -> Result<Self, VersionError> {
        Self::parse(text)
    }
}

impl From<Release> for Version {
    fn from(release: Release) -> Self {
        Self { release, pre: Vec::new() }
    }
}

impl Ord for Version {
    fn cmp(&self, other: &Self) -> Ordering {
        self.release.cmp(&other.release).then_with(|| match (self.pre.is_empty(), other.pre.is_empty()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Greater,
            (false, true) => Ordering::Less,
            (false, false) => self.pre.cmp(&other.pre),
        })
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.release)?;
        for (at, word) in self.pre.iter().enumerate() {
            f.write_str(if at == 0 { "-" } else { "." })?;
            match word {
                Identifier::Number(number) => write!(f, "{number}")?,
                Identifier::Word(word) => f.write_str(word)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn v(text: &str) -> Version {
        Version::parse(text).unwrap()
    }

    #[test]
    fn versions_stand_in_the_order_of_semantic_versioning() {
        let sorted = [
            "2.45.0",
            "2.45.1-alpha",
            "2.45.1-alpha.1",
            "2.45.1-rc.2",
            "2.45.1-rc.10",
            "2.45.1",
            "2.100.0",
            "3.0.0",
        ];
        for pair in sorted.windows(2) {
            assert!(v(pair[0]) < v(pair[1]), "{pair:?}");
        }
    }

    #[test]
    fn users_may_leave_out_what_is_zero_and_put_a_v_in_front() {
        assert_eq!(v(" v3.5"), Version::new(3, 5, 0));
        assert_eq!(v("02.045.0"), Version::new(2, 45, 0));
        assert_eq!(v("v2.45.0-rc.1+build").to_string(), "2.45.0-rc.1");
    }

    #[test]
    fn what_is_no_version_is_refused_with_the_text_in_the_message() {
        for text in [
            "",
            "v",
            "latest",
            "2.x",
            "1.2.3.4",
            "2.45-rc.1",
            "2.45.0-",
            "2.45.0-a..b",
            "99999999999999999999.0.0",
        ] {
            assert!(Version::parse(text).unwrap_err().to_string().contains(&format!("{text:?}")), "{text}");
        }
    }

    #[test]
    fn a_release_is_read_at_compile_time() {
        const R: Release = Release::of("2.45.10");
        assert_eq!(R, Release { major: 2, minor: 45, patch: 10 });
        assert!(v("2.45.10").at_least(R) && !v("2.45.10-rc.0").at_least(R) && v("3.0.0").at_least(R));
    }
}
