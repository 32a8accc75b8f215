//! What only the host can do: signals to processes in pods, files on volumes, packets that do not arrive, slow disks, nodes without
//! power.

use std::{
    fs,
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::Duration,
};

use k8s_openapi::api::core::v1::{Node, PersistentVolume, PersistentVolumeClaim, Pod};
use kube::{Api, ResourceExt as _};
use rustix::process::{Pid, kill_process};

pub use rustix::process::Signal;

use crate::{
    patience::{LONG, PATIENCE, until, when},
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

/// The files of a pod's first container, as this machine sees them.
pub fn root_of(pod: &Pod) -> PathBuf {
    let process = processes(pod).first().copied().expect("a container that runs");
    PathBuf::from(format!("/proc/{}/root", process.as_raw_nonzero()))
}

/// Where the volume of a claim of class `standard` is on this machine.
pub async fn volume(world: &World, claim: &str) -> PathBuf {
    let claim = world.api::<PersistentVolumeClaim>().get(claim).await.unwrap();
    let name = claim.spec.unwrap().volume_name.expect("the claim has no volume");
    let volume = Api::<PersistentVolume>::all(world.client.clone()).get(&name).await.unwrap().spec.unwrap();
    let path = volume.host_path.map(|it| it.path).or(volume.local.map(|it| it.path));
    path.expect("neither hostPath nor local").into()
}

/// Packets of a pod that do not arrive, until this is dropped. Probes of the kubelet and all else go on.
pub struct CutOff<'w> {
    world: &'w World,
    node: String,
    table: String,
}

impl<'w> CutOff<'w> {
    /// Ends a pod's talk with the API server.
    pub fn of(world: &'w World, pod: &Pod) -> Self {
        let address = address(pod);
        Self::drop_packets(world, pod, &format!("ip saddr {address} ip daddr {API}"))
    }

    /// Ends a pod's talk with other pods, in both directions; they are on other nodes.
    pub fn from_others<'p>(world: &'w World, pod: &Pod, others: impl IntoIterator<Item = &'p Pod>) -> Self {
        let (here, address) = (node(pod), address(pod));
        let others: Vec<String> = others
            .into_iter()
            .filter(|other| other.uid() != pod.uid())
            .map(|other| {
                // Within a node packets go by the bridge, where no rule sees them.
                assert_ne!(node(other), here, "{} and {} are on one node", pod.name_any(), other.name_any());
                self::address(other)
            })
            .collect();
        Self::drop_packets(world, pod, &format!("ip saddr . ip daddr {{ {} }}", both_ways(&address, &others)))
    }

    fn drop_packets(world: &'w World, pod: &Pod, which: &str) -> Self {
        let table = format!("test-cut-{}-{:04x}", address(pod).replace('.', "-"), fastrand::u16(..));
        let cut = Self { world, node: node(pod), table };
        // Before a Service's address is translated, so that open connections are cut, too.
        let rules = format!(
            "add table ip {0}\nadd chain ip {0} cut {{ type filter hook prerouting priority -300; }}\n\
             add rule ip {0} cut {which} drop\n",
            cut.table
        );
        cut.nft(&rules);
        cut
    }

    fn nft(&self, rules: &str) {
        let mut command = self.world.lab.in_node(&self.node).unwrap();
        let done = command.args(["nft", rules]).output().unwrap();
        assert!(done.status.success(), "{rules}: {}", String::from_utf8_lossy(&done.stderr));
    }
}

impl Drop for CutOff<'_> {
    fn drop(&mut self) {
        self.nft(&format!("delete table ip {}", self.table));
    }
}

/// Pairs for an nft set: from `one` to each of `others`, and back.
fn both_ways(one: &str, others: &[String]) -> String {
    let pairs = others.iter().flat_map(|other| [format!("{one} . {other}"), format!("{other} . {one}")]);
    pairs.collect::<Vec<_>>().join(", ")
}

fn node(pod: &Pod) -> String {
    let node = pod.spec.as_ref().and_then(|spec| spec.node_name.clone());
    node.unwrap_or_else(|| panic!("{} has no node", pod.name_any()))
}

fn address(pod: &Pod) -> String {
    let address = pod.status.as_ref().and_then(|status| status.pod_ip.clone());
    address.unwrap_or_else(|| panic!("{} has no address", pod.name_any()))
}

/// A disk that takes its time: every time a pod's first container asks for its data to be on it, it waits this long; until dropped.
pub struct SlowDisk(Vec<Child>);

impl SlowDisk {
    pub async fn under(pod: &Pod, each: Duration) -> Self {
        let calls = "fdatasync,fsync";
        let slow = |pid: Pid| {
            let mut strace = Command::new("strace");
            strace.args(["--follow-forks", "--output=/dev/null", &format!("--trace={calls}")]);
            strace.arg(format!("--inject={calls}:delay_enter={}", each.as_micros()));
            strace.arg(format!("--attach={}", pid.as_raw_nonzero()));
            let strace =
                strace.stderr(Stdio::null()).spawn().expect("strace, which makes disks slow, cannot be run");
            (pid, strace)
        };
        let slowed: Vec<(Pid, Child)> = processes(pod).into_iter().map(slow).collect();
        assert!(!slowed.is_empty(), "nothing runs in {}", pod.name_any());
        until("strace is attached to all threads", PATIENCE, async || {
            when(slowed.iter().all(|(pid, strace)| traced(*pid, strace.id())), ())
        })
        .await;
        Self(slowed.into_iter().map(|(_, strace)| strace).collect())
    }
}

/// Whether all threads of a process are traced by this one. A thread that ends meanwhile needs no tracer.
fn traced(process: Pid, by: u32) -> bool {
    let threads =
        fs::read_dir(format!("/proc/{}/task", process.as_raw_nonzero())).expect("the process is gone");
    let mut statuses = threads.flatten().filter_map(|it| fs::read_to_string(it.path().join("status")).ok());
    let tracer = format!("TracerPid:\t{by}");
    statuses.all(|status| status.lines().any(|line| line == tracer))
}

impl Drop for SlowDisk {
    fn drop(&mut self) {
        for strace in &mut self.0 {
            // It lets go of the process, which goes on; one that was killed leaves it stopped.
            if let Some(pid) = i32::try_from(strace.id()).ok().and_then(Pid::from_raw) {
                let _ = kill_process(pid, Signal::TERM);
            }
            let _ = strace.wait();
        }
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
