//! The checks before a resource is used: references exist and hold what they should, settings fit together and fit the
//! version. Each refusal names the field and what to do.

pub(crate) mod address;
pub(crate) mod discovery;
pub(crate) mod label_syntax;
pub(crate) mod monitors;
pub(crate) mod references;
pub(crate) mod relabel;
pub(crate) mod remote_write;
pub(crate) mod scrape_config;
pub(crate) mod timing;
pub(crate) mod workload;

use std::fmt;

use prometheus_types::prometheus::server_and_agent::CommonPrometheusFields;
use prometheus_types::validity::client::InvalidClient;
use rendering::{Assets, Version};

use crate::context::{Unusable, Workload};
use crate::gates::{Field, Known};

pub use references::TlsFiles;
pub use relabel::check_relabeling;
pub use remote_write::check_remote_write;

/// Why a resource is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {why}")]
pub struct Rejected {
    pub field: String,
    pub why: String,
}

impl Rejected {
    pub fn new(field: impl Into<String>, why: impl fmt::Display) -> Self {
        Self { field: field.into(), why: why.to_string() }
    }

    /// The same, with the path of the field's parent before it.
    pub(crate) fn within(mut self, parent: &str) -> Self {
        self.field = format!("{parent}.{}", self.field);
        self
    }
}

impl From<InvalidClient> for Rejected {
    fn from(InvalidClient { field, why }: InvalidClient) -> Self {
        Self { field, why }
    }
}

/// Checks what one workload selects.
#[derive(Debug)]
pub struct Checker<'a> {
    pub(crate) known: Known,
    pub(crate) common: &'a CommonPrometheusFields,
    pub(crate) assets: &'a Assets,
}

impl<'a> Checker<'a> {
    pub fn new(workload: Workload<'a>, assets: &'a Assets) -> Result<Self, Unusable> {
        let version: Version = workload.version()?;
        Ok(Self { known: Known::by(&version), common: workload.common(), assets })
    }

    /// Refuses a field that the version does not know.
    pub(crate) fn needs(&self, field: Field, path: &str) -> Result<(), Rejected> {
        needs(&self.known, field, path)
    }

    /// A monitor may only name a class that exists.
    pub(crate) fn check_class(&self, class: Option<&str>) -> Result<(), Rejected> {
        match class {
            Some(name)
                if !name.is_empty() && !self.common.scrape_classes.iter().any(|class| class.name == name) =>
            {
                let why = format!(
                    "the workload has no scrape class {name:?}; add it to its scrapeClasses or name another"
                );
                Err(Rejected::new("scrapeClass", why))
            }
            _ => Ok(()),
        }
    }
}

pub(crate) fn needs(known: &Known, field: Field, path: &str) -> Result<(), Rejected> {
    if known.has(field) {
        return Ok(());
    }
    let why = match field.gate() {
        rendering::Gate::Since(first) | rendering::Gate::SinceCandidates(first) => {
            format!("{} needs Prometheus {first}; raise spec.version or remove it", field.key())
        }
        _ => format!("{} is not known to this version of Prometheus; remove it", field.key()),
    };
    Err(Rejected::new(path, why))
}
