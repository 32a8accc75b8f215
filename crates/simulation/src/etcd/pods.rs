//! Pods that run etcd: each is a process on the volume of its claim.

use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt as _;

use super::{
    Etcd,
    model::{Exit, Process},
    settings::Settings,
    start::IDENTITY,
    tls::Credentials,
};
use crate::workloads::{Behaviour, Outcome, Volumes, claims};

/// What the kubelet says of a process that does not answer.
const UNREADY: &str = "Readiness probe failed: HTTP probe failed with statuscode: 503";

impl Behaviour for Etcd {
    /// Pods without etcd are ready, unless they are Jobs of backups.
    fn run(&self, pod: &Pod, volumes: &Volumes) -> Outcome {
        let uid = pod.uid().unwrap_or_default();
        if let Some(ready) = self.readiness(&uid) {
            return ready;
        }
        if let Some(ended) = self.backup(pod, volumes) {
            return ended;
        }
        match Settings::of(pod) {
            None => Outcome::Ready,
            Some(Err(message)) => Outcome::Exit { code: 1, message },
            Some(Ok(settings)) => self.start_etcd(pod, &uid, settings, volumes),
        }
    }

    /// SIGTERM: etcd hands over, and ends.
    fn stop(&self, pod: &str) {
        self.change(|model, _| {
            if let Some(url) = model.pods.get(pod).cloned() {
                model.end(&url, true);
            }
            model.ended.remove(pod);
        });
    }
}

impl Etcd {
    /// What the probe of a pod's process says, if it runs.
    fn readiness(&self, pod: &str) -> Option<Outcome> {
        self.change(|model, _| {
            let process = model.processes.get(model.pods.get(pod)?)?;
            Some(match model.is_ready(process) {
                true => Outcome::Ready,
                false => Outcome::NotReady(UNREADY.to_owned()),
            })
        })
    }

    fn start_etcd(&self, pod: &Pod, uid: &str, settings: Settings, volumes: &Volumes) -> Outcome {
        let (namespace, claim) = disk(pod);
        let server = self.state().server.clone();
        let credentials = server.as_ref().and_then(|server| Credentials::of(pod, server));
        let url = settings.client_urls.first().cloned().unwrap_or_default();
        let started = self.change(|model, now| {
            if let Some(ended) = model.ended.get(uid).filter(|ended| now < ended.again) {
                return Err(ended.exit.clone());
            }
            model.rejected.remove(&url);
            model.credentials.remove(&url);
            if let (Some(server), Some(own)) = (&server, credentials.clone()) {
                let of_cluster =
                    |process: &&Process| process.settings.token == settings.token && process.url() != url;
                let peers = model.processes.values().filter(of_cluster);
                let mut peers = peers.filter_map(|process| model.credentials.get(process.url()));
                if peers.any(|peer| !own.accept_peer(peer, server)) {
                    model.rejected.insert(url.clone());
                }
                model.credentials.insert(url.clone(), own);
            }
            let identity = volumes.read(&namespace, &claim).remove(IDENTITY);
            model.start(uid, settings, identity.as_deref(), now).map_err(|exit| model.exited(uid, exit, now))
        });
        match started {
            Err(Exit { code, message }) => Outcome::Exit { code, message },
            Ok(identity) => {
                let identity = identity.to_string();
                volumes.change(&namespace, &claim, |disk| disk.insert(IDENTITY.into(), identity));
                self.readiness(uid).unwrap_or_else(|| Outcome::NotReady(UNREADY.to_owned()))
            }
        }
    }

    /// Kills a member's process, as `kill -9` does: its container is started again after a while.
    pub fn kill(&self, url: &str) {
        self.change(|model, now| {
            if let Some(pod) = model.processes.get(url).map(|process| process.pod.clone()) {
                model.end(url, false);
                model.exited(&pod, Exit { code: 137, message: String::new() }, now);
            }
        });
    }
}

/// The claim that the pod mounts; without one, what goes with the pod.
pub(super) fn disk(pod: &Pod) -> (String, String) {
    match claims(pod).next() {
        Some(claim) => (pod.namespace().unwrap_or_default(), claim.to_owned()),
        None => (String::new(), format!("emptydir-{}", pod.uid().unwrap_or_default())),
    }
}
