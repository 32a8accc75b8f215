//! The certificates of a cluster: what there is, what is due, and how it is made.
//!
//! Invariants: a CA is created, never changed; as long as there are members, no other CA than theirs signs anything, be it lost or
//! replaced (they trust the one that they were started with), and a condition says so; a Secret of a deleted cluster of the same name is
//! not ours.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use etcd_types::{EtcdCluster, TlsMode};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Secret;
use kit::{Context, Error, Key, KindId, Result};
use kube::{Resource as _, ResourceExt as _};

use crate::{
    act::found,
    build, names,
    observe::Live,
    tls::{self, Authority, Due, Material, Names, Problem, Role, Validity},
};

/// The certificates of a cluster, as they are.
#[derive(Debug, Clone)]
pub(crate) struct Certificates {
    mode: TlsMode,
    names: Names,
    authority: Option<Result<Authority, Problem>>,
    /// There is a Secret of the CA's name that we do not see as ours.
    hidden: bool,
    leaves: Vec<Leaf>,
    /// Those without their owner, which an earlier cluster of this name left behind, or without their labels: good otherwise.
    adrift: Vec<Arc<Secret>>,
}

#[derive(Debug, Clone)]
struct Leaf {
    role: Role,
    secret: String,
    live: Option<Arc<Secret>>,
    material: Option<Material>,
    /// Whether it is good for what it is for, at the time it was read.
    judged: Result<Validity, Problem>,
}

/// Who trusts the CA already. etcd reads its trust once, at start: whoever runs refuses what another CA has signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trust {
    Nobody,
    Members,
}

impl Trust {
    /// A StatefulSet counts without its pod, which may come back at any moment; a pod without its StatefulSet still runs.
    pub(crate) fn of(live: &Live) -> Self {
        match live.stateful_sets.is_empty() && live.pods.is_empty() {
            true => Self::Nobody,
            false => Self::Members,
        }
    }
}

/// Something to do about them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Task {
    MakeAuthority,
    /// A Secret of its name is there that is not seen as ours: perhaps it has only lost its labels.
    LookForAuthority,
    Sign(Role, Due),
    TakeBack(String),
}

/// How they stand, for people and for decisions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Standing {
    /// When the first one ends, and the Secret that it is in.
    pub(crate) ends: Option<(Timestamp, String)>,
    /// What is wrong, if something is.
    pub(crate) problem: Option<String>,
}

impl Certificates {
    /// Reads and checks them; `get` finds a Secret of the cluster's namespace by its name, and `is_taken` tells whether there is one,
    /// whoever made it.
    fn read(
        cluster: &EtcdCluster,
        get: impl Fn(&str) -> Option<Arc<Secret>>,
        is_taken: impl Fn(&str) -> bool,
        now: Timestamp,
    ) -> Self {
        let mode = cluster.spec.tls.mode;
        let get = |name: &str| {
            let made_by_us = mode == TlsMode::SelfManaged;
            get(name).filter(|secret| !made_by_us || names::is_ours(cluster, &**secret))
        };
        let of_authority = get(&names::ca(&cluster.name_any())).filter(|_| mode == TlsMode::SelfManaged);
        let authority = of_authority.as_ref().map(|secret| Authority::of(secret));
        let ca =
            authority.as_ref().and_then(|authority| authority.as_ref().ok()).map(|it| it.certificate.clone());
        let names = names::of_certificates(cluster);
        let leaves = Role::ALL.into_iter().filter_map(|role| {
            let secret = tls::secret_name(&cluster.name_any(), &cluster.spec.tls, role)?;
            let live = get(&secret);
            let read = live
                .as_ref()
                .map_or_else(|| Err(Problem::NoSecret(secret.clone())), |live| Material::of(live));
            let judged = read.as_ref().map_err(Clone::clone).and_then(|material| match &ca {
                Some(ca) => tls::judge(role, material, ca, &names, now),
                None => tls::check(role, material, &names, now),
            });
            Some(Leaf { role, secret, live, material: read.ok(), judged })
        });
        let leaves: Vec<Leaf> = leaves.collect();
        let all = leaves.iter().filter_map(|leaf| leaf.live.as_ref()).chain(&of_authority);
        let is_whole =
            |secret: &Secret| names::is_owned(cluster, secret) && names::is_labelled(cluster, secret);
        let adrift = all.filter(|secret| !is_whole(secret)).cloned().collect();
        let hidden = of_authority.is_none() && is_taken(&names::ca(&names.cluster));
        Self { mode, names, authority, hidden, leaves, adrift }
    }

