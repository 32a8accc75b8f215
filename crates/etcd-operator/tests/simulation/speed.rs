//! How long an upgrade of three members takes, in virtual time, and where the time goes.
//!
//! A restart of a pod takes 3 s in this world, and its member catches up for another second. A leader compares the versions of all members
//! every 4 s. What is left is the operator's: 1 s to 2 s after each member but the last, and the time until it sees what etcd does not tell.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use apiserver::{Recorded, Verb};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use simulation::Run;

use crate::world::{Stage, create, edit, healthy, play};

/// How long an upgrade of three members may take.
const LIMIT: SignedDuration = SignedDuration::from_secs(20);

/// One event of an upgrade.
struct Event {
    at: SignedDuration,
    what: String,
}

/// Upgrades three members, `late` after the cluster has come to rest, and tells what happened until the operation was over.
fn upgrade(from: &'static str, to: &'static str, late: Duration) -> Vec<Event> {
    let stage = Stage::default();
    let (upgrading, began) = (stage.clone(), Arc::new(Mutex::new(None)));
    let begins = began.clone();
    let scenario = stage
        .scenario("speed")
        .step("create three", move |client| create(client, json!({"size": 3, "version": from})))
        .step("upgrade", move |client| {
            let (stage, begins) = (upgrading.clone(), begins.clone());
            async move {
                simulation::pass(late).await;
                *begins.lock().unwrap() = Some(stage.server().now());
                edit(client, json!({"version": to})).await
            }
        });
    let run = play(&scenario);
    healthy(&run);
    let began = began.lock().unwrap().unwrap();
    events(&run, began)
}

/// The steps on record, and the pods that were deleted.
fn events(run: &Run, began: Timestamp) -> Vec<Event> {
    let told = |request: &Recorded| {
        if request.verb == Some(Verb::Delete) && request.resource == "pods" {
            return Some(format!("pod {} is deleted", request.name));
        }
        let status = request.resource == "etcdclusters" && request.subresource == "status";
        let body: Value = serde_json::from_slice(&request.body).ok().filter(|_| status)?;
        // A merge patch: what it does not name stays as it is.
        match body.pointer("/status/operation")? {
            Value::Null => Some("over".to_owned()),
            known => known.get("step")?.as_str().map(str::to_owned),
        }
    };
    let after = run.requests.iter().filter(|request| request.at >= began);
    after
        .filter_map(|request| Some(Event { at: request.at.duration_since(began), what: told(request)? }))
        .collect()
}

/// At the beginning of the leader's period, and in the middle of it.
#[track_caller]
fn is_fast(from: &'static str, to: &'static str) {
    for late in [0, 2] {
        let events = upgrade(from, to, Duration::from_secs(late));
        let told: Vec<String> =
            events.iter().map(|event| format!("{:>6.1} s  {}", event.at.as_secs_f32(), event.what)).collect();
        let told = told.join("\n");
        println!("{from} to {to}, {late} s late:\n{told}");
        let over = events.iter().rev().find(|event| event.what == "over").unwrap();
        assert!(over.at <= LIMIT, "{from} to {to} took {:#}, {LIMIT:#} at most:\n{told}", over.at);
    }
}

#[test]
fn an_upgrade_from_3_5_to_3_6_takes_at_most_20_s() {
    is_fast("3.5.35", "3.6.16");
}

/// Every member takes a snapshot first.
#[test]
fn an_upgrade_from_3_6_to_3_7_takes_at_most_20_s() {
    is_fast("3.6.16", "3.7.3");
}
