//! What the machine must have, looked at before anything is made: one sentence says what is missing and what to do.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{
    cgroup::Cgroups,
    error::{Error, Result},
    process::{self, run},
};

/// Programs, and what the lab does with them. All come with `scripts/setup kubernetes`.
const PROGRAMS: &[(&str, &str)] = &[
    ("containerd", "runs the nodes' containers"),
    ("containerd-shim-runc-v2", "runs the nodes' containers"),
    ("ctr", "loads images"),
    ("runc", "starts containers"),
    ("ip", "makes the nodes' network"),
    ("nft", "is how kube-proxy makes Services"),
    ("iptables", "is how the CNI plugin portmap opens host ports"),
    ("unshare", "makes namespaces"),
    ("nsenter", "enters namespaces"),
    ("setsid", "starts daemons"),
    ("mount", "gives each node its own /var/lib, /var/log and /run"),
    ("curl", "asks the API server"),
];

/// Where distributions have the CNI plugins: Debian, upstream's archive, Fedora.
const CNI_DIRECTORIES: &[&str] = &["/usr/lib/cni", "/opt/cni/bin", "/usr/libexec/cni"];
const CNI_PLUGINS: &[&str] = &["ptp", "host-local", "loopback", "portmap"];

/// Controllers that pods need; the freezer, which v2 always has, is looked at separately.
const CONTROLLERS: &[&str] = &["cpu", "cpuset", "memory", "pids"];

/// What the kernel must be able to do, tried in a namespace that is gone afterwards.
const KERNEL: &[(&str, &str)] = &[
    ("true", "network namespaces (CONFIG_NET_NS, and the right to make them: CAP_SYS_ADMIN)"),
    ("ip link add br0 type bridge", "bridges (CONFIG_BRIDGE; `modprobe bridge`)"),
    ("ip link add veth0 type veth peer name veth1", "veth pairs (CONFIG_VETH; `modprobe veth`)"),
    ("nft add table inet lab", "nftables (CONFIG_NF_TABLES_INET; `modprobe nf_tables`)"),
];

/// What a node covers with its own: the lab's files must be elsewhere, or nodes could not see them.
const COVERED: &[&str] = &["/var/lib", "/var/log", "/run"];

/// What the checks found that the lab needs to know.
pub(crate) struct Machine {
    pub(crate) cgroups: Cgroups,
    pub(crate) cni_plugins: PathBuf,
}

pub(crate) fn check(state: &Path) -> Result<Machine> {
    root()?;
    programs()?;
    let cni_plugins = cni_plugins()?;
    visible(state)?;
    kernel()?;
    let cgroups = Cgroups::mounted()?;
    check_cgroups(&cgroups.controllers(), cgroups.unified())?;
    Ok(Machine { cgroups, cni_plugins })
}

pub(crate) fn root() -> Result<()> {
    if rustix::process::geteuid().is_root() {
        return Ok(());
    }
    missing("the lab makes namespaces, links and cgroups, and that takes root: run the same command as root (sudo -E)".into())
}

fn programs() -> Result<()> {
    let path = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];
    match PROGRAMS
        .iter()
        .find(|(program, _)| !path.iter().any(|directory| Path::new(directory).join(program).exists()))
    {
        Some((program, why)) => {
            missing(format!("there is no {program}, which {why}: `scripts/setup kubernetes` installs it"))
        }
        None => Ok(()),
    }
}

fn cni_plugins() -> Result<PathBuf> {
    let whole =
        |directory: &&&str| CNI_PLUGINS.iter().all(|plugin| Path::new(directory).join(plugin).exists());
    match CNI_DIRECTORIES.iter().find(whole) {
        Some(directory) => Ok(directory.into()),
        None => missing(format!(
            "none of {} has the CNI plugins {}: `scripts/setup kubernetes` installs them",
            CNI_DIRECTORIES.join(", "),
            CNI_PLUGINS.join(", ")
        )),
    }
}

fn visible(state: &Path) -> Result<()> {
    match COVERED.iter().find(|covered| state.starts_with(covered)) {
        Some(covered) => missing(format!(
            "the cache is below {covered}, which nodes cover with their own: set CAPSTAN_CACHE to a directory elsewhere"
        )),
        None => Ok(()),
    }
}

fn kernel() -> Result<()> {
    // All at once, as they nearly always work; one by one to find the culprit.
    let all: Vec<&str> = KERNEL.iter().map(|(command, _)| *command).collect();
    if attempt(&all.join(" && ")).is_err() {
        for (command, feature) in KERNEL {
            if let Err(error) = attempt(command) {
                return missing(format!(
                    "this kernel, or this container, does not give us {feature}; {error}"
                ));
            }
        }
    }
    let known = fs::read_to_string("/proc/filesystems").unwrap_or_default();
    let overlay = || known.lines().any(|line| line.trim_start_matches("nodev").trim() == "overlay");
    if !overlay() && run(process::clean("modprobe").arg("overlay")).is_err() {
        return missing("this kernel does not have overlayfs (CONFIG_OVERLAY_FS), which containers' file systems are made of".into());
    }
    Ok(())
}

fn attempt(command: &str) -> Result<()> {
    run(process::clean("unshare").args(["--net", "sh", "-c", command])).map(drop)
}

fn check_cgroups(controllers: &std::collections::BTreeSet<String>, unified: bool) -> Result<()> {
    let lacks = CONTROLLERS.iter().find(|controller| !controllers.contains(**controller)).copied();
    let lacks = lacks.or_else(|| (!unified && !controllers.contains("freezer")).then_some("freezer"));
    match lacks {
        Some(controller) => missing(format!(
            "there is no cgroup controller {controller} here: mount the cgroup hierarchies at /sys/fs/cgroup (in a container: give it the host's, writable)"
        )),
        None => Ok(()),
    }
}

fn missing<T>(sentence: String) -> Result<T> {
    Err(Error::Refused(sentence))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sentence_names_the_controller_that_is_missing() {
        let have = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let said =
            |names: &[&str], unified| check_cgroups(&have(names), unified).map_err(|error| error.to_string());
        assert!(said(&["cpu", "cpuset", "memory", "pids"], true).is_ok());
        assert!(said(&["cpu", "cpuset", "memory", "pids", "freezer"], false).is_ok());
        assert!(
            said(&["cpu", "cpuset", "memory", "pids"], false).unwrap_err().contains("controller freezer")
        );
        assert!(said(&["cpu", "cpuset", "pids"], true).unwrap_err().contains("controller memory"));
    }

    #[test]
    fn a_cache_that_nodes_cannot_see_is_refused() {
        assert!(visible(Path::new("/root/.cache/capstan/lab/run/x")).is_ok());
        let said = visible(Path::new("/var/lib/ci/capstan/lab/run/x")).unwrap_err().to_string();
        assert!(said.contains("below /var/lib") && said.contains("CAPSTAN_CACHE"), "{said}");
    }
}
