//! The releases of the application, and which may follow which.

use kit::run::Failure;

use super::format::Format;

/// One release.
#[derive(Debug, PartialEq, Eq)]
pub struct AppVersion {
    pub version: &'static str,
    /// What it reads and writes.
    pub format: Format,
    /// The release that must have run on the data before this one.
    pub needs: Option<&'static str>,
    /// What is wrong with a release that was shipped broken. It starts, and never becomes healthy.
    pub broken: Option<&'static str>,
}

/// Every release, oldest first.
pub const VERSIONS: &[AppVersion] = &[
    release("0.0.1", Format::Raw),
    release("0.0.2", Format::Checked),
    AppVersion { broken: Some(NO_INDEX), ..release("0.0.3", Format::Checked) },
    AppVersion { needs: Some("0.0.2"), ..release("0.1.0", Format::Checked) },
];
const NO_INDEX: &str =
    "0.0.3 was shipped broken: it waits for an index that it never builds; set another version";

const fn release(version: &'static str, format: Format) -> AppVersion {
    AppVersion { version, format, needs: None, broken: None }
}

/// Why a version cannot be run, or cannot follow another one. The text says what to set instead.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("version {0} is not known; the known ones are {known}", known = known())]
    Unknown(String),
    #[error("{to} cannot read data of format {format}: set {next} first, then {to}", format = format.number())]
    NotYet { to: &'static str, format: Format, next: &'static str },
    #[error(
        "{to} cannot read data of format {format}: stay at {stay} or a later version, or restore a backup that {to} made",
        format = format.number()
    )]
    NoWayBack { to: &'static str, format: Format, stay: &'static str },
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::usage(refusal.to_string())
    }
}

/// What has to be done to the data on the way to a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// Nothing: only the processes change.
    Roll,
    /// The data is migrated first, with nothing else running on it.
    Migrate,
}

/// The release called `version`.
pub fn find(version: &str) -> Result<&'static AppVersion, Refusal> {
    VERSIONS.iter().find(|v| v.version == version).ok_or_else(|| Refusal::Unknown(version.to_owned()))
}

/// May `to` follow `from`, and how?
pub fn way(from: &str, to: &str) -> Result<Way, Refusal> {
    find(to)?.way_from(find(from)?.format)
}

/// The release that a format came with.
pub fn first_of(format: Format) -> Option<&'static AppVersion> {
    VERSIONS.iter().find(|v| v.format == format)
}

impl AppVersion {
    /// May this version take over data of `format`, and how?
    pub fn way_from(&'static self, format: Format) -> Result<Way, Refusal> {
        let oldest_readable = self.needs.and_then(|v| find(v).ok()).filter(|needed| format < needed.format);
        match oldest_readable {
            Some(needed) => Err(Refusal::NotYet { to: self.version, format, next: needed.version }),
            None if format > self.format => Err(Refusal::NoWayBack {
                to: self.version,
                format,
                stay: first_of(format).unwrap_or(self).version,
            }),
            None if format < self.format => Ok(Way::Migrate),
            None => Ok(Way::Roll),
        }
    }
}

fn known() -> String {
    VERSIONS.iter().map(|v| v.version).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn check(from: &str, to: &str, expected: Expect) {
        expected.assert_eq(&match way(from, to) {
            Ok(way) => format!("{way:?}"),
            Err(refusal) => refusal.to_string(),
        });
    }

    #[test]
    fn the_way_to_a_version_is_a_table() {
        check("0.0.1", "0.0.1", expect!["Roll"]);
        check("0.0.1", "0.0.2", expect!["Migrate"]);
        check("0.0.2", "0.1.0", expect!["Roll"]);
        check("0.0.2", "0.0.3", expect!["Roll"]);
        check("0.0.3", "0.0.2", expect!["Roll"]);
        check("0.1.0", "0.0.2", expect!["Roll"]);
        check("0.0.1", "0.1.0", expect!["0.1.0 cannot read data of format 1: set 0.0.2 first, then 0.1.0"]);
        check(
            "0.0.2",
            "0.0.1",
            expect![
                "0.0.1 cannot read data of format 2: stay at 0.0.2 or a later version, or restore a backup that 0.0.1 made"
            ],
        );
        check("0.0.1", "7", expect!["version 7 is not known; the known ones are 0.0.1, 0.0.2, 0.0.3, 0.1.0"]);
    }

    #[test]
    fn what_a_version_needs_is_an_older_version_that_works() {
        for (at, version) in VERSIONS.iter().enumerate() {
            if let Some(needed) = version.needs {
                let found = VERSIONS.iter().position(|v| v.version == needed).unwrap();
                assert!(found < at && VERSIONS[found].broken.is_none(), "{}", version.version);
            }
        }
    }
}
