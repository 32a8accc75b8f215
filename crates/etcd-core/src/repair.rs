//! Repair: the ladder restart → replace, by cause (`cause.rs`), behind the quorum, and no more often than the user allows.

use std::time::Duration;

use etcd_types::OperationKind;
use jiff::{SignedDuration, Timestamp};

use crate::{
    Picture, Step,
    case::{Case, Foreign, Health, Seen},
    cause::{self, Cause, Remedy},
    identity, leave,
    quorum::{Hindrance, may_leave},
    rule::{Deed, LOOK, Verdict, on_record},
    text::seconds,
};

/// For how long a member must answer as another one. Names are kept for 5 s, or 30 s, by those who ask for them.
const CERTAIN: Duration = Duration::from_secs(60);
/// How long a database may be blocked before its member is restarted: 8 GiB, the largest database that etcd recommends, are defragmented in
/// that time at 5 MB/s.
const DEFRAGMENTATION: Duration = Duration::from_secs(30 * 60);
const HOUR: SignedDuration = SignedDuration::from_hours(1);

/// The first member that something can be done for; else, when that will be.
pub(crate) fn repair(case: &Case<'_>) -> Verdict {
    let mut later: Option<(Duration, String)> = None;
    let down = case.members.values().filter(|seen| seen.listed.is_some());
    for seen in down {
        let Health::Down(cause) = &seen.health else { continue };
        match mend(case, seen, cause) {
            Verdict::Pass => {}
            Verdict::Later(after, what) => {
                if later.as_ref().is_none_or(|(known, _)| after < *known) {
                    later = Some((after, what));
                }
            }
            Verdict::Do(deed) => return Verdict::Do(deed),
        }
    }
    later.map_or(Verdict::Pass, |(after, what)| Verdict::Later(after, what))
}

fn mend(case: &Case<'_>, seen: &Seen<'_>, cause: &Cause) -> Verdict {
    let rules = &case.wanted.remediation;
    match cause.remedy {
        Remedy::Wait | Remedy::Correct => Verdict::Pass,
        Remedy::Refresh if is_outdated(case, seen) => restart(case, seen, cause),
        Remedy::Refresh => after(case, seen, rules.replace_after, cause, replace),
        Remedy::ReplaceNow => replace(case, seen, cause),
        Remedy::Replace if is_the_rolls_fault(case, seen) => Verdict::Pass,
        Remedy::Replace => after(case, seen, rules.replace_after, cause, replace),
        Remedy::Restart | Remedy::RestartLate => {
            // A pod that was restarted gets its time, however long the member has been down: its user may just have corrected it.
            let born = seen.objects.pod.as_ref().and_then(|pod| pod.created);
            let age = born.map_or(Duration::ZERO, |born| since(born, case.now));
            let age = age.min(seen.time(case.now));
            match patience(case, cause.remedy).checked_sub(age).filter(|left| !left.is_zero()) {
                Some(left) => Verdict::Later(
                    left,
                    format!("{} {}: it is restarted then", case.name(seen.serial), cause.what),
                ),
                // No rung is left out: whoever was out of sight for long and has just fallen silent is restarted first.
                None if born > Some(seen.since)
                    && seen.time(case.now) >= rules.replace_after
                    && !is_the_rolls_fault(case, seen) =>
                {
                    replace(case, seen, cause)
                }
                None => restart(case, seen, cause),
            }
        }
    }
}

/// How long a member may be silent before it is restarted.
pub(crate) fn patience(case: &Case<'_>, remedy: Remedy) -> Duration {
    let usual = case.wanted.remediation.restart_after;
    if remedy == Remedy::RestartLate { usual.max(DEFRAGMENTATION) } else { usual }
}

fn after(
    case: &Case<'_>,
    seen: &Seen<'_>,
    patience: Duration,
    cause: &Cause,
    then: fn(&Case<'_>, &Seen<'_>, &Cause) -> Verdict,
) -> Verdict {
    match patience.checked_sub(seen.time(case.now)).filter(|left| !left.is_zero()) {
        Some(left) => {
            Verdict::Later(left, format!("{} {}: it is replaced then", case.name(seen.serial), cause.what))
        }
        None => then(case, seen, cause),
    }
}

/// Nobody else serves with what this one was made from: then that is what is wrong, and another volume would not help.
fn is_the_rolls_fault(case: &Case<'_>, seen: &Seen<'_>) -> bool {
    let made_from = seen.running();
    let alike = |other: &Seen<'_>| other.is_healthy() && other.running() == made_from;
    !cause::lacks_node(seen) && seen.has_started() && !case.voters().any(alike)
}

/// Whether its pod was told of other members than there are.
fn is_outdated(case: &Case<'_>, seen: &Seen<'_>) -> bool {
    let told = seen.objects.pod.as_ref().and_then(|pod| pod.start.as_ref());
    told != Some(&identity::start(case, seen).fingerprint())
}

fn restart(case: &Case<'_>, seen: &Seen<'_>, cause: &Cause) -> Verdict {
    let Some(pod) = seen.objects.pod.as_ref().filter(|pod| !pod.deleting) else { return Verdict::Pass };
    let permit = match case.may_go_down(seen) {
        Ok(permit) => permit,
        Err(hindrance) => {
            let why = format!("{} waits: {}", case.name(seen.serial), case.explain(&hindrance));
            return Verdict::Later(LOOK, why);
        }
    };
    let deed = Deed::new(OperationKind::Restart, case.name(seen.serial), "Restarting").about(seen.serial);
    let (serial, pod_uid, why) = (seen.serial, pod.uid.clone(), format!("it {}", cause.what));
    Verdict::Do(deed.saying(why.clone()).step(Step::RestartPod { serial, pod_uid, permit, why }))
}

