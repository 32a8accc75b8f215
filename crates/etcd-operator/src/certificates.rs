//! The certificates of a cluster: what there is, what is due, and how it is made.
//!
//! Invariants: a CA is created, never changed; when it is lost nothing new is signed (members trust the old one until they restart)
//! and a condition says so; a Secret of a deleted cluster of the same name is not ours.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use etcd_types::{EtcdCluster, TlsMode};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Secret;
use kit::{Context, Error, Key, KindId, Result};
use kube::{Api, Resource as _, ResourceExt as _};

use crate::{
    act, build, names,
    tls::{self, Authority, Due, Material, Names, Problem, Role, Validity},
};

/// The certificates of a cluster, as they are.
#[derive(Debug, Clone)]
pub(crate) struct Certificates {
    mode: TlsMode,
    names: Names,
    authority: Option<Result<Authority, Problem>>,
    leaves: Vec<Leaf>,
    /// Those that an earlier cluster of this name left behind: good, and without an owner.
    left_behind: Vec<Arc<Secret>>,
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

/// Something to do about them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Task {
    MakeAuthority,
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
    /// Reads and checks them; `get` finds a Secret of the cluster's namespace by its name.
    fn read(cluster: &EtcdCluster, get: impl Fn(&str) -> Option<Arc<Secret>>, now: Timestamp) -> Self {
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
        let left_behind = all.filter(|secret| !names::is_owned(cluster, &***secret)).cloned().collect();
        Self { mode, names, authority, leaves, left_behind }
    }

    /// What the operator connects with.
    pub(crate) fn of_operator(&self) -> Option<etcd_api::Tls> {
        let leaf = self.leaves.iter().find(|leaf| leaf.role == Role::Operator)?;
        let Material { ca, certificate, key } = leaf.material.as_ref()?;
        Some(etcd_api::Tls::new(ca.as_bytes(), certificate.as_bytes(), key.pem().as_bytes()))
    }

    /// What is to be done about them now.
    pub(crate) fn tasks(&self, now: Timestamp) -> Vec<Task> {
        if self.mode != TlsMode::SelfManaged {
            return Vec::new();
        }
        let sign = |leaf: &Leaf, due| Task::Sign(leaf.role, due);
        match &self.authority {
            None if self.leaves.iter().all(|leaf| leaf.live.is_none()) => {
                let leaves = self.leaves.iter().map(|leaf| sign(leaf, Due::Missing));
                [Task::MakeAuthority].into_iter().chain(leaves).collect()
            }
            None | Some(Err(_)) => Vec::new(),
            Some(Ok(_)) => {
                let due =
                    self.leaves.iter().filter_map(|leaf| Some(sign(leaf, tls::due(&leaf.judged, now)?)));
                let left = self.left_behind.iter().map(|secret| Task::TakeBack(secret.name_any()));
                left.chain(due).collect()
            }
        }
    }

    /// How they stand.
    pub(crate) fn standing(&self, now: Timestamp) -> Standing {
        let ends = self
            .leaves
            .iter()
            .filter_map(|leaf| Some((leaf.judged.as_ref().ok()?.until, leaf.secret.clone())));
        Standing { ends: ends.min(), problem: self.problem(now) }
    }

    fn problem(&self, now: Timestamp) -> Option<String> {
        let started = self.leaves.iter().any(|leaf| leaf.live.is_some());
        match (&self.authority, self.mode) {
            (None, TlsMode::SelfManaged) if started => {
                return Some(format!(
                    "Secret {}-ca is gone: certificates cannot be renewed. Put it back from a backup",
                    self.names.cluster
                ));
            }
            (Some(Err(problem)), _) => return Some(format!("Secret {}-ca: {problem}", self.names.cluster)),
            // Whatever is wrong with a leaf: it is signed anew, now.
            (_, TlsMode::SelfManaged) => return None,
            _ => {}
        }
        self.leaves.iter().find_map(|leaf| match &leaf.judged {
            Ok(life) if now < life.until => None,
            Ok(life) => Some(format!("Secret {}: {}", leaf.secret, Problem::Expired(life.until))),
            Err(problem @ (Problem::NoSecret(_) | Problem::Missing { .. })) => Some(problem.to_string()),
            Err(problem) => Some(format!("Secret {}: {problem}", leaf.secret)),
        })
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
                Task::TakeBack(name) => {
                    let Some(live) = self.left_behind.iter().find(|it| it.name_any() == *name) else {
                        continue;
                    };
                    let data = live.data.clone().unwrap_or_default();
                    cx.apply(&build::secret(cluster, name.clone(), data), Some(live)).await?;
                }
                Task::Sign(role, due) => {
                    let Some(authority) = &authority else { continue };
                    let Some(leaf) = self.leaves.iter().find(|leaf| leaf.role == *role) else { continue };
                    tracing::info!(secret = leaf.secret, ?due, "signing a certificate");
                    let made = authority.sign(*role, &self.names, cx.now()).map_err(Error::other)?;
                    let secret = build::secret(cluster, leaf.secret.clone(), made.data());
                    match &leaf.live {
                        Some(live) => drop(cx.apply(&secret, Some(live)).await?),
                        None => create(cx, &secret).await?,
                    }
                }
            }
        }
        Ok(())
    }
}

/// What was read of each cluster: read again when a Secret or the spec has changed, not in every reconcile.
#[derive(Debug, Default)]
pub(crate) struct Read(Mutex<BTreeMap<Key, (State, Arc<Certificates>)>>);

/// The UID and generation of the cluster, and the versions of its Secrets.
type State = (Option<String>, Option<i64>, Vec<u64>);

impl Read {
    pub(crate) fn get(
        &self,
        cluster: &EtcdCluster,
        get: impl Fn(&str) -> Option<Arc<Secret>>,
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
                let certificates = Arc::new(Certificates::read(cluster, get, now));
                all.insert(Key::of(cluster), (state, certificates.clone()));
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
    let (kind, key) = (KindId::of::<Secret>(), Key::of(secret));
    let api: Api<Secret> = Api::namespaced(cx.client(), key.namespace());
    let found = api.get_opt(key.name()).await;
    let found = found.map_err(|error| Error::api("get", kind.clone(), key.clone(), error))?;
    let label = |it: &Secret| it.labels().get(names::CLUSTER).cloned();
    match found.is_none_or(|found| label(&found) == label(secret)) {
        true => Err(Error::Stale { kind: Box::new(kind), key }),
        false => Err(act::stranger(kind, key)),
    }
}
