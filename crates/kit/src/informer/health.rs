//! How an informer is doing, for /readyz, /debug and the logs.

use std::{collections::BTreeMap, fmt};

/// How far an informer has got. The worst of its namespaces counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// The server does not know the kind: its CustomResourceDefinition is not there (yet).
    MissingKind,
    /// The operator lacks the permission to list or watch.
    Forbidden,
    /// Nothing was listed yet.
    Starting,
    /// The first list is on its way.
    Syncing,
    /// The cache is complete and follows the server.
    Synced,
}

/// How an informer is doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Health {
    /// The worst state of all namespaces.
    pub state: State,
    /// What went wrong last, as long as it has not gone well since.
    pub last_error: Option<String>,
    /// Each namespace that is watched for itself (`""`: all at once).
    pub watches: BTreeMap<String, WatchHealth>,
}

/// How one watch is doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchHealth {
    /// How far it has got.
    pub state: State,
    /// The resourceVersion that it has seen; `0` before its first list, or if the server does not count.
    pub resource_version: u64,
    /// What went wrong last, as long as it has not gone well since.
    pub last_error: Option<String>,
}

impl fmt::Display for Health {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.state {
            State::MissingKind => {
                "the server does not know the kind: is its CustomResourceDefinition installed?"
            }
            State::Forbidden => "the operator may not list or watch it",
            State::Starting => "nothing was listed yet",
            State::Syncing => "the first list is on its way",
            State::Synced => "synced",
        })?;
        match &self.last_error {
            Some(error) => write!(f, " ({error})"),
            None => Ok(()),
        }
    }
}
