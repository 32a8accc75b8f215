//! Rolling: other settings, another version, one member at a time; the leader hands over and is last.
//!
//! Invariants: nobody goes down without a permit (`quorum.rs`), so one member that does not come back stops the roll; what is
//! outdated *and* not serving is made anew at once, whatever else is the case: a user's correction never waits.

use etcd_types::OperationKind;

use crate::{
    DowngradeAction, Step, Template, Version, Why, beforehand,
    case::{Case, Health, Seen},
    cause::Remedy,
    identity, leave,
    quorum::{self, Hindrance},
    repair,
    rule::{Deed, LOOK, SOON, Verdict, on_record},
    text::members,
    version::{self, Minor, Way},
};

/// Steps of an upgrade before its first member.
const SNAPSHOTTING: &str = "Snapshotting";
const RETURNING: &str = "Returning";
/// Steps from which on the way is free.
const ROLLING: &[&str] = &[RESTARTING, MOVING_LEADER];
const RESTARTING: &str = "Restarting";
const MOVING_LEADER: &str = "MovingLeader";

/// What a member is to be made from in the end; nothing before anybody knows a version for it.
pub(crate) fn last(case: &Case<'_>, seen: &Seen<'_>) -> Option<Template> {
    let asked = case.wanted.version.map(|(version, _)| version);
    let version =
        if is_newcomer(case, seen) { case.joining_version() } else { asked.or_else(|| own_version(seen)) };
    version.or_else(|| case.joining_version()).map(|version| at(case, seen, version))
}

/// What its StatefulSet says while it is nobody's turn: what it was made from, or what is asked for, if that is what runs.
pub(crate) fn settled(case: &Case<'_>, seen: &Seen<'_>) -> Option<Template> {
    let last = last(case, seen);
    if is_newcomer(case, seen) || last.as_ref().is_some_and(|last| Some(last.fingerprint()) == seen.running())
    {
        return last;
    }
    match seen.recorded() {
        Some(recorded) => Some(Template { start: identity::start(case, seen), ..recorded.clone() }),
        None => own_version(seen).map(|version| at(case, seen, version)).or(last),
    }
}

/// Somebody who has never served: there is nothing to be careful about.
fn is_newcomer(case: &Case<'_>, seen: &Seen<'_>) -> bool {
    case.identity.cluster_id.is_none() || (seen.listed.is_some() && !seen.has_started())
}

fn at(case: &Case<'_>, seen: &Seen<'_>, version: Version) -> Template {
    let mut template = case.wanted.template(version, identity::start(case, seen));
    if let Some(image) = own_image(case, seen, version) {
        template.image = image;
    }
    template
}

/// Where the user names a whole image, it holds the version that is asked for: a member that has another one keeps its own image.
fn own_image(case: &Case<'_>, seen: &Seen<'_>, version: Version) -> Option<String> {
    if !case.wanted.pins_image() || case.wanted.version.is_some_and(|(asked, _)| asked == version) {
        return None;
    }
    let others = case.members.values().filter_map(Seen::recorded);
    let alike = seen.recorded().into_iter().chain(others).find(|recorded| recorded.version == version);
    alike.map(|recorded| recorded.image.clone())
}

fn own_version(seen: &Seen<'_>) -> Option<Version> {
    seen.recorded().map(|recorded| recorded.version).or(seen.version)
}

/// Outdated, and down for certain: made anew at once. This is how a user takes back what broke it.
pub(crate) fn revert(case: &Case<'_>) -> Verdict {
    if !case.picture.certificates.problems.is_empty() {
        return Verdict::Pass;
    }
    // A founder that is ready has found the others: the cluster exists, and we shall see it before we touch it.
    let ready = |seen: &Seen<'_>| seen.objects.pod.as_ref().is_some_and(|pod| pod.ready);
    if case.identity.cluster_id.is_none() && case.members.values().any(ready) {
        return Verdict::Pass;
    }
    for seen in case.members.values().filter(|seen| seen.is_member(case)) {
        let (Some(pod), Some(permit)) = (&seen.objects.pod, case.may_be_corrected(seen)) else { continue };
        let Some(goal) = correction(case, seen).filter(|_| !pod.deleting) else { continue };
        let why = if pod.template != Some(goal.fingerprint()) {
            "it does not serve, and is not as the spec asks for"
        } else if is_newcomer(case, seen)
            && pod.start != Some(goal.start.fingerprint())
            && !may_still_found(case, seen)
        {
            "it has not started yet, and was told of other members than there are"
        } else {
            continue;
        };
        let (serial, pod_uid) = (seen.serial, pod.uid.clone());
        let version = goal.version;
        let deed = deed(case, seen, version, RESTARTING).about(serial).made_from(serial, goal);
        return Verdict::Do(deed.step(Step::RestartPod { serial, pod_uid, permit, why: why.into() }));
    }
    Verdict::Pass
}

