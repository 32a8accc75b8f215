//! Members whose data differs: the minority is replaced, by hashes and not by what the alarm says, and clients can write again.

use etcd_api::AlarmKind;
use serde_json::json;
use simulation::{
    AtCall, Injected, Scenario,
    etcd::{Call, Made},
};

use crate::{
    stories::{Story, spec},
    world::{CLUSTER, Stage, create, edit, healthy, left, lose_pod, play},
};

pub(crate) static CORRUPT: Story = Story::new("corrupt", corrupt);

fn url(serial: u8) -> String {
    format!("https://db-{serial}-0.db-peer.default.svc:2379")
}

/// The data of a member changes, and the alarm names another one, as etcd's periodic check does when the leader is corrupt.
fn corrupt() -> Scenario {
    let stage = Stage::default();
    let (damaging, writing) = (stage.clone(), stage.clone());
    stage
        .scenario("corrupt")
        .step("create three", |client| create(client, spec(3)))
        .step("the data of a member changes", move |_| {
            let etcd = &damaging.etcd;
            etcd.damage(&url(2));
            etcd.alarm(&url(3), AlarmKind::Corrupt);
            assert!(etcd.put(&url(1)).is_err(), "nothing can be written");
            async { Ok(()) }
        })
        .step("clients write", move |_| {
            let etcd = &writing.etcd;
            let running = etcd.running();
            assert_eq!(running.len(), 3, "{running:?}");
            assert!(etcd.put(&running[0]).is_ok() && etcd.alarms(&running[0]) == Some(Vec::new()));
            async { Ok(()) }
        })
}

fn is_disarm(made: &Made) -> bool {
    matches!(made.call, Call::Disarm(_))
}

#[test]
fn minority_is_replaced_and_clients_write_again() {
    let run = CORRUPT.reference();
    healthy(run);
    let at = |meant: fn(&Call) -> bool| run.etcd_calls.iter().position(|made| meant(&made.call));
    let removed = at(|call| matches!(call, Call::RemoveMember(_))).expect("the minority is removed");
    let disarmed = at(|call| matches!(call, Call::Disarm(_))).expect("the alarm is disarmed");
    let added = at(|call| matches!(call, Call::AddMember { .. })).expect("a new member joins");
    assert!(removed < disarmed && disarmed < added, "clients are served before a new member joins");
    let asked = run.etcd_calls.iter().filter(|made| matches!(made.call, Call::HashKv(_))).count();
    assert!(asked <= 6, "each voter is asked once, and after a new connection: {asked}");
    let claims = run.dump.objects().iter().filter(|(place, _)| place.starts_with("persistentvolumeclaims "));
    assert_eq!(claims.count(), 4, "the volume of the member that left is kept");
}

#[test]
fn crash_at_any_call_of_etcd_ends_the_same() {
    let writes = CORRUPT.reference().etcd_calls.iter().filter(|made| made.call.is_write());
    let last = writes.enumerate().filter(|(_, made)| is_disarm(made)).map(|(nth, _)| nth).last();
    for nth in 0..=last.expect("the alarm is disarmed") {
        for what in [AtCall::CrashBefore, AtCall::CrashAfter, AtCall::Lost] {
            healthy(&CORRUPT.survives(Injected::Etcd { what, nth }));
        }
    }
}

#[test]
fn corrupt_leader_is_replaced_though_the_alarm_names_a_follower() {
    let stage = Stage::default();
    let damaging = stage.clone();
    let scenario = stage
        .scenario("corrupt-leader")
        .step("create three", |client| create(client, spec(3)))
        .step("the data of the leader changes", move |_| {
            let leader = damaging.etcd.leader(&url(1)).expect("a leader");
            let other = (1..=3).map(url).find(|url| *url != leader).expect("a follower");
            damaging.etcd.damage(&leader);
            damaging.etcd.alarm(&other, AlarmKind::Corrupt);
            async { Ok(()) }
        });
    let run = play(&scenario);
    healthy(&run);
    let removals = run.etcd_calls.iter().filter(|made| matches!(made.call, Call::RemoveMember(_)));
    assert_eq!(removals.count(), 1);
    assert!(run.etcd_calls.iter().any(|made| matches!(made.call, Call::MoveLeader(_))));
}

#[test]
fn without_majority_nothing_is_changed_and_the_condition_explains() {
    let stage = Stage::default();
    let damaging = stage.clone();
    let scenario = stage.scenario("no-majority").step("create three", |client| create(client, spec(3))).step(
        "the data of two members changes",
        move |_| {
            damaging.etcd.damage(&url(1));
            damaging.etcd.damage(&url(2));
            damaging.etcd.alarm(&url(3), AlarmKind::Corrupt);
            async { Ok(()) }
        },
    );
    let run = play(&scenario);
    assert_eq!(left(&run, CLUSTER, "/status/phase"), "WaitingForUser");
    let conditions = run.dump.objects()[CLUSTER]["status"]["conditions"].as_array().unwrap().clone();
    let found = conditions.iter().find(|it| it["type"] == "NoCorruption").unwrap();
    let message = found["message"].as_str().unwrap();
    assert!(message.contains("db-1 has the hash") && message.contains("EtcdRestore"), "{message}");
    assert!(!run.etcd_calls.iter().any(is_disarm));
    let removes = |made: &Made| matches!(made.call, Call::RemoveMember(_));
    assert!(!run.etcd_calls.iter().any(removes));
}

#[test]
fn member_that_finds_itself_different_at_its_start_is_replaced() {
    let stage = Stage::default();
    let damaging = stage.clone();
    let scenario = stage
        .scenario("refuses-to-start")
        .step("create three", |client| create(client, spec(3)))
        .step("the data of a member changes, and its pod is lost", move |client| {
            damaging.etcd.damage(&url(2));
            lose_pod(client, "db-2")
        });
    let run = play(&scenario);
    healthy(&run);
    let members = run.dump.objects()[CLUSTER]["status"]["members"].clone();
    assert!(members.as_array().unwrap().iter().all(|member| member["name"] != "db-2"), "{members:#}");
}

#[test]
fn paused_cluster_is_left_alone() {
    let stage = Stage::default();
    let damaging = stage.clone();
    let scenario = stage
        .scenario("paused")
        .step("create three", |client| create(client, spec(3)))
        .step("pause", |client| edit(client, json!({"paused": true})))
        .step("the data of a member changes", move |_| {
            damaging.etcd.damage(&url(2));
            damaging.etcd.alarm(&url(2), AlarmKind::Corrupt);
            async { Ok(()) }
        });
    let run = play(&scenario);
    assert_eq!(left(&run, CLUSTER, "/status/phase"), "Paused");
    assert!(!run.etcd_calls.iter().any(is_disarm));
}
