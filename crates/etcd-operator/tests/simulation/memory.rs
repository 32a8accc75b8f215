//! What the operator remembers outside of etcd, and what it does when that is lost; and when etcd cannot be asked.

use k8s_openapi::api::core::v1::{ConfigMap, PersistentVolumeClaim};
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::{Value, json};
use simulation::{Run, etcd::Trouble};

use crate::{
    stories::spec,
    world::{CLUSTER, NAME, NAMESPACE, Stage, clusters, create, healthy, left, play},
};

/// The cluster's status as if it had never had one.
async fn wipe_status(client: kube::Client) -> kube::Result<()> {
    let mut cluster = clusters(client.clone()).get(NAME).await?;
    cluster.status = None;
    clusters(client).replace_status(NAME, &kube::api::PostParams::default(), &cluster).await.map(drop)
}

/// Nobody was founded, restarted or replaced.
#[track_caller]
fn untouched(run: &Run) {
    healthy(run);
    assert_eq!(run.etcd, ["db-1 Voter, db-2 Voter, db-3 Voter"], "one founding");
    for member in ["db-1", "db-2", "db-3"] {
        assert_eq!(run.comings_and_goings[&format!("pods default/{member}-0")], (1, 0));
        assert_eq!(run.comings_and_goings[&format!("statefulsets.apps default/{member}")], (1, 0));
    }
    assert_ne!(left(run, CLUSTER, "/status/clusterID"), "(nothing)");
}

/// Case 25.
#[test]
fn a_wiped_status_is_learnt_again() {
    let scenario = Stage::default()
        .scenario("wiped")
        .step("create three", |client| create(client, spec(3)))
        .step("wipe the status", wipe_status);
    untouched(&play(&scenario));
}

/// Case 25, and worse: the status, the latch and what is written on the volumes.
#[test]
fn a_cluster_that_is_forgotten_everywhere_is_learnt_from_its_members() {
    let scenario = Stage::default()
        .scenario("forgotten")
        .step("create three", |client| create(client, spec(3)))
        .step("forget it everywhere", |client| async move {
            let claims: kube::Api<PersistentVolumeClaim> = kube::Api::namespaced(client.clone(), NAMESPACE);
            let latches: kube::Api<ConfigMap> = kube::Api::namespaced(client.clone(), NAMESPACE);
            let blank =
                Patch::Merge(json!({"metadata": {"annotations": {"etcd.capstan.dev/cluster-id": null}}}));
            for member in ["db-1", "db-2", "db-3"] {
                claims.patch(member, &PatchParams::default(), &blank).await?;
            }
            latches.delete("db-identity", &DeleteParams::default()).await?;
            wipe_status(client).await
        });
    untouched(&play(&scenario));
}

/// Case 26.
#[test]
fn who_reaches_no_member_does_nothing() {
    let stage = Stage::default();
    let cutting = stage.clone();
    let scenario = stage.scenario("unreachable").step("create three", |client| create(client, spec(3))).step(
        "cut the operator off from all members",
        move |_| {
            let stage = cutting.clone();
            async move {
                let (members, before) = (stage.etcd.running(), stage.writes().len());
                members.iter().for_each(|url| stage.etcd.trouble(url, Trouble::CutFromClients));
                stage.wait().await;
                let written = stage.writes().split_off(before);
                let status = written.iter().filter(|request| request.resource == "etcdclusters").last();
                let told: Value = serde_json::from_slice(&status.expect("it says so").body).unwrap();
                let serves =
                    |condition: &Value| condition["type"] == "Available" && condition["status"] == "True";
                let conditions = told["status"]["conditions"].as_array().expect("conditions");
                assert!(!conditions.iter().any(serves), "{told:#}");
                let others = written
                    .iter()
                    .filter(|request| request.resource != "events" && request.subresource != "status");
                let others: Vec<String> = others.map(apiserver::Recorded::told).collect();
                assert_eq!(others, Vec::<String>::new());
                members.iter().for_each(|url| stage.etcd.heal(url));
                Ok(())
            }
        },
    );
    let run = play(&scenario);
    untouched(&run);
    let changes: Vec<_> = run.etcd_calls.iter().filter(|made| made.call.is_write()).collect();
    assert!(changes.is_empty(), "{changes:?}");
}
