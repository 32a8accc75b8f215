//! Gates: in which versions of an operand a field exists. Each crate keeps its gates as tables of these.

use crate::version::{Release, Version};

/// The versions that know something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    Always,
    /// From this release on.
    Since(Release),
    /// From this release on, its candidates (`-rc.0`) included.
    SinceCandidates(Release),
    /// In releases before this one.
    Until(Release),
    /// In releases before this one, and not in its candidates.
    UntilCandidates(Release),
    /// From the first release on, and before the second.
    Between(Release, Release),
}

/// `since("2.45.0")`: from 2.45.0 on.
pub const fn since(release: &str) -> Gate {
    Gate::Since(Release::of(release))
}

/// `since_candidates("3.0.0")`: from the candidates of 3.0.0 on.
pub const fn since_candidates(release: &str) -> Gate {
    Gate::SinceCandidates(Release::of(release))
}

/// `until("3.0.0")`: in versions before 3.0.0.
pub const fn until(release: &str) -> Gate {
    Gate::Until(Release::of(release))
}

/// `until_candidates("3.0.0")`: in versions before the candidates of 3.0.0.
pub const fn until_candidates(release: &str) -> Gate {
    Gate::UntilCandidates(Release::of(release))
}

/// `between("2.45.0", "3.0.0")`: from 2.45.0 on and before 3.0.0.
pub const fn between(first: &str, end: &str) -> Gate {
    Gate::Between(Release::of(first), Release::of(end))
}

impl Gate {
    pub fn admits(self, version: &Version) -> bool {
        match self {
            Self::Always => true,
            Self::Since(first) => version.at_least(first),
            Self::SinceCandidates(first) => version.release() >= first,
            Self::Until(end) => !version.at_least(end),
            Self::UntilCandidates(end) => version.release() < end,
            Self::Between(first, end) => version.at_least(first) && !version.at_least(end),
        }
    }
}

/// Looks a gate up in a table. What a table does not name is not gated.
pub fn admits<K: PartialEq>(table: &[(K, Gate)], key: &K, version: &Version) -> bool {
    table.iter().find(|(name, _)| name == key).is_none_or(|(_, gate)| gate.admits(version))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &[(&str, Gate)] = &[
        ("scrape_protocols", since("2.49.0")),
        ("old", until("3.0.0")),
        ("while", between("2.50.0", "3.1.0")),
    ];

    #[test]
    fn a_table_says_which_versions_know_a_field() {
        let known = |field, version: &str| admits(TABLE, &field, &Version::parse(version).unwrap());
        assert!(!known("scrape_protocols", "2.48.9") && !known("scrape_protocols", "2.49.0-rc.0"));
        assert!(known("scrape_protocols", "2.49.0"));
        assert!(known("old", "2.99.0") && known("old", "3.0.0-rc.1") && !known("old", "3.0.0"));
        assert!(!known("while", "2.49.0") && known("while", "3.0.5") && !known("while", "3.1.0"));
        assert!(known("anything else", "0.1.0"));
    }
}
