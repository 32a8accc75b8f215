//! Data from a backup: a cluster that begins with it, one whose data is replaced by it, and what is left of a restore that is given up.

use etcd_types::EtcdRestore;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use simulation::{Run, Scenario};

use crate::{
    campaign::demand_nothing,
    stories::{Story, spec},
    world::{CLUSTER, NAMESPACE, Stage, create, healthy, left, play},
};

pub(crate) static RECOVERED: Story = Story::new("recovered", recovered);
pub(crate) static RESTORED: Story = Story::new("restored", restored);
pub(crate) static GIVEN_UP: Story = Story::new("given-up", given_up);

const RESTORE: &str = "etcdrestores.etcd.capstan.dev default/back";

fn store() -> Value {
    json!({"url": "s3://backups/of/db"})
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
        .step("consent", |client| consent(client, "db"))
}

fn given_up() -> Scenario {
    Stage::default()
        .scenario("given-up")
        .step("create one", |client| create(client, spec(1)))
        .step("ask for a restore from a backup that is not there", |client| async move {
            let api: kube::Api<EtcdRestore> = kube::Api::namespaced(client, NAMESPACE);
            let wish = json!({"clusterName": "db", "from": {"backup": "gone"}, "consent": "db"});
            api.create(&PostParams::default(), &object("back", wish)).await.map(drop)
        })
        .step("give it up", |client| async move {
            let api: kube::Api<EtcdRestore> = kube::Api::namespaced(client, NAMESPACE);
            api.delete("back", &DeleteParams::default()).await.map(drop)
        })
}

fn object(name: &str, spec: Value) -> EtcdRestore {
    let object = json!({"apiVersion": "etcd.capstan.dev/v1alpha1", "kind": "EtcdRestore", "metadata": {"name": name}, "spec": spec});
    serde_json::from_value(object).expect("an EtcdRestore")
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
    let backup = "etcdbackups.etcd.capstan.dev default/back-before";
    assert_eq!(left(run, backup, "/status/phase"), "Completed", "what was is safe");
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
