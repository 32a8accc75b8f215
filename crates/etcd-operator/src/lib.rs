//! Runs etcd clusters, on the kit: observe, act and report. What to do is decided in `etcd-core`, which is pure.
//!
//! ```text
//! caches ──┐
//! members ─┴─observe──> Picture ──etcd_core::decide──> Plan ──act──> Services, Secrets, claims, StatefulSets; one step
//!    ▲                                                  └──report──> status, conditions, events, metrics
//!    └── a connection to each, kept open: its end is news (`etcd.rs`)
//! ```
//!
//! | file | what it knows |
//! |---|---|
//! | `backup.rs`, `backup/` | EtcdBackup and EtcdBackupSchedule |
//! | `operator.rs` | what is watched, and what the operator may do |
//! | `observe.rs`, `act.rs`, `report.rs` | the steps of a reconcile |
//! | `build/` | the objects of a cluster, one file each; pure |
//! | `tls.rs`, `tls/`, `certificates.rs`, `given.rs` | the CA of a cluster, its certificates, their renewal; those that users give |
//! | `etcd.rs` | connections to members |
//! | `restore.rs`, `recovery.rs` | EtcdRestore; where the data of a backup comes from |
//! | `outside.rs` | objects of kinds that may not exist: cert-manager's, the Prometheus operator's |
//! | `monitoring.rs`, `monitoring/` | alerts, dashboard, what to scrape |
//! | `names.rs`, `reasons.rs`, `metrics.rs`, `glimpse.rs` | labels, words, figures; what is kept of objects |
//!
//! Everything but volumes is owned by the EtcdCluster, so Kubernetes removes it, whether the operator runs or not.

mod act;
pub mod backup;
mod build;
mod certificates;
mod etcd;
mod given;
mod glimpse;
mod metrics;
pub mod monitoring;
mod names;
mod observe;
mod operator;
mod outside;
mod reasons;
mod recovery;
mod report;
mod restore;
mod tls;

pub use metrics::FAMILIES;
pub use observe::{Looked, look};
pub use operator::{Options, add_to};
pub use reasons::Carried;
pub use restore::Why as RestoreWhy;
pub use tls::certificate_of_root;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt as _;

/// The definition of the resource.
pub fn crd() -> CustomResourceDefinition {
    etcd_types::EtcdCluster::crd()
}
