//! The shape of `alertmanager.yaml`: every key we know, what it holds, and the versions of Alertmanager that have it.
//!
//! Two walks go by these tables: `normal` brings a user's configuration into the form in which upstream writes
//! it, and `sanitize` cuts it down to a version. Keys that are not in the tables are newer than this program, or
//! meant for somebody else: both walks leave them alone.

mod chat;
mod checks;
mod client;
mod global;
mod incident;
mod message;
mod routing;

use rendering::{Gate, Map, Version, since};

use crate::invalid::Invalid;

pub(crate) use checks::SLACK_BOT_API;
pub(crate) use routing::CONFIGURATION;

/// A mapping of the configuration.
pub(crate) struct Section {
    pub(crate) keys: &'static [Key],
    /// What must hold, and which key gives way to which. The first list is gone through before keys are dropped for
    /// their version, the second after.
    pub(crate) before: &'static [Rule],
    pub(crate) after: &'static [Rule],
}

pub(crate) struct Key {
    pub(crate) name: &'static str,
    pub(crate) holds: Holds,
    pub(crate) gate: Gate,
    pub(crate) otherwise: Otherwise,
}

/// What a key holds, and when it is left out because it says nothing.
#[derive(Clone, Copy)]
pub(crate) enum Holds {
    /// Left out when empty.
    Text,
    /// Written even when it is empty.
    AlwaysText,
    /// A text, a number or a flag of which zero is not nothing.
    Given,
    /// The same, written as `null` when it is absent.
    GivenOrNull,
    /// Left out when it is not set.
    Switch,
    AlwaysSwitch,
    /// Left out when zero.
    Number,
    /// Left out when empty.
    Texts,
    AlwaysTexts,
    /// Names with texts; left out when empty.
    TextMap,
    /// Anything that is not empty.
    Anything,
    Duration,
    /// A duration that is kept as it is written.
    DurationText,
    /// The same; zero counts as absent.
    NonZeroDuration,
    Url,
    TemplateUrl,
    Section(&'static Section),
    /// A section that is left out when nothing is in it.
    FullSection(&'static Section),
    Sections(&'static Section),
    /// Spans of time, with names for months and weekdays.
    Spans,
}

/// What becomes of a key in a version that does not have it.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Otherwise {
    Drop,
    /// A flag that was set is written as not set.
    Unset,
    /// Without the key the configuration would mean something else.
    Refuse,
}

pub(crate) const fn key(name: &'static str, holds: Holds) -> Key {
    Key { name, holds, gate: Gate::Always, otherwise: Otherwise::Drop }
}

impl Key {
    /// Dropped from versions before this one.
    pub(crate) const fn since(mut self, release: &str) -> Self {
        self.gate = since(release);
        self
    }

    /// Unset in versions before this one.
    pub(crate) const fn set_since(mut self, release: &str) -> Self {
        self.gate = since(release);
        self.otherwise = Otherwise::Unset;
        self
    }

    /// Refused in versions before this one.
    pub(crate) const fn refused_before(mut self, release: &str) -> Self {
        self.gate = since(release);
        self.otherwise = Otherwise::Refuse;
        self
    }
}

/// What holds between the keys of a section. A key counts as given when it holds something.
#[derive(Clone, Copy)]
pub(crate) enum Rule {
    /// The second gives way to the first.
    Prefer(&'static str, &'static str),
    AnyOf(&'static [&'static str]),
    /// The same, for some versions only.
    AnyOfIn(Gate, &'static [&'static str]),
    AtMostOne(&'static [&'static str]),
    /// The second is of use only with the first.
    Needs(&'static str, &'static str),
    Among(&'static str, &'static [&'static str]),
    Check(fn(&mut Map, &Version) -> Result<(), Invalid>),
}
