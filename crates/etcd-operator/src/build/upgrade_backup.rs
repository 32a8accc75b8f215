//! The EtcdBackup that is taken before members move to another version.
//!
//! Nobody owns it: what it tells of outlives the EtcdCluster.

use etcd_types::{BackupDeletionPolicy, BackupStore, EtcdBackup, EtcdBackupSpec, EtcdCluster};
use kube::ResourceExt as _;

use crate::names;

/// How long it may take.
const DEADLINE: &str = "1h";

pub(crate) fn upgrade_backup(cluster: &EtcdCluster, name: &str, store: &BackupStore) -> EtcdBackup {
    let spec = EtcdBackupSpec {
        cluster_name: cluster.name_any(),
        store: store.clone(),
        verify_by_restore: false,
        deadline: DEADLINE.to_owned(),
        deletion_policy: BackupDeletionPolicy::Retain,
    };
    EtcdBackup { metadata: names::meta(cluster, name.to_owned()), spec, status: None }
}
