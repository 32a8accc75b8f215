//! The model's etcd and kubelet: who starts with which disk, who serves, who leads.

use std::collections::BTreeSet;

use etcd_types::Medium;

use super::{
    Box, Model, PodModel, is_majority,
    nodes::{host_of, node_of},
};
use crate::{ClaimPhase, ClusterId, Exit, MemberId, Minor, Serial, Start, Template, Version, Waiting};

/// What is on a disk.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Disk {
    pub(crate) cluster_id: ClusterId,
    pub(crate) member: MemberId,
    /// Who it was founded with; nothing once the cluster has formed.
    pub(crate) founders: BTreeSet<Serial>,
    pub(crate) minor: Minor,
}

/// The members as a quorum of them would say.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Etcd {
    pub(crate) cluster_id: Option<ClusterId>,
    pub(crate) members: Vec<EtcdMember>,
    pub(crate) leader: Option<Serial>,
    pub(crate) downgrade: Option<Version>,
    /// The version that the cluster has agreed on.
    pub(crate) minor: Option<Minor>,
    /// Every number that was ever a member.
    pub(crate) ever: BTreeSet<Serial>,
    next_id: u64,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct EtcdMember {
    pub(crate) id: MemberId,
    pub(crate) serial: Serial,
    pub(crate) learner: bool,
    pub(crate) started: bool,
}

impl Etcd {
    pub(crate) fn add(&mut self, serial: Serial) {
        self.next_id += 1;
        self.ever.insert(serial);
        let id = MemberId(0x1000 + self.next_id);
        self.members.push(EtcdMember { id, serial, learner: true, started: false });
    }

    /// Refused, like etcd's, until the learner is there.
    pub(crate) fn promote(&mut self, id: MemberId) {
        let ready = |member: &&mut EtcdMember| member.id == id && member.started;
        if let Some(member) = self.members.iter_mut().find(ready) {
            member.learner = false;
        }
    }

    pub(crate) fn remove(&mut self, id: MemberId) {
        self.members.retain(|member| member.id != id);
    }

    pub(crate) fn voters(&self) -> BTreeSet<Serial> {
        self.members.iter().filter(|member| !member.learner).map(|member| member.serial).collect()
    }

    pub(crate) fn learners(&self) -> usize {
        self.members.iter().filter(|member| member.learner).count()
    }

    pub(crate) fn is_member(&self, serial: Serial) -> bool {
        self.members.iter().any(|member| member.serial == serial)
    }

    pub(crate) fn has_started(&self, serial: Serial) -> bool {
        self.members.iter().any(|member| member.serial == serial && member.started)
    }
}

impl Model {
    /// The disk that a member's pod uses.
    pub(crate) fn disk_key(&self, serial: Serial) -> Option<String> {
        let entry = self.boxes.get(&serial)?;
        match &entry.pod {
            Some(pod) if pod.in_memory => Some(pod.uid.clone()),
            _ => entry.claim.as_ref().map(|claim| claim.uid.clone()),
        }
    }

    /// Whether its process runs, with data of this cluster, and answers.
    pub(crate) fn is_up(&self, serial: Serial) -> bool {
        let pod = self.boxes.get(&serial).and_then(|entry| entry.pod.as_ref());
        let disk = self.disk_key(serial).and_then(|key| self.disks.get(&key));
        let ours = disk.is_some_and(|disk| self.is_own(serial, disk));
        pod.is_some_and(|pod| pod.running && !pod.hangs && !self.is_ending(pod))
            && ours
            && self.etcd.is_member(serial)
    }

    /// Whether it is a disk of this cluster, and of this member.
    pub(crate) fn is_own(&self, serial: Serial, disk: &Disk) -> bool {
        let listed = self.etcd.members.iter().find(|member| member.serial == serial);
        Some(disk.cluster_id) == self.etcd.cluster_id && listed.is_none_or(|listed| listed.id == disk.member)
    }

