//! Why an apply is refused, in kube-apiserver's words.

use std::collections::BTreeMap;

use super::managers::Id;
use crate::{ApiError, Cause};

/// A refused apply.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(crate) enum ApplyError {
    /// Others own fields that the intent would change, and it is not forced.
    #[error("{}", told(.0))]
    Conflicts(Vec<Conflict>),
    #[error("fieldManager: Required value: is required for apply patch")]
    NoManager,
    #[error("{0}")]
    BadRequest(String),
    /// The intent, or the live object's managedFields, cannot be read. Kubernetes answers 500 to that.
    #[error("{0}")]
    Unreadable(String),
}

/// A field that somebody else owns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Conflict {
    /// `"kubectl" using apps/v1`
    pub(crate) manager: String,
    /// `.spec.replicas`
    pub(crate) field: String,
    /// `conflict with "kubectl" using apps/v1`
    pub(crate) message: String,
}

impl Conflict {
    pub(crate) fn new(owner: &Id, field: String) -> Self {
        let manager = owner.told();
        Self { message: format!("conflict with {manager}"), manager, field }
    }
}

fn told(conflicts: &[Conflict]) -> String {
    if let [Conflict { field, message, .. }] = conflicts {
        return format!("Apply failed with 1 conflict: {message}: {field}");
    }
    let mut by_manager: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for Conflict { manager, field, .. } in conflicts {
        by_manager.entry(manager).or_default().push(format!("- {field}"));
    }
    let lines: Vec<String> = by_manager
        .into_iter()
        .map(|(manager, fields)| format!("conflicts with {manager}:\n{}", fields.join("\n")))
        .collect();
    format!("Apply failed with {} conflicts: {}", conflicts.len(), lines.join("\n"))
}

impl From<ApplyError> for ApiError {
    fn from(error: ApplyError) -> Self {
        let message = error.to_string();
        match error {
            ApplyError::Conflicts(conflicts) => {
                let mut refusal = Self::new(409, "Conflict", message);
                let cause = |c: Conflict| Cause::new("FieldManagerConflict", c.field, c.message);
                refusal.details.causes = conflicts.into_iter().map(cause).collect();
                refusal
            }
            ApplyError::NoManager => {
                let why = "Required value: is required for apply patch";
                let cause = Cause::new("FieldValueRequired", "fieldManager", why);
                Self::invalid("meta.k8s.io", "PatchOptions", "", vec![cause])
            }
            ApplyError::BadRequest(_) => Self::bad_request(message),
            ApplyError::Unreadable(_) => Self::new(500, "", message),
        }
    }
}
