//! News: what has changed since the last report, as events. Each is told once, because the report that follows says it, too.

use etcd_types::{EtcdClusterStatus, MemberStatus, OperationKind, Phase, RestorePhase, Role};
use k8s_openapi::apimachinery::pkg::apis::meta::v1 as meta;

use crate::{
    Condition, Event, Truth, Why,
    case::Case,
    conditions::{self, Told},
    volumes,
};

/// Of a cluster that is looked after.
pub(crate) fn of(case: &Case<'_>, status: &EtcdClusterStatus, conditions: &[Condition]) -> Vec<Event> {
    let before = &case.picture.status;
    let mut events = Vec::new();
    if before.cluster_id.is_none()
        && let Some(id) = &status.cluster_id
    {
        events.push(normal(Why::Founded, format!("the cluster exists, with the ID {id}")));
    }
    events.extend(operations(case, status));
    events.extend(restore(before, status));
    events.extend(growing(case));
    events.extend(members(before, status));
    events.extend(leader(before, status));
    events.extend(turned(before, conditions));
    events
}

/// Conditions that have turned, for better or worse. Those that others tell of are left out (`conditions.rs`), but not what hinders an
/// operation.
pub(crate) fn turned(before: &EtcdClusterStatus, conditions: &[Condition]) -> Vec<Event> {
    let known = |now: &Condition| before.conditions.iter().flatten().find(|known| known.type_ == now.kind);
    conditions.iter().filter_map(|now| turn(known(now), now)).collect()
}

fn turn(before: Option<&meta::Condition>, now: &Condition) -> Option<Event> {
    if now.kind == "Progressing" {
        return hindered(before, now);
    }
    let was = before.map(|before| before.status.as_str());
    if conditions::told(now.kind) != Told::Itself || was == Some(word(now)) {
        return None;
    }
    let (reason, message) = (now.reason, now.message.clone());
    // Where nobody can be asked, most is unknown: one event is enough for it.
    match (now.truth, was) {
        (Truth::False, _) if is_fine(now) => None,
        (Truth::False, _) => Some(Event { warning: true, reason, message }),
        (Truth::True, Some("False")) => Some(normal(reason, message)),
        (Truth::True, Some(_)) if now.kind == "Available" => Some(normal(reason, message)),
        (Truth::Unknown, Some(_)) if now.kind == "Available" => {
            Some(Event { warning: true, reason, message })
        }
        (Truth::True | Truth::Unknown, _) => None,
    }
}

/// Whether it is as somebody asked for, or another condition tells it.
fn is_fine(now: &Condition) -> bool {
    let asked_for = matches!(now.reason, Why::Bootstrapping | Why::TLSOff | Why::Deleting);
    asked_for || (now.kind == "Available" && matches!(now.reason, Why::Refused | Why::Corrupt))
}

/// An operation that cannot go on, and one that nobody may carry out.
fn hindered(before: Option<&meta::Condition>, now: &Condition) -> Option<Event> {
    let was = before.map(|before| before.reason.as_str());
    if was == Some(now.reason.as_str()) {
        return None;
    }
    match (now.truth, now.reason) {
        (Truth::False, Why::Paused) => Some(normal(Why::Paused, now.message.clone())),
        (Truth::False, reason) if reason != Why::Settled => {
            Some(Event { warning: true, reason, message: now.message.clone() })
        }
        _ if was == Some(Why::Paused.as_str()) => {
            Some(normal(Why::Resumed, "what is asked for is carried out again".to_owned()))
        }
        _ => None,
    }
}

/// The object is being deleted.
pub(crate) fn ending(before: &EtcdClusterStatus, message: &str) -> Option<Event> {
    (before.phase != Some(Phase::Deleting)).then(|| normal(Why::Deleting, message.to_owned()))
}