    pub(crate) fn has_quorum(&self) -> bool {
        let voters = self.etcd.voters();
        is_majority(voters.iter().filter(|serial| self.is_up(**serial)).count(), voters.len())
    }

    /// The voters that serve.
    pub(crate) fn serving(&self) -> BTreeSet<Serial> {
        let up = self.etcd.voters().into_iter().filter(|serial| self.is_up(*serial));
        if self.has_quorum() { up.collect() } else { BTreeSet::new() }
    }

    /// StatefulSets make pods, the kubelet starts them, etcd does what etcd does.
    pub(crate) fn live(&mut self) {
        self.end_pods();
        let serials: Vec<Serial> = self.boxes.keys().copied().collect();
        for serial in &serials {
            self.make_pod(*serial);
        }
        for claim in self.boxes.values_mut().filter_map(|entry| entry.claim.as_mut()) {
            if claim.phase == ClaimPhase::Bound {
                claim.capacity = Some(claim.asked.clone());
            }
        }
        for serial in &serials {
            self.run(*serial);
            self.hear(*serial);
        }
        self.live_jobs();
        self.switch();
        self.form();
        self.agree();
        self.compare_data();
    }

    fn make_pod(&mut self, serial: Serial) {
        let scheduled = self
            .boxes
            .values()
            .filter(|entry| entry.pod.as_ref().is_some_and(|pod| pod.node.is_some()))
            .count();
        let (uid, now, room) = (self.fresh("pod"), self.now, scheduled < self.room);
        let node = self.node_view(&node_of(serial));
        let dead = node.state != crate::NodeState::Ready;
        let Some(entry) = self.boxes.get_mut(&serial) else { return };
        let Some((_, template)) = &entry.stateful_set else { return };
        let in_memory = template.medium == Medium::Memory;
        let pod = entry.pod.get_or_insert_with(|| PodModel::new(uid, template.clone(), now, in_memory));
        if pod.node.is_some() {
            return;
        }
        let claim = entry.claim.as_mut();
        let why = match &claim {
            None if !in_memory => Some("persistentvolumeclaim not found"),
            _ if dead => Some("node(s) were not ready"),
            _ if !room => Some("0/3 nodes are available"),
            _ => None,
        };
        pod.unschedulable = why.map(str::to_owned);
        if why.is_none() {
            pod.node = Some(node_of(serial));
            if let Some(claim) = claim {
                (claim.phase, claim.node) = (ClaimPhase::Bound, Some(host_of(serial)));
            }
        }
    }

    fn run(&mut self, serial: Serial) {
        let Some(Box { pod: Some(pod), .. }) = self.boxes.get(&serial) else { return };
        let template = pod.template.clone();
        let on_dead_node = pod.node.as_ref().is_some_and(|node| self.is_dead(node));
        if pod.node.is_none() || pod.running || on_dead_node || pod.deleting {
            if on_dead_node {
                self.pod(serial, |pod| pod.running = false);
            }
            return;
        }
        if self.no_image.contains(&template.version) {
            let waiting = Waiting { reason: "ImagePullBackOff".into(), message: template.image };
            return self.pod(serial, |pod| pod.waiting = Some(waiting));
        }
        if let Some(bad) =
            self.bad_argument.filter(|bad| template.args.iter().any(|argument| argument.contains(bad)))
        {
            return self.crash(serial, &format!("bad argument {bad}"));
        }
        if let Err(message) = self.open_disk(serial, &template) {
            return self.crash(serial, &message);
        }
        self.pod(serial, |pod| pod.running = true);
    }

    /// Kubernetes hears from the kubelet what runs.
    fn hear(&mut self, serial: Serial) {
        let Some(Box { pod: Some(pod), .. }) = self.boxes.get(&serial) else { return };
        if self.hears(pod) {
            self.pod(serial, |pod| pod.reported_running = pod.running);
        }
    }

