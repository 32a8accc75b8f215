//! `cargo xtask lab …`: a real Kubernetes on this machine, and what tests do to it. The work is in crates/lab.
#![expect(clippy::print_stdout, reason = "what these commands are for")]

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use ::lab::{DEFAULT_NAME, Lab, LabStatus, NodeState, Options, Progress, versions::Operand};
use anyhow::Context as _;
use clap::{Args, Subcommand, ValueEnum};

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Build Kubernetes and the images that every lab needs; quick when they are there.
    Build {
        /// Version of Kubernetes; the newest that is pinned if not given.
        #[arg(long)]
        kubernetes: Option<String>,
    },
    /// Build an application's programs and image, which lab nodes take with `load-image`; quick when they are there.
    Operand {
        /// etcd, prometheus, alertmanager, thanos.
        name: String,
        /// Every version that is pinned, if none is given.
        versions: Vec<String>,
    },
    /// Bring a lab up: control plane, nodes, DNS, storage classes. Builds first what is not built.
    Up {
        #[command(flatten)]
        lab: Named,
        #[arg(long, default_value_t = 3)]
        nodes: u8,
        /// Version of Kubernetes; the newest that is pinned if not given.
        #[arg(long)]
        kubernetes: Option<String>,
        /// An OCI tar to be on every node; may be repeated.
        #[arg(long = "image", value_name = "TAR")]
        images: Vec<PathBuf>,
    },
    /// Take a lab down. Nothing of it stays.
    Down {
        #[command(flatten)]
        lab: Named,
        /// Every lab, and what is left of labs whose state is lost.
        #[arg(long, conflicts_with = "name")]
        all: bool,
        /// Whatever is in this slot, found by its number alone.
        #[arg(long, conflicts_with_all = ["name", "all"])]
        slot: Option<u8>,
    },
    /// What labs there are, and how their nodes are.
    Status {
        #[arg(short, long, value_enum, default_value_t = Output::Text)]
        output: Output,
    },
    /// Shell lines that set KUBECONFIG and PATH: eval "$(cargo xtask lab env)".
    Env {
        #[command(flatten)]
        lab: Named,
    },
    /// Put OCI tars on every node.
    LoadImage {
        #[command(flatten)]
        lab: Named,
        #[arg(required = true, value_name = "TAR")]
        images: Vec<PathBuf>,
    },
    /// Cut a node off from everybody.
    Partition(Node),
    /// Join a node again that was cut off.
    Heal(Node),
    /// Stop every process of a node where it stands.
    FreezeNode(Node),
    /// Let a frozen node go on.
    ThawNode(Node),
    /// Pull a node's plug.
    KillNode(Node),
    /// Pull a node's plug and put it back.
    PowerCycle(Node),
    /// Fill a volume of the class `sized` to the last byte.
    FillVolume {
        #[command(flatten)]
        lab: Named,
        /// NAMESPACE/NAME of the claim.
        claim: String,
        /// Give the space back instead.
        #[arg(long)]
        free: bool,
    },
    /// Make a volume of the class `sized` larger while it is in use.
    GrowVolume {
        #[command(flatten)]
        lab: Named,
        /// NAMESPACE/NAME of the claim.
        claim: String,
        /// For example 64Mi.
        size: String,
    },
    /// Make and remove a lab's volumes; `up` starts it.
    #[command(hide = true)]
    Provision { directory: PathBuf },
    /// Kill the API server; it comes back with no memory of the past.
    RestartApi {
        #[command(flatten)]
        lab: Named,
    },
    /// Drop the history of the control plane's etcd: watches from older versions end with 410 Gone.
    Compact {
        #[command(flatten)]
        lab: Named,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Named {
    /// Which lab.
    #[arg(long, default_value = DEFAULT_NAME)]
    name: String,
}

#[derive(Debug, Args)]
pub(crate) struct Node {
    #[command(flatten)]
    lab: Named,
    /// node1, node2, …
    node: String,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Output {
    Text,
    Json,
}

pub(crate) fn run(command: Command) -> anyhow::Result<()> {
    match command {
        Command::Up { lab, nodes, kubernetes, images } => {
            up(&Options { name: lab.name, nodes, kubernetes, images })
        }
        Command::Down { all: true, .. } => down_all(),
        Command::Down { slot: Some(slot), .. } => down(&format!("in slot {slot}"), || ::lab::down_slot(slot)),
        Command::Down { lab, .. } => down(&lab.name, || ::lab::down(&lab.name)),
        Command::Status { output } => status(output),
        Command::Env { lab } => {
            print!("{}", Lab::open(&lab.name)?.env()?);
            Ok(())
        }
        Command::LoadImage { lab, images } => Ok(Lab::open(&lab.name)?.load_images(&images)?),
        Command::Partition(at) => Ok(Lab::open(&at.lab.name)?.partition(&at.node)?),
        Command::Heal(at) => Ok(Lab::open(&at.lab.name)?.heal(&at.node)?),
        Command::FreezeNode(at) => Ok(Lab::open(&at.lab.name)?.freeze(&at.node)?),
        Command::ThawNode(at) => Ok(Lab::open(&at.lab.name)?.thaw(&at.node)?),
        Command::KillNode(at) => Ok(Lab::open(&at.lab.name)?.kill_node(&at.node)?),
        Command::PowerCycle(at) => Ok(Lab::open(&at.lab.name)?.power_cycle(&at.node)?),
        Command::FillVolume { lab, claim, free: false } => Ok(Lab::open(&lab.name)?.fill_volume(&claim)?),
        Command::FillVolume { lab, claim, free: true } => Ok(Lab::open(&lab.name)?.free_volume(&claim)?),
        Command::GrowVolume { lab, claim, size } => Ok(Lab::open(&lab.name)?.grow_volume(&claim, &size)?),
        Command::Build { kubernetes } => build(kubernetes.as_deref()),
        Command::Operand { name, versions } => operand(&name, versions),
        Command::Provision { directory } => Ok(Lab::provision(&directory, |line| println!("{line}"))?),
        Command::RestartApi { lab } => Ok(Lab::open(&lab.name)?.restart_api()?),
        Command::Compact { lab } => {
            println!("compacted to revision {}", Lab::open(&lab.name)?.compact()?);
            Ok(())
        }
    }
}

fn build(version: Option<&str>) -> anyhow::Result<()> {
    let progress = Timed::start();
    let version = version.unwrap_or(::lab::versions::DEFAULT_KUBERNETES);
    let kubernetes = ::lab::binaries::kubernetes(version, &progress)?;
    let images = ::lab::images::base(&kubernetes, &progress)?;
    ::lab::store::of(&images, &progress)?;
    progress.step(&format!("Kubernetes {} is in {}", kubernetes.version(), kubernetes.dir.display()));
    Ok(())
}

fn operand(name: &str, mut versions: Vec<String>) -> anyhow::Result<()> {
    let named = |operand: &Operand| operand.versions().iter().any(|component| component.name == name);
    let operand =
        Operand::ALL.into_iter().find(named).with_context(|| format!("{name} is no operand of the lab"))?;
    if versions.is_empty() {
        versions = operand.versions().iter().map(|component| component.version.to_owned()).collect();
    }
    let progress = Timed::start();
    for version in versions {
        println!("{}", ::lab::images::operand(operand, &version, &progress)?.display());
    }
    Ok(())
}

fn up(options: &Options) -> anyhow::Result<()> {
    let lab = Lab::up(options, &Timed::start())?;
    let name = if lab.name() == DEFAULT_NAME { String::new() } else { format!(" --name {}", lab.name()) };
    println!("lab {} is up: Kubernetes {}, {}", lab.name(), lab.kubernetes(), lab.addresses().api());
    println!("  use it:    eval \"$(cargo xtask lab env{name})\"; kubectl get nodes");
    println!("  remove it: cargo xtask lab down{name}");
    Ok(())
}

fn down(name: &str, remove: impl FnOnce() -> ::lab::Result<bool>) -> anyhow::Result<()> {
    let time = Timed::start();
    let there = remove()?;
    time.step(&if there {
        format!("lab {name} is gone")
    } else {
        format!("there is no lab {name}: nothing to do")
    });
    Ok(())
}

fn down_all() -> anyhow::Result<()> {
    let time = Timed::start();
    let gone = ::lab::down_all()?;
    gone.iter().for_each(|what| time.step(&format!("{what} is gone")));
    if gone.is_empty() {
        time.step("there is no lab: nothing to do");
    }
    Ok(())
}

fn status(output: Output) -> anyhow::Result<()> {
    let labs = ::lab::status()?;
    match output {
        Output::Json => println!("{}", LabStatus::json(&labs)),
        Output::Text if labs.is_empty() => println!("no lab; `cargo xtask lab up` brings one up"),
        Output::Text => labs.iter().for_each(describe),
    }
    Ok(())
}

fn describe(lab: &LabStatus) {
    let slot = lab.slot.map_or_else(|| "no slot".into(), |slot| format!("slot {slot}"));
    println!(
        "{}: {} ({slot}, Kubernetes {}, {} MiB)",
        lab.name,
        lab.state,
        lab.kubernetes,
        lab.memory_bytes >> 20
    );
    for node in &lab.nodes {
        let ready = match node.ready {
            Some(true) => "Ready",
            Some(false) => "not Ready",
            None => "the API server does not answer",
        };
        let fault =
            if node.state == NodeState::Running { String::new() } else { format!(", {}", node.state) };
        println!("  {:8} {:13} {ready}{fault}, {} MiB", node.name, node.address, node.memory_bytes >> 20);
    }
    if let Some(kubeconfig) = &lab.kubeconfig {
        println!("  kubeconfig {kubeconfig}");
    }
}

/// Prints each step with the seconds since the start.
pub(crate) struct Timed {
    start: Instant,
}

impl Timed {
    pub(crate) fn start() -> Self {
        Self { start: crate::clock::now() }
    }
}

impl Progress for Timed {
    fn step(&self, text: &str) {
        let passed: Duration = self.start.elapsed();
        crate::progress::print(&format!("{:6.1}s {text}", passed.as_secs_f32()));
    }
}
