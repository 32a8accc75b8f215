//! Another version of the operator, and the definitions removed: neither restarts a member. These run alone.

use std::collections::BTreeMap;

use k8s_openapi::{
    api::apps::v1::StatefulSet,
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{Api, ResourceExt as _};
use lab::images::Ours;

use crate::{
    cluster::{Cluster, Clusters as _, spec},
    operator,
    patience::{LONG, PATIENCE, until, when},
    truth,
    with_trouble::operator_has_looked,
    world::{World, trouble},
};

/// The same program under another name, as a release has one: built into nothing that a member's pod is made from.
fn next() -> String {
    Ours::Capstan.name().replace(":dev", ":next")
}

const DEFINITION: &str = "etcdclusters.etcd.capstan.dev";

async fn name_image(world: &World, image: &str, other: &str) {
    for node in world.lab.node_names() {
        let mut ctr = world.lab.in_node(&node).unwrap();
        let done = ctr
            .args(["ctr", "--namespace", "k8s.io", "images", "tag", "--force", image, other])
            .output()
            .unwrap();
        assert!(done.status.success(), "{node}: {}", String::from_utf8_lossy(&done.stderr));
    }
}

/// What a roll would come from: the templates of all members.
async fn generations(cluster: &Cluster<'_>) -> BTreeMap<String, Option<i64>> {
    let sets = cluster.world.list::<StatefulSet>(&cluster.labels().labels).await;
    sets.iter().map(|set| (set.name_any(), set.metadata.generation)).collect()
}

#[tokio::test]
async fn another_version_of_the_operator_restarts_nobody() {
    trouble(async |world| {
        let (idle, busy) = (world.cluster("idle"), world.cluster("busy"));
        idle.create(spec(3, "3.6.16")).await;
        busy.create(spec(3, "3.5.35")).await;
        idle.is_well(3, "3.6.16", PATIENCE).await;
        busy.is_well(3, "3.5.35", PATIENCE).await;
        let (pods, templates) = (idle.incarnations().await, generations(&idle).await);
        let loads = [idle.load().await, busy.load().await];
        // Whatever is under way is taken over.
        busy.patch(serde_json::json!({"version": "3.6.16"})).await;
        busy.until("is in the middle of it", PATIENCE, |_, status| status.updated_members == Some(1)).await;
        name_image(world, Ours::Capstan.name(), &next()).await;
        let home = world.elsewhere(operator::NAMESPACE);
        home.kubectl(&format!("set image deployment/capstan *={}", next())).await.unwrap();
        operator::is_ready(world).await;
        operator_has_looked(world).await;
        busy.is_well(3, "3.6.16", LONG).await;
        idle.is_well(3, "3.6.16", PATIENCE).await;
        assert_eq!(idle.incarnations().await, pods, "a new operator restarted somebody");
        assert_eq!(generations(&idle).await, templates, "a new operator rewrote a template");
        for (load, what) in loads.into_iter().zip(["idle", "busy"]) {
            load.stop(&format!("another operator, {what}")).await.nothing_failed();
        }
        assert_eq!(busy.status().await.latest_serial, Some(3), "none was replaced");
    })
    .await;
}

/// The finalizer of a definition deletes what is defined by it; those who want to keep their applications let go of them first.
#[tokio::test]
async fn without_the_definitions_members_go_on_and_are_taken_back_without_a_restart() {
    trouble(async |world| {
        let cluster = world.cluster("db");
        cluster.run(3, "3.6.16").await;
        let (pods, id) = (cluster.incarnations().await, cluster.status().await.cluster_id);
        let load = cluster.load().await;
        let said = world.kubectl(&format!("delete crd {DEFINITION} --cascade=orphan")).await.unwrap_err();
        assert!(said.contains("capstan.dev/delete-all-resources"), "not without consent: {said}");

        operator::scale(world, 0).await;
        world.kubectl("delete etcd db --cascade=orphan --timeout=60s").await.unwrap();
        world
            .kubectl(&format!("annotate crd {DEFINITION} capstan.dev/delete-all-resources=yes"))
            .await
            .unwrap();
        world.kubectl(&format!("delete crd {DEFINITION} --cascade=orphan --timeout=60s")).await.unwrap();
        until("the definition is gone", PATIENCE, async || {
            let definitions = Api::<CustomResourceDefinition>::all(world.client.clone());
            let there = definitions.get_opt(DEFINITION).await.map_err(|error| error.to_string())?;
            when(there.is_none(), there.map(|it| it.metadata))
        })
        .await;
        load.grows(50).await;
        assert_eq!(cluster.incarnations().await, pods);

        operator::install(world).await;
        cluster.run(3, "3.6.16").await;
        assert_eq!(cluster.incarnations().await, pods, "somebody was restarted");
        assert_eq!(cluster.status().await.cluster_id, id, "the same cluster goes on");
        load.stop("definitions removed and put back").await.nothing_failed();
        truth::members_agree(world, &cluster.place().await.unwrap()).await;
    })
    .await;
}
