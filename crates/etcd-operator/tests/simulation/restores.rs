//! Data from a backup: a cluster that begins with it, one whose data is replaced by it, and what is left of a restore that is given up.

use etcd_types::EtcdRestore;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use simulation::{Run, Scenario};

use crate::{
    campaign::demand_nothing,
    stories::{Story, spec},
    world::{CLUSTER, NAMESPACE, Stage, clusters, create, healthy, left, play},
};

pub(crate) static RECOVERED: Story = Story::new("recovered", recovered);
pub(crate) static RESTORED: Story = Story::new("restored", restored);
pub(crate) static TO_A_POINT: Story = Story::new("restored-to-a-point", to_a_point);
pub(crate) static GIVEN_UP: Story = Story::new("given-up", given_up);

const URL: &str = "s3://backups/of/db";
const RESTORE: &str = "etcdrestores.etcd.capstan.dev default/back";

fn store() -> Value {
    json!({ "url": URL })
}

fn from_store(size: u8, point: Option<i64>) -> Value {
    let mut spec = spec(size);
    spec["bootstrap"] = json!({"recovery": {"store": store(), "id": "nightly"}});
    if let Some(revision) = point {
        spec["bootstrap"]["recovery"]["revision"] = json!(revision);
    }
    spec
}

fn recovered() -> Scenario {
    Stage::default()
        .scenario("recovered")
        .step("begin with a backup", |client| create(client, from_store(3, None)))
}

fn restored() -> Scenario {
    Stage::default()
        .scenario("restored")
        .step("create one", |client| create(client, spec(1)))
        .step("ask for a restore, without consent", |client| restore(client, ""))
        .step("consent as to an earlier cluster", |client| consent(client, "db"))
        .step("consent", |client| async move {
            let agreed = agreed(client.clone()).await?;
            consent(client, &agreed).await
        })
}

fn to_a_point() -> Scenario {
    Stage::default()
        .scenario("restored-to-a-point")
        .step("create three", |client| create(client, spec(3)))
        .step("go back to a revision", |client| restore_to(client, Some(9)))
}

fn given_up() -> Scenario {
    Stage::default()
        .scenario("given-up")
        .step("create one", |client| create(client, spec(1)))
        .step("ask for a restore from a backup that is not there", |client| async move {
            let api: kube::Api<EtcdRestore> = kube::Api::namespaced(client.clone(), NAMESPACE);
            let wish =
                json!({"clusterName": "db", "from": {"backup": "gone"}, "consent": agreed(client).await?});
            api.create(&PostParams::default(), &object("back", wish)).await.map(drop)
        })
        .step("give it up", withdraw)
}

fn object(name: &str, spec: Value) -> EtcdRestore {
    let object = json!({"apiVersion": "etcd.capstan.dev/v1alpha1", "kind": "EtcdRestore", "metadata": {"name": name}, "spec": spec});
    serde_json::from_value(object).expect("an EtcdRestore")
}

pub(crate) async fn restore_to(client: kube::Client, revision: Option<i64>) -> kube::Result<()> {
    let api: kube::Api<EtcdRestore> = kube::Api::namespaced(client.clone(), NAMESPACE);
    let from = json!({"store": store(), "id": "nightly", "revision": revision});
    let wish = json!({"clusterName": "db", "from": from, "consent": agreed(client).await?});
    api.create(&PostParams::default(), &object("back", wish)).await.map(drop)
}

/// What gives up the present data of the cluster.
async fn agreed(client: kube::Client) -> kube::Result<String> {
    let status = clusters(client).get("db").await?.status.unwrap_or_default();
    Ok(format!("db/{}", status.cluster_id.unwrap_or_default()))
}

async fn withdraw(client: kube::Client) -> kube::Result<()> {
    let api: kube::Api<EtcdRestore> = kube::Api::namespaced(client, NAMESPACE);
    api.delete("back", &DeleteParams::default()).await.map(drop)
}

async fn restore(client: kube::Client, consent: &str) -> kube::Result<()> {
    let api: kube::Api<EtcdRestore> = kube::Api::namespaced(client, NAMESPACE);
    let wish = json!({"clusterName": "db", "from": {"store": store(), "id": "nightly"}, "consent": consent});
    api.create(&PostParams::default(), &object("back", wish)).await.map(drop)
}

async fn consent(client: kube::Client, consent: &str) -> kube::Result<()> {
    let api: kube::Api<EtcdRestore> = kube::Api::namespaced(client, NAMESPACE);
    let patch = Patch::Merge(json!({"spec": {"consent": consent}}));
    api.patch("back", &PatchParams::default(), &patch).await.map(drop)
}

