//! A small model for tests of `decide`: it carries plans out, and plays Kubernetes and etcd by their rules. It knows what is really
//! on each disk, and objects when a plan would break something.

mod data;
mod etcd;
mod nodes;
mod observe;
pub(crate) mod restore;

use std::collections::{BTreeMap, BTreeSet};

use etcd_types::{EtcdClusterSpec, EtcdClusterStatus};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::{api::resource::Quantity, apis::meta::v1 as meta};
use serde_json::{Value, json};

use self::etcd::{Disk, Etcd};
use crate::{
    Alarm, AlarmKind, ClaimPhase, ClaimState, ClusterId, DowngradeAction, Exit, Latch, MemberId, Plan,
    Serial, Stage, Start, Step, Template, UpgradeBackup, Version, Waiting, decide,
};

/// A cluster that is not ours.
pub(crate) const FOREIGN: ClusterId = ClusterId(0xbad);

pub(crate) struct Model {
    pub(crate) spec: EtcdClusterSpec,
    pub(crate) status: EtcdClusterStatus,
    pub(crate) latch: Option<Latch>,
    pub(crate) uid: u64,
    pub(crate) deleting: bool,
    pub(crate) held: bool,
    pub(crate) now: Timestamp,
    pub(crate) boxes: BTreeMap<Serial, Box>,
    /// Claims of an earlier cluster of this name.
    pub(crate) earlier: BTreeMap<Serial, ClaimModel>,
    pub(crate) disks: BTreeMap<String, Disk>,
    pub(crate) etcd: Etcd,
    /// Versions whose image cannot be pulled.
    pub(crate) no_image: BTreeSet<Version>,
    /// Settings that etcd does not start with.
    pub(crate) bad_argument: Option<&'static str>,
    pub(crate) dead_nodes: BTreeSet<String>,
    /// Nodes that are gone for good: their Nodes are deleted.
    pub(crate) gone_nodes: BTreeSet<String>,
    /// Nodes whose kubelet is not heard of, and whose pods go on.
    pub(crate) silent_nodes: BTreeSet<String>,
    /// Members that the operator does not reach, though others do.
    pub(crate) unreachable: BTreeSet<Serial>,
    /// Every latch that was written.
    pub(crate) latches: Vec<Latch>,
    /// Whether the operator reaches the members.
    pub(crate) reachable: bool,
    /// Whether the storage class lets volumes grow.
    pub(crate) class_grows: bool,
    /// Whether nodes have room for pods.
    pub(crate) room: usize,
    pub(crate) certificate_problems: Vec<String>,
    pub(crate) certificates_held: Vec<String>,
    pub(crate) certificates_end: Option<Timestamp>,
    pub(crate) alarms: Vec<Alarm>,
    /// Disks whose keys and values differ from what was written, and how.
    pub(crate) damaged: BTreeMap<String, u32>,
    /// Whether etcd's checks run: they find data that differs among members that run.
    pub(crate) finds_differences: bool,
    pub(crate) upgrade_hold: Option<String>,
    pub(crate) upgrade_backup: Option<UpgradeBackup>,
    pub(crate) move_leader: Option<String>,
    made: u64,
    /// Claims that were deleted.
    pub(crate) deleted_claims: Vec<Serial>,
    pub(crate) restores: restore::Restores,
}

