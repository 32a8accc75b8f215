//! EtcdCluster and the kinds around it, as users write and read them: `etcd.capstan.dev/v1alpha1`.
//!
//! | file | what is in it |
//! |---|---|
//! | `cluster.rs` | the resource, its spec |
//! | `settings.rs` | etcd's own settings, storage, TLS |
//! | `pod.rs` | what surrounds etcd in its pods |
//! | `policy.rs` | what may be done, and when |
//! | `patterns.rs` | what times and sizes may look like |
//! | `status.rs` | what is the case, and what is being done about it |
//! | `backup.rs` | EtcdBackup, and the store that backups are kept in |
//! | `schedule.rs` | EtcdBackupSchedule |
//! | `restore.rs` | EtcdRestore, and where the data of a backup comes from |
//!
//! What the schema can refuse it refuses (patterns, enums, CEL). The rest is refused in reconcile, by `etcd-core`, with a
//! condition that names the field; what runs stays as it is. Every field does something: one for which nothing is built yet is
//! not here.
#![expect(unreachable_pub, reason = "KubeSchema repeats the structs where nobody can reach them")]

mod backup;
mod cluster;
mod patterns;
mod pod;
mod policy;
mod restore;
mod schedule;
mod settings;
mod status;
#[cfg(test)]
mod testing;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt as _;

pub use backup::{
    BackupDeletionPolicy, BackupPhase, BackupProgress, BackupStore, EtcdBackup, EtcdBackupSpec,
    EtcdBackupStatus, SecretKey, SecretName, Verified,
};
pub use cluster::{EtcdCluster, EtcdClusterSpec};
pub use pod::{NetworkPolicyOptions, PodOptions};
pub use policy::{
    Bootstrap, DeletionPolicy, ExistingVolumes, Monitoring, Remediation, UpdateStrategy, UpdateType,
    VolumePolicy,
};
pub use restore::{
    ClusterRestoreStatus, EtcdRestore, EtcdRestoreSpec, EtcdRestoreStatus, RecoverySource, RestorePhase,
};
pub use schedule::{
    Capture, ConcurrencyPolicy, EtcdBackupSchedule, EtcdBackupScheduleSpec, EtcdBackupScheduleStatus,
    LastFailure, LastSuccess, Point, Recoverable, Retention, SchedulePhase,
};
pub use settings::{
    AutoCompaction, CertManager, CompactionMode, CorruptionChecks, EtcdSettings, IssuerReference, LogLevel,
    Medium, Storage, Tls, TlsMode, TlsSecrets,
};
pub use status::{
    Connection, EtcdClusterStatus, MemberStatus, MoveLeaderStatus, Operation, OperationKind, Phase, Role,
    TlsStatus, VersionStatus,
};

/// The definitions of all kinds.
pub fn definitions() -> Vec<CustomResourceDefinition> {
    vec![EtcdCluster::crd(), EtcdBackup::crd(), EtcdBackupSchedule::crd(), EtcdRestore::crd()]
}
