//! Why: the words in conditions and events. Most are etcd-core's; these are of carrying out.

use kit::Reason;

kit::reasons! {
    /// Whether what was decided could be carried out.
    pub enum Carried {
        /// Everything that was decided has been carried out.
        CarriedOut,
        /// Something could not be done; the message says what. It is tried again.
        ActFailed,
        /// An object of a name that is needed belongs to somebody else; the message names it. Delete it, or give the EtcdCluster
        /// another name. It is tried again.
        NotOurs,
    }
}

/// A word of etcd-core.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Word(pub(crate) etcd_core::Why);

impl Reason for Word {
    fn as_str(self) -> &'static str {
        self.0.as_str()
    }

    fn meaning(self) -> &'static str {
        self.0.meaning()
    }
}
