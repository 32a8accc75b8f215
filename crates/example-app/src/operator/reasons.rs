//! Why: the words in conditions and events, each with its meaning.

kit::reasons! {
    /// The reasons of conditions and events.
    pub enum Why {
        /// All pods serve.
        AllReady,
        /// Pods are missing; the message says what they wait for.
        NotReady,
        /// Nothing is being changed.
        Settled,
        /// An operation is being carried out; status.operation has its step.
        Operating,
        /// Pods are being replaced or added.
        RollingOut,
        /// The spec can be carried out.
        Valid,
        /// A field of the spec cannot be carried out; the message names it, and what to set instead. What runs stays as it is.
        Refused,
        /// An object of this name belongs to somebody else; set spec.takeOwnership, or rename one of the two.
        NotOurs,
        /// Nothing is wrong.
        Healthy,
        /// The data is corrupt; the message says how to get a backup back.
        DataCorrupt,
        /// An upgrade failed, and the version before runs again.
        UpgradeFailed,
        /// A restore failed; the data is what it was.
        RestoreFailed,
        /// Something could not be done; it is tried again.
        ActFailed,
        /// The last backup is in the store.
        BackupDone,
        /// The last backup failed; the message has what the store said.
        BackupFailed,
        /// There has been no backup yet.
        NoBackupYet,
        /// An operation begins.
        Began,
        /// An operation has ended well.
        Succeeded,
        /// An operation is being undone, or was given up.
        Undone,
    }
}
