//! Modes Secrets and CertManager: certificates that users or cert-manager provide, checked and copied.
//!
//! What they provide is input. Members, Jobs and the operator use copies in Secrets of the operator's own, which change only as `review.rs`
//! allows.

use std::{collections::BTreeMap, sync::Arc};

use etcd_types::EtcdCluster;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Secret;
use kit::{Context, Result};
use kube::{Resource as _, ResourceExt as _};

use super::{
    Sources, Standing, Task, Trust, create,
    review::{Part, Refused, Review, Verdict, review},
    with_a_new_ca,
};
use crate::{
    build, names,
    tls::{self, Anchors, Material, Names, Problem, Role},
};

/// What is provided, its copies, and what becomes of them.
#[derive(Debug, Clone)]
pub(crate) struct Copied {
    names: Names,
    parts: Vec<Seen>,
    review: Review,
}

/// The Secrets of one role.
#[derive(Debug, Clone)]
struct Seen {
    role: Role,
    /// The name of the one that is provided, and when it was changed last.
    provided: String,
    changed: Option<Timestamp>,
    /// The operator's own.
    copy: String,
    live: Option<Arc<Secret>>,
    /// It has lost its owner or its labels, or was made by somebody else with our labels.
    is_adrift: bool,
}

/// Secrets with certificates of one CA that members do not trust.
#[derive(Default)]
struct Held<'a> {
    secrets: Vec<&'a str>,
    since: Option<Timestamp>,
}

impl Copied {
    pub(super) fn read(cluster: &EtcdCluster, sources: &Sources<'_>, trust: &Trust, now: Timestamp) -> Self {
        let (name, spec) = (cluster.name_any(), &cluster.spec.tls);
        let names = names::of_certificates(cluster);
        let (mut parts, mut seen) = (Vec::new(), Vec::new());
        for role in Role::ALL {
            let (Some(provided), Some(copy)) =
                (tls::input(&name, spec, role), tls::secret_name(&name, spec, role))
            else {
                continue;
            };
            let given = sources.given.get(&provided);
            let live = (sources.own)(&copy).filter(|secret| names::is_ours(cluster, &**secret));
            let read = |name: &str, secret: Option<&Arc<Secret>>| {
                secret.map_or_else(|| Err(Problem::NoSecret(name.to_owned())), |secret| Material::of(secret))
            };
            parts.push(Part { role, provided: read(&provided, given), copy: read(&copy, live.as_ref()) });
            let is_whole =
                |secret: &Secret| names::is_owned(cluster, secret) && names::is_labelled(cluster, secret);
            let is_adrift = live.as_ref().is_some_and(|live| !is_whole(live));
            let changed = given.and_then(|secret| changed(secret));
            seen.push(Seen { role, provided, changed, copy, live, is_adrift });
        }
        let review = review(&parts, trust, &names, now);
        Self { names, parts: seen, review }
    }

    fn verdicts(&self) -> impl Iterator<Item = (&Seen, &Verdict)> {
        self.parts.iter().filter_map(|seen| {
            let (_, verdict) = self.review.verdicts.iter().find(|(role, _)| *role == seen.role)?;
            Some((seen, verdict))
        })
    }

    pub(super) fn of_operator(&self) -> Option<&Material> {
        let (_, verdict) = self.verdicts().find(|(seen, _)| seen.role == Role::Operator)?;
        verdict.used.as_ref().map(|(material, _)| material)
    }

    pub(super) fn tasks(&self) -> Vec<Task> {
        let task = |(seen, verdict): (&Seen, &Verdict)| match verdict.copies {
            true => Some(Task::Copy(seen.role)),
            false => seen.is_adrift.then(|| Task::TakeBack(seen.copy.clone())),
        };
        self.verdicts().filter_map(task).collect()
    }

    pub(super) fn are_there(&self) -> bool {
        self.verdicts().all(|(seen, verdict)| seen.live.is_some() || verdict.copies)
    }

    pub(super) fn are_good(&self) -> bool {
        self.verdicts().all(|(_, verdict)| verdict.used.is_some() && verdict.refused.is_none())
    }

    /// Nothing while it is not known which CAs members trust.
    pub(super) fn record(&self) -> BTreeMap<String, String> {
        let Review { client_trust, peer_trust, .. } = &self.review;
        let record = |ca: &Option<String>| Some(Anchors::of(ca.as_ref()?).ok()?.record());
        match (record(client_trust), record(peer_trust)) {
            (Some(client), Some(peer)) => {
                [(names::CLIENT_TRUST.to_owned(), client), (names::PEER_TRUST.to_owned(), peer)].into()
            }
            _ => BTreeMap::new(),
        }
    }

    pub(super) fn standing(&self, now: Timestamp) -> Standing {
        let ends = self.verdicts().filter_map(|(seen, verdict)| {
            let (_, validity) = verdict.used.as_ref()?;
            let secret = if verdict.refused.is_none() { &seen.provided } else { &seen.copy };
            Some((validity.until, secret.clone()))
        });
        Standing { ends: ends.min(), problem: self.problem(now), held: self.held() }
    }

