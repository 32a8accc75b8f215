//! Where the data are, and which cases a developer wants to see.

use std::path::{Path, PathBuf};

const DIRECTORY: &str = "CAPSTAN_CONFORMANCE";
const ONLY: &str = "CAPSTAN_CONFORMANCE_ONLY";

/// The directory that holds `prometheus/` and `crds/`: `$CAPSTAN_CONFORMANCE`, or `shared/conformance` beside an ancestor of `from`.
#[must_use]
pub fn data(from: &str) -> Option<PathBuf> {
    if let Some(directory) = environment(DIRECTORY) {
        return Some(PathBuf::from(directory));
    }
    Path::new(from)
        .ancestors()
        .map(|above| above.join("shared/conformance"))
        .find(|candidate| candidate.is_dir())
}

/// Which cases to run, and whether to show what differs: `AREA`, or `AREA/part of a case's name`.
#[derive(Clone, Debug, Default)]
pub struct Only {
    area: Option<String>,
    case: Option<String>,
}

impl Only {
    #[must_use]
    pub fn new(area: Option<String>, case: Option<String>) -> Self {
        Self { area, case }
    }

    /// `CAPSTAN_CONFORMANCE_ONLY=rules` or `CAPSTAN_CONFORMANCE_ONLY=rules/generated/0012`.
    #[must_use]
    pub fn from_environment() -> Self {
        match environment(ONLY) {
            None => Self::default(),
            Some(text) => match text.split_once('/') {
                None => Self { area: Some(text), case: None },
                Some((area, case)) => Self { area: Some(area.to_owned()), case: Some(case.to_owned()) },
            },
        }
    }

    #[must_use]
    pub fn is_everything(&self) -> bool {
        self.area.is_none() && self.case.is_none()
    }

    #[must_use]
    pub fn takes(&self, area: &str, case: &str) -> bool {
        self.area.as_deref().is_none_or(|wanted| wanted == area)
            && self.case.as_deref().is_none_or(|wanted| case.contains(wanted))
    }
}

pub(crate) fn environment(name: &str) -> Option<String> {
    #[expect(
        clippy::disallowed_methods,
        reason = "a switch of a developer's test run, not a setting of the operator"
    )]
    std::env::var(name).ok().filter(|value| !value.is_empty())
}
