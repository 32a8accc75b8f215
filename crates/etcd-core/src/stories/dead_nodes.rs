//! Stories of restores and nodes that die: of the members that are replaced, and of the seed.

use etcd_types::{Phase, RestorePhase};
use serde_json::json;

use crate::{
    Recovery, Serial, Stage,
    model::{
        Model,
        restore::{bootstrap, in_place},
    },
};

fn phase(model: &Model) -> Option<RestorePhase> {
    model.status.restore.as_ref().map(|restore| restore.phase)
}

fn round(model: &mut Model) {
    model.reconcile();
    model.live();
    model.pass(2);
}

/// A cluster of three whose restore, to a point in time, is at this stage.
fn at(stage: &Stage) -> Model {
    let mut model = Model::running(3, "3.6.16");
    model.restores.request = Some(Recovery { to_point: true, ..in_place("back") });
    for _ in 0..40 {
        if model.stage().as_ref() == Some(stage) {
            return model;
        }
        round(&mut model);
    }
    panic!("never at {stage:?}: {:#?}", model.status);
}

/// Pods of dead nodes stay in deletion for as long as their nodes are away.
#[test]
fn pods_on_dead_nodes_do_not_hold_up_a_restore() {
    let mut model = Model::running(3, "3.6.16");
    model.kill_node(1);
    model.kill_node(2);
    model.live();
    model.pass(60);
    model.reconcile();
    model.restores.request = Some(in_place("back"));
    let mut said = Vec::new();
    for _ in 0..60 {
        round(&mut model);
        said.extend(model.status.restore.as_ref().map(|restore| restore.message.clone()));
    }
    assert_eq!((phase(&model), model.members()), (Some(RestorePhase::Completed), vec![4, 5, 6]));
    assert_eq!(model.status.phase, Some(Phase::Healthy), "{:#?}", model.status);
    for serial in [1, 2] {
        let pod = model.boxes[&Serial(serial)].pod.as_ref().unwrap();
        assert!(pod.deleting, "it waits for its node");
        let named = format!("not waiting for pod db-{serial}-0 on node node-{serial}, which is NotReady");
        assert!(said.iter().any(|said| said.contains(&named)), "{said:#?}");
    }
    model.nodes_return();
    assert!(model.settle(), "{:#?}", model.status);
    assert!(model.boxes[&Serial(1)].pod.is_none());
    assert_eq!(model.members(), [4, 5, 6]);
}

/// Only the kubelet is away: its member votes and serves those who reach it, so the old cluster is not stopped yet.
#[test]
fn a_member_that_answers_on_a_node_that_is_not_ready_holds_up_a_restore() {
    let mut model = Model::running(3, "3.6.16");
    model.silence_kubelet(1);
    model.live();
    model.restores.request = Some(in_place("back"));
    for _ in 0..60 {
        round(&mut model);
    }
    assert_eq!(model.stage(), Some(Stage::Stopping), "{:#?}", model.status);
    let said = model.status.restore.as_ref().unwrap().message.clone();
    assert!(said.contains("waiting for pod db-1-0 on node node-1, which is NotReady, but its etcd still answers: shut the node down"), "{said}");
    model.kill_node(1);
    for _ in 0..60 {
        round(&mut model);
    }
    assert_eq!((phase(&model), model.members()), (Some(RestorePhase::Completed), vec![4, 5, 6]));
}

/// Before the members are stopped, the data is fetched once more, to another volume.
#[test]
fn a_seed_whose_node_dies_while_it_is_prepared_is_prepared_elsewhere() {
    for recovers in [false, true] {
        let mut model = if recovers {
            let mut model = Model::new(json!({"size": 3, "version": "3.6.16"}));
            model.restores.request = Some(bootstrap(true));
            model
        } else {
            Model::running(3, "3.6.16")
        };
        if !recovers {
            model.restores.request = Some(in_place("back"));
        }
        let seed = if recovers { 1 } else { 4 };
        // The data is there, and the backup before is not.
        while model.boxes.get(&Serial(seed)).and_then(|entry| entry.claim.as_ref()?.node.as_ref()).is_none() {
            round(&mut model);
        }
        assert_eq!(model.stage(), Some(Stage::Preparing));
        model.kill_node(seed);
        model.reconcile();
        let said = model.status.restore.as_ref().unwrap().message.clone();
        assert!(said.contains(&format!("db-{seed} is on the node node-{seed}, which is NotReady")), "{said}");
        for _ in 0..320 {
            round(&mut model);
        }
        assert!(model.settle(), "{:#?}", model.status);
        assert_eq!((phase(&model), model.members().len()), (Some(RestorePhase::Completed), 3));
        assert!(!model.members().contains(&seed), "{:?}", model.members());
    }
}

