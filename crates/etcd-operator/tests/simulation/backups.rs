//! Backups: taken once whatever happens, kept and removed as asked for, at their times without the operator.
//!
//! The store is simulated: one object per backup, in a volume outside of the cluster.

use etcd_types::{EtcdBackup, EtcdBackupSchedule};
use k8s_openapi::api::{batch::v1::Job, core::v1::ConfigMap};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use simulation::{Injected, Run, Scenario};

use crate::{
    campaign::demand_nothing,
    stories::{Story, spec},
    world::{NAMESPACE, Stage, create, delete, left, play},
};

pub(crate) static ONCE: Story = Story::new("backup", once);
pub(crate) static AGAIN: Story = Story::new("backup-again", again);
pub(crate) static SCHEDULED: Story = Story::new("schedule", scheduled);

const BACKUP: &str = "etcdbackups.etcd.capstan.dev default/before";
const SCHEDULE: &str = "etcdbackupschedules.etcd.capstan.dev default/nightly";
const URL: &str = "s3://backups/of/db";

fn once() -> Scenario {
    let stage = Stage::default();
    let looking = stage.clone();
    stage
        .scenario("backup")
        .step("ask for a backup of what is not there", |client| back_up(client, json!({})))
        .step("create the cluster", |client| create(client, spec(1)))
        .step("look", move |client| look(looking.clone(), client))
}

fn again() -> Scenario {
    let stage = Stage::default();
    let (hanging, healed, looking) = (stage.clone(), stage.clone(), stage.clone());
    stage
        .scenario("backup-again")
        .step("create the cluster", |client| create(client, spec(1)))
        .step("back it up", |client| back_up(client, json!({"deletionPolicy": "Delete"})))
        .step("delete it, with what is stored", forget)
        .step("the store hangs", move |_| {
            hanging.trouble(URL, Some("hangs"));
            async { Ok(()) }
        })
        .step("back it up", |client| back_up(client, json!({"deletionPolicy": "Delete"})))
        .step("delete it in the middle", forget)
        .step("the store answers", move |_| {
            healed.trouble(URL, None);
            async { Ok(()) }
        })
        .step("one of the same name", |client| back_up(client, json!({})))
        .step("look", move |client| look(looking.clone(), client))
}

fn scheduled() -> Scenario {
    Stage::default()
        .scenario("schedule")
        .step("create the cluster", |client| create(client, spec(1)))
        .step("schedule backups, the first at once", |client| {
            schedule(client, json!({"immediate": true, "capture": {}, "retention": {"keepLast": 2}}))
        })
        .step("capture no more", |client| reschedule(client, json!({"capture": null, "suspend": true})))
        .step("the cluster goes", delete)
}

async fn back_up(client: kube::Client, more: Value) -> kube::Result<()> {
    let mut spec = json!({"clusterName": "db", "store": {"url": URL}});
    spec.as_object_mut().expect("a map").extend(more.as_object().expect("a map").clone());
    let object = json!({"apiVersion": "etcd.capstan.dev/v1alpha1", "kind": "EtcdBackup", "metadata": {"name": "before"}, "spec": spec});
    let backup: EtcdBackup = serde_json::from_value(object).expect("an EtcdBackup");
    backups(client).create(&PostParams::default(), &backup).await.map(drop)
}

async fn schedule(client: kube::Client, more: Value) -> kube::Result<()> {
    // At a time that no run reaches: how long a run takes is not what is compared.
    let mut spec = json!({"clusterName": "db", "schedule": "0 0 1 7 *", "store": {"url": URL}});
    spec.as_object_mut().expect("a map").extend(more.as_object().expect("a map").clone());
    let object = json!({"apiVersion": "etcd.capstan.dev/v1alpha1", "kind": "EtcdBackupSchedule", "metadata": {"name": "nightly"}, "spec": spec});
    let schedule: EtcdBackupSchedule = serde_json::from_value(object).expect("a schedule");
    schedules(client).create(&PostParams::default(), &schedule).await.map(drop)
}

async fn reschedule(client: kube::Client, spec: Value) -> kube::Result<()> {
    let patch = Patch::Merge(json!({ "spec": spec }));
    schedules(client).patch("nightly", &PatchParams::default(), &patch).await.map(drop)
}

