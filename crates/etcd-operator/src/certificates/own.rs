//! Mode SelfManaged: a CA of the cluster's own, and what it signs.
//!
//! Invariants: a CA is created, never changed; as long as there are members, no other CA than theirs signs anything, be it lost or
//! replaced (they trust the one that they were started with), and a condition says so; a Secret of a deleted cluster of the same name is
//! not ours.

use std::{collections::BTreeMap, sync::Arc};

use etcd_types::EtcdCluster;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Secret;
use kit::{Context, Error, Result};
use kube::ResourceExt as _;

use super::{Standing, Task, Trust, create};
use crate::{
    act::found,
    build, names,
    tls::{self, Authority, Due, Material, Names, Problem, Role, Validity},
};

/// The CA and the certificates of a cluster, as they are.
#[derive(Debug, Clone)]
pub(crate) struct Own {
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

impl Own {
    /// Reads and checks them; `get` finds a Secret of the cluster's namespace by its name, and `is_taken` tells whether there is one,
    /// whoever made it.
    pub(super) fn read(
        cluster: &EtcdCluster,
        get: impl Fn(&str) -> Option<Arc<Secret>>,
        is_taken: impl Fn(&str) -> bool,
        now: Timestamp,
    ) -> Self {
        let get = |name: &str| get(name).filter(|secret| names::is_ours(cluster, &**secret));
        let of_authority = get(&names::ca(&cluster.name_any()));
        let authority = of_authority.as_ref().map(|secret| Authority::of(secret));
        let ca =
            authority.as_ref().and_then(|authority| authority.as_ref().ok()).map(|it| it.certificate.clone());
        let names = names::of_certificates(cluster);
        let leaves = Role::ALL.into_iter().map(|role| {
            let secret = names::leaf(&cluster.name_any(), role);
            let live = get(&secret);
            let read = live
                .as_ref()
                .map_or_else(|| Err(Problem::NoSecret(secret.clone())), |live| Material::of(live));
            let judged = read.as_ref().map_err(Clone::clone).and_then(|material| match &ca {
                Some(ca) => tls::judge(role, material, ca, &names, now),
                None => tls::check(role, material, &names, now),
            });
            Leaf { role, secret, live, material: read.ok(), judged }
        });
        let leaves: Vec<Leaf> = leaves.collect();
        let all = leaves.iter().filter_map(|leaf| leaf.live.as_ref()).chain(&of_authority);
        let is_whole =
            |secret: &Secret| names::is_owned(cluster, secret) && names::is_labelled(cluster, secret);
        let adrift = all.filter(|secret| !is_whole(secret)).cloned().collect();
        let hidden = of_authority.is_none() && is_taken(&names::ca(&names.cluster));
        Self { names, authority, hidden, leaves, adrift }
    }

    pub(super) fn of_operator(&self) -> Option<&Material> {
        self.leaves.iter().find(|leaf| leaf.role == Role::Operator)?.material.as_ref()
    }

    /// What is to be done about them now.
    pub(super) fn tasks(&self, trust: &Trust, now: Timestamp) -> Vec<Task> {
        let sign = |leaf: &Leaf, due| Task::Sign(leaf.role, due);
        match &self.authority {
            None if *trust == Trust::Nobody && self.are_all_gone() => {
                let leaves = self.leaves.iter().map(|leaf| sign(leaf, Due::Missing));
                [Task::MakeAuthority].into_iter().chain(leaves).collect()
            }
            None if self.hidden => vec![Task::LookForAuthority],
            None | Some(Err(_)) => Vec::new(),
            Some(Ok(authority)) => {
                let trusted = *trust == Trust::Nobody || !self.know_another_than(authority);
                let due = self.leaves.iter().filter(|_| trusted);
                let due = due.filter_map(|leaf| Some(sign(leaf, tls::due(&leaf.judged, now)?)));
                let left = self.adrift.iter().map(|secret| Task::TakeBack(secret.name_any()));
                left.chain(due).collect()
            }
        }
    }

    /// Whether every Secret that pods need is there when `tasks` are done.
    pub(super) fn are_there(&self, tasks: &[Task]) -> bool {
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
    pub(super) fn are_good(&self) -> bool {
        matches!(self.authority, Some(Ok(_))) && self.leaves.iter().all(|leaf| leaf.judged.is_ok())
    }

    /// How they stand.
    pub(super) fn standing(&self, trust: &Trust) -> Standing {
        let ends = self
            .leaves
            .iter()
            .filter_map(|leaf| Some((leaf.judged.as_ref().ok()?.until, leaf.secret.clone())));
        Standing { ends: ends.min(), problem: self.problem(trust), ..Standing::default() }
    }

    /// Whatever is wrong with a leaf of ours: it is signed anew, now, unless its CA is not to be had.
    fn problem(&self, trust: &Trust) -> Option<String> {
        let Names { cluster, namespace, .. } = &self.names;
        let ca = names::ca(cluster);
        let anew = format!("Without one: {}", super::with_a_new_ca(namespace, cluster));
        let labels = names::labels(cluster);
        let labels =
            labels.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ");
        match &self.authority {
            None if self.hidden && *trust != Trust::Nobody => Some(format!(
                "Secret {ca} is there and does not say that it is ours: if it holds the CA that the members trust, remove its owner if it \
                 has one, and kubectl label secret {ca} -n {namespace} --overwrite {labels}"
            )),
            None if !self.are_all_gone() => Some(format!(
                "Secret {ca} is gone: certificates cannot be renewed. Put it back from a backup. {anew}"
            )),
            None if *trust != Trust::Nobody => Some(format!(
                "all certificates of {cluster} are gone, and its members trust no other CA than the one in Secret {ca}: put it back from \
                 a backup. {anew}"
            )),
            Some(Ok(authority)) if *trust != Trust::Nobody && self.know_another_than(authority) => {
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
    pub(super) async fn act(&self, cx: &Context, cluster: &EtcdCluster, tasks: &[Task]) -> Result<()> {
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
                Task::Copy(_) => {}
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
