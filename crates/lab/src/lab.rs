//! A lab that is up: where things of it are, and how to talk to it.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde::{Deserialize, Serialize};

use crate::{
    addresses::{Addresses, Node},
    cache,
    cgroup::Cgroups,
    error::{At as _, Error, Result},
    node,
    pki::Pki,
    process,
};

/// What is known of a lab beside its slot; written before anything of it is made.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) name: String,
    pub(crate) slot: u8,
    pub(crate) nodes: u8,
    pub(crate) kubernetes: String,
    /// Where Kubernetes' programs are.
    pub(crate) programs: PathBuf,
    /// The image store that nodes start from.
    pub(crate) store: PathBuf,
    pub(crate) cni_plugins: PathBuf,
    /// It came up: not a rest of a `lab up` that was killed.
    pub(crate) ready: bool,
}

#[derive(Debug, Clone)]
pub struct Lab {
    directory: PathBuf,
    record: Record,
    cgroups: Cgroups,
}

/// Where the state of the lab with this name is.
pub(crate) fn directory_of(name: &str) -> Result<PathBuf> {
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    if name.is_empty() || name.len() > 40 || !name.bytes().all(plain) {
        return Err(Error::Refused(format!(
            "{name:?} is no name for a lab: use a-z, 0-9 and -, at most 40 of them"
        )));
    }
    Ok(cache()?.join("run").join(name))
}

impl Lab {
    /// The lab with this name, which must be up.
    pub fn open(name: &str) -> Result<Self> {
        let directory = directory_of(name)?;
        let record = read(&directory).filter(|record| record.ready).ok_or_else(|| {
            Error::Refused(format!("lab {name} is not up: `cargo xtask lab up --name {name}` brings it up"))
        })?;
        Ok(Self { directory, record, cgroups: Cgroups::mounted()? })
    }

    /// The lab whose state is in `directory`, up or on its way.
    pub(crate) fn in_directory(directory: &Path) -> Result<Self> {
        let record = read(directory)
            .ok_or_else(|| Error::Refused(format!("there is no lab in {}", directory.display())))?;
        Ok(Self { directory: directory.into(), record, cgroups: Cgroups::mounted()? })
    }

    /// Starts the books of a lab: its directory with nothing in it but what is known of it.
    pub(crate) fn begin(directory: PathBuf, record: Record, cgroups: Cgroups) -> Result<Self> {
        let lab = Self { directory, record, cgroups };
        for part in [lab.log_directory(), lab.shared_volumes()] {
            fs::create_dir_all(&part).at("make", &part)?;
        }
        lab.save()?;
        Ok(lab)
    }

    pub(crate) fn set_ready(&mut self) -> Result<()> {
        self.record.ready = true;
        self.save()
    }

    fn save(&self) -> Result<()> {
        let (draft, file) = (self.directory.join("lab.new"), self.directory.join("lab.json"));
        let text =
            serde_json::to_string_pretty(&self.record).map_err(|error| Error::Refused(error.to_string()))?;
        fs::write(&draft, text).at("write", &draft)?;
        fs::rename(&draft, &file).at("write", &file)
    }

    pub fn name(&self) -> &str {
        &self.record.name
    }

    /// The version of Kubernetes.
    pub fn kubernetes(&self) -> &str {
        &self.record.kubernetes
    }

    pub fn addresses(&self) -> Addresses {
        Addresses { slot: self.record.slot }
    }

    pub fn kubeconfig(&self) -> PathBuf {
        self.pki().kubeconfig("admin")
    }

    /// kubectl, set to this lab.
    pub fn kubectl(&self) -> Command {
        let mut command = Command::new(self.program("kubectl"));
        command.env("KUBECONFIG", self.kubeconfig());
        // A proxy to the world knows no way into the lab.
        command.env("NO_PROXY", "*");
        command
    }

    /// The names of its nodes.
    pub fn node_names(&self) -> Vec<String> {
        self.nodes().into_iter().map(|node| node.name).collect()
    }

    /// Returns the value of the node's label `kubernetes.io/hostname`, which is not its name.
    pub fn hostname(&self, node: &str) -> Result<String> {
        Ok(self.node(node)?.hostname())
    }

    /// A command prefix: what is appended runs in the network, mounts and host name of the node.
    pub fn in_node(&self, name: &str) -> Result<Command> {
        let node = self.node(name)?;
        let enter = node::enter(self, &node)?;
        let mut command =
            process::command(&self.cgroups, &node.system_cgroup(), enter.first().map_or("", |word| word));
        command.args(enter.iter().skip(1));
        Ok(command)
    }

    /// Where the daemons' logs are.
    pub fn log_directory(&self) -> PathBuf {
        self.directory.join("log")
    }

    /// Volumes that all nodes see.
    pub(crate) fn shared_volumes(&self) -> PathBuf {
        self.directory.join("volumes")
    }

    pub(crate) fn log(&self, of: &str) -> PathBuf {
        self.log_directory().join(format!("{of}.log"))
    }

    pub(crate) fn program(&self, name: &str) -> PathBuf {
        self.record.programs.join(name)
    }

    pub(crate) fn node(&self, name: &str) -> Result<Node> {
        self.nodes().into_iter().find(|node| node.name == name).ok_or_else(|| {
            let names = self.node_names().join(", ");
            Error::Refused(format!("lab {} has no node {name}: it has {names}", self.name()))
        })
    }

    pub(crate) fn nodes(&self) -> Vec<Node> {
        (1..=self.record.nodes).map(|number| self.addresses().node(number)).collect()
    }

    pub(crate) fn node_directory(&self, node: &Node) -> PathBuf {
        self.directory.join(&node.name)
    }

    /// Does `work` for all nodes at once; the first error, if any.
    pub(crate) fn for_each_node(&self, work: impl Fn(&Node) -> Result<()> + Sync) -> Result<()> {
        let nodes = self.nodes();
        std::thread::scope(|scope| {
            let started: Vec<_> = nodes.iter().map(|node| scope.spawn(|| work(node))).collect();
            let ended = started.into_iter().map(|thread| {
                thread.join().map_err(|_| Error::Refused("a thread of the lab panicked".into()))?
            });
            ended.collect::<Vec<_>>().into_iter().collect()
        })
    }

    pub(crate) fn pki(&self) -> Pki {
        Pki::at(&self.directory)
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    pub(crate) fn record(&self) -> &Record {
        &self.record
    }

    pub(crate) fn cgroups(&self) -> &Cgroups {
        &self.cgroups
    }
}

pub(crate) fn read(directory: &Path) -> Option<Record> {
    serde_json::from_str(&fs::read_to_string(directory.join("lab.json")).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_a_path_is_refused() {
        for name in ["", "..", "a/b", "A", "x y"] {
            assert!(directory_of(name).is_err(), "{name:?}");
        }
    }
}
