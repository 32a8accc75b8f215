//! The certificates of a cluster: what there is, what is due, and how it is made.
//!
//! Invariants: a CA is created, never changed; when it is lost nothing new is signed (members trust the old one until they restart)
//! and a condition says so; a Secret of a deleted cluster of the same name is not ours.

use std::sync::Arc;

use etcd_types::{EtcdCluster, TlsMode};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Secret;
use kit::{Context, Error, Key, KindId, Result};
use kube::ResourceExt as _;

use crate::{
    build, names,
    tls::{self, Authority, Due, Material, Names, Problem, Role},
};

/// The certificates of a cluster, as they are.
#[derive(Debug, Clone)]
pub(crate) struct Certificates {
    mode: TlsMode,
    names: Names,
    authority: Option<Result<Authority, Problem>>,
    leaves: Vec<Leaf>,
}

#[derive(Debug, Clone)]
struct Leaf {
    role: Role,
    secret: String,
    live: Option<Arc<Secret>>,
    material: Result<Material, Problem>,
}

/// Something to do about them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Task {
    MakeAuthority,
    Sign(Role, Due),
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
    /// Reads them; `get` finds a Secret of the cluster's namespace by its name.
    pub(crate) fn read(cluster: &EtcdCluster, get: impl Fn(&str) -> Option<Arc<Secret>>) -> Self {
        let mode = cluster.spec.tls.mode;
        let get = |name: &str| {
            let made_by_us = mode == TlsMode::SelfManaged;
            get(name).filter(|secret| !made_by_us || names::is_owned(cluster, &**secret))
        };
        let authority = get(&names::ca(&cluster.name_any())).filter(|_| mode == TlsMode::SelfManaged);
        let leaves = Role::ALL.into_iter().filter_map(|role| {
            let secret = tls::secret_name(&cluster.name_any(), &cluster.spec.tls, role)?;
            let live = get(&secret);
            let material = match &live {
                Some(live) => Material::of(live),
                None => Err(Problem::NoSecret(secret.clone())),
            };
            Some(Leaf { role, secret, live, material })
        });
        Self {
            mode,
            names: names::of_certificates(cluster),
            authority: authority.map(|secret| Authority::of(&secret)),
            leaves: leaves.collect(),
        }
    }

    /// What the operator connects with.
    pub(crate) fn of_operator(&self) -> Option<etcd_api::Tls> {
        let leaf = self.leaves.iter().find(|leaf| leaf.role == Role::Operator)?;
        let Material { ca, certificate, key } = leaf.material.as_ref().ok()?;
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
            Some(Ok(authority)) => {
                let due = |leaf: &Leaf| {
                    let material = leaf.material.as_ref().ok();
                    tls::due(leaf.role, material, &authority.certificate, &self.names, now)
                };
                self.leaves.iter().filter_map(|leaf| Some(sign(leaf, due(leaf)?))).collect()
            }
        }
    }

    /// How they stand.
    pub(crate) fn standing(&self, now: Timestamp) -> Standing {
        let ends = self.leaves.iter().filter_map(|leaf| {
            let until = leaf.material.as_ref().ok()?.validity().ok()?.until;
            Some((until, leaf.secret.clone()))
        });
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
        self.leaves.iter().find_map(|leaf| {
            let checked = leaf.material.clone().and_then(|it| tls::check(leaf.role, &it, &self.names, now));
            checked.err().map(|problem| match problem {
                Problem::NoSecret(_) | Problem::Missing { .. } => problem.to_string(),
                problem => format!("Secret {}: {problem}", leaf.secret),
            })
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

/// One that is there already was made by an operator before us, and the cache has not seen it yet: what we made is forgotten.
async fn create(cx: &Context, secret: &Secret) -> Result<()> {
    match cx.create(secret).await? {
        true => Ok(()),
        false => Err(Error::Stale { kind: Box::new(KindId::of::<Secret>()), key: Key::of(secret) }),
    }
}