/// Out with it, and `join.rs` brings a new one in.
pub(crate) fn replace(case: &Case<'_>, seen: &Seen<'_>, cause: &Cause) -> Verdict {
    let name = case.name(seen.serial);
    let deed = Deed::new(OperationKind::Replace, name.clone(), "Removing");
    let deed = deed.saying(format!("{name} {}: a new member takes its place", cause.what));
    // A learner has no data that anybody relies on: a new try costs nothing but time, and that is limited below too.
    if !is_begun(case, seen)
        // Where data is in memory every restart is a replacement: that is no sign of trouble.
        && !seen.is_in_memory()
        && let Some(wait) = limit(case)
    {
        return Verdict::Later(
            wait,
            format!("{name} {}; so many were replaced within the last hour that it has to wait", cause.what),
        );
    }
    if let Err(hindrance) = may_leave(seen.id(), &case.voters) {
        return Verdict::Later(
            Duration::from_secs(1),
            format!("{name} {}, and cannot be replaced: {}", cause.what, case.explain(&hindrance)),
        );
    }
    leave::remove(case, seen, deed, &format!("it {}", cause.what))
}

/// Whether it is being replaced already: that has been counted.
fn is_begun(case: &Case<'_>, seen: &Seen<'_>) -> bool {
    let name = case.name(seen.serial);
    on_record(case, &[OperationKind::Replace]).is_some_and(|known| known.target == name)
}

/// How long until one more may be replaced; nothing if one may be.
fn limit(case: &Case<'_>) -> Option<Duration> {
    let recent = recent(case.picture, case.now);
    let allowed = case.wanted.remediation.max_per_hour;
    if recent.len() < allowed {
        return None;
    }
    let oldest = recent.iter().min().map_or(HOUR, |oldest| HOUR - case.now.duration_since(*oldest));
    Some(Duration::try_from(oldest).unwrap_or_default().max(Duration::from_secs(1)))
}

/// When members were replaced within the last hour.
pub(crate) fn recent(picture: &Picture, now: Timestamp) -> Vec<Timestamp> {
    let all = picture.status.replacements.iter().flatten().map(|time| time.0);
    all.filter(|time| now.duration_since(*time) < HOUR).collect()
}

/// A member that answers with data that is not its own: what clients write to another cluster is lost, and what another member has voted
/// for is voted for again. So nothing else is done, and it is replaced, if the others are enough: at once, or when its answer is certain. Its volume is kept.
pub(crate) fn stray(case: &Case<'_>) -> Verdict {
    let Some((serial, foreign)) = case.strays.first() else { return Verdict::Pass };
    let Some(seen) = case.members.get(serial).filter(|seen| seen.listed.is_some()) else {
        return Verdict::Pass;
    };
    let cause = Cause { what: case.explain(foreign), remedy: Remedy::ReplaceNow };
    match foreign {
        Foreign::OfCluster(_) => replace(case, seen, &cause),
        // The name of a new pod that leads to another member's address for a moment gives the same answer.
        Foreign::OfMember(_) => {
            let born = seen.objects.pod.as_ref().and_then(|pod| pod.created);
            let young = born.and_then(|born| CERTAIN.checked_sub(since(born, case.now)));
            match young.filter(|left| !left.is_zero()) {
                Some(left) => Verdict::Later(left, format!("{} {}", case.name(*serial), cause.what)),
                None => after(case, seen, CERTAIN, &cause, replace),
            }
        }
    }
}

fn since(then: Timestamp, now: Timestamp) -> Duration {
    now.duration_since(then).try_into().unwrap_or_default()
}

/// What is wrong with a member, and what is being done about it, for its status.
pub(crate) fn outlook(case: &Case<'_>, seen: &Seen<'_>) -> Option<String> {
    let rules = &case.wanted.remediation;
    match &seen.health {
        Health::Serving | Health::Learning => None,
        Health::Starting(why) | Health::CatchingUp(why) | Health::Unseen(why) => Some(why.clone()),
        Health::Down(cause) => {
            let then = match cause.remedy {
                Remedy::Wait | Remedy::Refresh => String::new(),
                Remedy::Correct => "; it comes back when that is corrected".to_owned(),
                Remedy::Replace if is_the_rolls_fault(case, seen) => {
                    "; nobody serves with these settings: revert or correct the spec".to_owned()
                }
                Remedy::Replace | Remedy::ReplaceNow if !is_begun(case, seen) && limit(case).is_some() => {
                    let most = rules.max_per_hour;
                    format!("; it is not replaced yet: spec.remediation.maxReplacementsPerHour is {most}")
                }
                Remedy::Restart | Remedy::RestartLate => match case.may_go_down(seen) {
                    Err(hindrance @ Hindrance::StillVotes { .. }) => {
                        format!("; it is not restarted: {}", case.explain(&hindrance))
                    }
                    _ => format!("; it is restarted after {}", seconds(patience(case, cause.remedy))),
                },
                Remedy::Replace => format!("; it is replaced after {}", seconds(rules.replace_after)),
                Remedy::ReplaceNow => "; it is replaced".to_owned(),
            };
            Some(format!("{}{then}", cause.what))
        }
    }
}
