//! Stories of what is on record: cluster IDs that contradict each other, and a ConfigMap `<name>-identity` that is lost or put back.

use etcd_types::{EtcdClusterStatus, Phase, RestorePhase};
use serde_json::json;

use crate::{
    ClusterId, Recovery, Serial, Stage, WorkState,
    model::{
        FOREIGN, Model,
        restore::{bootstrap, in_place},
    },
};

fn round(model: &mut Model) {
    model.reconcile();
    model.live();
    model.pass(2);
}

fn phase(model: &Model) -> Option<RestorePhase> {
    model.status.restore.as_ref().map(|restore| restore.phase)
}

/// Each place that remembers the ID, with another one in it.
type Edit = fn(&mut Model);

const EDITS: [(&str, Edit); 3] = [
    ("the ConfigMap db-identity", |model| model.latch.as_mut().unwrap().cluster_id = Some(FOREIGN)),
    ("status.clusterID", |model| model.status.cluster_id = Some(FOREIGN.to_string())),
    ("the claim db-2", |model| {
        model.boxes.get_mut(&Serial(2)).unwrap().claim.as_mut().unwrap().cluster_id = Some(FOREIGN);
    }),
];

#[test]
fn contradicting_ids_are_left_as_they_are_while_no_member_answers() {
    for (place, edit) in EDITS {
        let mut model = Model::running(3, "3.6.16");
        let id = model.etcd.cluster_id.unwrap();
        edit(&mut model);
        model.reachable = false;
        model.edit(|spec| spec.size = 5);
        let before = (model.boxes.clone(), model.latch.clone(), model.status.cluster_id.clone());
        for _ in 0..20 {
            let plan = model.reconcile();
            assert!(plan.objects.is_none() && plan.step.is_none(), "{place}: {plan}");
            model.live();
            model.pass(60);
        }
        let now = (model.boxes.clone(), model.latch.clone(), model.status.cluster_id.clone());
        assert_eq!(now, before, "{place}");
        assert_eq!(model.status.phase, Some(Phase::Conflict), "{place}");
        let said = model.status.message.clone().unwrap();
        for known in ["the ConfigMap db-identity", "status.clusterID", "the claim db-1", "the claim db-2"] {
            let expected = format!("{known} says {}", if known == place { FOREIGN } else { id });
            assert!(said.contains(&expected), "{place}: {expected}: {said}");
        }
    }
}

#[test]
fn live_members_settle_which_id_is_right() {
    for (place, edit) in EDITS {
        let mut model = Model::running(3, "3.6.16");
        let id = model.etcd.cluster_id;
        let pods: Vec<_> = model.boxes.values().filter_map(|entry| entry.pod.clone()).collect();
        edit(&mut model);
        assert!(model.settle(), "{place}: {:#?}", model.status);
        let now: Vec<_> = model.boxes.values().filter_map(|entry| entry.pod.clone()).collect();
        assert_eq!(now, pods, "{place}: a pod was touched");
        assert_eq!(model.latch.as_ref().unwrap().cluster_id, id, "{place}");
        assert_eq!(model.status.cluster_id, id.map(|id| id.to_string()), "{place}");
        let claims = model.boxes.values().filter_map(|entry| entry.claim.as_ref());
        assert!(claims.into_iter().all(|claim| claim.cluster_id == id), "{place}");
        assert_eq!(model.status.phase, Some(Phase::Healthy), "{place}");
    }
}

/// No ID that nothing remembers is taken, and none while members answer for several clusters.
#[test]
fn members_of_another_cluster_settle_nothing() {
    let mut model = Model::running(3, "3.6.16");
    model.latch.as_mut().unwrap().cluster_id = Some(ClusterId(0xabc));
    model.foreign_disk(2);
    model.live();
    let plan = model.reconcile();
    assert!(plan.objects.is_none() && plan.step.is_none(), "{plan}");
    assert_eq!(model.status.phase, Some(Phase::Conflict));
}

/// A backup tool puts the ConfigMap back that it has kept from before, or from the middle of, a restore.
#[test]
fn an_older_config_map_that_is_put_back_after_a_restore_changes_nothing() {
    let mut restored = Model::running(3, "3.6.16");
    restored.restores.request = Some(Recovery { to_point: true, ..in_place("back") });
    assert!(restored.settle());
    let olds = restored.latches.clone();
    assert!(olds.len() > 6, "{olds:#?}");
    for old in olds {
        let mut model = Model::running(3, "3.6.16");
        model.restores.request = Some(Recovery { to_point: true, ..in_place("back") });
        assert!(model.settle());
        let pods: Vec<_> = model.boxes.values().filter_map(|entry| entry.pod.clone()).collect();
        let id = model.etcd.cluster_id;
        model.latch = Some(old.clone());
        assert!(model.settle(), "{old:#?}: {:#?}", model.status);
        let now: Vec<_> = model.boxes.values().filter_map(|entry| entry.pod.clone()).collect();
        assert_eq!(now, pods, "{old:#?}: a pod was touched");
        assert_eq!((model.members(), model.etcd.cluster_id), (vec![4, 5, 6], id), "{old:#?}");
        assert_eq!(model.latch.as_ref().unwrap().cluster_id, id, "{old:#?}");
        assert!(!model.restores.closed && model.restores.brought.len() == 1, "{old:#?}");
    }
}

