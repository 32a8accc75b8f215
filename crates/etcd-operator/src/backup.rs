//! Backups: EtcdBackup (once) and EtcdBackupSchedule (at their times). Jobs do the work, with no access to Kubernetes; here they are
//! made, watched and reported.
//!
//! ```text
//! EtcdBackup ─────────> Job ─────────────────┐  capstan backup take: etcd ──> store
//! EtcdBackupSchedule ─> CronJob ─> Jobs ─────┤    GET /progress while it runs, its last words in the pod's status
//!                     └> Deployment: capture ┘  go on when the operator does not run
//! ```
//!
//! | file | what it knows |
//! |---|---|
//! | `once.rs`, `schedule.rs` | the two controllers: observe, decide (pure), report |
//! | `act.rs` | carries tasks out |
//! | `build.rs`, `place.rs`, `size.rs` | Jobs, CronJob, Deployment; the store as flags and volumes; what they ask for |
//! | `ended.rs` | what a Job said at its end |
//! | `secrets.rs` | whether the Secrets that a store needs are there, with their keys |
//! | `ask.rs` | how a running pod is asked how far it is |
//! | `names.rs`, `reasons.rs`, `metrics.rs` | labels, words, figures |

mod act;
pub(crate) mod ask;
mod build;
mod ended;
#[cfg(test)]
mod exposure;
mod metrics;
mod names;
mod once;
pub(crate) mod place;
mod reasons;
mod schedule;
mod secrets;
mod size;

use std::sync::Arc;

use etcd_types::{EtcdBackup, EtcdCluster};
use k8s_openapi::api::{
    batch::v1::Job,
    core::v1::{Pod, Secret, ServiceAccount},
};
use kit::{Informer, Key, Manager, Row, Select, Slim, Store};

pub use ask::{Ask, OverHttp};
pub use metrics::FAMILIES;
pub(crate) use names::WORKER;
pub use reasons::Why;

/// What both controllers look at.
#[derive(Clone)]
struct Caches {
    clusters: Store<EtcdCluster>,
    jobs: Store<Job>,
    pods: Store<Pod>,
    accounts: Store<ServiceAccount>,
    secrets: Arc<secrets::Secrets>,
}

/// What both controllers are told when they start.
#[derive(Clone)]
pub(crate) struct Around {
    pub(crate) clusters: Store<EtcdCluster>,
    pub(crate) backups: Store<EtcdBackup>,
    /// Metadata of all Secrets: whether one that is named is there.
    pub(crate) secrets: Store<Slim<Secret>>,
    /// The image of pods: ours.
    pub(crate) image: Arc<str>,
    pub(crate) ask: Arc<dyn Ask>,
}

/// Adds both controllers.
pub(crate) fn add_to(manager: &mut Manager, around: &Around) {
    let caches = Caches {
        clusters: around.clusters.clone(),
        jobs: manager.watch_indexed(ours(), by_owner),
        pods: manager.watch_indexed(ours(), by_owner),
        accounts: manager.watch(ours()),
        secrets: Arc::new(secrets::Secrets::new(around.secrets.clone())),
    };
    once::add_to(manager, &caches, around);
    schedule::add_to(manager, &caches, around);
}

fn ours() -> Select {
    Select::labels(names::OURS)
}

fn by_owner<R: Row>(informer: Informer<R>) -> Informer<R> {
    informer.index_by_label(names::BACKUP, names::BACKUP).index_by_label(names::SCHEDULE, names::SCHEDULE)
}

/// A field that cannot be carried out, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    field: String,
    why: String,
}

impl Refusal {
    fn new(field: impl Into<String>, why: impl Into<String>) -> Self {
        Self { field: field.into(), why: why.into() }
    }
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.field, self.why)
    }
}

/// The cluster `name` beside the object `key`.
fn cluster_of(clusters: &Store<EtcdCluster>, key: &Key, name: &str) -> Option<Arc<EtcdCluster>> {
    clusters
        .get(&Key::new(key.namespace(), name))
        .filter(|cluster| cluster.metadata.deletion_timestamp.is_none())
}
