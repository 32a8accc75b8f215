//! Whatever happens, in whatever order, and wherever the operator crashes: every plan keeps its invariants (`Model::check`), and a
//! kind world comes to rest with what the user asked for.

use std::collections::BTreeSet;

use etcd_types::{EtcdClusterStatus, LogLevel, Phase, VolumePolicy};
use proptest::prelude::*;
use serde_json::json;

use crate::{
    Alarm, AlarmKind, ClaimState, ClusterId, MemberId, Serial, Stage,
    identity::Identity,
    model::{FOREIGN, Model, restore::in_place},
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
    /// One member cannot be reached, though others reach it.
    UnreachableOne(usize),
    /// A node is gone for good, and its Node deleted.
    NodeGone(usize),
    /// A kubelet is not heard of any more; its pods go on.
    SilentKubelet(usize),
    /// The ConfigMap `<name>-identity` is deleted.
    LatchLost,
    /// An older one is put back.
    LatchPutBack(usize),
    /// Somebody edits the cluster ID in one of the places that remember it.
    IdEdited(usize),
    StatusWiped,
    /// The EtcdCluster is deleted, and made again under the same name.
    Recreated,
    /// Data of another cluster, or of another member, is mounted under a member.
    ForeignDisk(usize),
    CopiedDisk(usize, usize),
    Alarm(bool),
    /// The data of a voter changes, and the alarm CORRUPT names some member.
    Corrupt(usize, usize),
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
        1 => (0_usize..6).prop_map(UnreachableOne),
        1 => (0_usize..6).prop_map(NodeGone),
        1 => (0_usize..6).prop_map(SilentKubelet),
        1 => Just(LatchLost),
        1 => (0_usize..40).prop_map(LatchPutBack),
        1 => (0_usize..3).prop_map(IdEdited),
        1 => Just(StatusWiped),
        1 => Just(Recreated),
        1 => (0_usize..6).prop_map(ForeignDisk),
        1 => (0_usize..6, 0_usize..6).prop_map(|(at, from)| CopiedDisk(at, from)),
        1 => any::<bool>().prop_map(Alarm),
        1 => (0_usize..6, 0_usize..6).prop_map(|(at, named)| Corrupt(at, named)),
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

/// Whether its volume is on its node. Otherwise Kubernetes would choose another node, and the model has one node per number.
fn is_bound(model: &Model, serial: u64) -> bool {
    let claim = model.boxes.get(&Serial(serial)).and_then(|entry| entry.claim.as_ref());
    claim.is_some_and(|claim| claim.node.is_some())
}

/// The world may take one member's data, or stop some; it may not take a quorum's data, as nobody could mend that. While a restore has
/// stopped the members that were, theirs is not counted among what serves, and they may have to come back.
fn may_lose_data(model: &Model, serial: u64) -> bool {
    // What the others have is needed to find out which data is right.
    if model.is_corrupt() || !model.damaged_voters().is_empty() {
        return false;
    }
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

/// All voters run, so that a strict majority of them stays as it is; and no restore is under way, which would give the data up.
fn may_be_damaged(model: &Model, serial: u64) -> bool {
    let restoring = model.latch.as_ref().and_then(|latch| latch.restore.as_ref());
    let over = |stage: &Stage| matches!(stage, Stage::Completed | Stage::Failed { .. });
    let voters = model.etcd.voters().len();
    may_lose_data(model, serial)
        && voters > 2
        && model.serving().len() == voters
        && restoring.is_none_or(|record| over(&record.stage))
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

/// Whether the cluster exists, is on record everywhere, and is not being restored: what is edited then is settled by its members.
fn is_settled(model: &Model) -> bool {
    let id = model.etcd.cluster_id;
    let latch = model.latch.as_ref().filter(|latch| latch.cluster_id == id);
    let over = latch.is_some_and(|latch| latch.restore.as_ref().is_none_or(crate::Record::is_over));
    over && id.is_some()
        && model.status.cluster_id == id.map(|id| id.to_string())
        && model.restores.request.is_none()
}

/// Whether places remember different IDs now.
fn is_contradicted(model: &Model) -> bool {
    crate::known_id(&model.picture()).is_none()
}

/// Whether a quorum serves, and every member that answers has data of the same cluster.
fn can_settle_ids(model: &Model) -> bool {
    let endpoints = model.picture().etcd.endpoints;
    let ids: BTreeSet<ClusterId> = endpoints.values().flatten().map(|endpoint| endpoint.cluster_id).collect();
    model.has_quorum() && ids.len() == 1
}

/// The user writes the ID of the data to each place that says another one.
fn correct_ids(model: &mut Model) {
    let id = model.etcd.cluster_id;
    if id.is_none() || Identity::of(&model.picture()).contradictions.is_empty() {
        return;
    }
    if let Some(latch) = &mut model.latch {
        latch.cluster_id = id;
    }
    model.status.cluster_id = id.map(|id| id.to_string());
    let claims = model.boxes.values_mut().filter_map(|entry| entry.claim.as_mut());
    for claim in claims.filter(|claim| claim.state == ClaimState::Member && claim.cluster_id.is_some()) {
        claim.cluster_id = id;
    }
}

fn edit_id(model: &mut Model, nth: usize) {
    let claim = model.boxes.values_mut().find_map(|entry| entry.claim.as_mut());
    match (nth, &mut model.latch, claim) {
        (0, Some(latch), _) => latch.cluster_id = Some(FOREIGN),
        (1, _, Some(claim)) if claim.state == ClaimState::Member => claim.cluster_id = Some(FOREIGN),
        _ => model.status.cluster_id = Some(FOREIGN.to_string()),
    }
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
        Happens::NodesBack => model.nodes_return(),
        Happens::Unreachable(not) => model.reachable = !not,
        Happens::UnreachableOne(at) => {
            let one = some(model, at).map(Serial);
            model.unreachable = one.into_iter().collect();
        }
        Happens::NodeGone(at) => {
            let voter = some_voter(model, at).filter(|serial| is_bound(model, *serial));
            if let Some(serial) = voter.filter(|serial| may_lose_data(model, *serial)) {
                model.lose_node(serial);
                model.live();
            }
        }
        Happens::SilentKubelet(at) => {
            if let Some(serial) = some(model, at) {
                model.silence_kubelet(serial);
                model.live();
            }
        }
        // With the status gone as well, a restore is held: `records.rs` tells of that.
        Happens::LatchLost if model.status != EtcdClusterStatus::default() => model.latch = None,
        Happens::LatchPutBack(nth) if is_settled(model) => {
            let nth = nth % model.latches.len().max(1);
            model.latch = model.latches.get(nth).cloned().or(model.latch.take());
        }
        Happens::IdEdited(nth) if is_settled(model) => edit_id(model, nth),
        Happens::LatchLost | Happens::LatchPutBack(_) | Happens::IdEdited(_) => {}
        Happens::StatusWiped if model.latch.is_some() && !is_contradicted(model) => {
            model.status = EtcdClusterStatus::default();
        }
        Happens::StatusWiped => {}
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
            model.alarms.retain(|alarm| alarm.kind == AlarmKind::Corrupt);
            model.alarms.extend(first.map(|it| Alarm { member: it.id, kind: AlarmKind::NoSpace }));
        }
        Happens::Corrupt(at, named) => {
            let voter = some_voter(model, at).filter(|it| may_be_damaged(model, *it));
            if let Some(serial) = voter {
                model.damage(serial, 7);
                let named = model.etcd.members.get(named).map_or(MemberId(0), |member| member.id);
                model.raise_corrupt(named);
            }
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
    model.nodes_return();
    model.reachable = true;
    model.unreachable.clear();
    model.alarms.retain(|alarm| alarm.kind == AlarmKind::Corrupt);
    // Members that were all stopped meanwhile start one after the other, and the first may be the corrupt one: the others then refuse to
    // start, until the user lets them (docs/etcd.md).
    if !model.damaged_voters().is_empty() {
        model.edit(|spec| spec.etcd.corruption_checks.initial = false);
        model.finds_differences = true;
    }
    (model.restores.bad_data, model.restores.seed_fails) = (false, None);
    model.edit(|spec| {
        spec.paused = false;
        spec.remediation.max_replacements_per_hour = 100;
    });
    model.live();
    // Nothing is written while records contradict each other. Where members cannot settle it, the user corrects the records, as the
    // message asks for.
    if !can_settle_ids(model) {
        correct_ids(model);
    }
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
    // A version that is on record as started on a volume may have written to it, though no pod of it runs.
    let claims = model.boxes.values().filter_map(|entry| entry.claim.as_ref());
    let started = claims.filter_map(|claim| claim.started.map(|version| version.minor)).max();
    let version = model.etcd.minor.or(first).or(started).map_or("3.5.35", |minor| match minor.1 {
        5 => "3.5.35",
        6 => "3.6.16",
        _ => "3.7.3",
    });
    model.edit(|spec| spec.version = version.into());
    prop_assert!(model.settle(), "no rest: {:#?}", model.status);
    prop_assert_eq!(model.status.phase, Some(Phase::Healthy), "{:#?}", model.status);
    prop_assert_eq!(model.members().len(), usize::try_from(model.spec.size).unwrap());
    prop_assert!(model.versions().iter().all(|runs| runs == version), "{:?}", model.versions());
    // No restore is carried out twice but where its first volume was lost, and none leaves clients outside.
    let mut brought = model.restores.brought.clone();
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

/// A member has the data of another cluster, and the ConfigMap is edited to say the ID of that cluster: the members that answer do not agree,
/// and the user corrects the ConfigMap.
#[test]
fn user_corrects_ids_that_members_cannot_settle() {
    use Happens::*;
    comes_to_rest(&[Reconcile, Live, Reconcile, Live, Reconcile, Size(1), ForeignDisk(0), IdEdited(0)])
        .unwrap();
}

/// The volumes are taken back by a new EtcdCluster, and the corrupt member starts first. The others start without the check.
#[test]
fn corrupt_member_of_a_recreated_cluster_is_replaced() {
    use Happens::*;
    comes_to_rest(&[Reconcile, Live, Reconcile, Live, Reconcile, Corrupt(0, 0), Recreated]).unwrap();
}

/// The user agrees to give up the cluster that an edited status names; when members have settled which one it is, there is no consent.
#[test]
fn restore_without_consent_gets_no_job() {
    use Happens::*;
    comes_to_rest(&[Reconcile, Live, Reconcile, Live, Reconcile, IdEdited(2), LatchLost, Restore(0)])
        .unwrap();
}

/// The operator reaches no member, one has lost its claim, and a node is not heard of: its member may be the one that the quorum needs.
#[test]
fn new_settings_do_not_restart_a_member_on_a_silent_node() {
    use Happens::*;
    comes_to_rest(&[
        Reconcile,
        Live,
        Reconcile,
        Live,
        Reconcile,
        LoseClaim(0),
        Unreachable(true),
        Setting(true),
        SilentKubelet(1),
        Reconcile,
        Reconcile,
        ReconcilePart(0),
    ])
    .unwrap();
}

/// A member was removed from etcd just before no member was reached and a restore stopped them all: the return does not wait for it.
#[test]
fn return_from_a_restore_does_not_wait_for_a_removed_member() {
    use Happens::*;
    comes_to_rest(&[
        ReconcilePart(1),
        Reconcile,
        KillPod(0),
        EmptyDisk(0),
        Reconcile,
        Restore(0),
        Reconcile,
        Unreachable(true),
        Reconcile,
        Live,
        Reconcile,
        Live,
        Reconcile,
        GiveUp,
    ])
    .unwrap();
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
