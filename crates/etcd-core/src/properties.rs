//! Whatever happens, in whatever order, and wherever the operator crashes: every plan keeps its invariants (`Model::check`), and a
//! kind world comes to rest with what the user asked for.

use etcd_types::{EtcdClusterStatus, LogLevel, Phase, VolumePolicy};
use proptest::prelude::*;
use serde_json::json;

use crate::{
    Alarm, AlarmKind, Serial, Stage,
    model::{Model, restore::in_place},
};

#[derive(Debug, Clone)]
enum Happens {
    Size(i32),
    Version(&'static str),
    Setting(bool),
    Paused(bool),
    DeleteVolumes(bool),
    KillPod(usize),
    LoseClaim(usize),
    EmptyDisk(usize),
    Hang(usize),
    KillNode(usize),
    NodesBack,
    Unreachable(bool),
    StatusWiped,
    /// The EtcdCluster is deleted, and made again under the same name.
    Recreated,
    /// Data of another cluster, or of another member, is mounted under a member.
    ForeignDisk(usize),
    CopiedDisk(usize, usize),
    Alarm(bool),
    /// Somebody asks for a restore in place, and agrees.
    Restore(usize),
    /// Somebody gives it up.
    GiveUp,
    /// What the store has cannot be used.
    BadBackup(bool),
    /// etcd does not start on what was restored.
    BadData(bool),
    /// The operator crashes after so many effects of its plan.
    ReconcilePart(usize),
    Reconcile,
    Live,
    Time(i64),
}

fn happens() -> impl Strategy<Value = Happens> {
    use Happens::*;
    prop_oneof![
        2 => prop::sample::select(vec![1, 3, 5]).prop_map(Size),
        2 => prop::sample::select(vec!["3.5.35", "3.6.16", "3.6.99", "3.7.3", "9.9.9"]).prop_map(Version),
        1 => any::<bool>().prop_map(Setting),
        1 => any::<bool>().prop_map(Paused),
        1 => any::<bool>().prop_map(DeleteVolumes),
        2 => (0_usize..6).prop_map(KillPod),
        1 => (0_usize..6).prop_map(LoseClaim),
        1 => (0_usize..6).prop_map(EmptyDisk),
        1 => (0_usize..6).prop_map(Hang),
        1 => (0_usize..6).prop_map(KillNode),
        1 => Just(NodesBack),
        1 => any::<bool>().prop_map(Unreachable),
        1 => Just(StatusWiped),
        1 => Just(Recreated),
        1 => (0_usize..6).prop_map(ForeignDisk),
        1 => (0_usize..6, 0_usize..6).prop_map(|(at, from)| CopiedDisk(at, from)),
        1 => any::<bool>().prop_map(Alarm),
        2 => (0_usize..3).prop_map(Restore),
        1 => Just(GiveUp),
        1 => any::<bool>().prop_map(BadBackup),
        1 => any::<bool>().prop_map(BadData),
        4 => (0_usize..6).prop_map(ReconcilePart),
        12 => Just(Reconcile),
        10 => Just(Live),
        4 => (1_i64..400).prop_map(Time),
    ]
}

/// Somebody who is there.
fn some(model: &Model, at: usize) -> Option<u64> {
    let all: Vec<Serial> = model.boxes.keys().copied().collect();
    all.get(at % all.len().max(1)).map(|serial| serial.0)
}

/// Not one that a restore has prepared: what is on its volume has no ID yet.
fn some_voter(model: &Model, at: usize) -> Option<u64> {
    some(model, at).filter(|serial| model.etcd.voters().contains(&Serial(*serial)))
}

/// The world may take one member's data, or stop some; it may not take a quorum's data, as nobody could mend that. While a restore has
/// stopped the members that were, theirs is not counted among what serves, and they may have to come back.
fn may_lose_data(model: &Model, serial: u64) -> bool {
    let record = model.latch.as_ref().and_then(|latch| latch.restore.as_ref());
    let between = |stage: &Stage| {
        matches!(stage, Stage::Stopping | Stage::Starting | Stage::Replaying | Stage::Returning { .. })
    };
    if record.is_some_and(|record| between(&record.stage)) {
        return false;
    }
    let serving = model.serving();
    let voters = model.etcd.voters().len();
    serving.iter().filter(|other| other.0 != serial).count() > voters / 2
}

/// Whoever is made again finds its cluster by what is on the volumes: before that is written, there is nothing to find.
fn may_be_recreated(model: &Model) -> bool {
    let restored = model.latch.as_ref().is_some_and(|latch| latch.restore.is_some());
    let known = |serial: &Serial| {
        let claim = model.boxes.get(serial).and_then(|entry| entry.claim.as_ref());
        claim.is_some_and(|claim| claim.cluster_id == model.etcd.cluster_id)
    };
    model.restores.request.is_none()
        && !restored
        && model.etcd.cluster_id.is_some()
        && model.etcd.members.iter().all(|member| known(&member.serial))
        && model.has_quorum()
}

fn apply(model: &mut Model, happens: &Happens) {
    match happens.clone() {
        Happens::Size(size) => model.edit(|spec| spec.size = size),
        Happens::Version(version) => model.edit(|spec| spec.version = version.into()),
        Happens::Setting(debug) => {
            model.edit(|spec| spec.etcd.log_level = if debug { LogLevel::Debug } else { LogLevel::Info });
        }
        Happens::Paused(paused) => model.edit(|spec| spec.paused = paused),
        Happens::DeleteVolumes(delete) => model.edit(|spec| {
            spec.deletion_policy.volumes = if delete { VolumePolicy::Delete } else { VolumePolicy::Retain };
        }),
        Happens::KillPod(at) => {
            if let Some(serial) = some(model, at) {
                model.kill_pod(serial);
                model.live();
            }
        }
        Happens::LoseClaim(at) => {
            if let Some(serial) = some(model, at).filter(|serial| may_lose_data(model, *serial)) {
                model.lose_claim(serial);
                model.live();
            }
        }
        Happens::EmptyDisk(at) => {
            if let Some(serial) = some(model, at).filter(|serial| may_lose_data(model, *serial)) {
                model.empty_disk(serial);
                model.live();
            }
        }
        Happens::Hang(at) => {
            if let Some(serial) = some(model, at).filter(|serial| may_lose_data(model, *serial)) {
                model.hang(serial);
                model.live();
            }
        }
        Happens::KillNode(at) => {
            if let Some(serial) = some(model, at) {
                model.kill_node(serial);
                model.live();
            }
        }
        Happens::NodesBack => model.dead_nodes.clear(),
        Happens::Unreachable(not) => model.reachable = !not,
        Happens::StatusWiped => model.status = EtcdClusterStatus::default(),
        Happens::Recreated => {
            if may_be_recreated(model) {
                model.recreate();
            }
        }
        Happens::ForeignDisk(at) => {
            // Before an ID is on record, nobody can say whose data is other data.
            let latched = model.latch.as_ref().is_some_and(|latch| latch.cluster_id.is_some());
            let serial = some_voter(model, at).filter(|it| latched && may_lose_data(model, *it));
            if let Some(serial) = serial {
                model.foreign_disk(serial);
                model.live();
            }
        }
        Happens::CopiedDisk(at, from) => {
            let from = some(model, from).filter(|from| model.serving().contains(&Serial(*from)));
            let at = some_voter(model, at).filter(|it| may_lose_data(model, *it) && Some(*it) != from);
            if let (Some(serial), Some(from)) = (at, from) {
                model.copied_disk(serial, from);
                model.live();
            }
        }
        Happens::Alarm(raised) => {
            let first = model.etcd.members.first().filter(|_| raised);
            model.alarms =
                first.map(|it| Alarm { member: it.id, kind: AlarmKind::NoSpace }).into_iter().collect();
        }
        Happens::Restore(nth) if model.restores.request.is_none() => {
            model.restores.request = Some(in_place(&format!("r{nth}")));
            model.restores.safety = None;
        }
        Happens::Restore(_) => {}
        Happens::GiveUp => model.restores.request = None,
        Happens::BadBackup(bad) => {
            model.restores.seed_fails = bad.then(|| "the snapshot is truncated".to_owned());
        }
        Happens::BadData(bad) => model.restores.bad_data = bad,
        Happens::ReconcilePart(effects) => drop(model.reconcile_part(effects)),
        Happens::Reconcile => drop(model.reconcile()),
        Happens::Live => model.live(),
        Happens::Time(seconds) => model.pass(seconds),
    }
}

fn model() -> Model {
    let mut model = Model::new(json!({"size": 3, "version": "3.5.35"}));
    model.no_image.insert("3.6.99".parse().unwrap());
    model
}

/// The world becomes kind again.
fn calm(model: &mut Model) {
    model.dead_nodes.clear();
    model.reachable = true;
    model.alarms.clear();
    (model.restores.bad_data, model.restores.seed_fails) = (false, None);
    model.edit(|spec| {
        spec.paused = false;
        spec.remediation.max_replacements_per_hour = 100;
    });
    model.live();
    model.pass(700);
}

fn comes_to_rest(history: &[Happens]) -> Result<(), TestCaseError> {
    let mut model = model();
    for what in history {
        apply(&mut model, what);
    }
    calm(&mut model);
    // What can be run: the lowest version that anybody has, so that no way is refused.
    let runs = model.boxes.values().filter_map(|entry| entry.pod.as_ref().filter(|pod| pod.running));
    let first = runs.map(|pod| pod.template.version.minor).next();
    let version = model.etcd.minor.or(first).map_or("3.5.35", |minor| match minor.1 {
        5 => "3.5.35",
        6 => "3.6.16",
        _ => "3.7.3",
    });
    model.edit(|spec| spec.version = version.into());
    prop_assert!(model.settle(), "no rest: {:#?}", model.status);
    prop_assert_eq!(model.status.phase, Some(Phase::Healthy), "{:#?}", model.status);
    prop_assert_eq!(model.members().len(), usize::try_from(model.spec.size).unwrap());
    prop_assert!(model.versions().iter().all(|runs| runs == version), "{:?}", model.versions());
    // No restore is carried out twice, and none leaves clients outside.
    let mut brought: Vec<&String> = model.restores.brought.iter().map(|(uid, _)| uid).collect();
    brought.sort();
    let all = brought.len();
    brought.dedup();
    prop_assert_eq!(all, brought.len(), "{:?}", model.restores.brought);
    prop_assert!(!model.restores.closed);
    Ok(())
}

/// The operator crashes when it has sent the only member to the next minor; before anybody sees it there, its node dies and the user
/// goes back.
#[test]
fn what_was_started_on_a_volume_is_known_though_nobody_saw_it() {
    use Happens::*;
    comes_to_rest(&[
        Size(1),
        ReconcilePart(1),
        ReconcilePart(3),
        Version("3.6.16"),
        KillPod(0),
        Reconcile,
        ReconcilePart(4),
        Live,
        KillNode(0),
        Version("3.5.35"),
        Reconcile,
        Reconcile,
    ])
    .unwrap();
}

/// Founders of a later version are given up before they met; what is left of them does not keep anybody from beginning with an earlier one.
#[test]
fn what_founders_that_were_given_up_have_left_says_nothing_about_versions() {
    use Happens::*;
    comes_to_rest(&[ReconcilePart(2), Version("3.7.3"), ReconcilePart(5), Live, Size(5), Reconcile]).unwrap();
}

#[expect(clippy::disallowed_methods, reason = "not a setting of an operator")]
fn cases(usual: u32) -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|asked| asked.parse().ok()).unwrap_or(usual)
}

