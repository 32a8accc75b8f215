//! What tests do to a running lab: cut off, freeze, kill and restart nodes, compact etcd, load images.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};

use crate::{
    api::{self, Api},
    error::{At as _, Error, Result},
    lab::Lab,
    network, node,
    process::{self, run, run_with},
};

impl Lab {
    /// Cuts a node off from everybody; its pods go on.
    pub fn partition(&self, name: &str) -> Result<()> {
        network::unplug(self.addresses(), &self.node(name)?)
    }

    /// Ends [`Self::partition`].
    pub fn heal(&self, name: &str) -> Result<()> {
        network::plug(self.addresses(), &self.node(name)?)
    }

    /// Stops every process of a node, its pods included, where it stands: connections stay open, nothing answers.
    pub fn freeze(&self, name: &str) -> Result<()> {
        self.cgroups().freeze(&self.node(name)?.cgroup)
    }

    /// Ends [`Self::freeze`].
    pub fn thaw(&self, name: &str) -> Result<()> {
        self.cgroups().thaw(&self.node(name)?.cgroup)
    }

    /// Pulls the plug: all processes of the node die at once. [`Self::power_cycle`] brings it back.
    pub fn kill_node(&self, name: &str) -> Result<()> {
        node::kill(self, &self.node(name)?)
    }

    /// Pulls the plug and puts it back. Disks keep their content, /run does not.
    pub fn power_cycle(&self, name: &str) -> Result<()> {
        let node = self.node(name)?;
        node::kill(self, &node)?;
        node::power_on(self, &node)
    }

    /// Drops all history of the control plane's etcd: every older resourceVersion answers 410 Gone. Gives the revision.
    pub fn compact(&self) -> Result<i64> {
        let ask = |path: &str, body: String| {
            let mut curl = process::clean("curl");
            curl.args([
                "--silent",
                "--show-error",
                "--fail-with-body",
                "--max-time",
                "20",
                "--data-binary",
                "@-",
            ]);
            run_with(curl.arg(format!("{}/v3/kv/{path}", self.addresses().etcd())), &body)
        };
        // etcd's gateway writes 64-bit numbers as strings. "AA==" is the key of one zero byte, which is never there.
        let answer = api::parse(&ask("range", r#"{"key": "AA=="}"#.into())?)?;
        let revision =
            answer.pointer("/header/revision").and_then(|revision| revision.as_str()?.parse::<i64>().ok());
        let revision = revision.ok_or_else(|| Error::Refused(format!("etcd gave no revision: {answer}")))?;
        ask("compaction", format!(r#"{{"revision": "{revision}", "physical": true}}"#))?;
        Ok(revision)
    }

    /// Kills the API server. It is started again at once, and knows nothing of the past but what etcd has.
    pub fn restart_api(&self) -> Result<()> {
        let program = self.program("kube-apiserver");
        let is_it = |pid: &i32| fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| exe == program);
        let members = self.cgroups().members(&self.addresses().control_cgroup());
        let found: Vec<i32> = members.into_iter().filter(is_it).collect();
        for pid in found.iter().copied().filter_map(Pid::from_raw) {
            // It may have ended meanwhile.
            let _ = kill_process(pid, Signal::KILL);
        }
        let gone = || !found.iter().any(is_it);
        if !process::wait_until(Duration::from_secs(10), gone) {
            return Err(Error::Refused("the API server does not die".into()));
        }
        Api::of(self).wait_until_ready(Duration::from_secs(90))
    }

    /// Puts an OCI tar on every node.
    pub fn load_image(&self, tar: &Path) -> Result<()> {
        self.load_images(&[tar.to_owned()])
    }

    /// Puts OCI tars on every node, all nodes at once.
    pub fn load_images(&self, tars: &[PathBuf]) -> Result<()> {
        if tars.is_empty() {
            return Ok(());
        }
        self.for_each_node(|node| {
            node::wait_for_containerd(self, node)?;
            tars.iter().try_for_each(|tar| {
                // By standard input: the node may have something else at that path.
                let file = File::open(tar).at("open", tar)?;
                let mut ctr = self.in_node(&node.name)?;
                run(ctr.args(["ctr", "--namespace", "k8s.io", "images", "import", "-"]).stdin(file)).map(drop)
            })
        })
    }
}
