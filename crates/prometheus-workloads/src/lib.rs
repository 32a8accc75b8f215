//! StatefulSets and DaemonSets of the four workloads: Prometheus, PrometheusAgent, Alertmanager, ThanosRuler.
//!
//! ```text
//!                       gates (which version knows which argument)
//!                         │
//! resource ──▶ arguments ─┴─▶ containers ──▶ merge (the user's containers, by name) ──▶ pod ──▶ StatefulSet / DaemonSet
//!    │                            ▲                                                    ▲
//!    ├──▶ web_config, cluster_tls ┘ (a file, an argument, volumes, mounts)             │
//!    └──▶ metadata, storage ───────────────────────────────────────────────────────────┘
//! ```
//!
//! Invariant: names, labels, selectors, volumes, arguments and probes are those of prometheus-operator 0.94, so that a running
//! StatefulSet is adopted without a restart (`tests/conformance`). A file is a workload or a part that workloads share;
//! everything is a pure function of the resource, [`Operator`] and what the reconciler knows besides ([`Given`]).

mod arguments;
mod cluster_tls;
mod gates;
mod image;
mod merge;
mod metadata;
mod names;
mod operator;
mod path;
mod pod;
mod probe;
mod reloader;
mod statefulset;
mod storage;
mod tls_mounts;
mod volume;
mod web_config;

pub mod alertmanager;
pub mod conformance;
pub mod prometheus;
pub mod thanos_ruler;

pub use arguments::Conflict;
pub use cluster_tls::{ClusterTls, InvalidClusterTls};
pub use gates::{
    ALERTMANAGER, DEFAULT_ALERTMANAGER, DEFAULT_PROMETHEUS, DEFAULT_THANOS, Gates, Known, PROMETHEUS,
    THANOS_RULER, THANOS_SIDECAR,
};
pub use image::ImageError;
pub use merge::{MergeError, merge_containers};
pub use names::NameError;
pub use operator::{Given, Operator, ReloaderConfig};
pub use storage::manifest;
pub use web_config::WebConfig;

/// Why a workload cannot be built. The resource's namespace and name are known to whoever asked.
#[derive(Debug, thiserror::Error)]
pub enum WorkloadError {
    #[error("spec.{field}: {source}")]
    Version { field: &'static str, source: rendering::VersionError },
    #[error("spec.version {0} is neither Prometheus 2 nor 3: set a version of one of them")]
    Major(rendering::Version),
    #[error("spec.{field}: {source}")]
    Image { field: &'static str, source: ImageError },
    #[error("spec.{field}: {source}")]
    Arguments { field: &'static str, source: Conflict },
    #[error("spec.web.tlsConfig: {0}")]
    Web(#[from] tls_assets::InvalidTls),
    #[error("spec.clusterTLS: {0}")]
    ClusterTls(#[from] InvalidClusterTls),
    #[error("spec.{field}: {source}")]
    Name { field: &'static str, source: NameError },
    #[error("spec.{field}: {source}")]
    Containers { field: &'static str, source: MergeError },
    #[error(
        "spec.queryEndpoints and spec.queryConfig are both missing: a ruler must know whom to query, set one of them"
    )]
    NoQuery,
}
