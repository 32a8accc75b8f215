//! A small operator that adds a member, under every fault: what a campaign asks of etcd really reaches it.

use apiserver::Connection;
use etcd_api::Role;

use super::*;
use crate::{Campaign, Extent, Injected, Scenario};

/// Adds `db-2` to `db-1` as a learner, starts it, and makes it a voter. `careful` asks before it adds.
async fn operate(etcd: Etcd, connection: Connection, careful: bool) {
    let pods: Api<Pod> = Api::namespaced(connection.client(), "default");
    let dial = etcd.dial();
    let mut look = tokio::time::interval(Duration::from_secs(1));
    loop {
        look.tick().await;
        let Ok(first) = dial.dial(&url(1), None, DEADLINE).await else { continue };
        let Ok(before) = first.members(Consistency::Linearizable).await else { continue };
        let there = before.members.iter().find(|member| member.peer_urls == [peer_url(2)]);
        let step = match there {
            Some(member) if member.role == Role::Voter => return std::future::pending().await,
            Some(member) if member.has_started() => first.promote_member(member.id).await.map(drop),
            Some(_) => {
                let _ = pods.create(&PostParams::default(), &pod(2, &[1, 2], "existing")).await;
                Ok(())
            }
            None => first.add_member(&[peer_url(2)], Role::Learner).await.map(drop),
        };
        if step.is_err() && !careful {
            let _ = first.add_member(&[peer_url(3)], Role::Learner).await;
        }
    }
}

fn pod(serial: u32, initial: &[u32], state: &str) -> Pod {
    let initial: Vec<String> =
        initial.iter().map(|serial| format!("{}={}", name(*serial), peer_url(*serial))).collect();
    let spec = json!({"metadata": {"name": name(serial)}, "spec": {"containers": [{
        "name": "etcd", "image": "etcd:v3.6.16", "command": ["etcd"], "args": [
            "--name", name(serial), "--initial-advertise-peer-urls", peer_url(serial), "--advertise-client-urls", url(serial),
            "--initial-cluster", initial.join(","), "--initial-cluster-state", state]}]}});
    serde_json::from_value(spec).unwrap()
}

fn campaign(careful: bool) -> Campaign {
    let (etcd, volumes) = (Etcd::default(), Volumes::default());
    let (prepared, operated) = (etcd.clone(), etcd.clone());
    let prepare = move |server: &Server| {
        workloads::start(server, prepared.clone(), &volumes);
        prepared.start(server, &volumes);
    };
    let operator = move |connection: Connection| {
        Box::pin(operate(operated.clone(), connection, careful)) as futures::future::BoxFuture<'static, ()>
    };
    let scenario = Scenario::new("grow by one", prepare, operator).with_etcd(etcd).step(
        "start the first member",
        |client: kube::Client| async move {
            let pods: Api<Pod> = Api::namespaced(client, "default");
            pods.create(&PostParams::default(), &pod(1, &[1], "new")).await.map(drop)
        },
    );
    Campaign::new(scenario).unwrap()
}

#[test]
fn a_campaign_breaks_every_call_of_etcd_and_a_careful_operator_always_ends_the_same() {
    let campaign = campaign(true);
    let run = campaign.reference();
    assert_eq!(run.etcd, ["db-1 Voter, db-2 Voter"]);
    let writes = run.etcd_calls.iter().filter(|made| made.call.is_write()).count();
    let faults = campaign.faults(Extent::Whole);
    let at_etcd = || faults.iter().filter(|fault| matches!(fault, Injected::Etcd { .. })).copied();
    // Each write in four ways, each question in two.
    assert_eq!(at_etcd().count(), 4 * writes + 2 * (run.etcd_calls.len() - writes));
    let findings = campaign.play(&at_etcd().collect::<Vec<_>>());
    assert!(findings.is_empty(), "{}", findings.iter().map(ToString::to_string).collect::<String>());
}

#[test]
fn an_operator_that_believes_in_answers_is_found() {
    let campaign = campaign(false);
    let findings = campaign.play(&campaign.faults(Extent::Sample));
    assert!(findings.iter().any(|finding| matches!(finding.fault, Injected::Etcd { .. })), "{findings:?}");
}
