//! Report: what people read of an EtcdBackup.

use etcd_types::{BackupPhase, EtcdBackupStatus};
use kit::{Acted, Condition, Conditions, Context, Error, Event, Key, Outcome, telemetry::chain};

use super::{
    World,
    decide::{Plan, is_over},
};
use crate::backup::{metrics::Measured, reasons::Why};

pub(super) async fn report(
    cx: &Context,
    measured: &Measured,
    world: &World,
    plan: &Plan,
    acted: Acted,
) -> Outcome {
    let (key, cluster) = (Key::of(&*world.backup), &world.backup.spec.cluster_name);
    let before = world.backup.status.clone().unwrap_or_default();
    let mut status = plan.status.clone();
    if let Acted::Failed(error) = &acted {
        // What could not be begun has not begun.
        (status.phase, status.started_at) =
            (before.phase.or(Some(BackupPhase::Pending)), before.started_at.clone());
        status.cluster_uid = before.cluster_uid.clone();
        status.message = Some(format!("{}; it is tried again", chain(error)));
    }
    status.conditions = match is_over(&world.backup) {
        true => before.conditions.clone(),
        false => Some(conditions(world, plan, &status, &acted, cx)),
    };
    let event = event(&before, &status, plan.why);
    let acted = match cx.report(&*world.backup, &status, event, acted).await {
        Ok((acted, _)) => acted,
        Err(outcome) => return outcome,
    };
    measured.show_backup(&key, cluster, &status);
    acted.outcome_or_wait(plan.wake)
}

/// One that is told once: when the phase changes, or a removal fails.
fn event(before: &EtcdBackupStatus, status: &EtcdBackupStatus, why: Why) -> Option<Event> {
    let note = status.message.clone().unwrap_or_default();
    if why == Why::NotRemoved && before.message != status.message {
        return Some(Event::warning(why, "Remove", note));
    }
    if before.phase == status.phase {
        return None;
    }
    Some(match status.phase? {
        BackupPhase::Failed => Event::warning(why, "Backup", note),
        BackupPhase::Pending if why == Why::Refused => Event::warning(why, "Backup", note),
        BackupPhase::Pending | BackupPhase::Running | BackupPhase::Completed => {
            Event::normal(why, "Backup", note)
        }
    })
}

fn conditions(
    world: &World,
    plan: &Plan,
    status: &EtcdBackupStatus,
    acted: &Acted,
    cx: &Context,
) -> Vec<k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition> {
    let backup = &world.backup;
    let live = backup.status.as_ref().and_then(|status| status.conditions.clone()).unwrap_or_default();
    let mut conditions = Conditions::from_live(&live, backup.metadata.generation, cx.now());
    let message = status.message.clone().unwrap_or_default();
    let accepted = match plan.refused.first() {
        Some(refusal) => Condition::new("Accepted", false, plan.why, refusal.to_string()),
        None => Condition::new("Accepted", true, Why::Valid, "the spec can be carried out"),
    };
    conditions.set(accepted);
    let complete = status.phase == Some(BackupPhase::Completed);
    let why = match acted {
        Acted::Failed(Error::Foreign { .. }) => Why::NotOurs,
        Acted::Failed(_) => Why::ActFailed,
        Acted::Done | Acted::Paused => plan.why,
    };
    conditions.set(Condition::new("Complete", complete, why, message));
    if let Some(verified) = &status.verified {
        let why = if verified.good { Why::Verified } else { Why::NotVerified };
        let said = verified.message.clone().unwrap_or_default();
        conditions.set(Condition::new("Verified", verified.good, why, said));
    }
    conditions.into_vec()
}