/// A founder that is on its way with `new` gets some time: the others have just met without it.
fn may_still_found(case: &Case<'_>, seen: &Seen<'_>) -> bool {
    let made = seen.objects.pod.as_ref().and_then(|pod| pod.start.clone());
    let founding = identity::founding(&case.names, &case.identity.founders).fingerprint();
    made == Some(founding) && seen.time(case.now) < case.wanted.remediation.restart_after
}

/// What somebody who is down is made from: the version asked for where its data allows it at once, else the one that it last served
/// with. A minor that nobody runs yet is not begun with a member that is down.
fn correction(case: &Case<'_>, seen: &Seen<'_>) -> Option<Template> {
    if is_newcomer(case, seen) {
        return last(case, seen);
    }
    let made = own_version(seen)?;
    let Some((asked, _)) = case.wanted.version.filter(|(asked, _)| *asked != made) else {
        return Some(at(case, seen, made));
    };
    let near = [Some(made), seen.version, case.lowest_version()];
    let at_once = near.into_iter().flatten().any(|version| version.minor == asked.minor);
    Some(at(case, seen, if at_once { asked } else { seen.version.unwrap_or(made) }))
}

/// Other settings, at the version that each member has.
pub(crate) fn configure(case: &Case<'_>) -> Verdict {
    let outdated = case.voters().filter_map(|seen| {
        let then = last(case, seen)?;
        let runs = seen.version.or_else(|| own_version(seen))?;
        // Its turn to move to another version has come, though its pod is still the old one: that is the upgrade's.
        let moves =
            runs != then.version && seen.recorded().map(Template::fingerprint) == Some(then.fingerprint());
        let now = at(case, seen, runs);
        let fits = [now.fingerprint(), then.fingerprint()].map(Some).contains(&seen.running());
        (!fits && !moves).then_some((seen, now))
    });
    let outdated: Vec<_> = outdated.collect();
    let Some(target) = settings_target(case).filter(|_| !outdated.is_empty()) else { return Verdict::Pass };
    next(case, Deed::new(OperationKind::Configure, target, RESTARTING), outdated)
}

/// The fingerprint of the settings, whichever version each member has.
pub(crate) fn settings_target(case: &Case<'_>) -> Option<String> {
    let version = case.lowest_version()?;
    Some(case.wanted.template(version, crate::Start::Started).fingerprint())
}

/// Another version.
pub(crate) fn upgrade(case: &Case<'_>) -> Verdict {
    let Some((version, way)) = case.wanted.version else { return Verdict::Pass };
    let outdated = case.voters().filter_map(|seen| {
        let last = last(case, seen)?;
        (seen.running() != Some(last.fingerprint())).then_some((seen, last))
    });
    let outdated: Vec<_> = outdated.collect();
    let Some((first, _)) = outdated.first() else { return Verdict::Pass };
    let deed = deed(case, first, version, RESTARTING);
    let untouched = outdated.len() == case.voters().count();
    let held = case.picture.upgrade_hold.is_some() && way != Way::Roll;
    if untouched
        && !held
        && let Some(wait) = beforehand::backup(case, &deed, version)
    {
        return wait;
    }
    if let Some(wait) = gate(case, version, way, &deed, untouched) {
        return wait;
    }
    next(case, deed, outdated)
}

/// What must be the case before the first member moves to another minor: `untouched` means that none has been made anew for it.
fn gate(case: &Case<'_>, version: Version, way: Way, deed: &Deed, untouched: bool) -> Option<Verdict> {
    let begun = case.voters().any(|seen| seen.version.is_some_and(|runs| runs.minor == version.minor));
    if way == Way::Roll || begun {
        return None;
    }
    let waiting = Deed { doing: "Waiting", ..deed.clone() };
    if let Some(hold) = &case.picture.upgrade_hold {
        let held = format!("the annotation etcd.capstan.dev/hold-upgrade says: {hold}");
        return Some(Verdict::Do(waiting.saying(held).stuck(Why::Waiting)));
    }
    let Some(alarms) = &case.picture.etcd.alarms else {
        let why = "no member says whether an alarm is raised";
        return Some(Verdict::Do(waiting.saying(why).look_again(LOOK, why)));
    };
    if let Some(alarm) = alarms.first() {
        let why = format!(
            "member {} has raised the alarm {:?}: it must be cleared first",
            alarm.member, alarm.kind
        );
        return Some(Verdict::Do(waiting.saying(why.clone()).look_again(LOOK, why)));
    }
    if untouched
        && !takes_snapshots(case, version)
        && let Some(other) = not_serving(case)
    {
        let why = must_serve(case, other);
        return Some(Verdict::Do(waiting.saying(why.clone()).look_again(LOOK, why)));
    }
    match way {
        Way::Downgrade => prepare_downgrade(case, version, deed),
        Way::Upgrade | Way::Roll => prepare_upgrade(case, deed),
    }
}

