//! What the objects of backups are called, and by which labels they are found.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{Resource, ResourceExt as _};

use crate::names::CLUSTER;

/// What pods of backups are, as the label `app.kubernetes.io/name` says it. They are no members: no Service, budget or rule that is about
/// members selects them.
pub(crate) const WORKER: &str = "etcd-backup";
/// Everything that belongs to some backup, for watches.
pub(super) const OURS: &str = "app.kubernetes.io/name=etcd-backup,app.kubernetes.io/managed-by=capstan";
/// The EtcdBackup's name, on its objects.
pub(super) const BACKUP: &str = "etcd.capstan.dev/backup";
/// The EtcdBackupSchedule's name, on its objects.
pub(super) const SCHEDULE: &str = "etcd.capstan.dev/schedule";
/// The UID of the very object that something was made for: another one of the same name is another one.
pub(super) const UID: &str = "etcd.capstan.dev/uid";
/// On Jobs: what they do.
pub(super) const COMPONENT: &str = "app.kubernetes.io/component";
/// Keeps an EtcdBackup as long as what is stored has to go with it.
pub(super) const FINALIZER: &str = "etcd.capstan.dev/stored";

/// What a Job does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Work {
    Take,
    Verify,
    Remove,
    Capture,
}

impl Work {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Take => "take",
            Self::Verify => "verify",
            Self::Remove => "remove",
            Self::Capture => "capture",
        }
    }
}

/// Whom something is made for.
pub(super) struct For<'a> {
    pub(super) namespace: Option<String>,
    pub(super) name: String,
    pub(super) uid: String,
    /// The label that has the name.
    pub(super) label: &'static str,
    pub(super) cluster: &'a str,
}

impl<'a> For<'a> {
    pub(super) fn of(owner: &impl Resource<DynamicType = ()>, label: &'static str, cluster: &'a str) -> Self {
        Self {
            namespace: owner.namespace(),
            name: owner.name_any(),
            uid: owner.uid().unwrap_or_default(),
            label,
            cluster,
        }
    }

    pub(super) fn labels(&self, work: Work) -> BTreeMap<String, String> {
        let labels = [
            ("app.kubernetes.io/name", WORKER),
            ("app.kubernetes.io/instance", &self.name),
            (COMPONENT, work.word()),
            ("app.kubernetes.io/managed-by", "capstan"),
            (CLUSTER, self.cluster),
            (self.label, &self.name),
            (UID, &self.uid),
        ];
        labels.map(|(label, value)| (label.to_owned(), value.to_owned())).into()
    }

    pub(super) fn meta(&self, name: String, work: Work) -> ObjectMeta {
        ObjectMeta {
            name: Some(name),
            namespace: self.namespace.clone(),
            labels: Some(self.labels(work)),
            ..ObjectMeta::default()
        }
    }

    /// The name and the beginning of the UID: in the store, and no other object's ever.
    pub(super) fn id(&self) -> String {
        format!("{}-{}", self.name, short(&self.uid))
    }
}

/// The beginning of a UID.
pub(super) fn short(uid: &str) -> &str {
    uid.get(..8).unwrap_or(uid)
}

/// The account that pods run as, unless the store names one.
pub(super) fn account(cluster: &str) -> String {
    format!("{cluster}-backup")
}

/// Whether `object` was made for the very owner with this UID, to do this.
pub(super) fn is_for(object: &impl Resource<DynamicType = ()>, uid: &str, work: Work) -> bool {
    let has = |label: &str, value: &str| object.labels().get(label).is_some_and(|it| it == value);
    has(UID, uid) && has(COMPONENT, work.word())
}
