//! Versions of etcd: which can follow which, and which are better avoided. Tables, read top-down, each row with its source.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// A version of etcd, such as `3.6.16`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Version {
    /// The minor that it belongs to.
    pub minor: Minor,
    /// The last number.
    pub patch: u32,
}

/// A line of versions, such as `3.6`: what upgrades move along.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Minor(pub u32, pub u32);

/// Text that is no version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no version such as 3.6.16")]
pub struct NoVersion(String);

/// A step from one minor to the next.
struct Path {
    from: Minor,
    to: Minor,
    /// Every member must have at least this patch of `from`.
    at_least: u32,
    because: &'static str,
    /// Whether every member must take a snapshot first, and the minor whose downgrade makes it do so. 3.5 writes v2 requests into
    /// the log; 3.6 understands them; 3.7 panics when it starts on a log that still has them ("unmarshal should never fail"). What is
    /// before a member's last snapshot is not read. Seen with 3.5.35, 3.6.16 and 3.7.3; etcd's upgrade guide does not say it.
    snapshot_by: Option<Minor>,
}

/// Which etcd can follow which; one minor at a time. Source: etcd's upgrade guides for 3.6 and 3.7.
const PATHS: &[Path] = &[
    Path {
        from: Minor(3, 5),
        to: Minor(3, 6),
        at_least: 32,
        because: "older ones leave learners and removed members in the v2 store, and 3.6 finds them again (etcd #19557, #20793, #20967)",
        snapshot_by: None,
    },
    Path {
        from: Minor(3, 6),
        to: Minor(3, 7),
        at_least: 11,
        because: "older ones refuse new members while one is down, and cannot be followed by 3.7",
        snapshot_by: Some(Minor(3, 5)),
    },
];

/// The minor by whose downgrade every member takes a snapshot, where one is needed before `from` is left for the next minor.
pub(crate) fn snapshot_by(from: Minor) -> Option<Minor> {
    PATHS.iter().find(|path| path.from == from)?.snapshot_by
}

/// The first patch of a minor that can be looked after.
struct Least {
    minor: Minor,
    patch: u32,
    because: &'static str,
}

/// Where that is not the first there is. Source: etcd's change log of 3.5.
const LEAST: &[Least] = &[Least {
    minor: Minor(3, 5),
    patch: 19,
    because: "before 3.5.11 nobody can ask a member whether it is ready, and before 3.5.19 a member without a vote says that it is",
}];

/// A fault that was fixed.
struct Fault {
    minor: Minor,
    /// Versions of this minor below this patch have it.
    fixed_in: u32,
    what: &'static str,
}

/// Versions that are better avoided. Source: etcd's change logs and security advisories.
const FAULTS: &[Fault] = &[
    Fault { minor: Minor(3, 5), fixed_in: 3, what: "members can end up with different data (etcd #13766)" },
    Fault {
        minor: Minor(3, 5),
        fixed_in: 23,
        what: "a defragmentation while a member catches up can corrupt it",
    },
    Fault {
        minor: Minor(3, 6),
        fixed_in: 5,
        what: "a defragmentation while a member catches up can corrupt it",
    },
    Fault {
        minor: Minor(3, 5),
        fixed_in: 28,
        what: "authentication can be bypassed (CVE-2026-33413, CVE-2026-33343)",
    },
    Fault {
        minor: Minor(3, 6),
        fixed_in: 9,
        what: "authentication can be bypassed (CVE-2026-33413, CVE-2026-33343)",
    },
    Fault {
        minor: Minor(3, 5),
        fixed_in: 33,
        what: "a watch shows keys that its user may not read (GHSA-xg4h)",
    },
    Fault {
        minor: Minor(3, 6),
        fixed_in: 14,
        what: "a watch shows keys that its user may not read (GHSA-xg4h)",
    },
    Fault {
        minor: Minor(3, 7),
        fixed_in: 1,
        what: "a watch shows keys that its user may not read (GHSA-xg4h)",
    },
];

/// How a cluster gets to a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// Within the minor that all members have, or back to it while not all have left it: member by member.
    Roll,
    /// To the next minor: member by member, behind a gate.
    Upgrade,
    /// To the minor before, which all members have left: etcd must be told first.
    Downgrade,
}

