//! What only the host can do: signals to processes in pods, files on volumes, packets that do not arrive, nodes without power.

use std::{fs, path::PathBuf};

use k8s_openapi::api::core::v1::{Node, PersistentVolume, PersistentVolumeClaim, Pod};
use kube::{Api, ResourceExt as _};
use rustix::process::{Pid, kill_process};

pub use rustix::process::Signal;

use crate::{
    patience::{LONG, until, when},
    world::World,
};

/// The API server as pods know it.
const API: &str = "10.96.0.1";

/// Sends a signal to every process of a pod's first container. The nodes share the host's process numbers.
pub fn signal(pod: &Pod, signal: Signal) {
    for pid in processes(pod) {
        // Ended meanwhile: just as well.
        let _ = kill_process(pid, signal);
    }
}

fn processes(pod: &Pod) -> Vec<Pid> {
    let status = pod.status.as_ref().and_then(|status| status.container_statuses.as_ref()?.first());
    let id = status
        .and_then(|status| status.container_id.as_deref()?.strip_prefix("containerd://").map(str::to_owned));
    let Some(id) = id else { return Vec::new() };
    let numbers = fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let inside = |pid: &i32| {
        fs::read_to_string(format!("/proc/{pid}/cgroup")).is_ok_and(|cgroup| cgroup.contains(&id))
    };
    numbers.filter(inside).filter_map(Pid::from_raw).collect()
}

/// Where the volume of a claim of class `standard` is on this machine.
pub async fn volume(world: &World, claim: &str) -> PathBuf {
    let claim = world.api::<PersistentVolumeClaim>().get(claim).await.unwrap();
    let name = claim.spec.unwrap().volume_name.expect("the claim has no volume");
    let volume = Api::<PersistentVolume>::all(world.client.clone()).get(&name).await.unwrap().spec.unwrap();
    let path = volume.host_path.map(|it| it.path).or(volume.local.map(|it| it.path));
    path.expect("neither hostPath nor local").into()
}

/// Ends a pod's talk with the API server, until it is dropped. Probes of the kubelet and all else go on.
pub struct CutOff<'w> {
    world: &'w World,
    node: String,
    address: String,
}

impl<'w> CutOff<'w> {
    pub fn of(world: &'w World, pod: &Pod) -> Self {
        let node = pod.spec.as_ref().unwrap().node_name.clone().unwrap();
        let address = pod
            .status
            .as_ref()
            .unwrap()
            .pod_ip
            .clone()
            .unwrap_or_else(|| panic!("{} has no address", pod.name_any()));
        let cut = Self { world, node, address };
        // Before the Service's address is translated, so that open connections are cut, too.
        let rules = format!(
            "add table ip {0}\nadd chain ip {0} cut {{ type filter hook prerouting priority -300; }}\n\
             add rule ip {0} cut ip saddr {1} ip daddr {API} drop\n",
            cut.table(),
            cut.address
        );
        cut.nft(&rules);
        cut
    }

    fn table(&self) -> String {
        format!("test-cut-{}", self.address.replace('.', "-"))
    }

    fn nft(&self, rules: &str) {
        let mut command = self.world.lab.in_node(&self.node).unwrap();
        let done = command.args(["nft", rules]).output().unwrap();
        assert!(done.status.success(), "{rules}: {}", String::from_utf8_lossy(&done.stderr));
    }
}

impl Drop for CutOff<'_> {
    fn drop(&mut self) {
        self.nft(&format!("delete table ip {}", self.table()));
    }
}

/// A node whose plug is pulled. It is put back by [`Self::restore`], or when this is dropped, whatever becomes of the scenario.
pub struct Unplugged<'w> {
    world: &'w World,
    node: Option<String>,
}

impl<'w> Unplugged<'w> {
    pub async fn node(world: &'w World, node: &str) -> Self {
        let (lab, dead) = (world.lab.clone(), node.to_owned());
        let unplugged = Self { world, node: Some(dead.clone()) };
        tokio::task::spawn_blocking(move || lab.kill_node(&dead)).await.unwrap().unwrap();
        unplugged
    }

    /// Puts the plug back, and waits until Kubernetes counts on the node again.
    pub async fn restore(mut self) {
        let Some(node) = self.node.take() else { return };
        let (lab, dead) = (self.world.lab.clone(), node.clone());
        tokio::task::spawn_blocking(move || lab.power_cycle(&dead)).await.unwrap().unwrap();
        until("the node is back", LONG, async || {
            let live = Api::<Node>::all(self.world.client.clone()).get(&node).await.unwrap();
            let conditions = live.status.and_then(|status| status.conditions).unwrap_or_default();
            when(conditions.iter().any(|it| it.type_ == "Ready" && it.status == "True"), ())
        })
        .await;
    }
}

impl Drop for Unplugged<'_> {
    fn drop(&mut self) {
        if let Some(node) = &self.node {
            self.world.lab.power_cycle(node).unwrap();
        }
    }
}
