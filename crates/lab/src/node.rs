//! A node: a network, mount and UTS namespace with containerd, kubelet and kube-proxy in it.
//!
//! An anchor process holds the namespaces; the daemons enter them. /var/lib, /var/log and /run are the node's own, so
//! every daemon keeps its default paths, and no node sees another's; the rest of the file system is shared, and a
//! directory there is this machine's "network storage".

mod config;

use std::{
    fs,
    io::{BufRead as _, BufReader},
    path::PathBuf,
    process::{Command, Stdio},
    time::Duration,
};

use crate::{
    addresses::Node,
    error::{At as _, Error, Result, last_lines},
    lab::Lab,
    network,
    process::{self, wait_until},
    slot::remove_all,
    store,
};

/// What a node hides of the host, with the directory of its state that takes its place.
const OWN: &[(&str, &str)] = &[("/var/lib", "lib"), ("/var/log", "log"), ("/run", "run")];

/// Holds the mounts below `$1` while the node has no power: volumes of the class `sized` are file systems of their own, and
/// a disk keeps its content. They are shared with the node, whichever of the two mounts them.
const DISKS: &str = r#"
set -e
mount --bind "$1" "$1"
mount --make-shared "$1"
echo $$
exec sleep infinity > /dev/null 2>&1
"#;

