//! What is next for a schedule: its world as data, and the answer as a sentence.

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use super::*;
use crate::backup::act::Task;

const TAKEN: &str = r#"{"manifest":{"id":"nightly-1-u-sched","etcdVersion":"3.6.16","cluster":{"id":"8e9e","uid":"u-cluster","member":"db-2"},"revision":{"atLeast":40},"database":{"bytes":1024,"sha256":"ab"},"stored":{"bytes":77}},"milliseconds":5,"removed":1}"#;

fn world(spec: &Value) -> World {
    let mut all =
        json!({"clusterName": "db", "schedule": "0 3 * * *", "store": {"url": "s3://backups/of/db"}});
    all.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
    let schedule = serde_json::from_value(json!({
        "apiVersion": "etcd.capstan.dev/v1alpha1", "kind": "EtcdBackupSchedule",
        "metadata": {"name": "nightly", "namespace": "prod", "uid": "u-schedule", "generation": 1, "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": all,
    }));
    let cluster = serde_json::from_value(json!({
        "apiVersion": "etcd.capstan.dev/v1alpha1", "kind": "EtcdCluster",
        "metadata": {"name": "db", "namespace": "prod", "uid": "u-cluster"}, "spec": {"version": "3.6.16"},
        "status": {"clusterID": "8e9e", "connection": {"endpoints": ["https://db-client.prod.svc:2379", "https://db-1-0.db-peer.prod.svc:2379"], "secretName": "db-client-tls"}},
    }));
    World {
        schedule: Arc::new(schedule.unwrap()),
        cluster: Some(Arc::new(cluster.unwrap())),
        cron: None,
        capture: None,
        jobs: Vec::new(),
        pods: Vec::new(),
        account: None,
        missing: Vec::new(),
        said: None,
        image: "capstan:dev".into(),
    }
}

impl World {
    fn job(mut self, name: &str, created: &str, how: &str, words: &str) -> Self {
        let labels = json!({"app.kubernetes.io/component": "take", "etcd.capstan.dev/uid": "u-schedule"});
        let conditions = match how {
            "" => json!([]),
            how => json!([{"type": how, "status": "True", "lastTransitionTime": created}]),
        };
        let completed = if how == "Complete" { json!(created) } else { Value::Null };
        let job = json!({"metadata": {"name": name, "namespace": "prod", "uid": name, "labels": labels, "creationTimestamp": created},
            "spec": {"template": {}}, "status": {"conditions": conditions, "completionTime": completed}});
        self.jobs.push(Arc::new(serde_json::from_value(job).unwrap()));
        let owner =
            json!({"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": name, "controller": true});
        let code = i32::from(how != "Complete");
        let pod = json!({"metadata": {"name": name, "namespace": "prod", "ownerReferences": [owner]}, "status": {"phase": "Succeeded", "containerStatuses": [
            {"name": "take", "image": "", "imageID": "", "ready": false, "restartCount": 0, "state": {"terminated": {"exitCode": code, "message": words}}}]}});
        self.pods.push(Arc::new(serde_json::from_value(pod).unwrap()));
        self
    }
}

fn plan(world: &World, now: &str) -> Plan {
    decide::decide(world, now.parse().unwrap())
}

#[track_caller]
fn check(world: &World, now: &str, expected: &Expect) {
    let plan = plan(world, now);
    let task = |task: &Task| match task {
        Task::Account(account, _) => format!("account {}", account.name_any()),
        Task::Run(job) => format!("run {}", job.name_any()),
        Task::Schedule(cron, _) => format!("schedule {}", cron.name_any()),
        Task::Unschedule(cron) => format!("unschedule {}", cron.name_any()),
        Task::Capture(capture, _) => format!("capture {}", capture.name_any()),
        other => format!("{other:?}"),
    };
    let tasks: Vec<String> = plan.tasks.iter().map(task).collect();
    let status = &plan.status;
    expected.assert_eq(&format!(
        "{:?}, missed {}, next {}: {} [{}]",
        status.phase.unwrap(),
        status.missed.unwrap(),
        status.next.as_ref().map_or_else(|| "never".to_owned(), |next| next.0.to_string()),
        status.message.as_deref().unwrap_or_default(),
        tasks.join(", ")
    ));
}

#[test]
fn it_becomes_a_cron_job_in_its_time_zone() {
    let world = world(
        &json!({"timeZone": "Europe/Berlin", "jitter": "5m", "retention": {"keepLast": 3, "keepWithin": "72h", "weekly": 4}}),
    );
    check(
        &world,
        "2026-01-01T01:00:00Z",
        &expect![
            "Active, missed 0, next 2026-01-01T02:00:00Z: there has been no backup yet [account db-backup, schedule nightly]"
        ],
    );
    let plan = plan(&world, "2026-01-01T01:00:00Z");
    let Some(Task::Schedule(cron, _)) = plan.tasks.last() else { panic!("{:?}", plan.tasks) };
    assert_eq!(
        (cron.spec.time_zone.as_deref(), cron.spec.concurrency_policy.as_deref()),
        (Some("Europe/Berlin"), Some("Forbid"))
    );
    let pod = cron.spec.job_template.spec.as_ref().unwrap().template.spec.clone().unwrap();
    let arguments = pod.containers.first().unwrap().args.clone().unwrap().join(" ");
    assert!(arguments.contains("--id $(JOB_NAME)-u-schedu "), "{arguments}");
    assert!(
        arguments.ends_with("--schedule nightly --keep-last 3 --keep-hours 72 --keep-weekly 4 --jitter 300"),
        "{arguments}"
    );
}

#[test]
fn a_field_that_cannot_be_carried_out_is_named_and_what_was_made_stays() {
    let bad = world(&json!({"schedule": "61 * * * *", "timeZone": "Mars/Olympus", "deadline": "0s"}));
    check(
        &bad,
        "2026-01-01T01:00:00Z",
        &expect![[
            r#"Pending, missed 0, next never: spec.deadline: "0s" is no time such as 30m. spec.schedule: "61" is no minute: 0 to 59, for example 0 or */2. spec.timeZone: "Mars/Olympus" is no time zone such as Europe/Berlin []"#
        ]],
    );
    let mut poor = world(&json!({}));
    poor.missing = vec![Refusal::new("spec.store.credentials", "there is no Secret c")];
    check(
        &poor,
        "2026-01-01T01:00:00Z",
        &expect![
            "Pending, missed 0, next 2026-01-01T03:00:00Z: spec.store.credentials: there is no Secret c []"
        ],
    );
    let long = world(&json!({"jitter": "2h"}));
    assert_eq!(plan(&long, "2026-01-01T01:00:00Z").refused.first().unwrap().field, "spec.jitter");
}

#[test]
fn without_its_cluster_no_backup_begins() {
    let mut alone = world(&json!({}));
    alone.cron = Some(Arc::new(
        serde_json::from_value(
            json!({"metadata": {"name": "nightly"}, "spec": {"schedule": "0 3 * * *", "jobTemplate": {}}}),
        )
        .unwrap(),
    ));
    alone.cluster = None;
    check(
        &alone,
        "2026-01-01T01:00:00Z",
        &expect![
            "Pending, missed 0, next 2026-01-01T03:00:00Z: spec.clusterName: there is no EtcdCluster db in this namespace: no backup begins until there is. What was set before stays in force [unschedule nightly]"
        ],
    );
}

#[test]
fn the_first_one_is_made_at_once_and_only_once_if_that_is_asked_for() {
    let asked = || world(&json!({"immediate": true}));
    check(
        &asked(),
        "2026-01-01T01:00:00Z",
        &expect![
            "Active, missed 0, next 2026-01-01T03:00:00Z: there has been no backup yet [account db-backup, schedule nightly, run nightly-first-u-schedu]"
        ],
    );
    let running = asked().job("nightly-first-u-schedu", "2026-01-01T01:00:00Z", "", "");
    check(
        &running,
        "2026-01-01T01:00:05Z",
        &expect![
            "Running, missed 0, next 2026-01-01T03:00:00Z: the Job nightly-first-u-schedu takes a backup [account db-backup, schedule nightly]"
        ],
    );
    let mut known = asked();
    Arc::make_mut(&mut known.schedule).status =
        serde_json::from_value(json!({"lastSuccess": {"at": "2026-01-01T01:00:00Z"}})).unwrap();
    check(
        &known,
        "2026-01-01T02:00:00Z",
        &expect![
            "Active, missed 0, next 2026-01-01T03:00:00Z: the last one is of 2026-01-01T01:00:00Z [account db-backup, schedule nightly]"
        ],
    );
}

#[test]
fn what_jobs_came_to_is_on_record_after_they_are_gone() {
    let world = world(&json!({})).job("nightly-1", "2026-01-01T03:00:05Z", "Complete", TAKEN).job(
        "nightly-2",
        "2026-01-02T03:00:05Z",
        "Failed",
        r#"{"error":"no such bucket"}"#,
    );
    check(
        &world,
        "2026-01-02T03:10:00Z",
        &expect![
            "Failing, missed 0, next 2026-01-03T03:00:00Z: nightly-2: no such bucket [account db-backup, schedule nightly]"
        ],
    );
    let status = plan(&world, "2026-01-02T03:10:00Z").status;
    assert_eq!(status.last_success.as_ref().unwrap().id.as_deref(), Some("nightly-1-u-sched"));
    let mut later = self::world(&json!({}));
    Arc::make_mut(&mut later.schedule).status = Some(status.clone());
    let remembered = plan(&later, "2026-01-02T03:11:00Z").status;
    assert_eq!(
        (remembered.last_success, remembered.last_failure),
        (status.last_success, status.last_failure)
    );
}

#[test]
fn backups_that_do_not_come_are_counted() {
    let world = world(&json!({}));
    check(
        &world,
        "2026-01-03T04:00:00Z",
        &expect![
            "Failing, missed 3, next 2026-01-04T03:00:00Z: 3 backups should have been there by now and are not; there has never been one [account db-backup, schedule nightly]"
        ],
    );
    let suspended = self::world(&json!({"suspend": true}));
    check(
        &suspended,
        "2026-01-03T04:00:00Z",
        &expect![
            "Suspended, missed 0, next never: spec.suspend is set: no more backups begin [account db-backup, schedule nightly]"
        ],
    );
}

#[test]
fn the_newest_is_restored_and_compared_if_that_is_asked_for() {
    let world =
        world(&json!({"verifyByRestore": true})).job("nightly-1", "2026-01-01T03:00:05Z", "Complete", TAKEN);
    check(
        &world,
        "2026-01-01T03:10:00Z",
        &expect![
            "Active, missed 0, next 2026-01-02T03:00:00Z: the last one is of 2026-01-01T03:00:05Z [account db-backup, schedule nightly, run nightly-1-u-sched-verify]"
        ],
    );
    let plan = plan(&world, "2026-01-01T03:10:00Z");
    let Some(Task::Run(job)) = plan.tasks.last() else { panic!("{:?}", plan.tasks) };
    let pod = job.spec.as_ref().unwrap().template.spec.as_ref().unwrap();
    let images: Vec<&str> =
        pod.init_containers.iter().flatten().filter_map(|it| it.image.as_deref()).collect();
    assert_eq!(images, ["capstan:dev", "quay.io/coreos/etcd:v3.6.16", "quay.io/coreos/etcd:v3.6.16"]);
}

#[test]
fn what_is_captured_is_told_when_it_has_moved() {
    let point =
        |revision: i64, at: &str| json!({"revision": revision, "time": format!("2026-01-01T00:{at}Z")});
    let mut world = world(&json!({"capture": {}}));
    let said =
        |to: Value, problem: Value| Some(json!({"from": point(1, "00:00"), "to": to, "problem": problem}));
    world.said = said(point(9, "00:10"), Value::Null);
    let first = plan(&world, "2026-01-01T01:00:00Z");
    assert_eq!(first.status.recoverable.as_ref().unwrap().to.revision, 9);
    assert!(first.captured.as_ref().unwrap().0);
    Arc::make_mut(&mut world.schedule).status = Some(first.status);
    let mut told = |to: Value| {
        world.said = said(to, json!("history is lost"));
        let plan = plan(&world, "2026-01-01T01:00:30Z");
        assert_eq!(plan.captured.unwrap().2, "history is lost");
        let to = plan.status.recoverable.unwrap().to;
        (to.revision, to.time.0.to_string())
    };
    let before = (9, "2026-01-01T00:00:10Z".to_owned());
    assert_eq!(told(point(15, "00:15")), before, "so soon it is no news");
    assert_eq!(told(point(20, "00:20")).0, 20);
    assert_eq!(told(point(9, "04:00")), before, "nothing was written");
    assert_eq!(told(point(9, "05:10")).1, "2026-01-01T00:05:10Z", "from time to time it is told so");
}

/// A cluster that was restored in place is another one to etcd: what is captured has to begin anew, and not at the next night's backup.
#[test]
fn a_cluster_that_was_restored_is_backed_up_out_of_turn_where_it_is_captured() {
    let restored = |spec: Value, phase: &str| {
        let mut world = world(&spec).job("nightly-1", "2026-01-01T03:00:05Z", "Complete", TAKEN);
        let cluster = Arc::make_mut(world.cluster.as_mut().unwrap());
        let status = cluster.status.as_mut().unwrap();
        status.cluster_id = Some("0ther".into());
        let restore =
            json!({"phase": phase, "step": "Growing", "message": "", "startedAt": "2026-01-01T03:01:00Z"});
        status.restore = Some(serde_json::from_value(restore).unwrap());
        world
    };
    let out_of_turn = |world: &World| {
        let tasks = plan(world, "2026-01-01T03:05:00Z").tasks;
        tasks.iter().any(|task| matches!(task, Task::Run(job) if job.name_any().starts_with("nightly-gap-")))
    };
    assert!(out_of_turn(&restored(json!({"capture": {}}), "Completed")));
    assert!(!out_of_turn(&restored(json!({"capture": {}}), "Running")), "nobody is let in yet");
    assert!(!out_of_turn(&restored(json!({"capture": {}, "suspend": true}), "Completed")));
    assert!(!out_of_turn(&restored(json!({}), "Completed")), "the next one comes at its time");
    let tried = restored(json!({"capture": {}}), "Completed").job(
        "nightly-gap-29453344",
        "2026-01-01T03:04:00Z",
        "Failed",
        r#"{"error":"no such bucket"}"#,
    );
    assert!(!out_of_turn(&tried), "it is not tried for ever");
}
