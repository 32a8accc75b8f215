//! Report: the status, conditions and events that users read, and when to look again.

use std::time::Duration;

use etcd_core::{Plan, Truth as Judged};
use etcd_types::EtcdClusterStatus;
use jiff::Timestamp;
use kit::{Acted, Condition, Conditions, Context, Error, Event, Outcome, Truth, telemetry::chain};
use kube::Resource as _;

use crate::{
    act::Took,
    metrics::Measured,
    observe::World,
    reasons::{Carried, Word},
};

/// When to look at what came of a call to etcd: no event tells.
const SOON: Duration = Duration::from_millis(50);
/// When to try a call again that etcd could not take yet.
const AGAIN: Duration = Duration::from_millis(300);
/// etcd has no watch for what happens inside of it: how often to look.
const LOOK: Duration = Duration::from_secs(30);

pub(crate) async fn report(
    cx: &Context,
    measured: &Measured,
    world: &World,
    plan: &Plan,
    took: Option<&Took>,
    acted: Acted,
) -> Outcome {
    if let Acted::Failed(Error::Stale { .. } | Error::NotLeader { .. }) = &acted {
        return acted.outcome();
    }
    let status = status(world, plan, &acted, cx.now());
    match cx.write_status(&*world.cluster, &status).await {
        Err(error) => return Outcome::Retry(error),
        Ok(false) => {}
        Ok(true) => {
            for event in &plan.events {
                let (reason, note) = (Word(event.reason), event.message.clone());
                cx.event(
                    &*world.cluster,
                    match event.warning {
                        true => Event::warning(reason, "Reconcile", note),
                        false => Event::normal(reason, "Reconcile", note),
                    },
                );
            }
        }
    }
    measured.show(&world.key, world.cluster.spec.size, &status);
    match (acted, took) {
        (Acted::Done, Some(Took::InEtcd)) => Outcome::wait("what came of the step", SOON),
        (Acted::Done, Some(Took::Held(why))) => Outcome::wait(why.clone(), AGAIN),
        (Acted::Done | Acted::Paused, _) => match &plan.wake {
            Some((after, what)) => Outcome::wait(what.clone(), *after),
            None => Outcome::wait("a look at the members", LOOK),
        },
        (acted @ Acted::Failed(_), _) => acted.outcome(),
    }
}

fn status(world: &World, plan: &Plan, acted: &Acted, now: Timestamp) -> EtcdClusterStatus {
    let mut status = plan.status.clone();
    let before = world.cluster.status.clone().unwrap_or_default();
    if let Acted::Failed(error) = acted {
        // The latch is outside of the status first: what could not be written there is not said here.
        status.cluster_id = before.cluster_id.clone();
        status.latest_serial = before.latest_serial;
        status.message = Some(format!("{}; it is tried again", chain(error)));
    }
    let live = before.conditions.unwrap_or_default();
    let mut conditions = Conditions::from_live(&live, world.cluster.meta().generation, now);
    for condition in &plan.conditions {
        let truth = match condition.truth {
            Judged::True => Truth::True,
            Judged::False => Truth::False,
            Judged::Unknown => Truth::Unknown,
        };
        conditions.set(Condition::new(condition.kind, truth, Word(condition.reason), condition.message.clone()));
    }
    match acted {
        Acted::Failed(error) => {
            conditions.set(Condition::new("Reconciled", false, Carried::ActFailed, chain(error).to_string()));
        }
        Acted::Done => {
            let message = "what was decided has been carried out";
            conditions.set(Condition::new("Reconciled", true, Carried::CarriedOut, message));
        }
        Acted::Paused => {}
    }
    status.conditions = Some(conditions.into_vec());
    status
}
