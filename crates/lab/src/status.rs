//! What labs there are, and how they are.

use std::{collections::BTreeMap, fmt, fs};

use serde::Serialize;

use crate::{
    api::{self, Api},
    cache,
    cgroup::Cgroups,
    error::Result,
    lab::{self, Lab},
    network, slot,
};

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LabStatus {
    pub name: String,
    /// None when it holds no slot: only its files are left.
    pub slot: Option<u8>,
    pub state: LabState,
    pub kubernetes: String,
    pub api: Option<String>,
    pub kubeconfig: Option<String>,
    pub memory_bytes: u64,
    pub nodes: Vec<NodeStatus>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LabState {
    Up,
    /// A `lab up` is at work, or was killed.
    Incomplete,
    /// Nothing of it runs.
    Dead,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeStatus {
    pub name: String,
    pub address: String,
    pub state: NodeState,
    /// What the API server says; none when it does not answer.
    pub ready: Option<bool>,
    pub memory_bytes: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NodeState {
    Running,
    Partitioned,
    Frozen,
    Dead,
}

impl LabStatus {
    pub fn json(labs: &[Self]) -> String {
        // Nothing in it can fail to be JSON.
        serde_json::to_string_pretty(labs).unwrap_or_default()
    }
}

impl fmt::Display for LabState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Up => "up",
            Self::Incomplete => {
                "incomplete: `cargo xtask lab up` is at work, or was killed (`lab down` cleans up)"
            }
            Self::Dead => "dead: nothing of it runs (`lab down` cleans up)",
        })
    }
}

impl fmt::Display for NodeState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Running => "running",
            Self::Partitioned => "cut off",
            Self::Frozen => "frozen",
            Self::Dead => "powered off",
        })
    }
}

/// All labs of this cache.
pub fn status() -> Result<Vec<LabStatus>> {
    let directories = fs::read_dir(cache()?.join("run")).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        directories.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    let cgroups = Cgroups::mounted()?;
    names.iter().map(|name| one(name, &cgroups)).collect()
}

fn one(name: &str, cgroups: &Cgroups) -> Result<LabStatus> {
    let directory = lab::directory_of(name)?;
    let claim = slot::of(&directory);
    let record = lab::read(&directory);
    let cgroup = claim.as_ref().map(|claim| claim.addresses().cgroup());
    let runs = cgroup.as_ref().is_some_and(|cgroup| !cgroups.members(cgroup).is_empty());
    let up = record.as_ref().is_some_and(|record| record.ready);
    let state = match (runs, up) {
        (true, true) => LabState::Up,
        (_, false) => LabState::Incomplete,
        (false, true) => LabState::Dead,
    };
    let open = (state == LabState::Up).then(|| Lab::open(name)).transpose()?;
    Ok(LabStatus {
        name: name.into(),
        slot: claim.map(|claim| claim.slot),
        state,
        kubernetes: record.map(|record| record.kubernetes).unwrap_or_default(),
        api: open.as_ref().map(|lab| lab.addresses().api()),
        kubeconfig: open.as_ref().map(|lab| lab.kubeconfig().display().to_string()),
        memory_bytes: cgroup.and_then(|cgroup| cgroups.memory(&cgroup)).unwrap_or_default(),
        nodes: open.map(|lab| nodes(&lab)).unwrap_or_default(),
    })
}

fn nodes(lab: &Lab) -> Vec<NodeStatus> {
    let ready = readiness(lab).unwrap_or_default();
    let cut_off = network::cut_off(lab.addresses()).unwrap_or_default();
    let status = lab.nodes().into_iter().map(|node| NodeStatus {
        state: if lab.cgroups().members(&node.cgroup).is_empty() {
            NodeState::Dead
        } else if lab.cgroups().frozen(&node.cgroup) {
            NodeState::Frozen
        } else if cut_off.contains(&node.name) {
            NodeState::Partitioned
        } else {
            NodeState::Running
        },
        ready: ready.get(&node.name).copied(),
        memory_bytes: lab.cgroups().memory(&node.cgroup).unwrap_or_default(),
        address: node.ip.to_string(),
        name: node.name,
    });
    status.collect()
}

fn readiness(lab: &Lab) -> Result<BTreeMap<String, bool>> {
    let list = Api::of(lab).object("/api/v1/nodes")?;
    let items = list.get("items").and_then(|items| items.as_array()).into_iter().flatten();
    let named = items.filter_map(|node| {
        Some((node.pointer("/metadata/name")?.as_str()?.to_owned(), api::is(node, "Ready")))
    });
    Ok(named.collect())
}