async fn forget(client: kube::Client) -> kube::Result<()> {
    backups(client).delete("before", &DeleteParams::background()).await.map(drop)
}

async fn lose_jobs(client: kube::Client) -> kube::Result<()> {
    let jobs: kube::Api<Job> = kube::Api::namespaced(client, NAMESPACE);
    jobs.delete_collection(&DeleteParams::background(), &ListParams::default()).await.map(drop)
}

/// Puts what is stored where runs are compared: how many backups, and of which objects.
async fn look(stage: Stage, client: kube::Client) -> kube::Result<()> {
    let stored = stage.stored(URL).len().to_string();
    let seen = json!({"metadata": {"name": "seen"}, "data": {"stored": stored}});
    let seen: ConfigMap = serde_json::from_value(seen).expect("a ConfigMap");
    kube::Api::namespaced(client, NAMESPACE).create(&PostParams::default(), &seen).await.map(drop)
}

fn backups(client: kube::Client) -> kube::Api<EtcdBackup> {
    kube::Api::namespaced(client, NAMESPACE)
}

fn schedules(client: kube::Client) -> kube::Api<EtcdBackupSchedule> {
    kube::Api::namespaced(client, NAMESPACE)
}

fn stored(run: &Run) -> &str {
    left(run, "configmaps default/seen", "/data/stored")
}

#[track_caller]
fn completed(run: &Run) {
    let status = &run.dump.objects()[BACKUP]["status"];
    assert_eq!(left(run, BACKUP, "/status/phase"), "Completed", "{status:#}");
}

#[test]
fn a_backup_waits_for_its_cluster_and_is_taken_once() {
    let run = ONCE.reference();
    completed(run);
    assert_eq!(stored(run), "1");
    let status = &run.dump.objects()[BACKUP]["status"];
    assert_eq!((&status["revision"], &status["bytes"]), (&json!(7), &json!(20480)));
    assert_eq!(run.comings_and_goings["jobs.batch default/before"], (1, 0));
}

#[test]
fn a_backup_ends_as_without_faults() {
    demand_nothing(&ONCE);
}

#[test]
fn a_backup_that_goes_takes_what_is_stored_with_it_and_one_of_its_name_is_another() {
    let run = AGAIN.reference();
    completed(run);
    assert_eq!(stored(run), "1", "the first is gone from the store");
    assert_eq!(run.comings_and_goings["jobs.batch default/before"], (3, 2));
    assert_eq!(run.comings_and_goings["jobs.batch default/before-delete"].0, 2);
}

#[test]
fn deleting_a_backup_and_taking_another_ends_as_without_faults() {
    demand_nothing(&AGAIN);
}

/// Case 16: it is uploaded, and nobody wrote it down.
#[test]
fn what_was_stored_is_recognised_when_nobody_wrote_it_down() {
    use apiserver::{CrashPoint, Recorded};
    let completes = |request: &Recorded| {
        request.resource == "etcdbackups" && String::from_utf8_lossy(&request.body).contains("Completed")
    };
    let writes = ONCE.reference().requests.iter().filter(|request| request.is_write());
    let write = writes.enumerate().find(|(_, request)| completes(request)).expect("it is written down").0;
    for point in [CrashPoint::Before, CrashPoint::AfterCommit] {
        let run = ONCE.survives(Injected::Crash { point, write });
        completed(&run);
        assert_eq!(stored(&run), "1");
    }
}

/// Case 16, the longer way: the Job and its words are gone, too.
#[test]
fn a_job_that_is_lost_is_run_again_and_finds_its_backup() {
    let stage = Stage::default();
    let (hanging, lost, healed, looking) = (stage.clone(), stage.clone(), stage.clone(), stage.clone());
    let run = play(
        &stage
            .scenario("job-lost")
            .step("create the cluster", |client| create(client, spec(1)))
            .step("the store hangs", move |_| {
                hanging.trouble(URL, Some("hangs"));
                async { Ok(()) }
            })
            .step("back it up", |client| back_up(client, json!({})))
            .step("lose the Job", move |client| {
                let _ = &lost;
                lose_jobs(client)
            })
            .step("the store answers", move |_| {
                healed.trouble(URL, None);
                async { Ok(()) }
            })
            .step("look", move |client| look(looking.clone(), client)),
    );
    completed(&run);
    assert_eq!((stored(&run), run.comings_and_goings["jobs.batch default/before"]), ("1", (2, 1)));
}