fn not_serving<'c, 'a>(case: &'c Case<'a>) -> Option<&'c Seen<'a>> {
    case.voters().find(|seen| seen.health != Health::Serving)
}

fn must_serve(case: &Case<'_>, seen: &Seen<'_>) -> String {
    format!("{} must serve before the first member moves to another minor", case.name(seen.serial))
}

/// Where the next minor cannot start on the log as it is, every member takes a snapshot first. etcd has no call for that, but takes
/// one when the cluster version is lowered. So the version is lowered for a moment, and no member restarts for it.
///
/// The leader compares the cluster version with the members' versions every 4 s, and as soon as it is elected
/// (`monitorClusterVersions` in server/etcdserver/server.go). After the cancellation the next comparison would always be 4 s away, so the
/// leadership moves to another member.
fn prepare_upgrade(case: &Case<'_>, deed: &Deed) -> Option<Verdict> {
    let from = case.lowest_version()?.minor;
    let lower = version::snapshot_by(from)?;
    let known = on_record(case, &[deed.kind]).filter(|known| known.target == deed.target);
    let step = known.map_or("", |known| known.step.as_str());
    if ROLLING.contains(&step) {
        return None;
    }
    let doing = |doing: &'static str| Deed { doing, ..deed.clone() };
    let wait = |deed: Deed, why: String| Some(Verdict::Do(deed.saying(why.clone()).look_again(SOON, why)));
    let Some((leader, endpoint)) = leader(case) else {
        // The step on record says how far it is.
        let step = if step == RETURNING { RETURNING } else { SNAPSHOTTING };
        return wait(doing(step), "waits for a leader".into());
    };
    let lowered = endpoint.downgrade.as_deref().and_then(minor);
    let stored = |wanted: Minor| {
        let storage = |seen: &Seen<'_>| minor(seen.endpoint?.storage_version.as_deref()?);
        case.voters().all(|seen| storage(seen) == Some(wanted))
    };
    let tell = |doing: Deed, action| {
        let step = Step::Downgrade { action, target: lower.to_string(), leader };
        Some(Verdict::Do(
            doing
                .saying("every member takes a snapshot, so that the next minor can start on its log")
                .step(step),
        ))
    };
    match step {
        RETURNING if lowered.is_some() => tell(doing(RETURNING).about(leader), DowngradeAction::Cancel),
        RETURNING if stored(from) => {
            not_serving(case).and_then(|other| wait(doing(RETURNING), must_serve(case, other)))
        }
        RETURNING => {
            let cancelled_by = known.and_then(|known| case.names.serial_of_name(known.member.as_deref()?));
            let deed = doing(RETURNING).about(cancelled_by.unwrap_or(leader));
            let why = format!("waits until the cluster's version is {from} again");
            match leave::heir(case, leader, |_| true).filter(|_| cancelled_by == Some(leader)) {
                Some(step) => Some(Verdict::Do(deed.saying(why).step(step))),
                None => wait(deed, why),
            }
        }
        SNAPSHOTTING if lowered == Some(lower) && stored(lower) => {
            tell(doing(RETURNING).about(leader), DowngradeAction::Cancel)
        }
        SNAPSHOTTING if lowered == Some(lower) => {
            wait(doing(SNAPSHOTTING), "waits until every member has taken a snapshot".into())
        }
        _ => tell(doing(SNAPSHOTTING), DowngradeAction::Enable),
    }
}

/// Whether the downgrade that etcd was told of is a part of this upgrade.
fn takes_snapshots(case: &Case<'_>, version: Version) -> bool {
    let known =
        on_record(case, &[OperationKind::Upgrade]).filter(|known| known.target == version.to_string());
    known.is_some_and(|known| [SNAPSHOTTING, RETURNING].contains(&known.step.as_str()))
}

