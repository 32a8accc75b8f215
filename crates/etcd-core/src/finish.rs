//! Finishing: all that was to be done has been done, and somebody is still on the way. An operation is over when everybody serves.

use etcd_types::{Operation, OperationKind};
use jiff::SignedDuration;

use crate::{
    Version,
    case::{Case, Health, Seen},
    cause::Remedy,
    join, repair, roll,
    rule::{Deed, LOOK, SOON, Verdict},
    text::members,
};

const FINISHING: &str = "Finishing";
const VERIFYING: &str = "Verifying";

/// For how long the end of an operation waits for what nobody announces.
const PATIENCE: SignedDuration = SignedDuration::from_mins(1);
/// Time within which etcd raises the version of the stored data, and in which it is looked at more often.
const PROMPT: SignedDuration = SignedDuration::from_secs(10);

/// Nothing is left to be done for what is on record.
pub(crate) fn finish(case: &Case<'_>) -> Verdict {
    let Some(known) = case.picture.status.operation.as_ref().filter(|known| is_asked(case, known)) else {
        return Verdict::Pass;
    };
    match case.voters().find(|seen| seen.health != Health::Serving) {
        Some(away) => wait(case, known, away),
        None => verify(case, known),
    }
}

/// Whether it leads to what is asked for now.
fn is_asked(case: &Case<'_>, known: &Operation) -> bool {
    match known.kind {
        OperationKind::ScaleOut => known.target == members(case.wanted.size),
        OperationKind::Replace => true,
        OperationKind::Upgrade | OperationKind::Downgrade => target(case, known).is_some(),
        OperationKind::Configure => roll::settings_target(case).as_ref() == Some(&known.target),
        _ => false,
    }
}

/// The version that an upgrade or downgrade leads to, if it is the one that is asked for.
fn target(case: &Case<'_>, known: &Operation) -> Option<Version> {
    case.wanted.version.map(|(version, _)| version).filter(|version| version.to_string() == known.target)
}

/// Somebody starts, or was just promoted and does not know it yet. Whoever does not come is no longer a matter of this operation.
fn wait(case: &Case<'_>, known: &Operation, away: &Seen<'_>) -> Verdict {
    let why = match &away.health {
        Health::Serving | Health::Learning => return Verdict::Pass,
        Health::Starting(why) | Health::CatchingUp(why) | Health::Unseen(why) => {
            format!("{}: {why}", case.name(away.serial))
        }
        Health::Down(cause) => format!("{} {}", case.name(away.serial), cause.what),
    };
    let begun = known.step == FINISHING;
    let deed = Deed::new(known.kind, &known.target, FINISHING).about(away.serial);
    let deed = deed.saying(format!("all is done, and {why}"));
    let comes = match &away.health {
        Health::Serving | Health::Learning | Health::Starting(_) | Health::CatchingUp(_) => true,
        // Our connection follows its pod within a moment.
        Health::Unseen(_) => !begun || case.now.duration_since(known.step_started_at.0) < PATIENCE,
        Health::Down(cause) => match cause.remedy {
            Remedy::Wait => true,
            Remedy::Restart | Remedy::RestartLate => {
                away.time(case.now) < repair::patience(case, cause.remedy)
            }
            Remedy::Correct | Remedy::Replace | Remedy::ReplaceNow | Remedy::Refresh => false,
        },
    };
    match &away.health {
        _ if !comes => Verdict::Pass,
        Health::Unseen(_) => Verdict::Do(deed.look_again(LOOK, "whether it is reached")),
        Health::Down(_) if join::has_greeted(away) => {
            Verdict::Do(deed.look_again(SOON, "whether it answers clients"))
        }
        _ => Verdict::Do(deed),
    }
}

/// The stored data follows the last member within 4 s: so often the leader compares the versions of all members (`monitorClusterVersions`
/// in server/etcdserver/server.go).
fn verify(case: &Case<'_>, known: &Operation) -> Verdict {
    let Some(version) = target(case, known).filter(|_| known.kind == OperationKind::Upgrade) else {
        return Verdict::Pass;
    };
    let mut stored = case.voters().filter_map(|seen| roll::minor(seen.endpoint?.storage_version.as_deref()?));
    let behind = stored.any(|stored| stored < version.minor);
    let verifying = known.step == VERIFYING;
    if !behind || (verifying && case.now.duration_since(known.step_started_at.0) > PATIENCE) {
        return Verdict::Pass;
    }
    let why = format!("all members run {version}; their data follows");
    let late = verifying && case.now.duration_since(known.step_started_at.0) > PROMPT;
    let again = if late { LOOK } else { SOON };
    Verdict::Do(Deed::new(known.kind, &known.target, VERIFYING).saying(why.clone()).look_again(again, why))
}