#[test]
fn a_seed_whose_node_dies_later_gives_the_place_back() {
    for stage in [Stage::Stopping, Stage::Starting, Stage::Replaying] {
        let mut model = at(&stage);
        let id = model.restores.before.first().map_or(model.etcd.cluster_id, |before| before.cluster_id);
        model.restores.replay_fails = Some("no answer".into());
        model.kill_node(4);
        let mut closed = false;
        for _ in 0..400 {
            round(&mut model);
            let returning = matches!(model.stage(), Some(Stage::Returning { .. }));
            closed |= returning && model.restores.closed;
        }
        assert_eq!(phase(&model), Some(RestorePhase::Failed), "{stage:?}: {:#?}", model.status);
        assert_eq!((model.etcd.cluster_id, model.members()), (id, vec![1, 2, 3]), "{stage:?}");
        assert_eq!(model.status.phase, Some(Phase::Healthy), "{stage:?}: {:#?}", model.status);
        // The seed's pod, if it had one, may come back with its node: no client is led there.
        let stranded = model.boxes[&Serial(4)].pod.is_some();
        assert!(closed || !stranded, "{stage:?}");
        assert!(!model.restores.closed, "{stage:?}");
        model.nodes_return();
        assert!(model.settle(), "{stage:?}: {:#?}", model.status);
        assert_eq!((model.members(), model.serving().len()), (vec![1, 2, 3], 3), "{stage:?}");
        assert!(model.boxes[&Serial(4)].pod.is_none(), "{stage:?}");
    }
}

/// Clients may have written to it: it is not given up by itself. Another EtcdRestore helps.
#[test]
fn a_seed_whose_node_dies_while_the_cluster_grows_is_waited_for_until_another_restore_is_asked_for() {
    let mut model = at(&Stage::Growing);
    model.kill_node(4);
    for _ in 0..400 {
        round(&mut model);
    }
    assert_eq!(model.stage(), Some(Stage::Growing));
    let said = model.status.restore.as_ref().unwrap().message.clone();
    assert!(said.contains("db-4 was on the node node-4, which is not ready"), "{said}");
    assert!(said.contains("create another EtcdRestore"), "{said}");
    let mut waits = at(&Stage::Growing);
    waits.kill_node(4);
    round(&mut waits);
    waits.nodes_return();
    assert!(waits.settle(), "{:#?}", waits.status);
    assert_eq!((phase(&waits), waits.members()), (Some(RestorePhase::Completed), vec![4, 5, 6]));

    (model.restores.request, model.restores.safety) = (Some(in_place("again")), None);
    for _ in 0..100 {
        round(&mut model);
    }
    assert_eq!(phase(&model), Some(RestorePhase::Completed), "{:#?}", model.status);
    assert!(model.members().len() == 3 && !model.members().contains(&4), "{:?}", model.members());
}

/// What its kubelet says counts: clients may write to it.
#[test]
fn a_seed_that_is_ready_is_kept_though_it_cannot_be_reached() {
    let mut model = Model::running(3, "3.6.16");
    model.restores.request = Some(in_place("back"));
    while model.stage() != Some(Stage::Starting) {
        round(&mut model);
    }
    model.unreachable.insert(Serial(4));
    for _ in 0..1000 {
        round(&mut model);
    }
    assert_eq!(model.stage(), Some(Stage::Starting), "{:#?}", model.status);
    let said = model.status.restore.as_ref().unwrap().message.clone();
    assert!(said.contains("db-4: no answer within 1 s"), "{said}");
    model.unreachable.clear();
    assert!(model.settle(), "{:#?}", model.status);
    assert_eq!((phase(&model), model.members()), (Some(RestorePhase::Completed), vec![4, 5, 6]));
}
