//! Report: the status, conditions and events that users read, and when to look again.

use std::time::Duration;

use etcd_core::{Plan, Truth as Judged};
use etcd_types::EtcdClusterStatus;
use jiff::Timestamp;
use kit::{Acted, Condition, Conditions, Context, Error, Event, Outcome, Truth, telemetry::chain};
use kube::Resource as _;

use crate::{
    act::{Did, Took},
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

/// The condition that says whether what was decided could be carried out.
pub(crate) const RECONCILED: &str = "Reconciled";

/// So many bytes more or less are none; nor is a tenth.
const NOISE: u64 = 1 << 20;

pub(crate) async fn report(
    cx: &Context,
    measured: &Measured,
    world: &World,
    plan: &Plan,
    did: Option<&Did>,
    acted: Acted,
) -> Outcome {
    let left = did.and_then(|did| did.left.as_ref());
    let status = status(world, plan, &acted, left, cx.now());
    let mut news = status.clone();
    calm(&mut news, world.cluster.status.as_ref());
    let events = plan.events.iter().map(|event| {
        let (reason, note) = (Word(event.reason), event.message.clone());
        match event.warning {
            true => Event::warning(reason, "Reconcile", note),
            false => Event::normal(reason, "Reconcile", note),
        }
    });
    let acted = match cx.report(&*world.cluster, &news, events, acted).await {
        Ok((acted, _)) => acted,
        Err(outcome) => return outcome,
    };
    measured.show(&world.key, world.cluster.spec.size, &status);
    match (acted, did.map(|did| &did.took)) {
        (Acted::Done, Some(Took::InEtcd)) => Outcome::wait("what came of the step", SOON),
        (Acted::Done, Some(Took::Held(why))) => Outcome::wait(why.clone(), AGAIN),
        (Acted::Done, _) if left.is_some() => {
            let after = plan.wake.as_ref().map_or(LOOK, |(after, _)| LOOK.min(*after));
            Outcome::wait("what could not be done", after)
        }
        (Acted::Done | Acted::Paused, _) => match &plan.wake {
            // What happens inside of etcd is looked at all the same, however far away that is.
            Some((after, what)) => Outcome::wait(what.clone(), LOOK.min(*after)),
            None => Outcome::wait("a look at the members", LOOK),
        },
        (acted @ Acted::Failed(_), _) => acted.outcome(),
    }
}

/// Databases grow all the time: a size that has hardly moved is no reason to write. The metrics have every byte.
fn calm(news: &mut EtcdClusterStatus, before: Option<&EtcdClusterStatus>) {
    let known = before.and_then(|before| before.members.as_ref());
    for member in news.members.iter_mut().flatten() {
        let known = known.and_then(|known| known.iter().find(|known| known.name == member.name));
        let Some(known) = known else { continue };
        let settle = |now: &mut Option<i64>, then: Option<i64>| {
            if let (Some(value), Some(then)) = (*now, then)
                && value.abs_diff(then) <= NOISE.max(then.unsigned_abs() / 10)
            {
                *now = Some(then);
            }
        };
        settle(&mut member.db_size, known.db_size);
        settle(&mut member.db_size_in_use, known.db_size_in_use);
    }
}

fn status(
    world: &World,
    plan: &Plan,
    acted: &Acted,
    left: Option<&Error>,
    now: Timestamp,
) -> EtcdClusterStatus {
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
        conditions.set(Condition::new(
            condition.kind,
            truth,
            Word(condition.reason),
            condition.message.clone(),
        ));
    }
    match (acted, left) {
        (Acted::Failed(error), _) | (Acted::Done, Some(error)) => {
            let reason = match error {
                Error::Foreign { .. } => Carried::NotOurs,
                _ => Carried::ActFailed,
            };
            conditions.set(Condition::new(RECONCILED, false, reason, chain(error).to_string()));
        }
        (Acted::Done, None) => {
            let message = "what was decided has been carried out";
            conditions.set(Condition::new(RECONCILED, true, Carried::CarriedOut, message));
        }
        (Acted::Paused, _) => {}
    }
    status.conditions = Some(conditions.into_vec());
    status
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn sizes(file: i64, in_use: i64) -> EtcdClusterStatus {
        let member = json!({"name": "db-1", "role": "Leader", "healthy": true, "since": "2026-01-01T00:00:00Z",
            "updated": true, "dbSize": file, "dbSizeInUse": in_use});
        serde_json::from_value(json!({ "members": [member] })).unwrap()
    }

    #[test]
    fn a_database_that_has_hardly_grown_is_no_news() {
        const MB: i64 = 1_000_000;
        let cases = [
            ("a little more", sizes(2 * MB, MB), sizes(2 * MB + 1, MB + 9), sizes(2 * MB, MB)),
            ("less than a tenth", sizes(1000 * MB, MB), sizes(1090 * MB, MB), sizes(1000 * MB, MB)),
            ("more than a tenth", sizes(1000 * MB, MB), sizes(1200 * MB, MB), sizes(1200 * MB, MB)),
        ];
        for (name, before, mut now, expected) in cases {
            calm(&mut now, Some(&before));
            assert_eq!(now, expected, "{name}");
        }
        let mut first = sizes(MB, MB);
        calm(&mut first, None);
        assert_eq!(first, sizes(MB, MB));
    }
}
