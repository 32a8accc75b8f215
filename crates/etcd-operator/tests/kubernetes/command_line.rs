//! `capstan etcd …` on a live cluster: what people type, in a pod, with no more rights than it says it needs.

use k8s_openapi::api::{
    core::v1::Pod,
    rbac::v1::{Role, RoleBinding},
};
use kube::{
    ResourceExt as _,
    api::{DeleteParams, LogParams},
};
use lab::images::Ours;
use serde_json::{Value, json};

use crate::{
    cluster::{Cluster, Clusters as _, member_of},
    patience::{PATIENCE, until},
    world::{World, scenario},
};

/// What a person needs for it: to read the cluster and what belongs to it, to annotate it, and to read logs.
async fn grant(world: &World) {
    let look = ["get", "list", "watch"];
    let rule = |groups: [&str; 1], resources: &[&str], verbs: &[&str]| json!({"apiGroups": groups, "resources": resources, "verbs": verbs});
    world
        .create_object::<Role>(json!({"metadata": {"name": "person"}, "rules": [
            rule(["etcd.capstan.dev"], &["etcdclusters"], &[&look[..], &["patch"]].concat()),
            rule([""], &["pods", "pods/log", "persistentvolumeclaims", "configmaps", "services", "serviceaccounts"], &look),
            rule(["apps"], &["statefulsets"], &look),
            rule(["policy"], &["poddisruptionbudgets"], &look),
            rule(["networking.k8s.io"], &["networkpolicies"], &look),
        ]}))
        .await;
    world
        .create_object::<RoleBinding>(json!({
            "metadata": {"name": "person"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "person"},
            "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": world.namespace}],
        }))
        .await;
}

/// `capstan etcd <line>`: what it printed, or what it complained about.
async fn capstan(world: &World, line: &str) -> Result<String, String> {
    let name = format!("capstan-{:08x}", fastrand::u32(..));
    let arguments: Vec<&str> = ["etcd"].into_iter().chain(line.split_whitespace()).collect();
    world
        .create_object::<Pod>(json!({"metadata": {"name": name}, "spec": {
            "restartPolicy": "Never",
            "securityContext": {"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}},
            "containers": [{
                "name": "capstan", "image": Ours::Capstan.name(), "args": arguments,
                "securityContext": {"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}},
            }],
        }}))
        .await;
    let pods = world.api::<Pod>();
    let well = until(&format!("capstan etcd {line} ends"), PATIENCE, async || {
        let phase = pods.get(&name).await.unwrap().status.and_then(|it| it.phase).unwrap_or_default();
        match phase.as_str() {
            "Succeeded" => Ok(true),
            "Failed" => Ok(false),
            other => Err(other.to_owned()),
        }
    })
    .await;
    let said = pods.logs(&name, &LogParams::default()).await.unwrap();
    pods.delete(&name, &DeleteParams::default()).await.unwrap();
    println!("    $ capstan etcd {line}");
    said.lines().take(12).for_each(|line| println!("      {line}"));
    if well { Ok(said) } else { Err(said) }
}

async fn json_of(world: &World, line: &str) -> Value {
    serde_json::from_str(&capstan(world, &format!("{line} -o json")).await.unwrap()).unwrap()
}

async fn leading(cluster: &Cluster<'_>) -> String {
    member_of(&cluster.leader().await)
}

#[tokio::test]
async fn leadership_is_moved_where_the_user_wants_it_and_nobody_notices() {
    scenario(async |world| {
        let cluster = world.cluster("db");
        cluster.run(3, "3.6.16").await;
        grant(world).await;
        let (load, before) = (cluster.load().await, cluster.incarnations().await);
        let (old, new) = (leading(&cluster).await, member_of(&cluster.follower().await));
        let said = capstan(world, &format!("move-leader db --to {new}")).await.unwrap();
        assert!(said.contains(&new), "{said}");
        assert_eq!(leading(&cluster).await, new);
        // The same once more is a request of its own; and one that makes no sense is refused before anything is asked.
        let said = capstan(world, &format!("move-leader db --to {new}")).await.unwrap_err();
        assert!(said.contains("leads") && said.contains("already"), "{said}");
        capstan(world, "move-leader db --to db-9").await.unwrap_err();
        capstan(world, &format!("move-leader db --to {old}")).await.unwrap();
        assert_eq!(leading(&cluster).await, old);
        capstan(world, "move-leader db").await.unwrap();
        assert_ne!(leading(&cluster).await, old, "anybody else");
        assert_eq!(cluster.incarnations().await, before);
        cluster.is_well(3, "3.6.16", PATIENCE).await;
        load.stop("leadership moved").await.nothing_failed();
    })
    .await;
}

#[tokio::test]
async fn status_members_plan_and_logs_of_a_live_cluster() {
    scenario(async |world| {
        let cluster = world.cluster("db");
        cluster.run(3, "3.6.16").await;
        grant(world).await;
        let said = capstan(world, "status db --until-healthy --timeout 30s").await.unwrap();
        assert!(said.contains("Healthy"), "{said}");
        let said = capstan(world, "status db").await.unwrap();
        for word in ["db-1", "db-2", "db-3", "leader", "3.6.16", "db-client"] {
            assert!(said.contains(word), "{word} is not in {said}");
        }
        let whole = json_of(world, "status db").await;
        assert_eq!(whole.pointer("/status/readyMembers"), Some(&json!(3)), "{whole}");
        let table = capstan(world, "members db").await.unwrap();
        let ids = cluster.status().await.members.unwrap_or_default();
        for id in ids.iter().filter_map(|it| it.id.clone()) {
            assert!(table.contains(&id), "{id} is not in {table}");
        }
        let plan = capstan(world, "plan db").await.unwrap();
        assert!(plan.contains("othing"), "a cluster that is well needs nothing: {plan}");
        let pod = &cluster.pods().await[0];
        let logs = capstan(world, &format!("logs db {} --tail 20", member_of(pod))).await.unwrap();
        assert!(logs.contains("etcd") && logs.lines().count() <= 20, "{logs}");
        let logs = capstan(world, "logs db --tail 1").await.unwrap();
        for pod in cluster.pods().await {
            assert!(logs.contains(&member_of(&pod)), "{} logs nothing: {logs}", pod.name_any());
        }
        let said = capstan(world, "status nobody").await.unwrap_err();
        assert!(said.contains("nobody"), "{said}");
    })
    .await;
}