    /// What the operator connects with.
    pub(crate) fn of_operator(&self) -> Option<etcd_api::Tls> {
        let leaf = self.leaves.iter().find(|leaf| leaf.role == Role::Operator)?;
        let Material { ca, certificate, key } = leaf.material.as_ref()?;
        Some(etcd_api::Tls::new(ca.as_bytes(), certificate.as_bytes(), key.pem().as_bytes()))
    }

    /// What is to be done about them now.
    pub(crate) fn tasks(&self, trust: Trust, now: Timestamp) -> Vec<Task> {
        if self.mode != TlsMode::SelfManaged {
            return Vec::new();
        }
        let sign = |leaf: &Leaf, due| Task::Sign(leaf.role, due);
        match &self.authority {
            None if trust == Trust::Nobody && self.are_all_gone() => {
                let leaves = self.leaves.iter().map(|leaf| sign(leaf, Due::Missing));
                [Task::MakeAuthority].into_iter().chain(leaves).collect()
            }
            None if self.hidden => vec![Task::LookForAuthority],
            None | Some(Err(_)) => Vec::new(),
            Some(Ok(authority)) => {
                let trusted = trust == Trust::Nobody || !self.know_another_than(authority);
                let due = self.leaves.iter().filter(|_| trusted);
                let due = due.filter_map(|leaf| Some(sign(leaf, tls::due(&leaf.judged, now)?)));
                let left = self.adrift.iter().map(|secret| Task::TakeBack(secret.name_any()));
                left.chain(due).collect()
            }
        }
    }

    /// Whether every Secret that pods need is there when `tasks` are done.
    pub(crate) fn are_there(&self, tasks: &[Task]) -> bool {
        let signed = |role| tasks.iter().any(|task| matches!(task, Task::Sign(signed, _) if *signed == role));
        self.leaves.iter().all(|leaf| leaf.live.is_some() || signed(leaf.role))
    }

    fn are_all_gone(&self) -> bool {
        self.leaves.iter().all(|leaf| leaf.live.is_none())
    }

    /// Whether no leaf is of this CA: then it is not the one that they, and whoever was started with them, know. Where some are, the others
    /// were changed.
    fn know_another_than(&self, authority: &Authority) -> bool {
        let mut known = self.leaves.iter().filter_map(|leaf| leaf.material.as_ref()).peekable();
        known.peek().is_some() && known.all(|material| material.ca != authority.certificate)
    }

    /// Whether nothing is wrong with them. Time alone can mend what is wrong: a certificate that is not valid yet, say.
    fn are_good(&self) -> bool {
        let authority = match self.mode {
            TlsMode::SelfManaged => matches!(self.authority, Some(Ok(_))),
            TlsMode::Secrets | TlsMode::CertManager | TlsMode::Off => true,
        };
        authority && self.leaves.iter().all(|leaf| leaf.judged.is_ok())
    }

    /// How they stand.
    pub(crate) fn standing(&self, trust: Trust, now: Timestamp) -> Standing {
        let ends = self
            .leaves
            .iter()
            .filter_map(|leaf| Some((leaf.judged.as_ref().ok()?.until, leaf.secret.clone())));
        Standing { ends: ends.min(), problem: self.problem(trust, now) }
    }

    fn problem(&self, trust: Trust, now: Timestamp) -> Option<String> {
        if self.mode == TlsMode::SelfManaged {
            return self.problem_of_authority(trust);
        }
        self.leaves.iter().find_map(|leaf| match &leaf.judged {
            Ok(life) if now < life.until => None,
            Ok(life) => Some(format!("Secret {}: {}", leaf.secret, Problem::Expired(life.until))),
            Err(problem @ (Problem::NoSecret(_) | Problem::Missing { .. })) => Some(problem.to_string()),
            Err(problem) => Some(format!("Secret {}: {problem}", leaf.secret)),
        })
    }

