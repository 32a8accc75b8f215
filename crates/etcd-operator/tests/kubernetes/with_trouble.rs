//! With the operator gone, killed or cut off, and with a node that dies. These run alone.

use std::time::Duration;

use k8s_openapi::api::core::v1::Namespace;
use kube::{Api, ResourceExt as _};
use serde_json::json;
use tokio::time::Instant;

use crate::{
    cluster::{Clusters as _, in_campaign, is_current, member_of, spec},
    ground::{CutOff, Unplugged},
    operator,
    patience::{Beside, LONG, PATIENCE, until, when},
    truth,
    world::{World, trouble},
};

const MINUTE: Duration = Duration::from_secs(60);
/// Two election timeouts, and the deadline of a client's first try at the endpoint that is gone.
const ELECTED: Duration = Duration::from_secs(8);

/// Waits until an operator has looked at everything there is: one that has not makes no new cluster.
pub(crate) async fn operator_has_looked(world: &World) {
    let canary = world.cluster("canary");
    let mut spec = spec(1, "3.6.16");
    spec["deletionPolicy"] = json!({"volumes": "Delete"});
    canary.create(spec).await;
    canary.is_well(1, "3.6.16", LONG).await;
    canary.delete().await;
}

#[tokio::test]
async fn without_an_operator_pods_come_back_and_clients_work_and_its_return_restarts_nothing() {
    trouble(async |world| {
        let cluster = world.cluster("db");
        cluster.run(3, "3.6.16").await;
        let load = cluster.load().await;
        operator::scale(world, 0).await;
        let lost = cluster.follower().await;
        cluster.delete_pod(&lost).await;
        until("its pod is back", PATIENCE, async || {
            let pods = cluster.pods().await;
            let ready = pods.iter().filter(|pod| kit::readiness::is_ready(*pod)).count();
            when(ready == 3 && pods.iter().all(|pod| pod.uid() != lost.uid()), (ready, pods.len()))
        })
        .await;
        crate::ground::signal(&cluster.leader().await, crate::ground::Signal::KILL);
        load.grows(50).await;
        let place = cluster.place().await.unwrap();
        let expected = truth::Expected { size: 3, version: Some("3.6.16"), cluster: None };
        truth::holds(world, &place, expected, PATIENCE).await;

        let before = cluster.incarnations().await;
        operator::scale(world, 2).await;
        operator_has_looked(world).await;
        cluster.is_well(3, "3.6.16", PATIENCE).await;
        assert_eq!(cluster.incarnations().await, before, "a pod was restarted by the returning operator");
        load.stop("without an operator").await;
        cluster.members_agree().await;
    })
    .await;
}

/// A cluster that scales and one that is upgraded, so that each operator that dies leaves something half-done.
#[tokio::test]
async fn operators_that_die_every_five_seconds_end_where_others_do() {
    trouble(async |world| {
        let (scaled, upgraded) = (world.cluster("scaled"), world.cluster("upgraded"));
        scaled.create(spec(3, "3.6.16")).await;
        upgraded.create(spec(3, "3.5.35")).await;
        scaled.is_well(3, "3.6.16", PATIENCE).await;
        upgraded.is_well(3, "3.5.35", PATIENCE).await;
        let loads = [scaled.load().await, upgraded.load().await];
        let place = world.elsewhere(&world.namespace);
        let killer = Beside::every(Duration::from_secs(5), move || {
            let world = place.elsewhere(&place.namespace);
            async move { operator::kill_one(&world).await }
        });
        let began = Instant::now();
        scaled.patch(json!({"size": 5})).await;
        upgraded.patch(json!({"version": "3.6.16"})).await;
        scaled.is_well(5, "3.6.16", LONG).await;
        upgraded.is_well(3, "3.6.16", LONG).await;
        if in_campaign() {
            scaled.patch(json!({"size": 1})).await;
            upgraded.patch(json!({"version": "3.7.3"})).await;
            scaled.is_well(1, "3.6.16", LONG).await;
            upgraded.is_well(3, "3.7.3", LONG).await;
        }
        let killed = killer.stop();
        println!("    {} operators were killed in {:.0} s", killed.len(), began.elapsed().as_secs_f32());
        assert!(killed.len() >= 3, "hardly any trouble: {killed:?}");
        for (load, what) in loads.into_iter().zip(["scaled", "upgraded"]) {
            load.stop(&format!("operators die, {what}")).await.nothing_failed();
        }
        scaled.members_agree().await;
        upgraded.members_agree().await;
        assert_eq!(scaled.status().await.latest_serial, Some(5), "no member was added twice");
        assert_eq!(upgraded.status().await.latest_serial, Some(3), "none was replaced");
    })
    .await;
}

