//! What every container sees that the operator makes: above all those that run an image of the user's.
//!
//! A new mount, variable or token fails a test here until it is judged.

use std::{collections::BTreeMap, time::Duration};

use etcd_core::{ReplayWish, SeedWish, Serial, Start, Template};
use etcd_types::{EtcdBackup, EtcdBackupSchedule, EtcdCluster};
use expect_test::expect;
use k8s_openapi::api::core::v1::{Container, PodTemplateSpec, Volume};
use serde_json::{Value, json};

use super::{
    build::{self as backups, Source, Stored, Timing},
    names::{self, For},
};
use crate::{build, recovery};

const OURS: &str = "capstan:1";
const THEIRS: &str = "registry.example.com/etcd";
/// Of all Secrets, those that a member itself needs.
const OF_MEMBERS: [&str; 2] = ["db-server-tls", "db-peer-tls"];

fn object<T: serde::de::DeserializeOwned>(kind: &str, name: &str, spec: Value, status: Value) -> T {
    serde_json::from_value(json!({
        "apiVersion": "etcd.capstan.dev/v1alpha1", "kind": kind,
        "metadata": {"name": name, "namespace": "prod", "uid": format!("u-{name}")}, "spec": spec, "status": status,
    }))
    .unwrap()
}

/// With everything that a store can name.
fn store() -> Value {
    json!({"url": "pvc://backups/of/db", "credentials": {"name": "credentials"}, "ca": {"name": "ca", "key": "ca.crt"},
        "encryption": {"name": "key", "key": "aes"}, "serviceAccountName": "writer"})
}

/// All pods that the operator makes, and those that CronJob and Deployment make for it.
fn pods() -> BTreeMap<&'static str, PodTemplateSpec> {
    let spec = json!({"version": "3.6.16", "image": THEIRS});
    let status = json!({"clusterID": "8e9e",
        "connection": {"endpoints": ["https://db-client.prod.svc:2379"], "secretName": "db-client-tls"}});
    let cluster: EtcdCluster = object("EtcdCluster", "db", spec, status);
    let template = Template {
        version: "3.6.16".parse().unwrap(),
        image: format!("{THEIRS}:v3.6.16"),
        args: Vec::new(),
        pod: cluster.spec.pod.clone(),
        tls: cluster.spec.tls.clone(),
        medium: cluster.spec.storage.medium,
        memory: None,
        start: Start::Started,
    };
    let backup: EtcdBackup =
        object("EtcdBackup", "before", json!({"clusterName": "db", "store": store()}), Value::Null);
    let nightly = json!({"clusterName": "db", "schedule": "0 3 * * *", "store": store(), "capture": {}});
    let schedule: EtcdBackupSchedule = object("EtcdBackupSchedule", "nightly", nightly, Value::Null);
    let source = Source::of(&cluster).unwrap();
    let hour = Duration::from_secs(3600);
    let timing = Timing { jitter: None, starting_deadline: hour, deadline: hour };
    let from = recovery::Source {
        store: backup.spec.store.clone(),
        which: recovery::Which::Named("before".into()),
        only_of: None,
        point: None,
    };
    let seed = SeedWish { serial: Serial(4), template: template.clone(), bump: None, made_from: "f".into() };
    let replay = ReplayWish { serial: Serial(4), bump: None, backup: "before".into() };
    let who = For::of(&backup, names::BACKUP, "db");
    let stored = Stored { id: "before", etcd_version: "3.6.16".parse().unwrap(), bytes: Some(1 << 20) };
    let verify = backups::verify(&who, "v".into(), &backup.spec.store, &source, &stored, OURS, hour);
    let cron = backups::cron_job(&schedule, &source, OURS, &timing, false);
    let capture = backups::capture(&schedule, schedule.spec.capture.as_ref().unwrap(), &source, OURS);
    let job = |job: k8s_openapi::api::batch::v1::Job| job.spec.unwrap().template;
    [
        ("member", build::stateful_set(&cluster, Serial(1), &template).spec.template),
        ("seed", job(build::seed(&cluster, &seed, &from, OURS))),
        ("replay", job(build::replay(&cluster, &replay, &from, OURS))),
        ("take", job(backups::take(&backup, &source, OURS, hour))),
        ("remove", job(backups::remove(&backup, None, OURS, "db-backup".into()))),
        ("verify", job(verify)),
        ("scheduled", cron.spec.job_template.spec.unwrap().template),
        ("first", job(backups::first(&schedule, &source, OURS, &timing))),
        ("capture", capture.spec.template),
    ]
    .into()
}

fn containers(pod: &PodTemplateSpec) -> Vec<Container> {
    let spec = pod.spec.clone().unwrap();
    spec.init_containers.into_iter().flatten().chain(spec.containers).collect()
}

