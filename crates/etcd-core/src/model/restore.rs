//! The model's backups: Jobs that bring data to volumes, backups before, and the cluster that is replaced and may come back.

use std::collections::BTreeSet;

use super::{
    FOREIGN, Model,
    etcd::{Disk, Etcd},
    nodes::{host_of, node_of},
};
use crate::{
    Alarm, AlarmKind, ClusterId, MemberId, Recovery, Serial, Stage, Task, Work, WorkState, record::BOOTSTRAP,
};

/// What is asked for, and what becomes of it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Restores {
    pub(crate) request: Option<Recovery>,
    pub(crate) seeds: std::collections::BTreeMap<Serial, Work>,
    /// What each Job restores with.
    versions: std::collections::BTreeMap<Serial, crate::Version>,
    pub(crate) replays: std::collections::BTreeMap<Serial, Work>,
    pub(crate) safety: Option<Work>,
    /// What the next Job ends with, if not well.
    pub(crate) seed_fails: Option<String>,
    pub(crate) safety_fails: Option<String>,
    /// Whether the alarm CORRUPT was raised when the backup was taken.
    pub(crate) alarm_in_backup: bool,
    pub(crate) replay_fails: Option<String>,
    /// Whether etcd does not start on the data.
    pub(crate) bad_data: bool,
    /// How often data was brought to a volume, by restore.
    pub(crate) brought: Vec<(String, Serial)>,
    pub(crate) backups: Vec<String>,
    /// Clusters that were replaced.
    pub(crate) before: Vec<Etcd>,
    /// The cluster whose data each restore may give up, as its user has written it down.
    agreed: std::collections::BTreeMap<String, ClusterId>,
    /// Whether clients were let in to a seed that was not replayed.
    pub(crate) closed: bool,
}

pub(crate) fn bootstrap(to_point: bool) -> Recovery {
    Recovery {
        name: None,
        uid: BOOTSTRAP.into(),
        consented: true,
        without_safety_backup: false,
        label: "the backup nightly".into(),
        fingerprint: "f1".into(),
        to_point,
        store: Some(etcd_types::BackupStore { url: "s3://backups".into(), ..Default::default() }),
        problem: None,
    }
}

pub(crate) fn in_place(name: &str) -> Recovery {
    Recovery { name: Some(name.into()), uid: format!("uid-of-{name}"), ..bootstrap(false) }
}

impl Model {
    fn work(&mut self, made_from: &str) -> Work {
        Work {
            uid: self.fresh("job"),
            deleting: false,
            made_from: made_from.to_owned(),
            state: WorkState::Running("fetch".into()),
            ended: None,
        }
    }

    /// The user names the cluster that there is when the restore is asked for.
    pub(crate) fn write_consent(&mut self) {
        let id = self.status.cluster_id.as_deref().and_then(|id| id.parse().ok());
        let request = self.restores.request.as_ref().filter(|request| request.name.is_some());
        if let (Some(request), Some(id)) = (request, id) {
            self.restores.agreed.entry(request.uid.clone()).or_insert(id);
        }
    }

    /// The request as the operator reads it (`recovery.rs`): consent is to one cluster.
    pub(super) fn asked(&self) -> Option<Recovery> {
        let mut request = self.restores.request.clone()?;
        if request.name.is_some() {
            let memory = crate::remembered(self.latch.clone(), &self.status);
            let record = memory.restore.filter(|record| !record.is_over() && record.stage != Stage::Growing);
            let before = record.and_then(|record| record.before).map(|before| before.cluster_id);
            let given_up = before.or(memory.cluster_id);
            request.consented &=
                given_up.is_some() && self.restores.agreed.get(&request.uid).copied() == given_up;
        }
        Some(request)
    }

    pub(crate) fn make_seed(&mut self, wish: &crate::SeedWish) {
        if !self.restores.seeds.contains_key(&wish.serial) {
            let record = crate::remembered(self.latch.clone(), &self.status).restore;
            let record = record.expect("on record before a Job");
            assert!(
                !record.is_over() && record.seed == wish.serial,
                "a Job for what is not on record: {record:?}"
            );
            let work = self.work(&wish.made_from);
            self.restores.versions.insert(wish.serial, wish.template.version);
            self.restores.seeds.insert(wish.serial, work);
        }
    }

