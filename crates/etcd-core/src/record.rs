//! The record of a restore: which one, how far it is, and what it must be able to take back. It is part of the latch, so that it
//! survives the status and every crash; what it says is on record before anything is done about it.
//!
//! ```text
//! Preparing ──> Stopping ──> Starting ──> Replaying ──> Growing ──> Completed
//!     │  (in place)  │           │            │
//!     │              └───────────┴────────────┴──> Returning ──┐
//!     └────────────────────────────────────────────────────────┴──> Failed
//! ```

use serde::{Deserialize, Serialize};

use crate::{ClusterId, Serial, Version};

/// The UID under which `spec.bootstrap.recovery` is on record.
pub const BOOTSTRAP: &str = "bootstrap";

/// A restore that is under way, or was the last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Record {
    /// The EtcdRestore; nothing for `spec.bootstrap.recovery`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its UID, or [`BOOTSTRAP`].
    pub uid: String,
    /// What the data comes from, in words.
    pub label: String,
    /// The member that the data is brought to.
    pub seed: Serial,
    /// The version of etcd that reads it first.
    pub version: Version,
    /// In place: what revisions are raised by, so that they end above those of the cluster before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bump: Option<i64>,
    /// Whether it goes on from the backup to a revision or a time.
    #[serde(default)]
    pub to_point: bool,
    /// The backup's name in the store, once the data is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backup: Option<String>,
    /// In place: the cluster before, from the moment on that its members are stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Before>,
    /// How far it is.
    pub stage: Stage,
}

/// The cluster whose data is replaced.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Before {
    /// Its ID.
    pub cluster_id: ClusterId,
    /// Its members.
    pub members: Vec<Serial>,
}

/// How far a restore is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "at")]
pub enum Stage {
    /// The data is fetched to a new volume; what runs is not touched.
    Preparing,
    /// The members that were are stopped. Their volumes stay.
    Stopping,
    /// The seed starts.
    Starting,
    /// What was written after the backup is written again. Clients are not let in yet.
    Replaying,
    /// The seed serves; the cluster grows from it.
    Growing,
    /// The seed is given up, and the members that were are started again.
    Returning {
        /// Why.
        why: String,
    },
    /// All members serve the restored data.
    Completed,
    /// It was given up. The cluster is as it was before.
    Failed {
        /// Why.
        why: String,
    },
}

impl Record {
    /// Whether it is about a cluster that existed before.
    pub fn is_in_place(&self) -> bool {
        self.uid != BOOTSTRAP
    }

    /// Whether nothing will be done for it any more.
    pub fn is_over(&self) -> bool {
        matches!(self.stage, Stage::Completed | Stage::Failed { .. })
    }

    /// Whether the seed may have been started.
    pub(crate) fn has_started(&self) -> bool {
        matches!(self.stage, Stage::Starting | Stage::Replaying | Stage::Growing)
    }

    /// The cluster that there is no more, as its data was replaced.
    pub(crate) fn given_up(&self) -> Option<ClusterId> {
        let before = self.before.as_ref()?.cluster_id;
        matches!(self.stage, Stage::Starting | Stage::Replaying | Stage::Growing | Stage::Completed)
            .then_some(before)
    }

    /// The cluster that is on its way back.
    pub(crate) fn returns_to(&self) -> Option<ClusterId> {
        let before = self.before.as_ref()?.cluster_id;
        matches!(self.stage, Stage::Returning { .. }).then_some(before)
    }
}