/// It is deleted after every reconcile of an in-place restore, one that goes well and one that is given up.
#[test]
fn an_in_place_restore_goes_on_without_its_config_map() {
    for bad_data in [false, true] {
        for at in 0..40 {
            let mut model = Model::running(3, "3.6.16");
            model.restores.bad_data = bad_data;
            model.restores.request = Some(Recovery { to_point: true, ..in_place("back") });
            for _ in 0..at {
                round(&mut model);
            }
            model.latch = None;
            assert!(model.settle(), "{at}: {:#?}", model.status);
            let first = if bad_data { 1 } else { 4 };
            assert_eq!((model.members()[0], model.members().len()), (first, 3), "{bad_data} {at}");
            assert_eq!(model.restores.brought.len(), 1, "{bad_data} {at}");
            assert!(phase(&model).is_some_and(RestorePhase::is_over), "{bad_data} {at}: {:#?}", model.status);
            assert_eq!(model.status.phase, Some(Phase::Healthy), "{bad_data} {at}");
            assert!(model.latch.is_some() && !model.restores.closed, "{bad_data} {at}");
        }
    }
}

#[test]
fn a_bootstrap_recovery_goes_on_without_its_config_map() {
    for (to_point, wiped) in [(false, false), (true, false), (false, true), (true, true)] {
        for at in 0..40 {
            let mut model = Model::new(json!({"size": 3, "version": "3.6.16"}));
            model.restores.request = Some(bootstrap(to_point));
            for _ in 0..at {
                round(&mut model);
            }
            model.latch = None;
            if wiped {
                model.status = EtcdClusterStatus::default();
            }
            assert!(model.settle(), "{at}: {:#?}", model.status);
            assert_eq!((model.members().len(), model.status.phase), (3, Some(Phase::Healthy)), "{at}");
            let seed = model.etcd.cluster_id.unwrap().0 & 0xffff_0000;
            assert_eq!(seed, 0x5eed_0000, "{at}: no empty cluster");
            assert!(!model.restores.closed);
        }
    }
}

/// Without the ConfigMap and without the status nothing says how far a restore is: no cluster is founded, and the message says what to do.
#[test]
fn a_restore_without_any_record_is_held() {
    let mut held = 0;
    for at in 0..40 {
        let mut model = Model::running(3, "3.6.16");
        model.restores.request = Some(in_place("back"));
        for _ in 0..at {
            round(&mut model);
        }
        let kept = model.latch.take();
        model.status = EtcdClusterStatus::default();
        for _ in 0..40 {
            round(&mut model);
        }
        if model.status.phase == Some(Phase::Conflict) {
            held += 1;
            let said = model.status.message.clone().unwrap();
            assert!(said.contains("the ConfigMap db-identity does not say which cluster this is"), "{said}");
            assert!(said.contains("the claim db-1 has data of the cluster"), "{said}");
            model.latch = kept;
        }
        assert!(model.settle(), "{at}: {:#?}", model.status);
        assert_eq!((model.members().len(), model.status.phase), (3, Some(Phase::Healthy)), "{at}");
    }
    assert!(held > 0, "it was never held");
}

#[test]
fn a_seed_whose_result_was_lost_with_its_pod_is_fetched_again() {
    let mut model = Model::running(3, "3.6.16");
    model.restores.request = Some(Recovery { to_point: true, ..in_place("back") });
    let mut lost = false;
    for _ in 0..60 {
        round(&mut model);
        if let Some(work) = model.restores.seeds.get_mut(&Serial(4)).filter(|_| !lost)
            && matches!(work.state, WorkState::Done(_))
        {
            work.state = WorkState::ResultLost;
            lost = true;
        }
        let record = model.latch.as_ref().and_then(|latch| latch.restore.clone());
        let stopped = record.filter(|record| record.stage != Stage::Preparing);
        assert!(
            stopped.is_none_or(|record| record.backup.as_deref() == Some("done")),
            "no backup is on record"
        );
    }
    assert_eq!((phase(&model), model.restores.brought.len()), (Some(RestorePhase::Completed), 2));
}
