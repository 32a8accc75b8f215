//! A member that joins: it votes as soon as the others know it, and clients are led to it when it answers them.

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use serde_json::json;
use simulation::etcd::Trouble;

use crate::{
    stories::spec,
    world::{NAMESPACE, Stage, create, edit, healthy, play},
};

async fn is_ready(client: kube::Client, pod: &str) -> kube::Result<bool> {
    let pods: kube::Api<Pod> = kube::Api::namespaced(client, NAMESPACE);
    let conditions = pods.get(pod).await?.status.and_then(|status| status.conditions).unwrap_or_default();
    Ok(conditions.iter().any(|condition| condition.type_ == "Ready" && condition.status == "True"))
}

/// Seen on a real etcd from 3.6 on: its greeting was in the snapshot that it got, and it opened its port for clients 7 s later, while its
/// probe said that it is ready.
#[test]
fn a_port_that_is_not_open_yet_keeps_clients_away_and_nobody_else_waiting() {
    let stage = Stage::default();
    let growing = stage.clone();
    let scenario = stage.scenario("closed port").step("create three", |client| create(client, spec(3))).step(
        "grow to five, and the first of them keeps its port closed",
        move |client| {
            let etcd = growing.etcd.clone();
            async move {
                let url = "https://db-4-0.db-peer.default.svc:2379";
                etcd.trouble(url, Trouble::CutFromClients);
                edit(client.clone(), json!({"size": 5})).await?;
                simulation::pass(Duration::from_secs(60)).await;
                let all = "db-1 Voter, db-2 Voter, db-3 Voter, db-4 Voter, db-5 Voter";
                assert_eq!(etcd.summary(), [all], "nobody waits for it");
                assert!(!is_ready(client.clone(), "db-4-0").await?, "clients would find a closed port");
                assert!(is_ready(client.clone(), "db-5-0").await?);
                etcd.heal(url);
                simulation::pass(Duration::from_secs(10)).await;
                assert!(is_ready(client, "db-4-0").await?);
                Ok(())
            }
        },
    );
    let run = play(&scenario);
    healthy(&run);
    assert_eq!(run.comings_and_goings["pods default/db-4-0"], (1, 0), "nobody restarts it");
}

/// Two members, of which one was never seen to answer, may be no quorum.
#[test]
fn who_would_be_needed_for_the_quorum_votes_only_when_it_was_seen_to_answer() {
    let stage = Stage::default();
    let growing = stage.clone();
    let scenario = stage
        .scenario("closed port of the second")
        .step("create one", |client| create(client, spec(1)))
        .step("grow to three, and the first of them keeps its port closed", move |client| {
            let etcd = growing.etcd.clone();
            async move {
                let url = "https://db-2-0.db-peer.default.svc:2379";
                etcd.trouble(url, Trouble::CutFromClients);
                edit(client, json!({"size": 3})).await?;
                simulation::pass(Duration::from_secs(60)).await;
                assert_eq!(etcd.summary(), ["db-1 Voter, db-2 Learner"]);
                etcd.heal(url);
                Ok(())
            }
        });
    healthy(&play(&scenario));
}
