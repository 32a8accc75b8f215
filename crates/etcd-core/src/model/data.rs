//! The model's data: what each member's keys hash to, the checks that find a difference, and what must hold of plans meanwhile.

use std::collections::BTreeMap;

use super::Model;
use crate::{AlarmKind, DataHash, MemberId, Plan, Serial, Step, Template, Unreachable};

impl Model {
    /// What a member's keys hash to; 0 is what was written.
    pub(crate) fn data(&self, serial: Serial) -> u32 {
        let earlier = || self.earlier.get(&serial).map(|claim| claim.uid.clone());
        let key = self.disk_key(serial).or_else(earlier);
        key.and_then(|key| self.damaged.get(&key).copied()).unwrap_or_default()
    }

    pub(crate) fn is_corrupt(&self) -> bool {
        self.alarms.iter().any(|alarm| alarm.kind == AlarmKind::Corrupt)
    }

    /// The voters whose data was changed.
    pub(crate) fn damaged_voters(&self) -> Vec<Serial> {
        self.etcd.voters().into_iter().filter(|serial| self.data(*serial) != 0).collect()
    }

    /// What the operator gets for `HashKV`: from whoever runs and votes.
    pub(crate) fn hashes(&self) -> BTreeMap<MemberId, Result<DataHash, Unreachable>> {
        let voters = self.etcd.members.iter().filter(|member| !member.learner);
        let answer = |serial: Serial| match self.is_up(serial) && !self.unreachable.contains(&serial) {
            true => Ok(DataHash { revision: 7, compact_revision: 1, hash: self.data(serial) }),
            false => Err(Unreachable("no answer within 1 s".into())),
        };
        voters.map(|member| (member.id, answer(member.serial))).collect()
    }

    /// Whether a member that starts finds that it differs from one that runs, whichever of them is wrong.
    pub(crate) fn differs_at_start(&self, serial: Serial, template: &Template) -> bool {
        let is_check = |argument: &String| {
            argument.contains("InitialCorruptCheck=true") || argument.contains("initial-corrupt-check=true")
        };
        let checks = template.args.iter().any(is_check);
        let mut others =
            self.etcd.voters().into_iter().filter(|other| *other != serial && self.is_up(*other));
        checks && others.any(|other| self.data(other) != self.data(serial))
    }

    /// The leader's check: it cannot say which of the two is wrong, and names a member that it differs from.
    pub(super) fn compare_data(&mut self) {
        let Some(leader) = self.etcd.leader.filter(|_| self.finds_differences && !self.is_corrupt()) else {
            return;
        };
        let other = self.serving().into_iter().find(|serial| self.data(*serial) != self.data(leader));
        let named = other.and_then(|other| self.etcd.members.iter().find(|member| member.serial == other));
        if let Some(named) = named.map(|member| member.id) {
            self.raise_corrupt(named);
        }
    }

    /// Nobody is removed from the majority, and the alarm stays until those that run have the same data.
    pub(super) fn check_data(&self, plan: &Plan, step: &Step) {
        let voters = self.etcd.voters();
        let with = |data: u32| voters.iter().filter(|serial| self.data(**serial) == data).count();
        let is_right = |serial: Serial| with(self.data(serial)) * 2 > voters.len();
        match step {
            Step::Disarm { .. } => {
                let mut up = voters.iter().filter(|serial| self.is_up(**serial));
                assert!(up.all(|serial| is_right(*serial)), "disarmed while data differs:\n{plan}");
            }
            Step::RemoveMember { serial: Some(serial), .. }
                if self.is_corrupt() && voters.contains(serial) =>
            {
                let right = self.is_up(*serial) && is_right(*serial);
                assert!(!right, "a member of the majority is removed:\n{plan}");
            }
            Step::MoveLeader { to, .. } if self.is_corrupt() => {
                assert!(is_right(*to), "a corrupt member is to lead:\n{plan}");
            }
            Step::AddLearner { .. } | Step::Promote { .. } => {
                assert!(!self.is_corrupt(), "a member joins while data differs:\n{plan}");
            }
            _ => {}
        }
    }
}
