//! The phase: one word for what is going on, and a sentence. The first row that fits is it.

use etcd_types::{OperationKind, Phase};

use crate::{
    ClusterId, Listed, Refusal, Why,
    case::{Case, Foreign, Health},
    cause::Remedy,
    conditions,
    rule::Deed,
};

/// The word and the sentence.
pub(crate) fn judge(case: &Case<'_>, deed: Option<&Deed>, refusals: &[Refusal]) -> (Phase, String) {
    let (phase, mut message) = present(case, deed);
    if case.picture.cluster.deleting {
        let held = "its deletion waits: set spec.deletionPolicy.protection to false to let it go";
        message = format!("{held}. {message}");
    }
    // What cannot be carried out matters more than that all is well otherwise.
    match (phase, refusals.first()) {
        (Phase::Healthy | Phase::Degraded, Some(refusal)) => (phase, format!("{refusal}. {message}")),
        _ => (phase, message),
    }
}

fn present(case: &Case<'_>, deed: Option<&Deed>) -> (Phase, String) {
    let picture = case.picture;
    if picture.spec.paused {
        return (Phase::Paused, format!("spec.paused is set: nothing is changed. {}", health(case)));
    }
    if let Some(conflict) = conflict(case) {
        return (Phase::Conflict, conflict);
    }
    let restoring = |deed: &&Deed| matches!(deed.kind, OperationKind::Recover | OperationKind::Restore);
    if let Some(deed) =
        deed.filter(|deed| case.identity.cluster_id.is_none() || case.has_list() || restoring(deed))
    {
        return doing(case, deed);
    }
    if !case.has_list() {
        return blind(case, deed);
    }
    if let Some(alarm) = conditions::alarm(case) {
        return (Phase::Degraded, format!("{alarm}. {}", health(case)));
    }
    if case.voters.serving() < case.voters.0.len() {
        return (Phase::Degraded, health(case));
    }
    (Phase::Healthy, health(case))
}

fn doing(case: &Case<'_>, deed: &Deed) -> (Phase, String) {
    let message = deed
        .message
        .clone()
        .or_else(|| deed.step.as_ref().map(ToString::to_string))
        .unwrap_or_else(|| health(case));
    if matches!(deed.stuck, Some(Why::WaitingForUser | Why::BackupFailed)) {
        return (Phase::WaitingForUser, message);
    }
    (phase_of(deed.kind), message)
}

fn phase_of(kind: OperationKind) -> Phase {
    match kind {
        OperationKind::Found => Phase::Bootstrapping,
        OperationKind::ScaleOut | OperationKind::ScaleIn => Phase::Scaling,
        OperationKind::Restart | OperationKind::Replace | OperationKind::Disarm => Phase::Repairing,
        OperationKind::Upgrade => Phase::Upgrading,
        OperationKind::Downgrade => Phase::Downgrading,
        OperationKind::Configure => Phase::ApplyingConfig,
        OperationKind::Recover | OperationKind::Restore => Phase::Restoring,
        OperationKind::MoveLeader | OperationKind::CleanUp => Phase::Healthy,
    }
}

/// Whether nothing is wrong with anybody who does not serve: they are on their way.
fn is_coming(case: &Case<'_>) -> bool {
    let fine = |health: &Health| match health {
        Health::Serving | Health::Learning | Health::Starting(_) | Health::CatchingUp(_) => true,
        Health::Down(cause) => cause.remedy == Remedy::Wait,
        Health::Unseen(_) => false,
    };
    case.members.values().filter(|seen| seen.is_member(case)).all(|seen| fine(&seen.health))
}

/// There is no member list: either nobody can write, or nobody can be reached.
fn blind(case: &Case<'_>, deed: Option<&Deed>) -> (Phase, String) {
    let correcting =
        deed.and_then(|deed| deed.step.as_ref()).map_or_else(String::new, |step| format!(" Now: {step}."));
    if case.picture.status.ready_members.is_none() {
        return (Phase::Bootstrapping, format!("waits for the members to come back.{correcting}"));
    }
    if let Some(known) = case.picture.status.operation.as_ref().filter(|_| is_coming(case)) {
        return (phase_of(known.kind), format!("{}.{correcting}", health(case)));
    }
    let unseen = case.members.values().filter(|seen| matches!(seen.health, Health::Unseen(_))).count();
    let reached = case.members.values().filter(|seen| seen.endpoint.is_some()).count();
    if unseen > 0 && reached == 0 {
        let message = "no member can be reached from here, though pods are ready: check the network between the operator and the members. Nothing is changed meanwhile";
        return (Phase::Unknown, format!("{message}.{correcting}"));
    }
    let message = "too few members serve, so nothing can be written, and nobody is added or removed";
    (Phase::QuorumLost, format!("{message}: {}.{correcting}", health(case)))
}

/// Different cluster IDs: who says what.
pub(crate) fn conflict(case: &Case<'_>) -> Option<String> {
    if let Some(lost) = &case.identity.lost {
        return Some(lost.clone());
    }
    let ours = case.identity.cluster_id?;
    if !case.identity.contradictions.is_empty() {
        let say = |(place, id): &(String, ClusterId)| format!("{place} says {id}");
        let each: Vec<String> = case.identity.contradictions.iter().map(say).collect();
        return Some(format!(
            "different cluster IDs are on record ({}): nothing is changed until members that serve confirm one of them, or until all say the same. `etcdctl endpoint status --write-out=json` prints the ID of the data; correct the others",
            each.join(", ")
        ));
    }
    let (stray, foreign) = case.strays.first()?;
    let name = case.name(*stray);
    let what = match foreign {
        Foreign::OfCluster(id) => format!("answers for the cluster {id}, and ours is {ours}"),
        Foreign::OfMember(_) => case.explain(foreign),
    };
    Some(format!(
        "{name} {what}: nothing else is changed while it does. Its volume holds data that is not its own"
    ))
}

/// Somebody who was added by somebody else.
pub(crate) fn not_ours(stranger: &Listed) -> String {
    let (id, urls) = (stranger.id, stranger.peer_urls.join(","));
    format!(
        "somebody added a member {id} that is not ours, at {urls}: remove it with `etcdctl member remove {id}`"
    )
}

/// Who serves and who does not.
pub(crate) fn health(case: &Case<'_>) -> String {
    let version = case.lowest_version().map_or_else(String::new, |version| format!(" etcd {version}"));
    let members: Vec<_> = case.members.values().filter(|seen| seen.is_member(case)).collect();
    let healthy = members.iter().filter(|seen| seen.is_healthy()).count();
    let mut text = format!("{healthy} of {} members serve{version}", members.len());
    for seen in members {
        let why = match &seen.health {
            Health::Serving | Health::Learning => continue,
            Health::Starting(why) | Health::CatchingUp(why) | Health::Unseen(why) => {
                format!("{}: {why}", case.name(seen.serial))
            }
            Health::Down(cause) => format!("{} {}", case.name(seen.serial), cause.what),
        };
        text = format!("{text}; {why}");
    }
    for stranger in &case.strangers {
        text = format!("{text}; {}", not_ours(stranger));
    }
    text
}