/// Why a cluster does not get to a version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoWay {
    /// Nothing is known about it.
    #[error("etcd {wanted} is not known to this operator. Set a version of {known}")]
    Unknown {
        /// What was asked for.
        wanted: Version,
        /// The minors that are known.
        known: String,
    },
    /// Too early a patch.
    #[error("etcd {wanted} cannot be looked after: {because}. Set {least} or later")]
    TooEarly {
        /// What was asked for.
        wanted: Version,
        /// The first that can be.
        least: Version,
        /// Why.
        because: &'static str,
    },
    /// Too far up.
    #[error("{wanted} cannot follow {from}: etcd moves one minor at a time. Set a {next} version first")]
    Skips {
        /// The lowest version there is.
        from: Version,
        /// What was asked for.
        wanted: Version,
        /// The minor to go to first.
        next: Minor,
    },
    /// The gate.
    #[error(
        "{wanted} cannot follow {from}: every member must run {least} or later first, as {because}. Set {least} or later first"
    )]
    TooOld {
        /// A version that some member has.
        from: Version,
        /// What was asked for.
        wanted: Version,
        /// What all must have.
        least: Version,
        /// Why.
        because: &'static str,
    },
    /// On the way between two others.
    #[error("{wanted} must wait: members run both {low} and {high}. Set one of the two first")]
    Between {
        /// What was asked for.
        wanted: Version,
        /// The lowest version there is.
        low: Version,
        /// The highest.
        high: Version,
    },
    /// Too far down.
    #[error(
        "there is no way back from {from} to {wanted}: etcd can be taken back one minor, to 3.5 at most. Restore a backup into a new EtcdCluster"
    )]
    NoReturn {
        /// What runs.
        from: Version,
        /// What was asked for.
        wanted: Version,
    },
}

/// How members of these versions get to `wanted`. Without members, any version that is known will do.
pub fn way(members: &[Version], wanted: Version) -> Result<Way, NoWay> {
    if !supported().any(|minor| minor == wanted.minor) {
        let known = supported().map(|minor| minor.to_string()).collect::<Vec<_>>().join(", ");
        return Err(NoWay::Unknown { wanted, known });
    }
    let early = LEAST.iter().find(|least| least.minor == wanted.minor && wanted.patch < least.patch);
    if let Some(Least { minor, patch, because }) = early.filter(|_| !members.contains(&wanted)) {
        let least = Version { minor: *minor, patch: *patch };
        return Err(NoWay::TooEarly { wanted, least, because });
    }
    let (Some(&low), Some(&high)) = (members.iter().min(), members.iter().max()) else {
        return Ok(Way::Roll);
    };
    if wanted.minor == low.minor {
        return Ok(Way::Roll);
    }
    if wanted.minor < low.minor {
        let one_below = low.minor == high.minor && before(low.minor) == Some(wanted.minor);
        return if one_below { Ok(Way::Downgrade) } else { Err(NoWay::NoReturn { from: high, wanted }) };
    }
    let Some(path) = PATHS.iter().find(|path| path.from == low.minor) else {
        return Err(NoWay::NoReturn { from: low, wanted });
    };
    if high.minor > wanted.minor || (high.minor != low.minor && wanted.minor != high.minor) {
        return Err(NoWay::Between { wanted, low, high });
    }
    if path.to != wanted.minor {
        return Err(NoWay::Skips { from: low, wanted, next: path.to });
    }
    let least = Version { minor: path.from, patch: path.at_least };
    if low < least {
        return Err(NoWay::TooOld { from: low, wanted, least, because: path.because });
    }
    Ok(Way::Upgrade)
}

/// What speaks against a version, if anything does; the newest patch that fixes it first.
pub fn faults(version: Version) -> Vec<String> {
    let mut known: Vec<&Fault> = FAULTS
        .iter()
        .filter(|fault| fault.minor == version.minor && version.patch < fault.fixed_in)
        .collect();
    known.sort_by_key(|fault| std::cmp::Reverse(fault.fixed_in));
    let sentence = |fault: &Fault| {
        format!("etcd {version}: {}; fixed in {}.{}", fault.what, fault.minor, fault.fixed_in)
    };
    known.into_iter().map(sentence).collect()
}

/// Every minor that some path begins or ends with.
fn supported() -> impl Iterator<Item = Minor> {
    PATHS.iter().take(1).map(|path| path.from).chain(PATHS.iter().map(|path| path.to))
}

/// The minor that `minor` can be taken back to by etcd's Downgrade: it exists since 3.6.
fn before(minor: Minor) -> Option<Minor> {
    PATHS.iter().find(|path| path.to == minor).map(|path| path.from)
}

impl FromStr for Version {
    type Err = NoVersion;

    fn from_str(text: &str) -> Result<Self, NoVersion> {
        let no = || NoVersion(text.to_owned());
        let mut numbers = text.split('.').map(|part| {
            let digits = !part.is_empty() && part.len() < 7 && part.bytes().all(|byte| byte.is_ascii_digit());
            if digits { part.parse::<u32>().map_err(|_| no()) } else { Err(no()) }
        });
        let mut next = || numbers.next().unwrap_or_else(|| Err(no()));
        let version = Self { minor: Minor(next()?, next()?), patch: next()? };
        if numbers.next().is_some() { Err(no()) } else { Ok(version) }
    }
}

impl TryFrom<String> for Version {
    type Error = NoVersion;

    fn try_from(text: String) -> Result<Self, NoVersion> {
        text.parse()
    }
}

impl From<Version> for String {
    fn from(version: Version) -> Self {
        version.to_string()
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.minor, self.patch)
    }
}