/// etcd must be told, and its members must have brought the stored data back, before the first older member may come.
/// Source: etcd's downgrade guides for 3.6 and 3.7.
fn prepare_downgrade(case: &Case<'_>, version: Version, deed: &Deed) -> Option<Verdict> {
    let Some((leader, endpoint)) = leader(case) else {
        let why = "waits for a leader";
        return Some(Verdict::Do(deed.clone().saying(why).look_again(SOON, why)));
    };
    let target = version.minor.to_string();
    if endpoint.downgrade.as_deref().and_then(minor) != Some(version.minor) {
        let step = Step::Downgrade { action: DowngradeAction::Enable, target, leader };
        return Some(Verdict::Do(Deed { doing: "Enabling", ..deed.clone() }.step(step)));
    }
    let behind = |seen: &&Seen<'_>| {
        let stored = seen.endpoint.and_then(|endpoint| minor(endpoint.storage_version.as_deref()?));
        stored != Some(version.minor)
    };
    let waiting: Vec<String> = case.voters().filter(behind).map(|seen| case.name(seen.serial)).collect();
    if waiting.is_empty() {
        return None;
    }
    let why = format!("waits until the data of {} is that of {target}", waiting.join(", "));
    Some(Verdict::Do(Deed { doing: "Preparing", ..deed.clone() }.saying(why.clone()).look_again(SOON, why)))
}

/// A downgrade was allowed to a minor that is not asked for any more.
pub(crate) fn cancel_downgrade(case: &Case<'_>) -> Verdict {
    let (Some((leader, endpoint)), Some((version, _))) = (leader(case), case.wanted.version) else {
        return Verdict::Pass;
    };
    if takes_snapshots(case, version) {
        return Verdict::Pass;
    }
    let Some(target) =
        endpoint.downgrade.as_deref().and_then(minor).filter(|target| *target != version.minor)
    else {
        return Verdict::Pass;
    };
    let kind = direction(case, version).unwrap_or(OperationKind::Downgrade);
    let deed = Deed::new(kind, version.to_string(), "Cancelling");
    let step = Step::Downgrade { action: DowngradeAction::Cancel, target: target.to_string(), leader };
    Verdict::Do(deed.step(step))
}

/// The next of those who are outdated: followers by number, then the leader, after it has handed over.
fn next(case: &Case<'_>, deed: Deed, outdated: Vec<(&Seen<'_>, Template)>) -> Verdict {
    let all = case.voters().count();
    let done = all - outdated.len();
    if let [problem, ..] = case.picture.certificates.problems.as_slice() {
        return Verdict::Do(
            deed.saying(format!("waits for certificates: {problem}")).stuck(Why::CertificateMissing),
        );
    }
    if outdated.len() == 1 && case.wanted.must_ask(&deed.target) {
        let ask = format!(
            "{done} of {all} members are done; set spec.updateStrategy.approve to {} to go on with the last one, or revert the spec",
            deed.target
        );
        return Verdict::Do(deed.saying(ask).stuck(Why::WaitingForUser));
    }
    let leads = |seen: &Seen<'_>| case.leader == Some(seen.serial);
    let turn = outdated.iter().min_by_key(|(seen, _)| (leads(seen), seen.serial));
    let Some((seen, template)) = turn else { return Verdict::Pass };
    let name = case.name(seen.serial);
    let deed = deed.about(seen.serial);
    let permit = case.may_go_down(seen);
    let next = format!("{done} of {all} members are done; {name} is next");
    let updated = |other: &Seen<'_>| !outdated.iter().any(|(seen, _)| seen.serial == other.serial);
    let permit = match permit {
        Ok(permit) => permit,
        Err(hindrance) => return Verdict::Do(hindered(case, deed, &name, &hindrance)),
    };
    // The leader hands over immediately before it restarts. Writes that followers forward while the leadership moves are dropped, and
    // fail when their time is over, 5 s and two election timeouts later (`ReqTimeout` in server/config/config.go). Their clients then
    // try another member: by then the restart is over, and all members are up.
    if leads(seen)
        && let Some(step) = leave::heir(case, seen.serial, updated)
    {
        return Verdict::Do(Deed { doing: MOVING_LEADER, ..deed }.saying(next).step(step));
    }
    let deed = Deed { doing: RESTARTING, ..deed }.saying(next);
    let Some(pod) = seen.objects.pod.as_ref().filter(|pod| !pod.deleting) else {
        return Verdict::Do(deed.made_from(seen.serial, template.clone()));
    };
    let (serial, pod_uid, why) =
        (seen.serial, pod.uid.clone(), format!("it is to run {}", what(seen, template)));
    Verdict::Do(deed.made_from(serial, template.clone()).step(Step::RestartPod {
        serial,
        pod_uid,
        permit,
        why,
    }))
}