fn operations(case: &Case<'_>, status: &EtcdClusterStatus) -> Vec<Event> {
    let before = &case.picture.status.operation;
    let same = match (before, &status.operation) {
        (Some(before), Some(now)) => before.kind == now.kind && before.target == now.target,
        (None, None) => true,
        _ => false,
    };
    if same {
        return Vec::new();
    }
    let over = before.as_ref().map(|over| {
        let what = format!("{:?} {}", over.kind, over.target);
        let wanted = case.wanted.version.map(|(version, _)| version.to_string());
        let another = matches!(over.kind, OperationKind::Upgrade | OperationKind::Downgrade)
            && wanted.is_some_and(|wanted| wanted != over.target);
        match another {
            true => normal(Why::GivenUp, format!("{what} is given up: spec.version asks for another one")),
            false => normal(Why::Done, format!("{what} is over")),
        }
    });
    let begins = status.operation.as_ref().map(|begins| {
        let why = begins.message.as_deref().map_or_else(String::new, |message| format!(": {message}"));
        normal(Why::Began, format!("{:?} {} begins{why}", begins.kind, begins.target))
    });
    over.into_iter().chain(begins).collect()
}

fn restore(before: &EtcdClusterStatus, status: &EtcdClusterStatus) -> Option<Event> {
    let now = status.restore.as_ref().filter(|now| now.phase.is_over())?;
    let known = before.restore.as_ref().filter(|known| known.uid == now.uid);
    if known.is_some_and(|known| known.phase == now.phase) {
        return None;
    }
    Some(match now.phase {
        RestorePhase::Failed => {
            Event { warning: true, reason: Why::RestoreFailed, message: now.message.clone() }
        }
        _ => normal(Why::Restored, now.message.clone()),
    })
}

fn growing(case: &Case<'_>) -> Vec<Event> {
    let members = case.members.values().filter(|seen| seen.is_member(case));
    let grow = members.filter_map(|seen| {
        let to = volumes::resize(seen.objects.claim.as_ref()?, &case.wanted.storage)?;
        let message = format!("the volume of {} grows to {}", case.name(seen.serial), to.0);
        Some(normal(Why::VolumesGrow, message))
    });
    grow.collect()
}

/// A learner that is well serves nobody yet; and one that has just become a voter may need a moment until it does.
fn members(before: &EtcdClusterStatus, status: &EtcdClusterStatus) -> Vec<Event> {
    let serves = |it: &MemberStatus| it.healthy && it.role != Role::Learner;
    let mut events = Vec::new();
    for member in status.members.iter().flatten() {
        let known = before.members.iter().flatten().find(|known| known.name == member.name);
        match (known.map(serves), serves(member)) {
            (Some(true), false) => {
                let why = member.reason.as_deref().unwrap_or("does not serve");
                let message = format!("{} stopped serving: {why}", member.name);
                events.push(Event { warning: true, reason: Why::MemberDown, message });
            }
            (Some(false), true) => events.push(normal(Why::MemberUp, format!("{} serves", member.name))),
            _ => {}
        }
    }
    events
}

fn leader(before: &EtcdClusterStatus, status: &EtcdClusterStatus) -> Option<Event> {
    let is = status.leader.as_ref()?;
    // While one is lost, nobody leads for a moment; while a cluster is founded, nobody has led.
    match &before.leader {
        Some(was) => (was != is).then(|| normal(Why::LeaderChanged, format!("{is} leads, {was} did before"))),
        None => {
            let founding = before.operation.as_ref().is_some_and(|it| it.kind == OperationKind::Found);
            let had = before.cluster_id.is_some() && !founding;
            had.then(|| normal(Why::LeaderChanged, format!("{is} leads")))
        }
    }
}

fn normal(reason: Why, message: String) -> Event {
    Event { warning: false, reason, message }
}

/// As the API has it.
pub(crate) fn word(condition: &Condition) -> &'static str {
    match condition.truth {
        Truth::True => "True",
        Truth::False => "False",
        Truth::Unknown => "Unknown",
    }
}
