//! The certificates of a cluster: what there is, what is due, and how it is made.
//!
//! ```text
//! SelfManaged            a CA of the cluster's own ──signs──┐
//! Secrets, CertManager   Secrets of others ──check──copy────┴──> db-server-tls, db-peer-tls, db-client-tls, db-operator-tls
//! ```
//!
//! Invariants: members, Jobs and the operator use Secrets that the operator has written, and nothing else; while there are members, the CAs
//! in them do not change, because members trust the ones that they were started with; a Secret of a deleted cluster of the same name is
//! not ours.

mod copied;
mod own;
mod review;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, PoisonError},
};

use etcd_types::{EtcdCluster, TlsMode};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Secret;
use kit::{Context, Error, Key, KindId, Result};
use kube::{Resource as _, ResourceExt as _};

use crate::{
    act::found,
    names,
    observe::Live,
    tls::{self, Due, Material, Role},
};
use copied::Copied;
use own::Own;

/// The certificates of a cluster, as they are.
#[derive(Debug, Clone)]
pub(crate) enum Certificates {
    /// Without TLS.
    None,
    /// Mode SelfManaged.
    Own(Own),
    /// Modes Secrets and CertManager.
    Copied(Copied),
}

/// Which CAs running members trust. etcd reads them once, at start: it rejects what another CA has signed until it is restarted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Trust {
    /// There are no members.
    Nobody,
    /// There are members.
    Members(Recorded),
}

/// What is recorded about the trust of members, on their StatefulSets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Recorded {
    /// The CAs of clients: [`tls::Anchors::record`] of each StatefulSet that has one.
    pub(crate) client: BTreeSet<String>,
    /// The CAs of peers.
    pub(crate) peer: BTreeSet<String>,
    /// There are StatefulSets, and none has a record: they were made before trust was recorded.
    pub(crate) by_none: bool,
}

impl Trust {
    /// A StatefulSet counts without its pod, which may come back at any moment; a pod without its StatefulSet still runs.
    pub(crate) fn of(live: &Live) -> Self {
        if live.stateful_sets.is_empty() && live.pods.is_empty() {
            return Self::Nobody;
        }
        let recorded = |name: &str| -> BTreeSet<String> {
            let sets = live.stateful_sets.values();
            let templates = sets.filter_map(|set| set.spec.template.metadata.as_ref()?.annotations.as_ref());
            templates.filter_map(|annotations| annotations.get(name).cloned()).collect()
        };
        let (client, peer) = (recorded(names::CLIENT_TRUST), recorded(names::PEER_TRUST));
        let by_none = !live.stateful_sets.is_empty() && client.is_empty() && peer.is_empty();
        Self::Members(Recorded { client, peer, by_none })
    }
}

/// Something to do about them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Task {
    MakeAuthority,
    /// A Secret of its name is there that is not seen as ours: perhaps it has only lost its labels.
    LookForAuthority,
    Sign(Role, Due),
    /// Copies what a user or cert-manager has provided for a role, which was checked.
    Copy(Role),
    TakeBack(String),
}

/// How they stand, for people and for decisions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Standing {
    /// When the first one ends, and the Secret that it is in.
    pub(crate) ends: Option<(Timestamp, String)>,
    /// Why no member can be started, if none can.
    pub(crate) problem: Option<String>,
    /// What was provided and is not used, while members go on with what they have.
    pub(crate) held: Vec<String>,
}

/// Where Secrets are found, by name, in the cluster's namespace.
pub(crate) struct Sources<'a> {
    /// Those that the operator has made.
    pub(crate) own: &'a dyn Fn(&str) -> Option<Arc<Secret>>,
    /// Those that users or cert-manager provide.
    pub(crate) given: &'a BTreeMap<String, Arc<Secret>>,
    /// Whether there is one of this name, whoever made it.
    pub(crate) is_taken: &'a dyn Fn(&str) -> bool,
}

impl Certificates {
    /// Reads and checks them.
    fn read(cluster: &EtcdCluster, sources: &Sources<'_>, trust: &Trust, now: Timestamp) -> Self {
        match cluster.spec.tls.mode {
            TlsMode::Off => Self::None,
            TlsMode::SelfManaged => Self::Own(Own::read(cluster, sources.own, sources.is_taken, now)),
            TlsMode::Secrets | TlsMode::CertManager => {
                Self::Copied(Copied::read(cluster, sources, trust, now))
            }
        }
    }

    /// What the operator connects with.
    pub(crate) fn of_operator(&self) -> Option<etcd_api::Tls> {
        let material = match self {
            Self::None => None,
            Self::Own(own) => own.of_operator(),
            Self::Copied(copied) => copied.of_operator(),
        };
        let Material { ca, certificate, key } = material?;
        Some(etcd_api::Tls::new(ca.as_bytes(), certificate.as_bytes(), key.pem().as_bytes()))
    }