    pub(crate) fn make_replay(&mut self, serial: Serial) {
        if !self.restores.replays.contains_key(&serial) {
            let work = self.work("");
            self.restores.replays.insert(serial, work);
        }
    }

    pub(crate) fn make_safety(&mut self, name: &str) {
        if self.restores.safety.is_none() {
            self.restores.backups.push(name.to_owned());
            self.restores.safety = Some(self.work(""));
        }
    }

    pub(crate) fn delete_job(&mut self, serial: Serial, task: Task) {
        match task {
            Task::Seed => drop(self.restores.seeds.remove(&serial)),
            Task::Replay => drop(self.restores.replays.remove(&serial)),
        }
    }

    /// Jobs end.
    pub(crate) fn live_jobs(&mut self) {
        let now = self.now;
        let end = |work: &mut Work, fails: &Option<String>| {
            if matches!(work.state, WorkState::Running(_)) {
                work.ended = Some(now);
                work.state = match fails {
                    Some(why) => WorkState::Failed(why.clone()),
                    None => WorkState::Done("done".into()),
                };
                return fails.is_none();
            }
            false
        };
        let restores = &mut self.restores;
        let (dead, gone) = (&self.dead_nodes, &self.gone_nodes);
        let can_run = |serial: &Serial| {
            let node = node_of(*serial);
            !dead.contains(&node) && !gone.contains(&node)
        };
        let done: Vec<Serial> = restores
            .seeds
            .iter_mut()
            .filter(|(serial, _)| can_run(serial))
            .filter_map(|(serial, work)| end(work, &restores.seed_fails).then_some(*serial))
            .collect();
        for work in restores.replays.values_mut() {
            end(work, &restores.replay_fails);
        }
        if let Some(work) = &mut restores.safety {
            end(work, &restores.safety_fails);
        }
        for serial in done {
            self.bring(serial);
        }
    }

    fn bring(&mut self, serial: Serial) {
        let Some(claim) = self.boxes.get(&serial).and_then(|entry| entry.claim.clone()) else { return };
        let memory = crate::remembered(self.latch.clone(), &self.status);
        let record = memory.restore.filter(|record| record.seed == serial && !record.is_over());
        // A Job may end after its restore was given up, or after its number was.
        let uid = record.as_ref().map_or_else(|| format!("late-{serial}"), |record| record.uid.clone());
        let Some((_, version)) = self.restores.versions.remove_entry(&serial) else { return };
        self.restores.brought.push((uid, serial));
        let founders = BTreeSet::from([serial]);
        let disk = Disk {
            cluster_id: ClusterId(0x5eed_0000 + serial.0),
            member: MemberId(0x100 * self.uid + serial.0),
            founders,
            minor: version.minor,
        };
        self.disks.insert(claim.uid, disk);
        if let Some(claim) = self.boxes.get_mut(&serial).and_then(|entry| entry.claim.as_mut()) {
            (claim.phase, claim.node) = (crate::ClaimPhase::Bound, Some(host_of(serial)));
        }
    }

    /// The cluster that runs is another one when nobody of the present one runs, and somebody of the other does.
    pub(crate) fn switch(&mut self) {
        let Some(id) = self.etcd.cluster_id else { return };
        let running: Vec<ClusterId> = self
            .boxes
            .iter()
            .filter(|(_, entry)| entry.pod.as_ref().is_some_and(|pod| pod.running && !self.is_ending(pod)))
            .filter_map(|(serial, _)| Some(self.disk(*serial)?.cluster_id))
            .filter(|id| *id != FOREIGN)
            .collect();
        let Some(other) = running.first().copied().filter(|_| !running.contains(&id)) else { return };
        let ever = self.etcd.ever.clone();
        let known = self.restores.before.iter().position(|etcd| etcd.cluster_id == Some(other));
        let mut next = known.map(|at| self.restores.before.remove(at)).unwrap_or_default();
        next.ever.extend(ever);
        self.restores.before.push(std::mem::replace(&mut self.etcd, next));
        // Alarms are part of the data, and of a backup.
        let kept = self
            .restores
            .alarm_in_backup
            .then_some(Alarm { member: MemberId(0xdead), kind: AlarmKind::Corrupt });
        self.alarms = kept.into_iter().collect();
    }

    /// The stage that is on record.
    pub(crate) fn stage(&self) -> Option<Stage> {
        Some(crate::remembered(self.latch.clone(), &self.status).restore?.stage)
    }
}