/// The anchor: takes the namespaces up, says which process it is, and stays. `$1` hostname, then directory and place.
const ANCHOR: &str = r#"
set -e
echo "$1" > /proc/sys/kernel/hostname; shift
mount --make-rshared /
while [ $# -gt 0 ]; do mount --rbind "$1" "$2"; shift 2; done
echo $$
exec sleep infinity > /dev/null 2>&1
"#;

/// Everything but what needs the API server: network, images, namespaces, containerd.
pub(crate) fn prepare(lab: &Lab, node: &Node) -> Result<()> {
    lab.cgroups().create(&node.system_cgroup())?;
    let directory = lab.node_directory(node);
    for (_, own) in OWN {
        let own = directory.join(own);
        fs::create_dir_all(&own).at("make", &own)?;
    }
    config::write(lab, node)?;
    let disks = directory.join("lib/sized");
    fs::create_dir_all(&disks).at("make", &disks)?;
    let mut holder = process::command(lab.cgroups(), &lab.addresses().control_cgroup(), "setsid");
    holder
        .args(["--fork", "unshare", "--mount", "--propagation", "private", "sh", "-c", DISKS, "disks"])
        .arg(disks);
    anchor(lab, node, "disks", holder)?;
    std::thread::scope(|scope| {
        let images = scope.spawn(|| store::clone_to(&lab.record().store, &directory.join("lib/containerd")));
        network::add_node(lab.cgroups(), lab.addresses(), node, &lab.nodes())?;
        images.join().map_err(|_| Error::Refused("linking the images panicked".into()))?
    })?;
    boot(lab, node)
}

/// Namespaces and containerd, on a directory and a network that are there.
pub(crate) fn boot(lab: &Lab, node: &Node) -> Result<()> {
    let directory = lab.node_directory(node);
    let disks = fs::read_to_string(directory.join("disks")).at("read", directory.join("disks"))?;
    let mut holder = process::command(lab.cgroups(), &node.system_cgroup(), "setsid");
    holder.args([
        "--fork",
        "nsenter",
        "--target",
        &disks,
        "--mount",
        &format!("--net={}", node.netns.display()),
    ]);
    holder.args([
        "unshare",
        "--mount",
        "--uts",
        "--propagation",
        "unchanged",
        "sh",
        "-c",
        ANCHOR,
        "anchor",
        &node.name,
    ]);
    for (place, own) in OWN {
        holder.arg(directory.join(own)).arg(place);
    }
    anchor(lab, node, "pid", holder)?;
    daemon(
        lab,
        node,
        "containerd",
        &["containerd".into(), "--config".into(), directory.join("containerd.toml").display().to_string()],
    )
}

/// Starts a process that holds namespaces until it is killed; `file` keeps its number.
fn anchor(lab: &Lab, node: &Node, file: &str, mut holder: Command) -> Result<()> {
    let (file, log) = (lab.node_directory(node).join(file), lab.log(&node.name));
    let said = fs::OpenOptions::new().create(true).append(true).open(&log).at("open", &log)?;
    let mut child = holder
        .stdout(Stdio::piped())
        .stderr(said)
        .spawn()
        .map_err(|source| Error::start("sh", "`scripts/setup kubernetes` installs it", source))?;
    let mut pid = String::new();
    if let Some(stdout) = child.stdout.take() {
        BufReader::new(stdout).read_line(&mut pid).at("read from the anchor of", &file)?;
    }
    child.wait().at("wait for the anchor of", &file)?;
    if pid.trim().is_empty() {
        let said = fs::read_to_string(&log).unwrap_or_default();
        return Err(Error::Refused(format!("{} did not start: {}", node.name, last_lines(&said, 4))));
    }
    fs::write(&file, pid.trim()).at("write", &file)
}

/// kubelet and kube-proxy: from here on the node registers.
pub(crate) fn join(lab: &Lab, node: &Node) -> Result<()> {
    daemon(lab, node, "kubelet", &config::kubelet_argv(lab, node))?;
    daemon(lab, node, "kube-proxy", &config::proxy_argv(lab, node))
}

fn daemon(lab: &Lab, node: &Node, name: &str, argv: &[String]) -> Result<()> {
    let log = lab.log(&format!("{}-{name}", node.name));
    process::daemon(lab.cgroups(), &node.system_cgroup(), &log, &enter(lab, node)?, argv)
}

/// The words before a command that runs it in the node's namespaces.
pub(crate) fn enter(lab: &Lab, node: &Node) -> Result<Vec<String>> {
    let pid = fs::read_to_string(pid_file(lab, node)).unwrap_or_default();
    // A number that is in no cgroup of the node any more may be anybody's by now.
    if !pid.parse().is_ok_and(|pid| lab.cgroups().members(&node.system_cgroup()).contains(&pid)) {
        return Err(Error::Refused(format!(
            "{} of lab {} is not running: `cargo xtask lab power-cycle {}` starts it",
            node.name,
            lab.name(),
            node.name
        )));
    }
    Ok(["nsenter", "--target", &pid, "--mount", "--uts", "--net"].map(String::from).into())
}

/// Waits until containerd of the node answers.
pub(crate) fn wait_for_containerd(lab: &Lab, node: &Node) -> Result<()> {
    let answers = wait_until(Duration::from_secs(30), || {
        lab.in_node(&node.name)
            .is_ok_and(|mut command| process::run(command.args(["ctr", "version"])).is_ok())
    });
    if answers {
        return Ok(());
    }
    Err(Error::Timeout {
        what: format!("containerd of {}", node.name),
        seconds: 30,
        look: lab.log(&format!("{}-containerd", node.name)),
    })
}

/// As a power cut would: everything on it dies at once.
pub(crate) fn kill(lab: &Lab, node: &Node) -> Result<()> {
    lab.cgroups().kill(&node.cgroup)
}

/// As a boot would: /run is empty, no pod has a cgroup (each left over costs the kubelet 3 s), and the daemons start.
pub(crate) fn power_on(lab: &Lab, node: &Node) -> Result<()> {
    let run = lab.node_directory(node).join("run");
    remove_all(&run)?;
    fs::create_dir_all(&run).at("make", &run)?;
    lab.cgroups().remove_below(&node.cgroup)?;
    lab.cgroups().create(&node.system_cgroup())?;
    boot(lab, node)?;
    join(lab, node)
}

fn pid_file(lab: &Lab, node: &Node) -> PathBuf {
    lab.node_directory(node).join("pid")
}