    fn open_disk(&mut self, serial: Serial, template: &Template) -> Result<(), String> {
        let Some(key) = self.disk_key(serial) else { return Err("no disk".into()) };
        let seed = self.disks.get(&key).is_some_and(|disk| disk.cluster_id.0 & 0xffff_0000 == 0x5eed_0000);
        if seed && self.restores.bad_data {
            return Err("walpb: crc mismatch".into());
        }
        if let Some(disk) = self.disks.get(&key).cloned() {
            let low = template.version.minor;
            let may_go_back = self.etcd.downgrade.is_some_and(|to| to.minor == low);
            assert!(
                low >= disk.minor || may_go_back,
                "{} is started on data of {}",
                template.version,
                disk.minor
            );
            let known = self.etcd.members.iter().any(|member| member.id == disk.member);
            let foreign = Some(disk.cluster_id) != self.etcd.cluster_id;
            let forming = self.etcd.cluster_id.is_none();
            if known && !foreign && self.differs_at_start(serial, template) {
                return Err("found data inconsistency with peers".into());
            }
            return if known || forming || foreign {
                Ok(())
            } else {
                Err("the member has been permanently removed from the cluster".into())
            };
        }
        // Until the cluster has agreed on a version, any that is known can read what is there.
        let minor = self.etcd.minor.unwrap_or(Minor(3, 5));
        let (cluster_id, member, founders) = match &template.start {
            Start::Found { members } => {
                let founders: BTreeSet<Serial> = members
                    .keys()
                    .filter_map(|name| name.rsplit('-').next()?.parse().ok().map(Serial))
                    .collect();
                let id = founders.iter().fold(0xc000 + self.uid * 0x100, |id, serial| id * 31 + serial.0);
                if self.etcd.cluster_id.is_some_and(|known| known != ClusterId(id)) {
                    panic!("a second cluster is founded");
                }
                if self.etcd.has_started(serial) {
                    return Err("member has already been bootstrapped".into());
                }
                (ClusterId(id), MemberId(0x100 * self.uid + serial.0), founders)
            }
            Start::Join { members } => {
                let live: BTreeSet<String> =
                    self.etcd.members.iter().map(|member| format!("db-{}", member.serial)).collect();
                if live != members.keys().cloned().collect() || !self.has_quorum() {
                    return Err("member count is unequal".into());
                }
                let Some(own) = self.etcd.members.iter().find(|member| member.serial == serial) else {
                    return Err("unmatched member".into());
                };
                if own.started {
                    // The leader knows how far it was, and raft panics.
                    return Err("tocommit(100) is out of range [lastIndex(0)]".into());
                }
                (self.etcd.cluster_id.unwrap(), own.id, BTreeSet::new())
            }
            Start::Started => return Err("member count is unequal".into()),
        };
        // A new member gets its data from the leader, as it is.
        let joins = matches!(template.start, Start::Join { .. });
        if let Some(damage) = self.etcd.leader.filter(|_| joins).map(|leader| self.data(leader)) {
            self.damaged.insert(key.clone(), damage);
        }
        self.disks.insert(key, Disk { cluster_id, member, founders, minor });
        Ok(())
    }

    /// Founders that are a quorum of their list are a cluster.
    fn form(&mut self) {
        if self.etcd.cluster_id.is_some() {
            return;
        }
        let running: Vec<Serial> = self
            .boxes
            .iter()
            .filter(|(_, entry)| entry.pod.as_ref().is_some_and(|pod| pod.running))
            .map(|(serial, _)| *serial)
            .collect();
        for serial in &running {
            let Some(disk) = self.disk_key(*serial).and_then(|key| self.disks.get(&key)).cloned() else {
                continue;
            };
            let with = running.iter().filter(|other| disk.founders.contains(other)).count();
            if is_majority(with, disk.founders.len()) {
                let member = |serial: &Serial| EtcdMember {
                    id: MemberId(0x100 * self.uid + serial.0),
                    serial: *serial,
                    learner: false,
                    started: false,
                };
                self.etcd.members = disk.founders.iter().map(member).collect();
                self.etcd.ever.extend(disk.founders.iter().copied());
                self.etcd.cluster_id = Some(disk.cluster_id);
                return;
            }
        }
    }

