//! What looks like trouble and is none, and what must not be done about it.

use etcd_types::{Medium, TlsMode};
use expect_test::expect;
use serde_json::json;

use crate::{
    Exit, Serial, Step, decide,
    model::{Model, PodModel},
};

fn pod(model: &mut Model, serial: u64) -> &mut PodModel {
    model.boxes.get_mut(&Serial(serial)).unwrap().pod.as_mut().unwrap()
}

/// Without the one that is slow, nobody could write.
#[test]
fn a_member_that_votes_with_the_last_who_answers_is_not_restarted() {
    let mut model = Model::running(3, "3.6.16");
    model.kill_node(2);
    model.live();
    model.reconcile();
    model.edit(|spec| spec.etcd.snapshot_count = Some(5000));
    let mut picture = model.picture();
    let slow = picture.members.get_mut(&Serial(1)).unwrap().pod.as_mut().unwrap();
    slow.ready = false;
    let endpoint = picture.etcd.endpoints.get_mut(&Serial(1)).unwrap().as_mut().unwrap();
    (endpoint.serves, endpoint.leader) = (false, picture.etcd.members.as_ref().map(|all| all[2].id));
    let step = decide(&picture, model.now).step;
    assert!(!matches!(step, Some(Step::RestartPod { .. })), "{step:?}");
}

