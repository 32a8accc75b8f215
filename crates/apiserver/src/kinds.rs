//! The kinds that the server knows: names, subresources, selectable fields, and the schema of each.

mod builtin;
mod defaults;
mod definitions;
mod lists;
pub(crate) mod quantity;
mod storage;
#[cfg(test)]
mod tests;
mod validate;

use std::sync::{Arc, OnceLock};

pub(crate) use definitions::object_meta;
pub(crate) use validate::validate_builtin;

use crate::schema::Schema;

/// A served kind in one version.
#[derive(Debug)]
pub struct Kind {
    pub group: String,
    pub version: String,
    pub kind: String,
    pub list_kind: String,
    pub plural: String,
    pub singular: String,
    pub short_names: Vec<String>,
    pub categories: Vec<String>,
    pub namespaced: bool,
    /// Has `/status`.
    pub status: bool,
    /// Has `/scale`.
    pub scale: Option<ScalePaths>,
    /// Field selectors besides `metadata.name` and `metadata.namespace`: label and JSON path, for example
    /// (`status.phase`, `.status.phase`).
    pub selectable: Vec<(String, String)>,
    pub generation: Generation,
    /// From a CustomResourceDefinition.
    pub custom: bool,
    /// The version that objects are stored in.
    pub storage: bool,
    pub schema: Arc<Schema>,
}

/// Where `/scale` reads and writes: JSON paths like `.spec.replicas`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScalePaths {
    pub spec_replicas: String,
    pub status_replicas: String,
    pub selector: Option<String>,
}

/// Whether `metadata.generation` counts, and what counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Generation {
    /// Never set: ConfigMap, Secret, Lease …
    None,
    OnSpecChange,
    /// Custom kinds: everything but metadata, and but status where it is a subresource.
    OnAnyChangeButMetaAndStatus,
}

impl Kind {
    /// `apps/v1`, or `v1` for the core group.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }

    /// The path of one object.
    pub fn path(&self, namespace: &str, name: &str) -> String {
        let root = if self.group.is_empty() { "/api" } else { "/apis" };
        let place = if self.namespaced { format!("/namespaces/{namespace}") } else { String::new() };
        format!("{root}/{}{place}/{}/{name}", self.api_version(), self.plural)
    }

    /// `deployments.apps`, or `pods` for the core group.
    pub fn resource(&self) -> String {
        if self.group.is_empty() { self.plural.clone() } else { format!("{}.{}", self.plural, self.group) }
    }
}

/// Every built-in kind, built once.
pub fn builtins() -> &'static [Arc<Kind>] {
    static KINDS: OnceLock<Vec<Arc<Kind>>> = OnceLock::new();
    KINDS.get_or_init(builtin::build)
}