/// What Kubernetes has for one number.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Box {
    pub(crate) stateful_set: Option<(String, Template)>,
    pub(crate) set_deleting: bool,
    pub(crate) pod: Option<PodModel>,
    pub(crate) claim: Option<ClaimModel>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PodModel {
    pub(crate) uid: String,
    pub(crate) template: Template,
    pub(crate) created: Timestamp,
    pub(crate) node: Option<String>,
    pub(crate) deleting: bool,
    /// Since when Kubernetes has not heard of its node.
    pub(crate) unheard_since: Option<Timestamp>,
    pub(crate) running: bool,
    /// What its kubelet said last.
    pub(crate) reported_running: bool,
    pub(crate) started: bool,
    pub(crate) hangs: bool,
    /// With `hangs`: only its database does not answer.
    pub(crate) blocked: bool,
    pub(crate) restarts: u32,
    pub(crate) exit: Option<Exit>,
    pub(crate) waiting: Option<Waiting>,
    pub(crate) unschedulable: Option<String>,
    pub(crate) serving_since: Option<Timestamp>,
    /// With `Medium::Memory`: the disk is the pod's.
    pub(crate) in_memory: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ClaimModel {
    pub(crate) uid: String,
    pub(crate) phase: ClaimPhase,
    pub(crate) state: ClaimState,
    pub(crate) cluster_id: Option<ClusterId>,
    pub(crate) version: Option<Version>,
    pub(crate) started: Option<Version>,
    pub(crate) tls: bool,
    pub(crate) node: Option<String>,
    pub(crate) asked: Quantity,
    pub(crate) capacity: Option<Quantity>,
}

impl Model {
    pub(crate) fn new(spec: Value) -> Self {
        Self {
            spec: serde_json::from_value(spec).unwrap(),
            status: EtcdClusterStatus::default(),
            latch: None,
            uid: 1,
            deleting: false,
            held: false,
            now: "2026-11-16T03:00:00Z".parse().unwrap(),
            boxes: BTreeMap::new(),
            earlier: BTreeMap::new(),
            disks: BTreeMap::new(),
            etcd: Etcd::default(),
            no_image: BTreeSet::new(),
            bad_argument: None,
            dead_nodes: BTreeSet::new(),
            gone_nodes: BTreeSet::new(),
            silent_nodes: BTreeSet::new(),
            unreachable: BTreeSet::new(),
            latches: Vec::new(),
            reachable: true,
            class_grows: true,
            room: usize::MAX,
            certificate_problems: Vec::new(),
            certificates_held: Vec::new(),
            certificates_end: None,
            alarms: Vec::new(),
            damaged: BTreeMap::new(),
            finds_differences: false,
            upgrade_hold: None,
            upgrade_backup: None,
            move_leader: None,
            made: 0,
            deleted_claims: Vec::new(),
            restores: restore::Restores::default(),
        }
    }

    /// A cluster of this size and version that serves.
    pub(crate) fn running(size: i32, version: &str) -> Self {
        let mut model = Self::new(json!({"size": size, "version": version}));
        assert!(model.settle(), "{:#?}", model.status);
        model
    }

    pub(crate) fn pass(&mut self, seconds: i64) {
        self.now += SignedDuration::from_secs(seconds);
    }

    fn fresh(&mut self, what: &str) -> String {
        self.made += 1;
        format!("{what}-{}", self.made)
    }

    /// Decides, and carries out the first `effects` of it; all of them unless said otherwise.
    pub(crate) fn reconcile_part(&mut self, effects: usize) -> Plan {
        self.write_consent();
        let picture = self.picture();
        let plan = decide(&picture, self.now);
        self.check(&plan);
        let mut left = effects;
        let mut go = || {
            let may = left > 0;
            left = left.saturating_sub(1);
            may
        };
        if let Some(objects) = &plan.objects {
            if go() {
                let before = self.latch.as_ref().and_then(|latch| latch.cluster_id);
                let consented = self.restores.request.as_ref().is_some_and(|request| request.consented);
                let switches =
                    matches!(self.stage(), Some(Stage::Stopping | Stage::Starting | Stage::Replaying));
                let aborts = matches!(
                    objects.latch.restore.as_ref().map(|it| &it.stage),
                    Some(Stage::Returning { .. })
                );
                // Members that serve correct an ID that somebody has edited.
                let corrects = self.has_quorum() && before != self.etcd.cluster_id;
                let corrects = corrects && objects.latch.cluster_id == self.etcd.cluster_id;
                assert!(
                    before.is_none()
                        || objects.latch.cluster_id == before
                        || corrects
                        || (switches && (consented || aborts)),
                    "the latch forgot:\n{plan}"
                );
                self.latch = Some(objects.latch.clone());
                if self.latches.last() != self.latch.as_ref() {
                    self.latches.extend(self.latch.clone());
                }
            }
            for wish in &objects.claims {
                if go() {
                    self.apply_claim(wish);
                }
            }
            if let Some(wish) = objects.seed.as_ref().filter(|_| go()) {
                self.make_seed(wish);
            }
            if let Some(wish) = objects.replay.as_ref().filter(|_| go()) {
                self.make_replay(wish.serial);
            }
            self.restores.closed = objects.closed;
            for wish in &objects.members {
                if go() {
                    self.apply_member(wish.serial, &wish.template);
                }
            }
        }
        if let Some(step) = plan.step.as_ref().filter(|_| go()) {
            self.take(step);
        }
        if go() {
            self.status = EtcdClusterStatus {
                conditions: Some(plan.conditions.iter().map(condition).collect()),
                ..plan.status.clone()
            };
            self.held = plan.hold;
        }
        plan
    }

    pub(crate) fn reconcile(&mut self) -> Plan {
        self.reconcile_part(usize::MAX)
    }

    fn apply_claim(&mut self, wish: &crate::ClaimWish) {
        if let Some(earlier) = self.earlier.remove(&wish.serial) {
            assert!(!wish.create, "an earlier claim would be overwritten");
            self.boxes.entry(wish.serial).or_default().claim = Some(earlier);
        }
        let uid = self.fresh("claim");
        let size = self.spec.storage.size.clone();
        let entry = self.boxes.entry(wish.serial).or_default();
        if entry.claim.is_none() && wish.create {
            let state = ClaimState::Member;
            entry.claim = Some(ClaimModel {
                uid,
                phase: ClaimPhase::Pending,
                state,
                cluster_id: None,
                version: None,
                started: None,
                tls: self.spec.tls.mode != etcd_types::TlsMode::Off,
                node: None,
                asked: size,
                capacity: None,
            });
        }
        if let Some(claim) = &mut entry.claim {
            claim.cluster_id = wish.cluster_id;
            (claim.version, claim.started) = (wish.version, wish.started);
            if let Some(size) = &wish.resize {
                claim.asked = size.clone();
            }
            claim.state = match (wish.detached, &wish.seed) {
                (Some(since), _) => ClaimState::Detached { since },
                (None, Some(_)) => ClaimState::Seed,
                (None, None) => ClaimState::Member,
            };
        }
    }

    fn apply_member(&mut self, serial: Serial, template: &Template) {
        let uid = self.fresh("sts");
        let entry = self.boxes.entry(serial).or_default();
        let uid = entry.stateful_set.as_ref().map_or(uid, |(uid, _)| uid.clone());
        entry.stateful_set = Some((uid, template.clone()));
    }

    fn take(&mut self, step: &Step) {
        match step {
            Step::AddLearner { serial, .. } => self.etcd.add(*serial),
            Step::Promote { id, .. } => self.etcd.promote(*id),
            Step::RemoveMember { id, .. } => self.etcd.remove(*id),
            Step::MoveLeader { to, .. } => self.etcd.leader = Some(*to),
            Step::Disarm { members, .. } => {
                self.alarms
                    .retain(|alarm| alarm.kind != AlarmKind::Corrupt || !members.contains(&alarm.member));
            }
            Step::RestartPod { serial, pod_uid, .. } => {
                let entry = self.boxes.entry(*serial).or_default();
                assert_eq!(entry.pod.as_ref().map(|pod| &pod.uid), Some(pod_uid));
                self.kill_pod(serial.0);
            }
            Step::DeleteStatefulSet { serial, .. } => {
                self.boxes.entry(*serial).or_default().set_deleting = true;
                self.kill_pod(serial.0);
            }
            Step::DeleteClaim { serial, .. } => {
                self.boxes.entry(*serial).or_default().claim = None;
                self.deleted_claims.push(*serial);
            }
            Step::TakeBackup { name, .. } if self.stage() == Some(Stage::Preparing) => self.make_safety(name),
            Step::TakeBackup { name, .. } => {
                let (name, uid, cluster) = (name.clone(), self.fresh("backup"), "db".to_owned());
                let (created, deleting, phase, message) = (self.now, false, None, None);
                self.upgrade_backup =
                    Some(UpgradeBackup { name, uid, cluster, created, deleting, phase, message });
            }
            Step::DeleteBackup { uid, .. } => {
                assert_eq!(self.upgrade_backup.as_ref().map(|made| &made.uid), Some(uid));
                self.upgrade_backup = None;
            }
            Step::DeleteJob { serial, task, .. } => self.delete_job(*serial, *task),
            Step::Downgrade { action: DowngradeAction::Enable, target, .. } => {
                self.etcd.downgrade = Some(format!("{target}.0").parse().unwrap());
            }
            Step::Downgrade { action: DowngradeAction::Cancel, .. } => self.etcd.downgrade = None,
        }
    }

    /// What must hold of every plan, whatever happened before.
    fn check(&self, plan: &Plan) {
        let latched = self.latch.as_ref().and_then(|latch| latch.cluster_id).is_some();
        let wishes = || plan.objects.iter().flat_map(|objects| &objects.members);
        let founds = wishes().any(|wish| matches!(wish.template.start, Start::Found { .. }));
        assert!(!(founds && latched), "`new` after the latch:\n{plan}");
        let has_id = |entry: &Box| entry.claim.as_ref().is_some_and(|claim| claim.cluster_id.is_some());
        let is_seed = |entry: &Box| entry.claim.as_ref().is_some_and(|claim| claim.state == ClaimState::Seed);
        let trace = |entry: &Box| has_id(entry) || is_seed(entry);
        assert!(
            !(founds && self.boxes.values().any(trace)),
            "`new` though there was a cluster or a restore:\n{plan}"
        );
        let begins = self.restores.request.as_ref().is_some_and(|request| request.name.is_none());
        let under_way =
            matches!(self.stage(), Some(stage) if !matches!(stage, Stage::Completed | Stage::Failed { .. }));
        assert!(!founds || !(begins || under_way), "`new` where the data of a backup is wanted:\n{plan}");
        let joins = wishes().filter(|wish| matches!(wish.template.start, Start::Join { .. }));
        for wish in joins {
            assert!(!self.etcd.has_started(wish.serial), "member {} joins twice:\n{plan}", wish.serial);
        }
        for wish in plan.objects.iter().flat_map(|objects| &objects.claims).filter(|wish| wish.create) {
            let has_data = self.etcd.has_started(wish.serial);
            assert!(!has_data, "an empty claim for member {}, which has started:\n{plan}", wish.serial);
        }
        let Some(step) = &plan.step else { return };
        if plan.status.phase != Some(etcd_types::Phase::Deleting) {
            let known = self.status.operation.as_ref().map(|known| (known.kind, known.target.clone()));
            let now = plan.status.operation.as_ref().map(|now| (now.kind, now.target.clone()));
            assert_eq!(known, now, "a step of what is not on record:\n{plan}");
        }
        if step.changes_membership() {
            assert!(self.reachable && self.has_quorum(), "membership without a quorum:\n{plan}");
        }
        let serving = self.serving();
        let voters = self.etcd.voters();
        self.check_data(plan, step);
        match step {
            Step::AddLearner { serial, .. } => {
                assert_eq!(self.etcd.learners(), 0, "a second learner:\n{plan}");
                assert!(!self.etcd.ever.contains(serial), "a number is used twice:\n{plan}");
            }
            // The alarm makes every pod unready and refuses writes. Without a list the operator does not know of it, and cannot tell a member
            // that it does not reach from one that a setting has broken.
            Step::RestartPod { .. } if self.is_corrupt() && self.answers().members.is_none() => {}
            Step::RestartPod { serial, .. } if serving.contains(serial) => {
                let left = serving.len() - 1;
                assert!(is_majority(left, voters.len()) || voters.len() == 1, "quorum broken:\n{plan}");
                let leads = self.etcd.leader == Some(*serial);
                // Only the leader itself can hand over, and it is not reached. No writes are accepted while the alarm is raised.
                let cannot_move = self.is_corrupt() && self.unreachable.contains(serial);
                assert!(!leads || cannot_move || voters.len() == 1, "the leader was not moved:\n{plan}");
            }
            Step::RemoveMember { serial: Some(serial), .. } if voters.contains(serial) => {
                let left = serving.iter().filter(|other| *other != serial).count();
                assert!(is_majority(left, voters.len() - 1), "quorum broken:\n{plan}");
                assert!(
                    self.etcd.leader != Some(*serial) || !serving.contains(serial),
                    "the leader was removed:\n{plan}"
                );
            }
            Step::DeleteStatefulSet { serial, .. } => {
                let restoring = matches!(self.stage(), Some(Stage::Stopping | Stage::Returning { .. }));
                // A seed whose record was lost before its cluster ID was on record makes room for the one that is on record.
                let memory = crate::remembered(self.latch.clone(), &self.status);
                let unknown = memory.cluster_id.is_none() && !self.boxes.values().any(has_id);
                let superseded = memory
                    .restore
                    .is_some_and(|it| unknown && !it.is_over() && !it.is_in_place() && it.seed != *serial);
                let restoring = restoring || superseded;
                assert!(restoring || !self.etcd.is_member(*serial), "a member's StatefulSet:\n{plan}");
            }
            Step::DeleteClaim { serial, .. } => {
                let consent = self.spec.deletion_policy.volumes == etcd_types::VolumePolicy::Delete;
                assert!(consent, "a claim is deleted without consent:\n{plan}");
                assert!(self.deleting || !self.etcd.is_member(*serial), "a member's claim:\n{plan}");
            }
            _ => {}
        }
    }

    /// A kind world, until nothing changes any more. Returns whether it came to rest.
    pub(crate) fn settle(&mut self) -> bool {
        for _ in 0..200 {
            let before = (self.boxes.clone(), self.etcd.clone());
            let plan = self.reconcile();
            self.live();
            let same = before == (self.boxes.clone(), self.etcd.clone());
            let later = plan.wake.map_or(i64::MAX, |(after, _)| after.as_secs().try_into().unwrap());
            self.pass(if later > 3600 { 2 } else { later.max(2) });
            if same && self.status.operation.is_none() && later > 3600 {
                return true;
            }
        }
        false
    }

    /// What happens until it rests, a line for each operation, step, refusal and phase.
    pub(crate) fn story(&mut self) -> String {
        let mut told: Vec<String> = Vec::new();
        let mut operation =
            self.status.operation.as_ref().map(|known| format!("{:?} {}", known.kind, known.target));
        for _ in 0..150 {
            let plan = self.reconcile();
            told.extend(plan.refusals.iter().map(|refusal| format!("refuse {refusal}")));
            let now =
                plan.status.operation.as_ref().map(|known| format!("{:?} {}", known.kind, known.target));
            if now != operation {
                told.push(now.clone().unwrap_or_else(|| "rest".into()));
                operation = now;
            }
            told.extend(plan.step.as_ref().map(|step| format!("  {step}")));
            self.live();
            let later = plan.wake.map_or(2, |(after, _)| after.as_secs().try_into().unwrap());
            self.pass(if later > 600 { 2 } else { later.max(2) });
        }
        let mut once: Vec<String> = Vec::new();
        for line in told {
            if !(line.starts_with("refuse") && once.contains(&line)) && once.last() != Some(&line) {
                once.push(line);
            }
        }
        let phase = self.status.phase.map(|phase| format!("{phase:?}: ")).unwrap_or_default();
        once.push(format!("{phase}{}", self.status.message.as_deref().unwrap_or_default()));
        once.join("\n")
    }

    // What happens to it.

    pub(crate) fn edit(&mut self, change: impl FnOnce(&mut EtcdClusterSpec)) {
        change(&mut self.spec);
    }

    pub(crate) fn kill_pod(&mut self, serial: u64) {
        let pod = self.boxes.get_mut(&Serial(serial)).and_then(|entry| entry.pod.as_mut());
        if let Some(pod) = pod {
            pod.deleting = true;
        }
    }

    pub(crate) fn lose_claim(&mut self, serial: u64) {
        if let Some(entry) = self.boxes.get_mut(&Serial(serial)) {
            (entry.pod, entry.claim) = (None, None);
        }
    }

    pub(crate) fn empty_disk(&mut self, serial: u64) {
        if let Some(claim) = self.boxes.get(&Serial(serial)).and_then(|entry| entry.claim.clone()) {
            self.disks.remove(&claim.uid);
        }
        self.kill_pod(serial);
    }

    /// Some bytes of a member's database change, while it runs.
    pub(crate) fn damage(&mut self, serial: u64, to: u32) {
        if let Some(key) = self.disk_key(Serial(serial)) {
            self.damaged.insert(key, to);
        }
    }

    /// One of etcd's checks finds that data differs. The member that it names may be any.
    pub(crate) fn raise_corrupt(&mut self, named: MemberId) {
        self.alarms.push(Alarm { member: named, kind: AlarmKind::Corrupt });
    }

    pub(crate) fn hang(&mut self, serial: u64) {
        if let Some(pod) = self.boxes.get_mut(&Serial(serial)).and_then(|entry| entry.pod.as_mut()) {
            pod.hangs = true;
        }
    }

    /// It defragments its database: it serves nothing meanwhile, and its process is alive.
    pub(crate) fn defragment(&mut self, serial: u64) {
        self.hang(serial);
        if let Some(pod) = self.boxes.get_mut(&Serial(serial)).and_then(|entry| entry.pod.as_mut()) {
            pod.blocked = true;
        }
    }

    pub(crate) fn end_defragmentation(&mut self, serial: u64) {
        if let Some(pod) = self.boxes.get_mut(&Serial(serial)).and_then(|entry| entry.pod.as_mut()) {
            (pod.hangs, pod.blocked) = (false, false);
        }
    }

    /// A copy of another member's data is mounted under a member.
    pub(crate) fn copied_disk(&mut self, serial: u64, from: u64) {
        let disk = self.disk(Serial(from)).cloned();
        let claim = self.boxes.get(&Serial(serial)).and_then(|entry| entry.claim.clone());
        if let (Some(claim), Some(disk)) = (claim, disk) {
            self.disks.insert(claim.uid, disk);
        }
        self.kill_pod(serial);
    }

    /// Another cluster's data is mounted under a member.
    pub(crate) fn foreign_disk(&mut self, serial: u64) {
        if let Some(claim) = self.boxes.get(&Serial(serial)).and_then(|entry| entry.claim.clone())
            && let Some(disk) = self.disks.get_mut(&claim.uid)
        {
            disk.cluster_id = FOREIGN;
        }
        self.kill_pod(serial);
    }

    /// The EtcdCluster is deleted and made again under the same name; what it owned is gone.
    pub(crate) fn recreate(&mut self) {
        self.uid += 1;
        let boxes = std::mem::take(&mut self.boxes);
        self.earlier = boxes.into_iter().filter_map(|(serial, entry)| Some((serial, entry.claim?))).collect();
        (self.latch, self.status, self.deleting) = (None, EtcdClusterStatus::default(), false);
        // Of a member that left without leaving a volume, nothing remembers the number.
        self.etcd.ever.retain(|serial| self.earlier.contains_key(serial));
    }

    /// The members that vote, by number.
    pub(crate) fn members(&self) -> Vec<u64> {
        self.etcd.voters().iter().map(|serial| serial.0).collect()
    }

    pub(crate) fn versions(&self) -> Vec<String> {
        let pods = self.boxes.values().filter_map(|entry| entry.pod.as_ref());
        pods.map(|pod| pod.template.version.to_string()).collect()
    }
}

/// More than half. Counted here on its own, so that a mistake in `quorum.rs` is noticed.
pub(crate) fn is_majority(some: usize, all: usize) -> bool {
    some * 2 > all
}

fn condition(judged: &crate::Condition) -> meta::Condition {
    meta::Condition {
        type_: judged.kind.to_owned(),
        status: crate::news::word(judged).to_owned(),
        reason: judged.reason.as_str().to_owned(),
        message: judged.message.clone(),
        last_transition_time: meta::Time(Timestamp::UNIX_EPOCH),
        observed_generation: None,
    }
}