#[test]
fn a_store_that_cannot_be_used_fails_it_with_what_the_store_said_and_nothing_else_is_touched() {
    let stage = Stage::default();
    let broken = stage.clone();
    let run = play(
        &stage
            .scenario("bad-bucket")
            .step("create the cluster", |client| create(client, spec(1)))
            .step("no such bucket", move |_| {
                broken.trouble(URL, Some("77 s3://backups: cannot list: no such bucket. Is it right?"));
                async { Ok(()) }
            })
            .step("back it up", |client| back_up(client, json!({}))),
    );
    assert_eq!(left(&run, BACKUP, "/status/phase"), "Failed");
    assert_eq!(
        left(&run, BACKUP, "/status/message"),
        "s3://backups: cannot list: no such bucket. Is it right?"
    );
    assert_eq!(run.comings_and_goings["jobs.batch default/before"], (1, 0), "it is not tried for ever");
}

#[test]
fn a_schedule_becomes_a_cron_job_and_its_first_backup_is_taken_at_once() {
    let run = SCHEDULED.reference();
    let status = &run.dump.objects()[SCHEDULE]["status"];
    assert_eq!(left(run, SCHEDULE, "/status/phase"), "Pending", "its cluster is gone: {status:#}");
    assert!(status["lastSuccess"]["id"].is_string(), "{status:#}");
    assert_eq!(run.comings_and_goings["cronjobs.batch default/nightly"], (1, 1));
    assert_eq!(run.comings_and_goings["deployments.apps default/nightly-capture"], (1, 1));
}

#[test]
fn a_schedule_ends_as_without_faults() {
    demand_nothing(&SCHEDULED);
}

/// Every minute, and the operator cannot be heard of for ten: Kubernetes goes on.
#[test]
fn a_schedule_goes_on_without_the_operator_and_keeps_what_it_should() {
    let stage = Stage::default();
    let (away, back) = (stage.clone(), stage.clone());
    let run = play(
        &stage
            .scenario("operator-gone")
            .step("create the cluster", |client| create(client, spec(1)))
            .step("schedule", |client| {
                schedule(
                    client,
                    json!({"schedule": "*/10 * * * *", "retention": {"keepLast": 2}, "deadline": "5m"}),
                )
            })
            .step("the operator sees nothing for an hour", move |_| {
                let stage = away.clone();
                async move {
                    stage.freeze();
                    for _ in 0..9 {
                        stage.wait().await;
                    }
                    stage.thaw();
                    Ok(())
                }
            })
            .step("no more", move |client| {
                let stored = back.stored(URL).len();
                assert_eq!(stored, 2, "the newest two are kept");
                reschedule(client, json!({"suspend": true}))
            }),
    );
    let status = &run.dump.objects()[SCHEDULE]["status"];
    assert_eq!(status["phase"], json!("Suspended"), "{status:#}");
    assert_eq!(status["lastSuccess"]["removed"], json!(1), "{status:#}");
    assert!(status.get("lastFailure").is_none_or(Value::is_null), "{status:#}");
}

/// What is captured can only go on from a backup of the etcd that it is of.
#[test]
fn a_cluster_that_was_restored_is_backed_up_at_once_where_it_is_captured() {
    use crate::world::CLUSTER;
    let run = play(
        &Stage::default()
            .scenario("captured-again")
            .step("create the cluster", |client| create(client, spec(1)))
            .step("capture", |client| schedule(client, json!({"immediate": true, "capture": {}})))
            .step("restore in place", |client| crate::restores::restore_to(client, None)),
    );
    let status = &run.dump.objects()[SCHEDULE]["status"];
    let (of, now) = (&status["lastSuccess"]["clusterID"], left(&run, CLUSTER, "/status/clusterID"));
    assert_eq!(of, now, "{status:#}");
    let out_of_turn = |place: &&String| place.starts_with("jobs.batch default/nightly-gap-");
    assert_eq!(run.dump.objects().keys().filter(out_of_turn).count(), 1);
}
