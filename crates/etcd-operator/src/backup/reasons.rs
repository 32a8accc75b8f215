//! Why: the words in conditions and events of backups.

kit::reasons! {
    /// The reasons of conditions and events of EtcdBackup and EtcdBackupSchedule.
    pub enum Why {
        /// The spec can be carried out.
        Valid,
        /// A field of the spec cannot be carried out; the message names it, and what to do. Nothing was begun.
        Refused,
        /// The cluster is not there, or does not serve yet.
        NoCluster,
        /// It is under way.
        Running,
        /// The backup is in the store, read back and found whole.
        Stored,
        /// The backup will not be there; the message says why. Create another one when that is mended.
        BackupFailed,
        /// A restored etcd has what the manifest says.
        Verified,
        /// A restored etcd does not have what the manifest says, or could not be made; the message says why.
        NotVerified,
        /// What was stored is gone, as spec.deletionPolicy asks for.
        Removed,
        /// What was stored could not be removed; the message says why. It is tried again; set spec.deletionPolicy to Retain to let the
        /// object go.
        NotRemoved,
        /// Backups come at their times.
        OnTime,
        /// There has been no backup yet.
        NoBackupYet,
        /// Backups should have been there, and are not.
        Missed,
        /// The user asked for no more backups.
        Suspended,
        /// What is written between backups is kept.
        Captured,
        /// What is written between backups is not kept at the moment; the message says why.
        NotCaptured,
        /// What the retention does not want any more is gone.
        Retained,
        /// Older backups could not be removed; the message says why.
        NotRetained,
        /// Something could not be done; the message says what. It is tried again.
        ActFailed,
        /// An object of a name that is needed belongs to somebody else; the message names it.
        NotOurs,
    }
}
