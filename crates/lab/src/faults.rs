//! What tests do to a running lab: cut off, freeze, kill and restart nodes, compact etcd, load images.

use std::{
    fs::File,
    path::{Path, PathBuf},
};

use crate::{
    api,
    error::{At as _, Error, Result},
    lab::Lab,
    network, node,
    process::{self, run, run_with},
};

impl Lab {
    /// Cuts a node off from everybody; its pods go on.
    pub fn partition(&self, name: &str) -> Result<()> {
        network::set_link(self.addresses(), &self.node(name)?, false)
    }

    /// Ends [`Self::partition`].
    pub fn heal(&self, name: &str) -> Result<()> {
        network::set_link(self.addresses(), &self.node(name)?, true)
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