#[test]
fn data_in_memory_is_not_thrown_away_for_a_setting() {
    let spec = json!({"size": 1, "version": "3.6.16", "storage": {"size": "1Gi", "medium": "Memory"}});
    let mut model = Model::new(spec);
    assert!(model.settle());
    model.edit(|spec| spec.etcd.snapshot_count = Some(5000));
    expect![[r#"
        Configure 0ecbbb0c4a
        WaitingForUser: db-1 waits: its data is in memory (spec.storage.medium) and would be lost with its pod; set spec.size to 3 or more first"#]].assert_eq(&model.story());
    assert_eq!(model.members(), [1]);
}

#[test]
fn members_in_memory_are_replaced_one_by_one_by_ones_with_other_settings() {
    let spec = json!({"size": 5, "version": "3.6.16", "storage": {"size": "1Gi", "medium": "Memory"}});
    let mut model = Model::new(spec);
    assert!(model.settle());
    model.edit(|spec| spec.etcd.snapshot_count = Some(5000));
    let story = model.story();
    assert!(story.ends_with("Healthy: 5 of 5 members serve etcd 3.6.16"), "{story}");
    assert!(model.now.duration_since("2026-11-16T03:00:00Z".parse().unwrap()).as_hours() < 1, "{story}");
}

#[test]
fn a_roll_of_three_members_in_memory_asks_nobody() {
    let spec = json!({"size": 3, "version": "3.6.16", "storage": {"size": "1Gi", "medium": "Memory"}});
    let mut model = Model::new(spec);
    assert!(model.settle());
    model.edit(|spec| spec.etcd.snapshot_count = Some(5000));
    let story = model.story();
    assert!(
        !story.contains("WaitingForUser") && story.ends_with("Healthy: 3 of 3 members serve etcd 3.6.16"),
        "{story}"
    );
}

/// It may be a network that is down: their data is in the pods.
#[test]
fn members_in_memory_that_nobody_reaches_keep_their_pods_whatever_is_edited() {
    let spec = json!({"size": 3, "version": "3.6.16", "storage": {"size": "1Gi", "medium": "Memory"}});
    let mut model = Model::new(spec);
    assert!(model.settle());
    (1..=3).for_each(|serial| model.hang(serial));
    model.edit(|spec| spec.etcd.snapshot_count = Some(5000));
    for _ in 0..20 {
        let step = model.reconcile().step;
        assert!(step.is_none(), "{step:?}");
        model.pass(60);
    }
}

#[test]
fn how_a_process_ended_long_ago_is_not_why_it_is_down_today() {
    for said in ["member count is unequal", "no space left on device"] {
        let mut model = Model::running(3, "3.6.16");
        let exit = Exit { code: 1, reason: "OOMKilled".into(), message: said.into(), at: Some(model.now) };
        (pod(&mut model, 2).exit, pod(&mut model, 2).restarts) = (Some(exit), 3);
        model.pass(7 * 24 * 3600);
        model.hang(2);
        model.pass(10);
        let story = model.story();
        assert!(story.contains("restart the pod of member 2: it runs and does not serve"), "{said}: {story}");
    }
}

#[test]
fn a_member_that_reads_a_large_database_is_waited_for() {
    let mut model = Model::running(3, "3.6.16");
    model.hang(2);
    pod(&mut model, 2).started = false;
    for _ in 0..25 {
        let step = model.reconcile().step;
        assert!(step.is_none(), "{step:?}");
        model.pass(60);
    }
}

#[test]
fn a_refused_time_deletes_and_replaces_nothing() {
    let mut model = Model::running(3, "3.6.16");
    model.edit(|spec| {
        spec.deletion_policy.volumes = etcd_types::VolumePolicy::Delete;
        spec.remediation.keep_old_volume = "720h".into();
    });
    model.edit(|spec| spec.size = 1);
    assert!(model.settle());
    model.edit(|spec| spec.remediation.keep_old_volume = "30d".into());
    model.pass(48 * 3600);
    let plan = model.reconcile();
    expect![[r#"spec.remediation.keepOldVolume: "30d" is no time: set one such as 5m or 48h. No volume is deleted meanwhile"#]]
        .assert_eq(&plan.refusals[0].to_string());
    assert_eq!(model.deleted_claims, []);
}

#[test]
fn nobody_of_ours_makes_room_for_a_member_that_somebody_else_added_and_ours_are_counted() {
    let mut model = Model::running(3, "3.6.16");
    model.reconcile();
    let mut picture = model.picture();
    let mut theirs = picture.etcd.members.as_ref().unwrap()[0].clone();
    theirs.id = crate::MemberId(0xbad);
    theirs.peer_urls = vec!["http://typo:2380".into()];
    picture.etcd.members.as_mut().unwrap().push(theirs);
    let plan = decide(&picture, model.now);
    assert_eq!(plan.step, None);
    expect!["3 of 3 members serve etcd 3.6.16; somebody added a member bad that is not ours, at http://typo:2380: remove it with `etcdctl member remove bad`"].assert_eq(plan.status.message.as_deref().unwrap());
}

/// Nobody runs whose pod could stay as it is.
#[test]
fn what_is_refused_of_a_pod_does_not_come_in_with_volumes_that_are_taken_back() {
    let mut model = Model::running(1, "3.6.16");
    model.recreate();
    model.edit(|spec| {
        spec.pod.env =
            serde_json::from_value(json!([{"name": "ETCD_FORCE_NEW_CLUSTER", "value": "true"}])).unwrap();
        spec.pod.labels.insert("app.kubernetes.io/name".into(), "x".into());
    });
    let first = model.reconcile();
    assert!(first.refusals.len() == 2, "{first}");
    assert!(first.refusals.iter().all(|it| !it.to_string().contains("before stays")), "{first}");
    assert!(model.settle());
    let made = &model.boxes[&Serial(1)].stateful_set.as_ref().unwrap().1;
    assert!(made.pod.env.is_empty() && made.pod.labels.is_empty(), "{made:?}");
}

#[test]
fn volumes_are_not_taken_back_by_members_that_could_not_use_them() {
    for (mode, medium) in [(TlsMode::Off, Medium::PersistentVolume), (TlsMode::SelfManaged, Medium::Memory)] {
        let mut model = Model::running(3, "3.6.16");
        model.recreate();
        model.edit(|spec| (spec.tls.mode, spec.storage.medium) = (mode, medium));
        let plan = model.reconcile();
        let told = plan.refusals[0].to_string();
        assert!(told.contains("Set it back, set spec.bootstrap.existingVolumes to Ignore"), "{told}");
        assert!(plan.objects.is_none() && plan.step.is_none(), "{plan}");
    }
}

/// The address of one led to another for a moment: nothing is wrong with anybody.
#[test]
fn an_answer_of_another_member_must_be_given_for_a_while() {
    let mut model = Model::running(3, "3.6.16");
    model.copied_disk(2, 1);
    model.live();
    assert_eq!(model.reconcile().step, None);
    model.pass(30);
    assert_eq!(model.reconcile().step, None);
}