fn is_ours(container: &Container) -> bool {
    container.image.as_deref() == Some(OURS)
}

/// What a volume gives away.
fn holds(volume: &Volume) -> String {
    let secret = volume.secret.as_ref().and_then(|it| it.secret_name.as_ref());
    let claim = volume.persistent_volume_claim.as_ref().map(|it| &it.claim_name);
    match (secret, claim) {
        (Some(secret), _) => format!("Secret {secret}"),
        (_, Some(claim)) => format!("claim {claim}"),
        _ if volume.empty_dir.is_some() => "a directory of the pod".to_owned(),
        _ => format!("{volume:?}"),
    }
}

fn mounts(pod: &PodTemplateSpec, container: &Container) -> Vec<String> {
    let volumes = pod.spec.as_ref().unwrap().volumes.iter().flatten();
    let volumes: BTreeMap<&str, String> = volumes.map(|it| (it.name.as_str(), holds(it))).collect();
    container.volume_mounts.iter().flatten().map(|it| volumes[it.name.as_str()].clone()).collect()
}

#[test]
fn every_container_sees_what_it_needs_and_no_more() {
    let mut all = String::new();
    for (name, pod) in pods() {
        for it in containers(&pod) {
            let whose = if is_ours(&it) { "ours" } else { "the user's" };
            let env: Vec<&str> = it.env.iter().flatten().map(|env| env.name.as_str()).collect();
            all += &format!("{name}/{} ({whose}): {}; {env:?}\n", it.name, mounts(&pod, &it).join(", "));
        }
    }
    expect![[r#"
        capture/capture (ours): claim backups, Secret credentials, Secret ca, Secret key, Secret db-operator-tls; []
        first/take (ours): claim backups, Secret credentials, Secret ca, Secret key, Secret db-operator-tls; ["JOB_NAME"]
        member/etcd (the user's): claim db-1, Secret db-server-tls, Secret db-peer-tls; []
        remove/remove (ours): claim backups, Secret credentials, Secret ca, Secret key; []
        replay/replay (ours): claim backups, Secret credentials, Secret ca, Secret key, Secret db-operator-tls; []
        scheduled/take (ours): claim backups, Secret credentials, Secret ca, Secret key, Secret db-operator-tls; ["JOB_NAME"]
        seed/fetch (ours): claim db-4, claim backups, Secret credentials, Secret ca, Secret key; []
        seed/restore (the user's): claim db-4; []
        seed/settle (ours): claim db-4; []
        take/take (ours): claim backups, Secret credentials, Secret ca, Secret key, Secret db-operator-tls; []
        verify/fetch (ours): claim backups, Secret credentials, Secret ca, Secret key, a directory of the pod; []
        verify/restore (the user's): a directory of the pod; []
        verify/etcd (the user's): a directory of the pod; []
        verify/verify (ours): claim backups, Secret credentials, Secret ca, Secret key, a directory of the pod; []
    "#]].assert_eq(&all);
}

#[test]
fn images_of_the_user_see_no_credentials_keys_or_backups() {
    let mut count = 0;
    for (name, pod) in pods() {
        for it in containers(&pod).iter().filter(|it| !is_ours(it)) {
            count += 1;
            assert_eq!((&it.env, &it.env_from), (&None, &None), "{name}/{}", it.name);
            for seen in mounts(&pod, it) {
                let own = seen.strip_prefix("Secret ").is_none_or(|secret| OF_MEMBERS.contains(&secret));
                assert!(own && seen != "claim backups", "{name}/{} sees {seen}", it.name);
            }
        }
    }
    assert_eq!(count, 4, "member, seed/restore, verify/restore, verify/etcd");
}

#[test]
fn no_pod_gets_a_token_for_kubernetes() {
    for (name, pod) in pods() {
        let spec = pod.spec.unwrap();
        assert_eq!(spec.automount_service_account_token, Some(false), "{name}");
        assert!(spec.volumes.iter().flatten().all(|volume| volume.projected.is_none()), "{name}");
    }
}

#[test]
fn platforms_give_their_identity_to_our_containers_only() {
    let mut mixed = Vec::new();
    for (name, pod) in pods() {
        let theirs: Vec<String> =
            containers(&pod).iter().filter(|it| !is_ours(it)).map(|it| it.name.clone()).collect();
        let account = pod.spec.as_ref().unwrap().service_account_name.clone();
        if account.as_deref() != Some("writer") || theirs.is_empty() {
            continue;
        }
        let annotations = pod.metadata.unwrap().annotations.unwrap_or_default();
        assert_eq!(annotations["eks.amazonaws.com/skip-containers"], theirs.join(","), "{name}");
        assert_eq!(annotations["azure.workload.identity/skip-containers"], theirs.join(";"), "{name}");
        mixed.push(name);
    }
    assert_eq!(mixed, ["seed", "verify"]);
}