    /// Whatever is wrong with a leaf of ours: it is signed anew, now, unless its CA is not to be had.
    fn problem_of_authority(&self, trust: Trust) -> Option<String> {
        let Names { cluster, namespace, .. } = &self.names;
        let ca = names::ca(cluster);
        let anew = format!(
            "Without one: set spec.paused; kubectl delete statefulset,secret -n {namespace} -l {}={cluster} (volumes stay); \
             unset spec.paused. Then all members start together, with a new CA",
            names::CLUSTER
        );
        let labels = names::labels(cluster);
        let labels =
            labels.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ");
        match &self.authority {
            None if self.hidden && trust == Trust::Members => Some(format!(
                "Secret {ca} is there and does not say that it is ours: if it holds the CA that the members trust, remove its owner if it \
                 has one, and kubectl label secret {ca} -n {namespace} --overwrite {labels}"
            )),
            None if !self.are_all_gone() => Some(format!(
                "Secret {ca} is gone: certificates cannot be renewed. Put it back from a backup. {anew}"
            )),
            None if trust == Trust::Members => Some(format!(
                "all certificates of {cluster} are gone, and its members trust no other CA than the one in Secret {ca}: put it back from \
                 a backup. {anew}"
            )),
            Some(Ok(authority)) if trust == Trust::Members && self.know_another_than(authority) => {
                Some(format!(
                    "Secret {ca} holds another CA than the one that the certificates of {cluster} are of, and that its members trust: \
                     nothing is signed. Put the former back from a backup. {anew}"
                ))
            }
            Some(Err(problem)) => Some(format!("Secret {ca}: {problem}. Put it back from a backup. {anew}")),
            None | Some(Ok(_)) => None,
        }
    }

    /// Carries `tasks` out. Nobody is restarted: etcd reads its leaf at every handshake.
    pub(crate) async fn act(&self, cx: &Context, cluster: &EtcdCluster, tasks: &[Task]) -> Result<()> {
        let mut authority = self.authority.clone().and_then(Result::ok);
        for task in tasks {
            match task {
                Task::MakeAuthority => {
                    let made = Authority::new(&self.names, cx.now()).map_err(Error::other)?;
                    let secret = build::secret(cluster, names::ca(&self.names.cluster), made.data());
                    create(cx, &secret).await?;
                    authority = Some(made);
                }
                Task::LookForAuthority => {
                    let secret = build::secret(cluster, names::ca(&self.names.cluster), BTreeMap::new());
                    if let Some(found) = found::get(cx, &secret).await? {
                        found::label_if_ours(cx, &secret, &found).await?;
                    }
                }
                Task::TakeBack(name) => {
                    let Some(live) = self.adrift.iter().find(|it| it.name_any() == *name) else {
                        continue;
                    };
                    let data = live.data.clone().unwrap_or_default();
                    cx.apply_exactly(&build::secret(cluster, name.clone(), data), live).await?;
                }
                Task::Sign(role, due) => {
                    let Some(authority) = &authority else { continue };
                    let Some(leaf) = self.leaves.iter().find(|leaf| leaf.role == *role) else { continue };
                    tracing::info!(secret = leaf.secret, ?due, "signing a certificate");
                    let made = authority.sign(*role, &self.names, cx.now()).map_err(Error::other)?;
                    let secret = build::secret(cluster, leaf.secret.clone(), made.data());
                    match &leaf.live {
                        Some(live) => drop(cx.apply_exactly(&secret, live).await?),
                        None => create(cx, &secret).await?,
                    }
                }
            }
        }
        Ok(())
    }
}

/// What was read of each cluster, if it is good: read again when a Secret or the spec has changed, not in every reconcile.
#[derive(Debug, Default)]
pub(crate) struct Read(Mutex<BTreeMap<Key, (State, Arc<Certificates>)>>);

/// The UID and generation of the cluster, and the versions of its Secrets.
type State = (Option<String>, Option<i64>, Vec<u64>);

impl Read {
    pub(crate) fn get(
        &self,
        cluster: &EtcdCluster,
        get: impl Fn(&str) -> Option<Arc<Secret>>,
        is_taken: impl Fn(&str) -> bool,
        now: Timestamp,
    ) -> Arc<Certificates> {
        let name = cluster.name_any();
        let leaves =
            Role::ALL.into_iter().filter_map(|role| tls::secret_name(&name, &cluster.spec.tls, role));
        let secrets = leaves.chain([names::ca(&name)]);
        let versions =
            secrets.map(|name| get(&name).map_or(0, |secret| kit::Row::resource_version(&*secret)));
        let state: State = (cluster.uid(), cluster.meta().generation, versions.collect());
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match all.get(&Key::of(cluster)) {
            Some((known, certificates)) if *known == state => certificates.clone(),
            _ => {
                let certificates = Arc::new(Certificates::read(cluster, get, is_taken, now));
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