fn places<'r>(run: &'r Run, kind: &str) -> Vec<&'r str> {
    let prefix = format!("{kind} default/");
    run.dump.objects().keys().filter_map(|place| place.strip_prefix(&prefix)).collect()
}

/// The backups of what was before.
fn befores(run: &Run) -> Vec<String> {
    let all = run.dump.objects().keys();
    all.filter(|place| place.starts_with("etcdbackups.") && place.contains("/back-before-"))
        .cloned()
        .collect()
}

#[test]
fn a_cluster_begins_with_a_backup_and_grows() {
    let run = RECOVERED.reference();
    healthy(run);
    assert_eq!(run.etcd, ["db-1 Voter, db-2 Voter, db-3 Voter"], "nobody founded an empty one");
    assert_eq!(left(run, CLUSTER, "/status/restore/phase"), "Completed");
    assert!(places(run, "jobs.batch").is_empty(), "the Job is gone");
    assert_eq!(run.comings_and_goings["jobs.batch default/db-seed-1"], (1, 1), "it was brought once");
}

#[test]
fn in_place_the_members_with_the_data_before_make_room_and_their_volumes_stay() {
    let run = RESTORED.reference();
    healthy(run);
    assert_eq!(run.etcd, ["db-1 Voter", "db-2 Voter"], "the cluster before, and the restored one");
    assert_eq!(left(run, RESTORE, "/status/phase"), "Completed");
    assert_eq!(places(run, "statefulsets.apps"), ["db-2"]);
    assert_eq!(places(run, "persistentvolumeclaims"), ["db-1", "db-2"]);
    let [backup] = befores(run).try_into().expect("one backup before it");
    assert_eq!(left(run, &backup, "/status/phase"), "Completed", "what was is safe");
    let claim = &run.dump.objects()["persistentvolumeclaims default/db-1"];
    assert!(claim["metadata"]["annotations"]["etcd.capstan.dev/detached-at"].is_string(), "{claim:#}");
}

#[test]
fn a_restore_that_is_given_up_leaves_everything_as_it_was() {
    let run = GIVEN_UP.reference();
    healthy(run);
    assert_eq!(run.etcd, ["db-1 Voter"]);
    assert_eq!(left(run, CLUSTER, "/status/restore/phase"), "Failed");
    assert_eq!(run.comings_and_goings["statefulsets.apps default/db-1"], (1, 0));
}

#[test]
fn a_restore_to_a_point_ends_as_without_faults() {
    let run = TO_A_POINT.reference();
    healthy(run);
    assert_eq!(left(run, RESTORE, "/status/phase"), "Completed");
    assert_eq!(run.comings_and_goings["jobs.batch default/db-replay-4"], (1, 1));
    demand_nothing(&TO_A_POINT);
}

/// The store hangs from the step on that is named, and the restore is given up there, or where it is needed next: the members before are
/// back; then it answers, and the same is asked for again.
#[test]
fn wherever_the_store_dies_a_restore_can_be_given_up_and_asked_for_again() {
    for dies_at in ["Fetching", "BackingUp", "Starting"] {
        let stage = Stage::default();
        let (before, after, healed) = (stage.clone(), stage.clone(), stage.clone());
        let run = play(
            &stage
                .scenario("store-dies")
                .step("create one", |client| create(client, spec(1)))
                .step("restore, and the store dies", move |client| {
                    let stage = before.clone();
                    async move {
                        if dies_at == "Fetching" {
                            stage.trouble(URL, Some("hangs"));
                        }
                        restore_to(client.clone(), Some(9)).await?;
                        dies(&stage, client, dies_at).await
                    }
                })
                .step("give it up", withdraw)
                .step("look", move |client| {
                    let stage = after.clone();
                    async move {
                        let cluster = clusters(client).get("db").await?;
                        let status = cluster.status.unwrap_or_default();
                        assert_eq!(status.phase, Some(etcd_types::Phase::Healthy), "{dies_at}: {status:?}");
                        let members: Vec<String> =
                            status.members.into_iter().flatten().map(|member| member.name).collect();
                        assert_eq!(members, ["db-1"], "{dies_at}");
                        stage.trouble(URL, None);
                        Ok(())
                    }
                })
                .step("once more", move |client| {
                    healed.trouble(URL, None);
                    restore_to(client, None)
                }),
        );
        healthy(&run);
        assert_eq!(left(&run, RESTORE, "/status/phase"), "Completed", "{dies_at}");
        // The first one got as far as its own backup, or not; the second one never takes that for its own.
        let backed_up = if dies_at == "Fetching" { 1 } else { 2 };
        assert_eq!(befores(&run).len(), backed_up, "{dies_at}");
    }
}

