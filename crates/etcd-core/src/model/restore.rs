//! The model's backups: Jobs that bring data to volumes, backups before, and the cluster that is replaced and may come back.

use std::collections::BTreeSet;

use super::{
    FOREIGN, Model,
    etcd::{Disk, Etcd},
};
use crate::{ClusterId, MemberId, Recovery, Serial, Stage, Task, Work, WorkState, record::BOOTSTRAP};

/// What is asked for, and what becomes of it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Restores {
    pub(crate) request: Option<Recovery>,
    pub(crate) seeds: std::collections::BTreeMap<Serial, Work>,
    pub(crate) replays: std::collections::BTreeMap<Serial, Work>,
    pub(crate) safety: Option<Work>,
    /// What the next Job ends with, if not well.
    pub(crate) seed_fails: Option<String>,
    pub(crate) safety_fails: Option<String>,
    pub(crate) replay_fails: Option<String>,
    /// Whether etcd does not start on the data.
    pub(crate) bad_data: bool,
    /// How often data was brought to a volume, by restore.
    pub(crate) brought: Vec<(String, Serial)>,
    pub(crate) backups: Vec<String>,
    /// Clusters that were replaced.
    pub(crate) before: Vec<Etcd>,
    /// Whether clients were let in to a seed that was not replayed.
    pub(crate) closed: bool,
}

pub(crate) fn bootstrap(to_point: bool) -> Recovery {
    Recovery {
        name: None,
        uid: BOOTSTRAP.into(),
        consented: true,
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

    pub(crate) fn make_seed(&mut self, wish: &crate::SeedWish) {
        if !self.restores.seeds.contains_key(&wish.serial) {
            let work = self.work(&wish.made_from);
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
        let done: Vec<Serial> = restores
            .seeds
            .iter_mut()
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
        let record =
            self.latch.as_ref().and_then(|latch| latch.restore.clone()).expect("on record before a Job");
        // A Job may end after its restore was given up.
        let uid = if record.seed == serial { record.uid } else { format!("late-{serial}") };
        self.restores.brought.push((uid, serial));
        let founders = BTreeSet::from([serial]);
        let disk = Disk {
            cluster_id: ClusterId(0x5eed_0000 + serial.0),
            member: MemberId(0x100 * self.uid + serial.0),
            founders,
            minor: record.version.minor,
        };
        self.disks.insert(claim.uid, disk);
        if let Some(claim) = self.boxes.get_mut(&serial).and_then(|entry| entry.claim.as_mut()) {
            claim.phase = crate::ClaimPhase::Bound;
        }
    }

    /// The cluster that runs is another one when nobody of the present one runs, and somebody of the other does.
    pub(crate) fn switch(&mut self) {
        let Some(id) = self.etcd.cluster_id else { return };
        let running: Vec<ClusterId> = self
            .boxes
            .iter()
            .filter(|(_, entry)| entry.pod.as_ref().is_some_and(|pod| pod.running))
            .filter_map(|(serial, _)| Some(self.disk(*serial)?.cluster_id))
            .filter(|id| *id != FOREIGN)
            .collect();
        let Some(other) = running.first().copied().filter(|_| !running.contains(&id)) else { return };
        let ever = self.etcd.ever.clone();
        let known = self.restores.before.iter().position(|etcd| etcd.cluster_id == Some(other));
        let mut next = known.map(|at| self.restores.before.remove(at)).unwrap_or_default();
        next.ever.extend(ever);
        self.restores.before.push(std::mem::replace(&mut self.etcd, next));
    }

    /// The stage that is on record.
    pub(crate) fn stage(&self) -> Option<Stage> {
        Some(self.latch.as_ref()?.restore.as_ref()?.stage.clone())
    }
}
