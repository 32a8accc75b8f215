//! Report: what people read of an EtcdBackupSchedule.

use etcd_types::EtcdBackupScheduleStatus;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition as ApiCondition;
use kit::{Acted, Condition, Conditions, Context, Error, Event, Key, Outcome, telemetry::chain};

use super::{World, decide::Plan};
use crate::backup::{metrics::Measured, reasons::Why};

pub(super) async fn report(
    cx: &Context,
    measured: &Measured,
    world: &World,
    plan: &Plan,
    acted: Acted,
) -> Outcome {
    let spec = &world.schedule.spec;
    let key = Key::of(&*world.schedule);
    let before = world.schedule.status.clone().unwrap_or_default();
    let mut status = plan.status.clone();
    if let Acted::Failed(error) = &acted {
        status.message = Some(format!("{}; it is tried again", chain(error)));
    }
    status.conditions = Some(conditions(world, plan, &acted, cx));
    let (acted, is_news) = match cx.report(&*world.schedule, &status, events(&before, plan), acted).await {
        Ok(reported) => reported,
        Err(outcome) => return outcome,
    };
    if is_news && before.last_failure != status.last_failure {
        measured.failed(&key, &spec.cluster_name);
    }
    let exact = EtcdBackupScheduleStatus { recoverable: plan.recoverable.clone(), ..status };
    measured.show_schedule(&key, &spec.cluster_name, spec.suspend, &exact);
    acted.outcome_or_wait(Some(plan.wake))
}

/// What became of Jobs, once each; and what is refused.
fn events(before: &EtcdBackupScheduleStatus, plan: &Plan) -> Vec<Event> {
    let mut events = Vec::new();
    let status = &plan.status;
    if before.last_success != status.last_success
        && let Some(last) = &status.last_success
    {
        let id = last.id.as_deref().unwrap_or("a backup");
        events.push(Event::normal(
            Why::Stored,
            "Backup",
            format!("{id} is stored, read back and found whole"),
        ));
    }
    if before.last_failure != status.last_failure
        && let Some(last) = &status.last_failure
    {
        let note = format!("{}: {}", last.job, last.message);
        events.push(Event::warning(Why::BackupFailed, "Backup", note));
    }
    if before.verified != status.verified
        && let Some(verified) = &status.verified
    {
        let note = verified.message.clone().unwrap_or_default();
        events.push(match verified.good {
            true => Event::normal(Why::Verified, "Verify", note),
            false => Event::warning(Why::NotVerified, "Verify", note),
        });
    }
    if let Some(refusal) = plan.refused.first() {
        events.push(Event::warning(Why::Refused, "Schedule", refusal.to_string()));
    }
    if status.missed.unwrap_or_default() > before.missed.unwrap_or_default() {
        events.push(Event::warning(Why::Missed, "Schedule", plan.on_time.2.clone()));
    }
    events
}

fn conditions(world: &World, plan: &Plan, acted: &Acted, cx: &Context) -> Vec<ApiCondition> {
    let schedule = &world.schedule;
    let live = schedule.status.as_ref().and_then(|status| status.conditions.clone()).unwrap_or_default();
    let mut conditions = Conditions::from_live(&live, schedule.metadata.generation, cx.now());
    let accepted = match (plan.refused.first(), acted) {
        (Some(refusal), _) => Condition::new("Accepted", false, Why::Refused, refusal.to_string()),
        (None, Acted::Failed(error)) => {
            let why = if matches!(error, Error::Foreign { .. }) { Why::NotOurs } else { Why::ActFailed };
            Condition::new("Accepted", false, why, chain(error).to_string())
        }
        (None, _) => Condition::new("Accepted", true, Why::Valid, "the spec can be carried out"),
    };
    conditions.set(accepted);
    let (is_good, why, said) = &plan.on_time;
    conditions.set(Condition::new("OnTime", *is_good, *why, said.clone()));
    match &plan.captured {
        Some((is_kept, why, said)) => {
            conditions.set(Condition::new("Captured", *is_kept, *why, said.clone()))
        }
        None => conditions.remove("Captured"),
    };
    match &plan.status.verified {
        Some(verified) => {
            let why = if verified.good { Why::Verified } else { Why::NotVerified };
            let said = verified.message.clone().unwrap_or_default();
            conditions.set(Condition::new("Verified", verified.good, why, said))
        }
        None => conditions.remove("Verified"),
    };
    match &plan.not_removed {
        Some(why) => conditions.set(Condition::new("Retained", false, Why::NotRetained, why.clone())),
        None => conditions.remove("Retained"),
    };
    conditions.into_vec()
}
