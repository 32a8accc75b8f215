//! The releases of the application, and which may follow which.

use kit::{disk::Format as _, run::Failure};

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

/// What has to be done to the data on the way to a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// Nothing: only the processes change.
    Roll,
    /// The data is migrated first, with nothing else running on it.
    Migrate,
}

/// The release called `version`.
pub fn find(version: &str) -> Result<&'static AppVersion, Failure> {
    let known: Vec<_> = VERSIONS.iter().map(|known| known.version).collect();
    let unknown = || format!("version {version} is not known; the known ones are {}", known.join(", "));
    VERSIONS.iter().find(|known| known.version == version).ok_or_else(|| Failure::usage(unknown()))
}

/// May `to` follow `from`, and how? The refusal says what to set instead.
pub fn way(from: &str, to: &str) -> Result<Way, Failure> {
    find(to)?.way_from(find(from)?.format)
}

/// The release that the format of this number came with.
pub fn first_of(format: u64) -> Option<&'static str> {
    VERSIONS.iter().find(|known| u64::from(known.format.number()) == format).map(|first| first.version)
}

impl AppVersion {
    /// May this version take over data of `format`, and how?
    pub fn way_from(&self, format: Format) -> Result<Way, Failure> {
        let (to, number) = (self.version, format.number());
        let cannot = |how: String| Failure::usage(format!("{to} cannot read data of format {number}: {how}"));
        match self.needs.map(find).transpose()? {
            Some(needed) if format < needed.format => {
                Err(cannot(format!("set {} first, then {to}", needed.version)))
            }
            _ if format > self.format => {
                let stay = first_of(number.into()).unwrap_or(to);
                Err(cannot(format!("stay at {stay} or a later version, or restore a backup that {to} made")))
            }
            _ if format < self.format => Ok(Way::Migrate),
            _ => Ok(Way::Roll),
        }
    }

    /// May this version be started on data of `format` as it is? The refusal says what to do first.
    pub fn reads(&self, format: Format) -> Result<(), Failure> {
        let (version, have, reads) = (self.version, format.number(), self.format.number());
        match self.way_from(format)? {
            Way::Roll => Ok(()),
            Way::Migrate => Err(Failure::usage(format!(
                "the data has format {have}, and {version} reads format {reads}: run `example-app migrate --to {version}` first"
            ))),
        }
    }
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
