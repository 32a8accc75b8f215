//! Handing over: a user asks that another member leads (the annotation [`MOVE_LEADER`]). It is done once, when nothing else is
//! under way, and answered in the status; the same text is never acted on twice.

use etcd_types::{MoveLeaderStatus, OperationKind};

use crate::{
    Step,
    case::{Case, Health, Seen},
    rule::{Deed, Verdict},
};

/// On an EtcdCluster: the member that is to lead; and, after a space, whatever makes it a request of its own.
pub const MOVE_LEADER: &str = "etcd.capstan.dev/move-leader";

/// What a request comes to.
enum Judged<'c, 'a> {
    /// It leads.
    Done(String),
    Refused(String),
    /// It can be asked to lead.
    Can(&'c Seen<'a>),
    /// Nobody knows who leads now.
    Wait,
}

/// Nothing else is under way: the leader may hand over.
pub(crate) fn hand_over(case: &Case<'_>) -> Verdict {
    let Some(request) = unanswered(case) else { return Verdict::Pass };
    let (Judged::Can(seen), Some(from)) = (judge(case, request), case.leader) else { return Verdict::Pass };
    let deed =
        Deed::new(OperationKind::MoveLeader, case.name(seen.serial), "MovingLeader").about(seen.serial);
    Verdict::Do(deed.step(Step::MoveLeader { from, to: seen.serial, to_id: seen.id() }))
}

/// What the status says to the last request.
pub(crate) fn answer(case: &Case<'_>) -> Option<MoveLeaderStatus> {
    let before = case.picture.status.move_leader.clone();
    let Some(request) = unanswered(case) else { return before };
    let (done, message) = match judge(case, request) {
        Judged::Done(name) => (true, format!("{name} leads")),
        Judged::Refused(why) => (false, why),
        Judged::Can(_) | Judged::Wait => return before,
    };
    Some(MoveLeaderStatus { request: request.to_owned(), done, message })
}

fn unanswered<'a>(case: &'a Case<'_>) -> Option<&'a str> {
    let request = case.picture.move_leader.as_deref()?;
    let answered = case.picture.status.move_leader.as_ref().is_some_and(|answer| answer.request == request);
    (!answered && !request.trim().is_empty()).then_some(request)
}

fn judge<'c, 'a>(case: &'c Case<'a>, request: &str) -> Judged<'c, 'a> {
    let name = request.split_whitespace().next().unwrap_or_default();
    let (Some(leader), true) = (case.leader, case.has_list()) else { return Judged::Wait };
    let Some(seen) = case.voters().find(|seen| case.name(seen.serial) == name) else {
        return Judged::Refused(format!("{name} is no voting member, so it cannot lead"));
    };
    match &seen.health {
        _ if seen.serial == leader => Judged::Done(name.to_owned()),
        Health::Serving => Judged::Can(seen),
        Health::Learning
        | Health::Starting(_)
        | Health::CatchingUp(_)
        | Health::Unseen(_)
        | Health::Down(_) => Judged::Refused(format!("{name} does not serve, so it cannot lead")),
    }
}
