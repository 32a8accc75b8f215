//! Members that go missing, by cause.

use etcd_types::EtcdClusterStatus;
use expect_test::expect;
use serde_json::json;

use crate::{Serial, model::Model};

#[test]
fn a_lost_pod_comes_back_without_us() {
    let mut model = Model::running(3, "3.6.16");
    model.kill_pod(2);
    expect!["Healthy: 3 of 3 members serve etcd 3.6.16"].assert_eq(&model.story());
    assert_eq!(model.members(), [1, 2, 3]);
}

#[test]
fn a_member_whose_claim_is_gone_is_replaced_at_once() {
    let mut model = Model::running(3, "3.6.16");
    model.lose_claim(2);
    let begun = model.now;
    model.live();
    while model.members() != [1, 3, 4] {
        model.reconcile();
        model.live();
        model.pass(1);
    }
    let took = model.now.duration_since(begun).as_secs();
    assert!(took <= 10, "{took} s");
    expect![[r#"
        rest
        Healthy: 3 of 3 members serve etcd 3.6.16"#]]
    .assert_eq(&model.story());
}

#[test]
fn a_founder_with_an_empty_disk_never_founds_again() {
    let mut model = Model::running(3, "3.6.16");
    model.empty_disk(3);
    expect![[r#"
        Replace db-3
          remove member 3: it has an empty disk
          delete the StatefulSet of member 3: it is no member of the cluster
          add member 4 as a learner
          promote member 4
        rest
        Healthy: 3 of 3 members serve etcd 3.6.16"#]]
    .assert_eq(&model.story());
    assert!(model.boxes[&Serial(3)].claim.is_some(), "the old volume is kept");
}

#[test]
fn a_hung_process_is_restarted_after_a_while() {
    let mut model = Model::running(3, "3.6.16");
    model.hang(2);
    expect![[r#"
        Restart db-2
          restart the pod of member 2: it runs and does not serve
        rest
        Healthy: 3 of 3 members serve etcd 3.6.16"#]]
    .assert_eq(&model.story());
}

/// etcd answers no read while it defragments, and from 3.6 on no question about its status.
#[test]
fn a_member_that_defragments_for_minutes_is_not_restarted() {
    let mut model = Model::running(3, "3.6.16");
    model.defragment(2);
    for _ in 0..25 {
        let step = model.reconcile().step;
        assert!(step.is_none(), "{step:?}");
        model.pass(60);
    }
    let why = model.status.members.iter().flatten().find_map(|member| member.reason.clone());
    expect![[r#"Some("runs, but its database does not respond, for example because it is being defragmented; it is restarted after 30 min")"#]]
        .assert_eq(&format!("{why:?}"));
    model.end_defragmentation(2);
    expect!["Healthy: 3 of 3 members serve etcd 3.6.16"].assert_eq(&model.story());
}

#[test]
fn a_database_that_is_blocked_for_half_an_hour_is_restarted() {
    let mut model = Model::running(3, "3.6.16");
    model.defragment(2);
    model.reconcile();
    model.pass(30 * 60);
    expect![[r#"
        Restart db-2
          restart the pod of member 2: it runs, but its database does not respond, for example because it is being defragmented
        rest
        Healthy: 3 of 3 members serve etcd 3.6.16"#]]
    .assert_eq(&model.story());
}

#[test]
fn whoever_was_out_of_sight_for_long_is_restarted_before_it_is_replaced() {
    let mut model = Model::running(3, "3.6.16");
    model.reachable = false;
    model.pass(3600);
    model.reconcile();
    model.reachable = true;
    model.hang(2);
    expect![[r#"
        Restart db-2
          restart the pod of member 2: it runs and does not serve
        rest
        Healthy: 3 of 3 members serve etcd 3.6.16"#]]
    .assert_eq(&model.story());
}

#[test]
fn a_member_on_a_dead_node_is_replaced_after_a_while_and_its_volume_kept() {
    let mut model = Model::running(3, "3.6.16");
    model.kill_node(1);
    model.live();
    expect![[r#"
        Replace db-1
          remove member 1: it was on the node node-1, which is not ready
          delete the StatefulSet of member 1: it is no member of the cluster
          add member 4 as a learner
          promote member 4
        rest
        Healthy: 3 of 3 members serve etcd 3.6.16"#]]
    .assert_eq(&model.story());
    assert!(model.boxes[&Serial(1)].claim.is_some());
}

/// The Node is deleted, and with it the host name that the volume is bound to: it may register again, so nothing is lost for certain.
#[test]
fn member_whose_node_is_deleted_is_replaced_after_replace_after() {
    let mut model = Model::running(3, "3.6.16");
    model.lose_node(1);
    for _ in 0..60 {
        model.reconcile();
        model.live();
        model.pass(4);
    }
    assert_eq!(model.members(), [1, 2, 3], "replaced before spec.remediation.replaceAfter");
    let said = model.status.message.clone().unwrap();
    assert!(said.contains("db-1 has its volume on the host host-1, and no Node carries"), "{said}");
    expect![[r#"
        Replace db-1
          remove member 1: it has its volume on the host host-1, and no Node carries that label kubernetes.io/hostname
          delete the StatefulSet of member 1: it is no member of the cluster
          add member 4 as a learner
          promote member 4
        rest
        Healthy: 3 of 3 members serve etcd 3.6.16"#]]
    .assert_eq(&model.story());
    assert!(model.boxes[&Serial(1)].claim.is_some(), "its volume is kept");
}

/// The label of a volume names a host that no Node carries, and yet its pods are scheduled: restarts and rolls replace nothing.
#[test]
fn unknown_host_of_a_volume_replaces_nothing_while_pods_run() {
    let mut model = Model::running(3, "3.6.16");
    for (serial, entry) in &mut model.boxes {
        entry.claim.as_mut().unwrap().node = Some(format!("ip-10-0-0-{serial}.internal"));
    }
    for serial in [1, 2, 3] {
        model.kill_pod(serial);
        assert!(model.settle(), "{:#?}", model.status);
    }
    model.hang(2);
    assert!(model.settle(), "{:#?}", model.status);
    model.edit(|spec| spec.etcd.log_level = etcd_types::LogLevel::Debug);
    assert!(model.settle(), "{:#?}", model.status);
    model.edit(|spec| spec.version = "3.7.3".into());
    assert!(model.settle(), "{:#?}", model.status);
    assert_eq!((model.members(), model.versions()), (vec![1, 2, 3], vec!["3.7.3".to_owned(); 3]));
    assert_eq!(model.status.replacements, None);
}

/// It serves clients, and what they write there is lost: seen with a checked load on a real Kubernetes.
#[test]
fn the_data_of_another_cluster_stops_everything_else_and_is_replaced_at_once() {
    let mut model = Model::running(3, "3.6.16");
    model.foreign_disk(2);
    model.live();
    model.edit(|spec| spec.size = 5);
    model.reconcile();
    expect!["db-2 answers for the cluster bad, and ours is 57bba302: nothing else is changed while it does. Its volume holds data that is not its own"].assert_eq(model.status.message.as_deref().unwrap());
    expect![[r#"
          remove member 2: it has the data of another cluster, bad
          delete the StatefulSet of member 2: it is no member of the cluster
          add member 4 as a learner
          promote member 4
          add member 5 as a learner
          promote member 5
          add member 6 as a learner
          promote member 6
        rest
        Healthy: 5 of 5 members serve etcd 3.6.16"#]]
    .assert_eq(&model.story());
}

#[test]
fn founders_with_data_of_different_clusters_are_told_apart_by_somebody_else() {
    let mut model = Model::new(super::spec(3, "3.6.16"));
    model.reconcile();
    model.reconcile();
    model.live();
    model.foreign_disk(2);
    model.live();
    let plan = model.reconcile();
    assert!(plan.step.is_none() && model.status.phase == Some(etcd_types::Phase::WaitingForUser), "{plan}");
    expect!["members answer for different clusters (db-1 for 57bba302, db-2 for bad, db-3 for 57bba302): delete the claim and the pod of whoever has a volume with other data"].assert_eq(model.status.message.as_deref().unwrap());
}

/// A volume was copied, or a backup of one was mounted in the wrong place: two processes would vote under one name.
#[test]
fn the_data_of_another_member_stops_everything_else_and_is_replaced_when_that_is_certain() {
    let mut model = Model::running(3, "3.6.16");
    model.copied_disk(2, 1);
    model.live();
    model.edit(|spec| spec.size = 5);
    model.reconcile();
    expect!["db-2 has the data of db-1: nothing else is changed while it does. Its volume holds data that is not its own"].assert_eq(model.status.message.as_deref().unwrap());
    expect![[r#"
        Replace db-2
          remove member 2: it has the data of db-1
          delete the StatefulSet of member 2: it is no member of the cluster
          add member 4 as a learner
          promote member 4
          add member 5 as a learner
          promote member 5
          add member 6 as a learner
          promote member 6
        rest
        Healthy: 5 of 5 members serve etcd 3.6.16"#]]
    .assert_eq(&model.story());
}

/// They are looked for in the message: `kubectl get` shows a cluster that is deleted and stays.
#[test]
fn a_protected_cluster_says_why_it_is_still_there() {
    let mut model = Model::running(1, "3.6.16");
    model.edit(|spec| spec.deletion_policy.protection = true);
    model.deleting = true;
    expect!["Healthy: its deletion waits: set spec.deletionPolicy.protection to false to let it go. 1 of 1 members serve etcd 3.6.16"].assert_eq(&model.story());
}

#[test]
fn so_many_within_an_hour_are_replaced_and_no_more() {
    let mut model = Model::running(3, "3.6.16");
    model.edit(|spec| spec.remediation.max_replacements_per_hour = 1);
    model.empty_disk(3);
    model.story();
    model.empty_disk(4);
    expect!["Degraded: 2 of 3 members serve etcd 3.6.16; db-4 has an empty disk"].assert_eq(&model.story());
    model.pass(3600);
    expect![[r#"
        Replace db-4
          remove member 4: it has an empty disk
          delete the StatefulSet of member 4: it is no member of the cluster
          add member 5 as a learner
          promote member 5
        rest
        Healthy: 3 of 3 members serve etcd 3.6.16"#]]
    .assert_eq(&model.story());
}

#[test]
fn a_lost_quorum_is_explained_and_nobody_is_removed() {
    let mut model = Model::running(3, "3.6.16");
    model.kill_node(1);
    model.kill_node(2);
    model.live();
    model.pass(3600);
    expect!["QuorumLost: too few members serve, so nothing can be written, and nobody is added or removed: 0 of 3 members serve etcd 3.6.16; db-1 was on the node node-1, which is not ready; db-2 was on the node node-2, which is not ready; db-3 runs and does not serve."].assert_eq(&model.story());
    assert_eq!(model.members(), [1, 2, 3]);
    model.nodes_return();
    assert!(model.settle());
}

#[test]
fn when_nobody_can_be_reached_nothing_is_changed() {
    let mut model = Model::running(3, "3.6.16");
    model.reachable = false;
    model.edit(|spec| {
        spec.size = 5;
        spec.version = "3.7.3".into();
    });
    model.pass(3600);
    expect!["Unknown: no member can be reached from here, though pods are ready: check the network between the operator and the members. Nothing is changed meanwhile."].assert_eq(&model.story());
}

#[test]
fn whole_clusters_come_back_with_their_data() {
    let mut model = Model::running(3, "3.6.16");
    for serial in [1, 2, 3] {
        model.kill_pod(serial);
    }
    expect!["Healthy: 3 of 3 members serve etcd 3.6.16"].assert_eq(&model.story());
    for entry in model.boxes.values_mut() {
        (entry.stateful_set, entry.pod) = (None, None);
    }
    model.etcd.leader = None;
    expect!["Healthy: 3 of 3 members serve etcd 3.6.16"].assert_eq(&model.story());
    assert_eq!(model.members(), [1, 2, 3]);
}

#[test]
fn a_wiped_status_is_learned_again_and_nothing_is_founded() {
    let mut model = Model::running(3, "3.6.16");
    let before = model.status.clone();
    model.status = EtcdClusterStatus::default();
    assert!(model.settle());
    assert_eq!(
        (model.status.cluster_id.clone(), model.status.latest_serial),
        (before.cluster_id, before.latest_serial)
    );
    model.status = EtcdClusterStatus::default();
    model.latch = None;
    model.kill_pod(1);
    expect!["Healthy: 3 of 3 members serve etcd 3.6.16"].assert_eq(&model.story());
}

#[test]
fn a_learner_that_cannot_start_waits_for_room_and_can_be_taken_back() {
    let mut model = Model::running(3, "3.6.16");
    model.room = 3;
    model.edit(|spec| spec.size = 5);
    expect![[r#"
        ScaleOut 5 members
          add member 4 as a learner
        Scaling: db-4 finds no node: 0/3 nodes are available; then it catches up, and votes"#]]
    .assert_eq(&model.story());
    model.edit(|spec| spec.size = 3);
    expect![[r#"
        ScaleIn 3 members
          remove member 4: it is not needed any more
          delete the StatefulSet of member 4: it is no member of the cluster
        rest
        Healthy: 3 of 3 members serve etcd 3.6.16"#]]
    .assert_eq(&model.story());
}

#[test]
fn a_member_in_memory_that_lost_its_pod_is_replaced() {
    let mut model =
        Model::new(json!({"size": 3, "version": "3.6.16", "storage": {"size": "1Gi", "medium": "Memory"}}));
    assert!(model.settle());
    model.kill_pod(2);
    expect![[r#"
        Replace db-2
          remove member 2: it has an empty disk
          delete the StatefulSet of member 2: it is no member of the cluster
          add member 4 as a learner
          promote member 4
        rest
        Healthy: 3 of 3 members serve etcd 3.6.16"#]]
    .assert_eq(&model.story());
}
