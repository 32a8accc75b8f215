//! Whatever happens, in whatever order: the invariants of every plan hold (`Model::check`), and a kind world comes to rest
//! with what the user asked for.

use kit::backups::Restore;
use proptest::prelude::*;
use serde_json::json;

use crate::{app::versions, operator::model::Model};

#[derive(Debug, Clone)]
enum Happens {
    Version(&'static str),
    Restore(Option<u8>),
    BackupRequest(u8),
    Backups(bool),
    Feature(bool),
    Replicas(i32),
    Remediation(bool),
    Reconcile,
    PodsFollow,
    PodsCorrupt,
    JobsEnd(Option<i32>),
    Time(i64),
}

fn happens() -> impl Strategy<Value = Happens> {
    use Happens::*;
    prop_oneof![
        2 => prop::sample::select(vec!["0.0.1", "0.0.2", "0.0.3", "0.1.0", "9.9.9"]).prop_map(Version),
        1 => prop::option::of(0_u8..3).prop_map(Restore),
        1 => (0_u8..3).prop_map(BackupRequest),
        1 => any::<bool>().prop_map(Backups),
        1 => any::<bool>().prop_map(Feature),
        1 => (0_i32..3).prop_map(Replicas),
        1 => any::<bool>().prop_map(Remediation),
        8 => Just(Reconcile),
        6 => Just(PodsFollow),
        1 => Just(PodsCorrupt),
        4 => prop::sample::select(vec![None, None, None, Some(0), Some(64), Some(65), Some(75)]).prop_map(JobsEnd),
        2 => (1_i64..700).prop_map(Time),
    ]
}

fn apply(model: &mut Model, happens: &Happens) {
    match happens.clone() {
        Happens::Version(version) => model.edit(|spec| spec.app_version = version.into()),
        Happens::Restore(request) => model.edit(|spec| {
            spec.restore = request.map(|request| Restore {
                backup: "latest".into(),
                from: None,
                request: Some(request.to_string()),
            });
        }),
        Happens::BackupRequest(request) => model.edit(|spec| {
            if let Some(backup) = &mut spec.backup {
                backup.request = Some(request.to_string());
            }
        }),
        Happens::Backups(on) => model.edit(|spec| {
            if let Some(backup) = &mut spec.backup {
                backup.enabled = on;
            }
        }),
        Happens::Feature(on) => model.edit(|spec| spec.features.example_feature1 = on),
        Happens::Replicas(replicas) => model.edit(|spec| spec.replicas = replicas),
        Happens::Remediation(on) => model.edit(|spec| spec.remediation.restore_corrupt_volume = on),
        Happens::Reconcile => drop(model.reconcile()),
        Happens::PodsFollow => model.pods_follow(),
        Happens::PodsCorrupt => model.corrupt(),
        // A Job that says it is done has done it.
        Happens::JobsEnd(code) => model.jobs_end(code.filter(|code| *code != 0)),
        Happens::Time(seconds) => model.pass(seconds),
    }
}

fn model() -> Model {
    let backup = json!({"enabled": true, "host": "store.example.com", "bucketName": "notes"});
    Model::new(json!({"appVersion": "0.0.1", "backup": backup}))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn plans_keep_their_invariants_and_a_kind_world_comes_to_rest(history in prop::collection::vec(happens(), 0..80)) {
        let mut model = model();
        for what in &history {
            apply(&mut model, what);
        }
        model.pass(700);
        prop_assert!(model.settle(), "no rest: {:#?}", model.world.app.status);
        prop_assert!(model.world.status().operation.is_none());
    }

    #[test]
    fn a_reverted_version_is_always_acted_on(history in prop::collection::vec(happens(), 0..60)) {
        let mut model = model();
        model.settle();
        for what in &history {
            apply(&mut model, what);
        }
        // The user goes back to what serves the data, and takes every other wish back.
        let good = model.world.data_version().unwrap();
        let good = if model.broken.contains(&good.as_str()) { "0.0.2".to_owned() } else { good };
        model.edit(|spec| { spec.app_version = good.clone(); spec.restore = None; spec.replicas = 1; });
        model.pass(700);
        prop_assert!(model.settle(), "no rest: {:#?}", model.world.app.status);
        let status = model.world.status();
        prop_assert_eq!(status.failed_upgrade, None);
        // An upgrade that was done the moment before stays: there may be no way back, and the refusal says so.
        let serves = status.current_version.unwrap();
        prop_assert!(serves == good || versions::way(&serves, &good).is_err(), "{} instead of {}", serves, good);
        let deployment = model.world.deployment().unwrap();
        prop_assert_eq!(deployment.status.as_ref().and_then(|status| status.ready_replicas), Some(1));
        prop_assert_eq!(versions::find(&serves).unwrap().format, model.data.unwrap());
    }
}