    /// A quorum elects, publishes who has started, and agrees on a version.
    fn agree(&mut self) {
        if !self.has_quorum() {
            self.etcd.leader = None;
            for entry in self.boxes.values_mut() {
                if let Some(pod) = &mut entry.pod {
                    pod.serving_since = None;
                }
            }
            return;
        }
        let up: BTreeSet<Serial> = self
            .etcd
            .members
            .iter()
            .map(|member| member.serial)
            .filter(|serial| self.is_up(*serial))
            .collect();
        let voters = self.etcd.voters();
        if self.etcd.leader.is_none_or(|leader| !up.contains(&leader) || !voters.contains(&leader)) {
            self.etcd.leader = voters.iter().copied().find(|serial| up.contains(serial));
        }
        for member in &mut self.etcd.members {
            member.started |= up.contains(&member.serial);
        }
        let now = self.now;
        for (serial, entry) in &mut self.boxes {
            if let Some(pod) = &mut entry.pod {
                pod.serving_since = if up.contains(serial) { pod.serving_since.or(Some(now)) } else { None };
            }
        }
        let minors: BTreeSet<Minor> = self
            .boxes
            .iter()
            .filter(|(serial, _)| voters.contains(serial))
            .filter_map(|(_, entry)| Some(entry.pod.as_ref()?.template.version.minor))
            .collect();
        let all_up = voters.iter().all(|serial| up.contains(serial));
        self.etcd.minor = match (self.etcd.downgrade, minors.first()) {
            (Some(down), _) => Some(down.minor),
            (None, Some(low)) if all_up => Some(*low),
            _ => self.etcd.minor,
        };
        if self.etcd.downgrade.is_some_and(|down| minors.iter().all(|minor| *minor == down.minor)) {
            self.etcd.downgrade = None;
        }
        for serial in up {
            if let (Some(key), Some(minor)) = (self.disk_key(serial), self.etcd.minor)
                && let Some(disk) = self.disks.get_mut(&key)
            {
                disk.minor = minor;
            }
        }
    }

    fn pod(&mut self, serial: Serial, change: impl FnOnce(&mut PodModel)) {
        if let Some(pod) = self.boxes.get_mut(&serial).and_then(|entry| entry.pod.as_mut()) {
            change(pod);
        }
    }

    fn crash(&mut self, serial: Serial, message: &str) {
        let exit = Exit { code: 1, reason: "Error".into(), message: message.to_owned(), at: Some(self.now) };
        self.pod(serial, |pod| {
            pod.restarts += 1;
            pod.exit = Some(exit);
            pod.waiting = Some(Waiting { reason: "CrashLoopBackOff".into(), message: String::new() });
        });
    }

    pub(crate) fn storage_minor(&self, serial: Serial) -> Option<Minor> {
        self.disk_key(serial).and_then(|key| self.disks.get(&key)).map(|disk| disk.minor)
    }

    pub(crate) fn disk(&self, serial: Serial) -> Option<&Disk> {
        self.disk_key(serial).and_then(|key| self.disks.get(&key))
    }
}

impl PodModel {
    fn new(uid: String, template: Template, created: jiff::Timestamp, in_memory: bool) -> Self {
        Self {
            uid,
            template,
            created,
            node: None,
            deleting: false,
            unheard_since: None,
            running: false,
            reported_running: false,
            hangs: false,
            blocked: false,
            restarts: 0,
            exit: None,
            waiting: None,
            unschedulable: None,
            serving_since: None,
            started: true,
            in_memory,
        }
    }
}