/// The store hangs as soon as the restore says that it is at this step.
async fn dies(stage: &Stage, client: kube::Client, at: &str) -> kube::Result<()> {
    is_at(client, at).await?;
    stage.trouble(URL, Some("hangs"));
    Ok(())
}

/// Waits until the restore says that it is at this step.
async fn is_at(client: kube::Client, at: &str) -> kube::Result<()> {
    let api: kube::Api<EtcdRestore> = kube::Api::namespaced(client, NAMESPACE);
    for _ in 0..100_000 {
        let restore = api.get("back").await?;
        let step = restore.status.and_then(|status| status.step).unwrap_or_default();
        if step == at {
            return Ok(());
        }
        simulation::pass(std::time::Duration::from_millis(1)).await;
    }
    panic!("the restore was never at {at}")
}

/// The same manifest once more, as GitOps applies it after a prune: its consent was to a cluster that is no more.
#[test]
fn the_same_restore_created_again_restores_nothing() {
    let agreed_to = std::sync::Arc::new(std::sync::Mutex::new(String::new()));
    let again = agreed_to.clone();
    let run = play(
        &Stage::default()
            .scenario("created-again")
            .step("create one", |client| create(client, spec(1)))
            .step("restore", move |client| {
                let agreed_to = agreed_to.clone();
                async move {
                    let agreed = agreed(client.clone()).await?;
                    agreed_to.lock().unwrap().clone_from(&agreed);
                    restore(client, &agreed).await
                }
            })
            .step("prune", withdraw)
            .step("create it again", move |client| {
                let agreed = again.lock().unwrap().clone();
                async move { restore(client, &agreed).await }
            }),
    );
    healthy(&run);
    assert_eq!(left(&run, RESTORE, "/status/phase"), "WaitingForConsent");
    assert_eq!(places(&run, "statefulsets.apps"), ["db-2"], "restored once");
    assert_eq!(befores(&run).len(), 1);
}

/// Losing the ConfigMap with the record in the middle of a restore.
#[test]
fn a_restore_whose_config_map_is_deleted_goes_on() {
    for lost_at in ["Fetching", "BackingUp", "Stopping", "Starting", "Growing"] {
        let run = play(
            &Stage::default()
                .scenario("record-lost")
                .step("create three", |client| create(client, spec(3)))
                .step("restore, and the ConfigMap is deleted", move |client| async move {
                    restore_to(client.clone(), None).await?;
                    is_at(client.clone(), lost_at).await?;
                    let maps: kube::Api<ConfigMap> = kube::Api::namespaced(client, NAMESPACE);
                    maps.delete("db-identity", &DeleteParams::default()).await.map(drop)
                }),
        );
        healthy(&run);
        assert_eq!(left(&run, RESTORE, "/status/phase"), "Completed", "{lost_at}");
        assert_eq!(run.etcd.len(), 2, "{lost_at}: the cluster before, and the restored one: {:?}", run.etcd);
    }
}

/// The Service leads to nobody until everything is written again.
#[test]
fn up_to_a_point_in_time_clients_wait() {
    let scenario = Stage::default()
        .scenario("to-a-point")
        .step("begin", |client| create(client, from_store(1, Some(9))));
    let run = play(&scenario);
    healthy(&run);
    assert_eq!(run.comings_and_goings["jobs.batch default/db-replay-1"], (1, 1));
    let closed = run.requests.iter().any(|request| {
        request.is_write()
            && request.name == "db-client"
            && String::from_utf8_lossy(&request.body).contains("capstan.dev/closed")
    });
    assert!(closed, "it was closed");
    let selector = &run.dump.objects()["services default/db-client"]["spec"]["selector"];
    assert_eq!(selector["etcd.capstan.dev/closed"], Value::Null, "and is open in the end");
}

#[test]
fn a_named_backup_is_waited_for() {
    let mut wish = spec(1);
    wish["bootstrap"] = json!({"recovery": {"backup": "nightly"}});
    let scenario =
        Stage::default().scenario("waits").step("begin", move |client| create(client, wish.clone()));
    let run = play(&scenario);
    assert_eq!(left(&run, CLUSTER, "/status/phase"), "WaitingForUser");
    assert!(left(&run, CLUSTER, "/status/message").contains("there is no EtcdBackup nightly"));
    assert!(places(&run, "statefulsets.apps").is_empty());
}

#[test]
fn beginning_with_a_backup_ends_as_without_faults() {
    demand_nothing(&RECOVERED);
}

#[test]
fn a_restore_in_place_ends_as_without_faults() {
    demand_nothing(&RESTORED);
}