proptest! {
    // `PROPTEST_CASES` asks for more: `make campaign` does.
    #![proptest_config(ProptestConfig { cases: cases(48), ..ProptestConfig::default() })]

    #[test]
    fn plans_keep_their_invariants_and_a_kind_world_comes_to_rest(history in prop::collection::vec(happens(), 0..120)) {
        comes_to_rest(&history)?;
    }

    #[test]
    fn a_reverted_spec_is_always_acted_on(history in prop::collection::vec(happens(), 0..40), bad in any::<bool>()) {
        let mut model = model();
        prop_assert!(model.settle());
        for what in history.iter().filter(|what| !matches!(what, Happens::Version(_))) {
            apply(&mut model, what);
        }
        calm(&mut model);
        prop_assert!(model.settle(), "no rest: {:#?}", model.status);
        // The user breaks it, in one way or the other …
        if bad {
            model.edit(|spec| spec.version = "3.6.99".into());
        } else {
            model.bad_argument = Some("max-txn-ops");
            model.edit(|spec| drop(spec.etcd.extra_args.insert("max-txn-ops".into(), "1".into())));
        }
        for _ in 0..40 {
            model.reconcile();
            model.live();
            model.pass(2);
        }
        // … and takes it back.
        model.edit(|spec| {
            spec.version = "3.5.35".into();
            spec.etcd.extra_args.clear();
        });
        prop_assert!(model.settle(), "no rest: {:#?}", model.status);
        prop_assert_eq!(model.status.phase, Some(Phase::Healthy), "{:#?}", model.status);
        prop_assert!(model.versions().iter().all(|runs| runs == "3.5.35"), "{:?}", model.versions());
    }
}