    /// Why no member can be started: a role has no certificate that can be used.
    fn problem(&self, now: Timestamp) -> Option<String> {
        self.verdicts().find_map(|(seen, verdict)| {
            let copy = &seen.copy;
            let refused = || match &verdict.refused {
                Some(Refused::Problem(problem)) => told(&seen.provided, problem),
                Some(Refused::AnotherCa { signers, trusted }) => format!(
                    "Secret {}: signed by CA {signers}, but running members trust only CA {trusted}. Put a certificate of the trusted CA \
                     there. Without one: {}",
                    seen.provided,
                    self.with_a_new_ca()
                ),
                Some(Refused::UnknownTrust) | None => format!(
                    "Secret {}: its ca.crt lacks the CA that running members trust. Put it back. Without it: {}",
                    seen.provided,
                    self.with_a_new_ca()
                ),
            };
            match (&verdict.used, &verdict.spoiled) {
                (Some((_, validity)), _) if now < validity.until => None,
                (Some((_, validity)), _) => {
                    let expired = told(copy, &Problem::Expired(validity.until));
                    Some(match verdict.refused {
                        Some(_) => format!("{expired}; {}", refused()),
                        None => told(&seen.provided, &Problem::Expired(validity.until)),
                    })
                }
                // Before the first start people know only their own Secrets.
                (None, None | Some(Problem::NoSecret(_))) => Some(refused()),
                (None, Some(spoiled)) => Some(format!("{}; {}", told(copy, spoiled), refused())),
            }
        })
    }

    /// What was provided and is not used, while there is something else to use.
    fn held(&self) -> Vec<String> {
        let held = self.verdicts().filter(|(_, verdict)| verdict.used.is_some());
        let mut of_other_cas: BTreeMap<(&str, &str), Held<'_>> = BTreeMap::new();
        let mut told_of = Vec::new();
        for (seen, verdict) in held {
            match &verdict.refused {
                None | Some(Refused::UnknownTrust) => {}
                Some(Refused::Problem(problem)) => told_of.push(format!(
                    "{}; members keep the certificate in Secret {}",
                    told(&seen.provided, problem),
                    seen.copy
                )),
                Some(Refused::AnotherCa { signers, trusted }) => {
                    let Held { secrets, since } = of_other_cas.entry((signers, trusted)).or_default();
                    if !secrets.contains(&seen.provided.as_str()) {
                        secrets.push(&seen.provided);
                    }
                    *since = [*since, seen.changed].into_iter().flatten().min();
                }
            }
        }
        let of_other_cas = of_other_cas.into_iter().map(|((signers, trusted), Held { secrets, since })| {
            let secrets = match secrets.as_slice() {
                [one] => format!("Secret {one}"),
                several => format!("Secrets {}", several.join(", ")),
            };
            let since = since.map(|at| format!(" since {at:.0}")).unwrap_or_default();
            format!(
                "{secrets}: signed{since} by CA {signers}, but running members trust only CA {trusted}; members and the operator keep the \
                 certificates that they have. Put certificates of the trusted CA back. To change the CA, stop all members: {}",
                self.with_a_new_ca()
            )
        });
        of_other_cas.chain(told_of).collect()
    }

    fn with_a_new_ca(&self) -> String {
        with_a_new_ca(&self.names.namespace, &self.names.cluster)
    }

    pub(super) async fn act(&self, cx: &Context, cluster: &EtcdCluster, tasks: &[Task]) -> Result<()> {
        for task in tasks {
            let concerns = |seen: &Seen| match task {
                Task::Copy(role) => seen.role == *role,
                Task::TakeBack(name) => seen.copy == *name,
                Task::MakeAuthority | Task::LookForAuthority | Task::Sign(..) => false,
            };
            let Some((seen, verdict)) = self.verdicts().find(|(seen, _)| concerns(seen)) else { continue };
            let data = match (task, &verdict.used, &seen.live) {
                (Task::Copy(_), Some((used, _)), _) => used.data(),
                (Task::TakeBack(_), _, Some(live)) => live.data.clone().unwrap_or_default(),
                _ => continue,
            };
            tracing::info!(from = seen.provided, to = seen.copy, ?task, "copying a certificate");
            let secret = build::secret(cluster, seen.copy.clone(), data);
            match &seen.live {
                Some(live) => drop(cx.apply_exactly(&secret, live).await?),
                None => create(cx, &secret).await?,
            }
        }
        Ok(())
    }
}

/// A problem of a Secret, in a sentence that names it.
fn told(secret: &str, problem: &Problem) -> String {
    match problem {
        Problem::NoSecret(_) | Problem::Missing { .. } => problem.to_string(),
        problem => format!("Secret {secret}: {problem}"),
    }
}

/// When somebody wrote to it last.
fn changed(secret: &Secret) -> Option<Timestamp> {
    let writes = secret.meta().managed_fields.iter().flatten();
    writes.filter_map(|write| Some(write.time.as_ref()?.0)).max()
}