fn hindered(case: &Case<'_>, deed: Deed, name: &str, hindrance: &Hindrance) -> Deed {
    let why = format!("{name} waits: {}", case.explain(hindrance));
    let after = match hindrance {
        Hindrance::TooSoonAfter { wait, .. } => *wait,
        Hindrance::WouldLoseQuorum { .. } | Hindrance::AnotherIsDown(_) | Hindrance::StillVotes { .. } => {
            LOOK
        }
        Hindrance::LosesData(quorum::Remedy::Wait) => LOOK,
        Hindrance::LosesData(quorum::Remedy::Grow) => return deed.saying(why).stuck(Why::WaitingForUser),
    };
    match failed(case) {
        // It may stay so for days: a pod, a connection or the user will tell.
        Some(failed) => deed.saying(failed).stuck(Why::RollFailed),
        None => deed.saying(why.clone()).look_again(after, why),
    }
}

/// Who has what is asked for, and does not serve with it, while others serve with what was before.
fn failed(case: &Case<'_>) -> Option<String> {
    let it = case.voters().find(|seen| {
        let Health::Down(cause) = &seen.health else { return false };
        // Who is on its way up has not failed; nor who has just been started, and says nothing yet.
        match cause.remedy {
            Remedy::Wait => return false,
            remedy @ (Remedy::Restart | Remedy::RestartLate)
                if seen.time(case.now) < repair::patience(case, remedy) =>
            {
                return false;
            }
            _ => {}
        }
        let asked = last(case, seen).into_iter().chain(own_version(seen).map(|own| at(case, seen, own)));
        asked.into_iter().any(|asked| Some(asked.fingerprint()) == seen.running())
    })?;
    let Health::Down(cause) = &it.health else { return None };
    let name = case.name(it.serial);
    Some(format!(
        "stopped after {name}, which {}. The others were left as they are: revert the spec, or correct it",
        cause.what
    ))
}

fn what(seen: &Seen<'_>, template: &Template) -> String {
    match seen.version {
        Some(version) if version == template.version => "with other settings".to_owned(),
        _ => template.version.to_string(),
    }
}

fn deed(case: &Case<'_>, seen: &Seen<'_>, to: Version, doing: &'static str) -> Deed {
    if case.identity.cluster_id.is_none() {
        return Deed::new(OperationKind::Found, members(case.identity.founders.len()), doing);
    }
    if is_newcomer(case, seen) {
        let kinds = [OperationKind::Replace, OperationKind::ScaleOut, OperationKind::Found];
        if let Some(known) = on_record(case, &kinds) {
            return Deed::new(known.kind, &known.target, doing);
        }
        return Deed::new(OperationKind::Restart, case.name(seen.serial), doing);
    }
    // What is under way keeps its name: a downgrade is one until its last member.
    let target = to.to_string();
    let kinds = [OperationKind::Upgrade, OperationKind::Downgrade];
    if let Some(known) = on_record(case, &kinds).filter(|known| known.target == target) {
        return Deed::new(known.kind, target, doing);
    }
    match direction(case, to) {
        Some(kind) => Deed::new(kind, target, doing),
        None => Deed::new(OperationKind::Configure, settings_target(case).unwrap_or(target), doing),
    }
}

/// Up, down, or neither, from where the members are.
fn direction(case: &Case<'_>, to: Version) -> Option<OperationKind> {
    if case.lowest_version().is_some_and(|lowest| lowest < to) {
        return Some(OperationKind::Upgrade);
    }
    let above = |seen: &Seen<'_>| own_version(seen).max(seen.version).is_some_and(|runs| runs > to);
    case.members.values().filter(|seen| seen.is_member(case)).any(above).then_some(OperationKind::Downgrade)
}

fn leader<'c>(case: &'c Case<'_>) -> Option<(crate::Serial, &'c crate::Endpoint)> {
    let leader = case.leader?;
    Some((leader, case.members.get(&leader)?.endpoint?))
}

/// The minor of etcd's own way to write one: `3.5.0`, or `3.5`.
pub(crate) fn minor(text: &str) -> Option<Minor> {
    let mut parts = text.trim_start_matches('v').split('.').map(|part| part.parse::<u32>().ok());
    Some(Minor(parts.next()??, parts.next()??))
}