impl fmt::Display for Minor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    fn version(text: &str) -> Version {
        text.parse().unwrap()
    }

    #[test]
    fn versions_are_three_numbers() {
        for good in ["3.5.0", "3.6.16", "9.9.9"] {
            assert_eq!(version(good).to_string(), good);
        }
        for bad in
            ["", "3", "3.6", "v3.6.1", "3.6.1-rc.0", "3.6.1.2", "3..1", "3.6.99999999", "a.b.c", "3.6.-1"]
        {
            assert!(bad.parse::<Version>().is_err(), "{bad}");
        }
        assert!(version("3.6.9") < version("3.6.16"));
    }

    #[test]
    fn which_can_follow_which() {
        let cases: &[(&[&str], &str)] = &[
            (&[], "3.6.16"),
            (&[], "3.4.30"),
            (&[], "9.9.9"),
            (&[], "3.5.18"),
            (&["3.5.18", "3.5.35"], "3.5.18"),
            (&["3.5.35", "3.5.35"], "3.5.34"),
            (&["3.5.35", "3.5.35"], "3.6.16"),
            (&["3.5.35", "3.5.31"], "3.6.16"),
            (&["3.5.35", "3.6.16"], "3.6.16"),
            (&["3.5.35", "3.6.16"], "3.5.35"),
            (&["3.5.35", "3.6.16"], "3.7.3"),
            (&["3.5.35"], "3.7.3"),
            (&["3.6.10"], "3.7.3"),
            (&["3.6.16", "3.6.11"], "3.7.3"),
            (&["3.7.3"], "3.6.16"),
            (&["3.7.3"], "3.5.35"),
            (&["3.7.3", "3.6.16"], "3.5.35"),
            (&["3.5.35"], "3.4.30"),
        ];
        let told = cases.iter().map(|(members, wanted)| {
            let all: Vec<Version> = members.iter().map(|text| version(text)).collect();
            let answer =
                way(&all, version(wanted)).map_or_else(|error| error.to_string(), |way| format!("{way:?}"));
            format!("{} -> {wanted}: {answer}\n", members.join(" "))
        });
        expect![[r#"
             -> 3.6.16: Roll
             -> 3.4.30: etcd 3.4.30 is not known to this operator. Set a version of 3.5, 3.6, 3.7
             -> 9.9.9: etcd 9.9.9 is not known to this operator. Set a version of 3.5, 3.6, 3.7
             -> 3.5.18: etcd 3.5.18 cannot be looked after: before 3.5.11 nobody can ask a member whether it is ready, and before 3.5.19 a member without a vote says that it is. Set 3.5.19 or later
            3.5.18 3.5.35 -> 3.5.18: Roll
            3.5.35 3.5.35 -> 3.5.34: Roll
            3.5.35 3.5.35 -> 3.6.16: Upgrade
            3.5.35 3.5.31 -> 3.6.16: 3.6.16 cannot follow 3.5.31: every member must run 3.5.32 or later first, as older ones leave learners and removed members in the v2 store, and 3.6 finds them again (etcd #19557, #20793, #20967). Set 3.5.32 or later first
            3.5.35 3.6.16 -> 3.6.16: Upgrade
            3.5.35 3.6.16 -> 3.5.35: Roll
            3.5.35 3.6.16 -> 3.7.3: 3.7.3 must wait: members run both 3.5.35 and 3.6.16. Set one of the two first
            3.5.35 -> 3.7.3: 3.7.3 cannot follow 3.5.35: etcd moves one minor at a time. Set a 3.6 version first
            3.6.10 -> 3.7.3: 3.7.3 cannot follow 3.6.10: every member must run 3.6.11 or later first, as older ones refuse new members while one is down, and cannot be followed by 3.7. Set 3.6.11 or later first
            3.6.16 3.6.11 -> 3.7.3: Upgrade
            3.7.3 -> 3.6.16: Downgrade
            3.7.3 -> 3.5.35: there is no way back from 3.7.3 to 3.5.35: etcd can be taken back one minor, to 3.5 at most. Restore a backup into a new EtcdCluster
            3.7.3 3.6.16 -> 3.5.35: there is no way back from 3.7.3 to 3.5.35: etcd can be taken back one minor, to 3.5 at most. Restore a backup into a new EtcdCluster
            3.5.35 -> 3.4.30: etcd 3.4.30 is not known to this operator. Set a version of 3.5, 3.6, 3.7
        "#]]
        .assert_eq(&told.collect::<String>());
    }

    #[test]
    fn faults_are_named_with_their_fix() {
        assert_eq!(faults(version("3.5.35")), Vec::<String>::new());
        expect![[r#"
            etcd 3.5.1: a watch shows keys that its user may not read (GHSA-xg4h); fixed in 3.5.33
            etcd 3.5.1: authentication can be bypassed (CVE-2026-33413, CVE-2026-33343); fixed in 3.5.28
            etcd 3.5.1: a defragmentation while a member catches up can corrupt it; fixed in 3.5.23
            etcd 3.5.1: members can end up with different data (etcd #13766); fixed in 3.5.3"#]]
        .assert_eq(&faults(version("3.5.1")).join("\n"));
    }
}
