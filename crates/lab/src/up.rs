//! From nothing to a lab that is ready, in the order in which things need each other.
//!
//! ```text
//! binaries, images ──> slot ──> certificates, switch ──> etcd, API server ──┬──> controllers, kubelets ──> nodes Ready
//!                                                        nodes, containerd ─┘──> DNS, storage ───────────> all ready
//! ```

use std::{fs::File, path::PathBuf, time::Duration};

use crate::{
    Progress, addons,
    addresses::MAX_NODES,
    api::{self, Api},
    binaries, control,
    error::{Error, Result},
    images,
    lab::{self, Lab, Record},
    network, node, preflight, provisioner,
    slot::{self, Claim, MachineLock},
    store, teardown, versions,
};

/// What to bring up.
#[derive(Debug, Clone)]
pub struct Options {
    pub name: String,
    pub nodes: u8,
    /// A version that `versions` knows; the newest of them if none is given.
    pub kubernetes: Option<String>,
    /// OCI tars that are to be on every node, beside those that every lab has.
    pub images: Vec<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Self { name: crate::DEFAULT_NAME.into(), nodes: 3, kubernetes: None, images: Vec::new() }
    }
}

impl Lab {
    /// Brings a lab up. What a killed `lab up` of the same name left behind is cleaned first. A copy of the program that calls
    /// this stays and makes the volumes: its command `lab provision DIRECTORY` must be [`Self::provision`].
    pub fn up(options: &Options, progress: &dyn Progress) -> Result<Self> {
        if !(1..=MAX_NODES).contains(&options.nodes) {
            return Err(Error::Refused(format!("a lab has 1 to {MAX_NODES} nodes, not {}", options.nodes)));
        }
        let directory = lab::directory_of(&options.name)?;
        let machine = preflight::check(&directory)?;
        if let Some(tar) = options.images.iter().find(|tar| !tar.is_file()) {
            return Err(Error::Refused(format!("there is no image {}", tar.display())));
        }
        refuse_if_up(&options.name, &machine.cgroups)?;
        let version = options.kubernetes.as_deref().unwrap_or(versions::DEFAULT_KUBERNETES);
        let kubernetes = binaries::kubernetes(version, progress)?;
        let store = store::of(&images::base(&kubernetes, progress)?, progress)?;

        let (claim, _lock) = claim(&options.name, &machine.cgroups, progress)?;
        let record = Record {
            name: options.name.clone(),
            slot: claim.slot,
            nodes: options.nodes,
            kubernetes: kubernetes.version().into(),
            programs: kubernetes.dir.clone(),
            store,
            cni_plugins: machine.cni_plugins,
            ready: false,
        };
        let mut lab = Self::begin(directory, record, machine.cgroups)?;
        let started = lab.start(options, progress);
        started.map_err(|error| Error::NotUp { name: options.name.clone(), source: Box::new(error) })?;
        lab.set_ready()?;
        Ok(lab)
    }

    fn start(&self, options: &Options, progress: &dyn Progress) -> Result<()> {
        let addresses = self.addresses();
        self.cgroups().create(&addresses.control_cgroup())?;
        self.pki().create(self.name(), addresses, &self.nodes())?;
        network::add_switch(self.cgroups(), addresses)?;
        control::start_api(self)?;
        progress.step(&format!(
            "slot {}: nodes {}, pods {}",
            addresses.slot,
            addresses.nodes(),
            addresses.pods()
        ));

        let api = Api::of(self);
        std::thread::scope(|scope| {
            // Two cores: what the nodes can do before there is an API server, they do while it starts.
            let prepared = scope.spawn(|| self.for_each_node(|node| node::prepare(self, node)));
            api.wait_until_ready(Duration::from_secs(90))?;
            progress.step("API server ready");
            control::start_controllers(self)?;
            provisioner::start(self)?;
            prepared.join().map_err(|_| Error::Refused("a thread of the lab panicked".into()))?
        })?;
        self.for_each_node(|node| node::join(self, node))?;
        progress.step(&format!("kubelets started on {} nodes", options.nodes));
        std::thread::scope(|scope| {
            let rest = scope.spawn(|| {
                addons::apply(self)?;
                self.load_images(&options.images)
            });
            self.wait_for_nodes(Duration::from_secs(120))?;
            progress.step(&format!("{} nodes Ready", options.nodes));
            rest.join().map_err(|_| Error::Refused("a thread of the lab panicked".into()))?
        })?;
        if !options.images.is_empty() {
            progress.step(&format!("{} images loaded", options.images.len()));
        }
        addons::wait(self, Duration::from_secs(120))?;
        progress.step("cluster DNS and storage classes standard, local, sized ready");
        Ok(())
    }

    /// Waits until every node is Ready.
    pub fn wait_for_nodes(&self, limit: Duration) -> Result<()> {
        let count = usize::from(self.record().nodes);
        Api::of(self).watch_until("/api/v1/nodes", limit, &format!("{count} Ready nodes"), |nodes| {
            nodes.values().filter(|node| api::is(node, "Ready")).count() == count
        })
    }

    /// Waits until Kubernetes has given a node up: it is not Ready.
    pub fn wait_for_loss(&self, name: &str, limit: Duration) -> Result<()> {
        Api::of(self).watch_until("/api/v1/nodes", limit, &format!("{name} not Ready"), |nodes| {
            nodes.get(name).is_some_and(|node| !api::is(node, "Ready"))
        })
    }
}

/// A lab that runs is not touched; better known before minutes of building.
fn refuse_if_up(name: &str, cgroups: &crate::cgroup::Cgroups) -> Result<()> {
    let directory = lab::directory_of(name)?;
    let up = lab::read(&directory).is_some_and(|record| record.ready)
        && slot::of(&directory).is_some_and(|claim| !cgroups.members(&claim.addresses().cgroup()).is_empty());
    if !up {
        return Ok(());
    }
    Err(Error::Refused(format!(
        "lab {name} is up already: use it (eval \"$(cargo xtask lab env --name {name})\"), or remove it (cargo xtask lab down --name {name})"
    )))
}

/// A clean slot for the lab: its old one, cleaned, or the first that is free.
fn claim(name: &str, cgroups: &crate::cgroup::Cgroups, progress: &dyn Progress) -> Result<(Claim, File)> {
    let directory = lab::directory_of(name)?;
    let machine = MachineLock::take()?;
    if let Some(old) = slot::of(&directory) {
        let _lock = slot::lock(&old)?;
        refuse_if_up(name, cgroups)?;
        progress.step(&format!("cleaning what an earlier lab {name} left in slot {}", old.slot));
        teardown::clean(cgroups, old.addresses(), Some(&directory))?;
        machine.release(old.addresses())?;
        drop(machine);
        // Releasing the last slot takes the machine's directory, and the lock in it, away.
        return claim(name, cgroups, progress);
    }
    slot::remove_all(&directory)?;
    let claim = machine.claim(cgroups, name, &directory)?;
    let lock = slot::lock(&claim)?;
    Ok((claim, lock))
}