    /// What is to be done about them now.
    pub(crate) fn tasks(&self, trust: &Trust, now: Timestamp) -> Vec<Task> {
        match self {
            Self::None => Vec::new(),
            Self::Own(own) => own.tasks(trust, now),
            Self::Copied(copied) => copied.tasks(),
        }
    }

    /// Whether every Secret that pods need is there when `tasks` are done.
    pub(crate) fn are_there(&self, tasks: &[Task]) -> bool {
        match self {
            Self::None => true,
            Self::Own(own) => own.are_there(tasks),
            Self::Copied(copied) => copied.are_there(),
        }
    }

    /// How they stand.
    pub(crate) fn standing(&self, trust: &Trust, now: Timestamp) -> Standing {
        match self {
            Self::None => Standing::default(),
            Self::Own(own) => own.standing(trust),
            Self::Copied(copied) => copied.standing(now),
        }
    }

    /// What the pods of members carry about the CAs that they are started with, as annotations.
    pub(crate) fn record(&self) -> BTreeMap<String, String> {
        match self {
            Self::None | Self::Own(_) => BTreeMap::new(),
            Self::Copied(copied) => copied.record(),
        }
    }

    /// Whether nothing is wrong with them, so that they need not be read again before something changes.
    fn are_good(&self) -> bool {
        match self {
            Self::None => true,
            Self::Own(own) => own.are_good(),
            Self::Copied(copied) => copied.are_good(),
        }
    }

    /// Carries `tasks` out. Nothing is restarted: etcd reads its leaf at every handshake.
    pub(crate) async fn act(&self, cx: &Context, cluster: &EtcdCluster, tasks: &[Task]) -> Result<()> {
        match self {
            Self::None => Ok(()),
            Self::Own(own) => own.act(cx, cluster, tasks).await,
            Self::Copied(copied) => copied.act(cx, cluster, tasks).await,
        }
    }
}

/// How a cluster gets another CA today: all members are stopped for it.
fn with_a_new_ca(namespace: &str, cluster: &str) -> String {
    format!(
        "set spec.paused; kubectl delete statefulset,secret -n {namespace} -l {}={cluster} (volumes stay); unset spec.paused. Then all \
         members start together, with a new CA",
        names::CLUSTER
    )
}

/// What was read of each cluster, if it is good: read again when a Secret or the spec has changed, not in every reconcile.
#[derive(Debug, Default)]
pub(crate) struct Read(Mutex<BTreeMap<Key, (State, Arc<Certificates>)>>);

/// The UID and generation of the cluster, the versions of its Secrets, and whom its members trust.
type State = (Option<String>, Option<i64>, Vec<u64>, Trust);

impl Read {
    pub(crate) fn get(
        &self,
        cluster: &EtcdCluster,
        sources: &Sources<'_>,
        trust: &Trust,
        now: Timestamp,
    ) -> Arc<Certificates> {
        let (name, tls) = (cluster.name_any(), &cluster.spec.tls);
        let version =
            |secret: Option<Arc<Secret>>| secret.map_or(0, |secret| kit::Row::resource_version(&*secret));
        let own = Role::ALL.into_iter().filter_map(|role| tls::secret_name(&name, tls, role));
        let own = own.chain([names::ca(&name)]).map(|name| version((sources.own)(&name)));
        let given = Role::ALL.into_iter().filter_map(|role| tls::input(&name, tls, role));
        let given = given.map(|name| version(sources.given.get(&name).cloned()));
        let state: State =
            (cluster.uid(), cluster.meta().generation, own.chain(given).collect(), trust.clone());
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match all.get(&Key::of(cluster)) {
            Some((known, certificates)) if *known == state => certificates.clone(),
            _ => {
                let certificates = Arc::new(Certificates::read(cluster, sources, trust, now));
                match certificates.are_good() {
                    true => all.insert(Key::of(cluster), (state, certificates.clone())),
                    false => all.remove(&Key::of(cluster)),
                };
                certificates
            }
        }
    }

    pub(crate) fn forget(&self, key: &Key) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
    }
}

/// One that is there already is somebody else's, or was made by an operator before us, and the cache has not seen it yet: then what
/// we made is forgotten.
async fn create(cx: &Context, secret: &Secret) -> Result<()> {
    if cx.create(secret).await? {
        return Ok(());
    }
    Err(match found::get(cx, secret).await? {
        Some(found) => found::instead(cx, secret, &found).await,
        None => Error::Stale { kind: Box::new(KindId::of::<Secret>()), key: Key::of(secret) },
    })
}

#[cfg(test)]
mod tests;