#[tokio::test]
async fn an_operator_that_is_cut_off_for_a_minute_does_no_damage_and_goes_on() {
    trouble(async |world| {
        let (idle, busy) = (world.cluster("idle"), world.cluster("busy"));
        idle.create(spec(3, "3.6.16")).await;
        busy.create(spec(3, "3.5.35")).await;
        idle.is_well(3, "3.6.16", PATIENCE).await;
        busy.is_well(3, "3.5.35", PATIENCE).await;
        let before = idle.incarnations().await;
        let loads = [idle.load().await, busy.load().await];
        busy.patch(json!({"version": "3.6.16"})).await;
        busy.until("is in the middle of it", PATIENCE, |_, status| status.updated_members == Some(1)).await;
        let operators = operator::pods(world).await;
        let cuts: Vec<CutOff<'_>> = operators.iter().map(|pod| CutOff::of(world, pod)).collect();
        // Somebody asks for something meanwhile; nobody hears it, so that the minute is one of silence.
        idle.patch(json!({"remediation": {"replaceAfter": "20m"}})).await;
        let silence = idle.until("is heard", LONG, |object, _| is_current(object));
        let silence = tokio::time::timeout(MINUTE, silence).await;
        assert!(silence.is_err(), "the operator was not cut off");
        assert_eq!(idle.incarnations().await, before);
        drop(cuts);
        busy.is_well(3, "3.6.16", LONG).await;
        idle.is_well(3, "3.6.16", LONG).await;
        assert_eq!(idle.incarnations().await, before);
        for (load, what) in loads.into_iter().zip(["idle", "busy"]) {
            load.stop(&format!("operator cut off, {what}")).await.nothing_failed();
        }
        busy.members_agree().await;
    })
    .await;
}

#[tokio::test]
async fn a_member_on_a_node_that_dies_is_replaced_and_when_the_node_returns_nothing_is_left_over() {
    trouble(async |world| {
        let cluster = world.cluster("db");
        let mut impatient = spec(3, "3.6.16");
        impatient["remediation"] = json!({"restartAfter": "20s", "replaceAfter": "20s"});
        cluster.create(impatient).await;
        cluster.is_well(3, "3.6.16", PATIENCE).await;
        let load = cluster.load().await;
        let lost = cluster.leader().await;
        let node = lost.spec.as_ref().unwrap().node_name.clone().unwrap();
        let began = Instant::now();
        let unplugged = Unplugged::node(world, &node).await;
        cluster.until("the loss is noticed", PATIENCE, |_, status| status.ready_members == Some(2)).await;
        println!("    dead node noticed after {:.1} s", began.elapsed().as_secs_f32());
        cluster.until("three members serve", LONG, |_, status| status.ready_members == Some(3)).await;
        println!("    three members after {:.1} s", began.elapsed().as_secs_f32());
        let members = cluster.status().await.members.unwrap();
        let on_it: Vec<_> = members.iter().filter(|it| it.node.as_ref() == Some(&node)).collect();
        assert!(on_it.is_empty(), "{on_it:?}");
        load.grows(50).await;
        unplugged.restore().await;
        let members = cluster.is_well(3, "3.6.16", LONG).await;
        assert!(members.iter().all(|it| member_of(&it.pod) != member_of(&lost)), "it was replaced");
        let report = load.stop("leader's node killed").await;
        assert!(report.gap < ELECTED, "nothing could be written for {:?}", report.gap);
        cluster.members_agree().await;
    })
    .await;
}

#[tokio::test]
async fn removing_the_installation_leaves_the_definitions_and_the_clusters() {
    trouble(async |world| {
        let cluster = world.cluster("db");
        cluster.run(3, "3.6.16").await;
        let load = cluster.load().await;
        let (before, pods) = (cluster.object().await, cluster.incarnations().await);
        let home = world.elsewhere(operator::NAMESPACE);
        let said = home.kubectl("delete -f deploy/install.yaml --wait --timeout=90s").await.unwrap_err();
        assert!(said.contains("capstan.dev/delete-all-resources"), "{said}");
        let namespaces = Api::<Namespace>::all(world.client.clone());
        until("the operator is gone", PATIENCE, async || {
            let left = namespaces.get_opt(operator::NAMESPACE).await.unwrap();
            when(left.is_none(), left.and_then(|it| it.status))
        })
        .await;
        load.grows(50).await;
        assert_eq!(cluster.incarnations().await, pods);

        operator::install(world).await;
        operator_has_looked(world).await;
        cluster.is_well(3, "3.6.16", PATIENCE).await;
        assert_eq!(cluster.object().await.uid(), before.uid());
        assert_eq!(cluster.incarnations().await, pods);
        load.stop("uninstalled and installed").await.nothing_failed();
    })
    .await;
}
