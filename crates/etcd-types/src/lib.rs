//! EtcdCluster as users write and read it: `etcd.capstan.dev/v1alpha1`.
//!
//! | file | what is in it |
//! |---|---|
//! | `cluster.rs` | the resource, its spec |
//! | `settings.rs` | etcd's own settings, storage, TLS |
//! | `pod.rs` | what surrounds etcd in its pods |
//! | `policy.rs` | what may be done, and when |
//! | `status.rs` | what is the case, and what is being done about it |
//!
//! What the schema can refuse it refuses (patterns, enums, CEL). The rest is refused in reconcile, by `etcd-core`, with a
//! condition that names the field; what runs stays as it is. Every field does something: one for which nothing is built yet is
//! not here.
#![expect(unreachable_pub, reason = "KubeSchema repeats the structs where nobody can reach them")]

mod cluster;
mod pod;
mod policy;
mod settings;
mod status;

pub use cluster::{EtcdCluster, EtcdClusterSpec};
pub use pod::{NetworkPolicyOptions, PodOptions};
pub use policy::{
    Bootstrap, DeletionPolicy, ExistingVolumes, Monitoring, Remediation, UpdateStrategy, UpdateType,
    VolumePolicy,
};
pub use settings::{
    AutoCompaction, CertManager, CompactionMode, CorruptionChecks, EtcdSettings, IssuerReference, LogLevel,
    Medium, Storage, Tls, TlsMode, TlsSecrets,
};
pub use status::{
    Connection, EtcdClusterStatus, MemberStatus, MoveLeaderStatus, Operation, OperationKind, Phase, Role,
    TlsStatus, VersionStatus,
};
