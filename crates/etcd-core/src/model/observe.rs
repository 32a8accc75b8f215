//! The model's picture of itself, as the operator would take it.

use std::collections::BTreeMap;

use super::{Box, ClaimModel, Model, PodModel};
use crate::{
    Certificates, Claim, Cluster, Endpoint, Etcd, Listed, Member, Names, Picture, Pod, Serial, StatefulSet,
    Unreachable, Works,
};

impl Model {
    pub(crate) fn picture(&self) -> Picture {
        Picture {
            cluster: Cluster {
                namespace: "default".into(),
                name: "db".into(),
                uid: format!("uid-{}", self.uid),
                generation: Some(1),
                deleting: self.deleting,
            },
            spec: self.spec.clone(),
            status: self.status.clone(),
            latch: self.latch.clone(),
            members: self
                .boxes
                .iter()
                .filter(|(_, entry)| !entry.is_empty())
                .map(|(serial, entry)| (*serial, self.member(*serial, entry)))
                .collect(),
            earlier: self.earlier.iter().map(|(serial, claim)| (*serial, self.claim(claim))).collect(),
            etcd: self.answers(),
            certificates: Certificates {
                problems: self.certificate_problems.clone(),
                held: self.certificates_held.clone(),
                first_to_end: self.certificates_end.map(|end| (end, "db-server-tls".to_owned())),
            },
            upgrade_hold: self.upgrade_hold.clone(),
            upgrade_backup: self.upgrade_backup.clone(),
            move_leader: self.move_leader.clone(),
            recovery: self.asked(),
            work: Works {
                seeds: self.restores.seeds.clone(),
                replays: self.restores.replays.clone(),
                safety: self.restores.safety.clone(),
            },
        }
    }

    fn member(&self, serial: Serial, entry: &Box) -> Member {
        let stateful_set = entry.stateful_set.as_ref().map(|(uid, template)| StatefulSet {
            uid: uid.clone(),
            deleting: entry.set_deleting,
            template: Some(template.clone()),
        });
        Member {
            stateful_set,
            pod: entry.pod.as_ref().map(|pod| self.pod_view(serial, pod)),
            claim: entry.claim.as_ref().map(|claim| self.claim(claim)),
        }
    }

    fn pod_view(&self, serial: Serial, pod: &PodModel) -> Pod {
        let foreign = self.disk(serial).is_some_and(|disk| !self.is_own(serial, disk));
        Pod {
            uid: pod.uid.clone(),
            deleting: pod.deleting,
            // Kubernetes takes no pod for ready whose node it does not hear of, and `/readyz` fails on every member while CORRUPT is raised.
            ready: self.hears(pod)
                && ((self.serving().contains(&serial) && !self.is_corrupt())
                    || (pod.running && !pod.hangs && foreign && self.etcd.cluster_id.is_some())),
            running: pod.reported_running,
            started: pod.started,
            created: Some(pod.created),
            waiting: pod.waiting.clone(),
            unschedulable: pod.unschedulable.clone(),
            restarts: pod.restarts,
            last_exit: pod.exit.clone(),
            node: pod.node.as_deref().map(|name| self.node_view(name)),
            template: Some(pod.template.fingerprint()),
            start: Some(pod.template.start.fingerprint()),
        }
    }

    fn claim(&self, claim: &ClaimModel) -> Claim {
        Claim {
            uid: claim.uid.clone(),
            deleting: false,
            phase: claim.phase,
            ours: true,
            state: claim.state,
            cluster_id: claim.cluster_id,
            version: claim.version,
            started: claim.started,
            tls: Some(claim.tls),
            class: Some("fast".into()),
            asked: Some(claim.asked.clone()),
            capacity: claim.capacity.clone(),
            can_grow: self.class_grows,
            resizing: None,
            node: claim.node.as_deref().map(|host| self.node_with_host(host)),
        }
    }

    pub(super) fn answers(&self) -> Etcd {
        // As the operator asks (`observe/ask.rs`): not what is being stopped, but what a dead kubelet may have left running.
        let asked = |pod: &PodModel| pod.reported_running && (!pod.deleting || !self.hears(pod));
        let running = self.boxes.iter().filter(|(_, entry)| entry.pod.as_ref().is_some_and(asked));
        let endpoints: BTreeMap<_, _> =
            running.map(|(serial, entry)| (*serial, self.answer(*serial, entry))).collect();
        let names = Names { namespace: "default", cluster: "db", tls: self.spec.tls.mode };
        let list = self.etcd.members.iter().map(|member| Listed {
            id: member.id,
            name: if member.started { names.member(member.serial) } else { String::new() },
            peer_urls: vec![names.peer_url(member.serial)],
            client_urls: if member.started { vec![names.client_url(member.serial)] } else { Vec::new() },
            learner: member.learner,
        });
        let tells = self.serving().iter().any(|serial| matches!(endpoints.get(serial), Some(Ok(_))));
        let members = (self.has_quorum() && tells).then(|| list.collect());
        let alarms = members.is_some().then(|| self.alarms.clone());
        let blocked = |entry: &Box| entry.pod.as_ref().is_some_and(|pod| pod.running && pod.blocked);
        let blocked = self.boxes.iter().filter(|(_, entry)| self.reachable && blocked(entry));
        let blocked = blocked.map(|(serial, _)| *serial).collect();
        let mut etcd = Etcd { endpoints, members, alarms, blocked, hashes: BTreeMap::new() };
        let seen = self.boxes.iter().map(|(serial, entry)| (*serial, self.member(*serial, entry))).collect();
        if etcd.members.is_some() && crate::data_may_differ(&seen, &etcd) {
            etcd.hashes = self.hashes();
        }
        etcd
    }

    fn answer(&self, serial: Serial, entry: &Box) -> Result<Endpoint, Unreachable> {
        let reached = self.reachable && !self.unreachable.contains(&serial);
        let pod = entry.pod.as_ref().filter(|pod| reached && pod.running && !pod.hangs);
        let (Some(pod), Some(disk)) = (pod, self.disk(serial)) else {
            return Err(Unreachable("no answer within 1 s".into()));
        };
        if self.etcd.cluster_id.is_none() {
            return Err(Unreachable("waits for its peers".into()));
        }
        let learner = self.etcd.members.iter().any(|member| member.serial == serial && member.learner);
        let leader = self.etcd.members.iter().find(|member| Some(member.serial) == self.etcd.leader);
        let gates = pod.template.version.minor >= crate::Minor(3, 6);
        Ok(Endpoint {
            cluster_id: disk.cluster_id,
            member_id: disk.member,
            version: Some(pod.template.version),
            leader: leader.map(|leader| leader.id),
            learner,
            serves: self.serving().contains(&serial),
            raft_term: 2,
            raft_index: 100,
            raft_applied_index: 100,
            revision: 7,
            db_size: 20_000,
            db_size_in_use: 10_000,
            db_quota: None,
            storage_version: self.storage_minor(serial).filter(|_| gates).map(|minor| format!("{minor}.0")),
            downgrade: self.etcd.downgrade.filter(|_| gates).map(|version| version.to_string()),
            errors: self.alarms.iter().map(|alarm| format!("{alarm:?}")).collect(),
            since: pod.serving_since,
        })
    }
}

impl Box {
    fn is_empty(&self) -> bool {
        self.stateful_set.is_none() && self.pod.is_none() && self.claim.is_none()
    }
}
