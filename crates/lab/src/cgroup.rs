//! The lab's cgroups: by membership in them its processes are counted, frozen and killed, never by name.
//!
//! With cgroup v1 a path is made in every mounted hierarchy; with v2 there is one, and controllers are switched on level by level.

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};

use crate::{
    error::{At as _, Error, Result},
    process::wait_until,
};

/// What pods' limits, freezing and accounting need.
const CONTROLLERS: &[&str] = &["cpuset", "cpu", "io", "memory", "pids"];

/// The hierarchies that are mounted on this machine.
#[derive(Debug, Clone)]
pub(crate) struct Cgroups {
    roots: Vec<PathBuf>,
}

impl Cgroups {
    pub(crate) fn mounted() -> Result<Self> {
        let mounts = fs::read_to_string("/proc/self/mounts").at("read", "/proc/self/mounts")?;
        Ok(Self { roots: hierarchies(&mounts) })
    }

    #[cfg(test)]
    pub(crate) fn at(roots: impl IntoIterator<Item = PathBuf>) -> Self {
        Self { roots: roots.into_iter().collect() }
    }

    /// The controllers that can be used here, in words: what preflight looks at.
    pub(crate) fn controllers(&self) -> BTreeSet<String> {
        let v1 = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let v1 = v1
            .lines()
            .filter_map(|line| line.split(':').nth(1))
            .flat_map(|names| names.split(','))
            .map(String::from);
        let v2 =
            self.roots.iter().filter_map(|root| fs::read_to_string(root.join("cgroup.controllers")).ok());
        let v2 = v2.flat_map(|text| text.split_whitespace().map(String::from).collect::<Vec<_>>());
        v1.chain(v2).filter(|name| !name.is_empty()).collect()
    }

    /// One hierarchy with everything in it, rather than one per controller.
    pub(crate) fn unified(&self) -> bool {
        matches!(self.roots.as_slice(), [root] if root.join("cgroup.controllers").exists())
    }

    pub(crate) fn create(&self, path: &str) -> Result<()> {
        for root in &self.roots {
            let mut parent = root.clone();
            for part in Path::new(path) {
                switch_on(&parent)?;
                let child = parent.join(part);
                match fs::create_dir(&child) {
                    Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                        return Err(error).at("make", &child);
                    }
                    _ => fill_cpuset(&parent, &child)?,
                }
                parent = child;
            }
        }
        Ok(())
    }

    /// The files that take a process into the cgroup when its id is written to them.
    pub(crate) fn member_files(&self, path: &str) -> Vec<PathBuf> {
        self.roots.iter().map(|root| root.join(path).join("cgroup.procs")).collect()
    }

    pub(crate) fn exists(&self, path: &str) -> bool {
        self.roots.iter().any(|root| root.join(path).exists())
    }

    /// Every process at and below `path`, in whichever hierarchy.
    pub(crate) fn members(&self, path: &str) -> BTreeSet<i32> {
        self.below(path)
            .iter()
            .filter_map(|directory| fs::read_to_string(directory.join("cgroup.procs")).ok())
            .flat_map(|pids| pids.lines().filter_map(|pid| pid.parse().ok()).collect::<Vec<i32>>())
            .filter(|pid| *pid > 0)
            .collect()
    }

    /// Memory that the processes below `path` use, in bytes.
    pub(crate) fn memory(&self, path: &str) -> Option<u64> {
        let files = ["memory.usage_in_bytes", "memory.current"];
        let mut found = self.roots.iter().flat_map(|root| files.map(|file| root.join(path).join(file)));
        found.find_map(|file| fs::read_to_string(file).ok()?.trim().parse().ok())
    }

    pub(crate) fn freeze(&self, path: &str) -> Result<()> {
        self.set_frozen(path, "FROZEN", "1")
    }

    pub(crate) fn thaw(&self, path: &str) -> Result<()> {
        self.set_frozen(path, "THAWED", "0")
    }

    pub(crate) fn frozen(&self, path: &str) -> bool {
        let is = |file: PathBuf, word: &str| fs::read_to_string(file).is_ok_and(|state| state.trim() == word);
        self.roots.iter().map(|root| root.join(path)).any(|directory| {
            is(directory.join("freezer.state"), "FROZEN") || is(directory.join("cgroup.freeze"), "1")
        })
    }

    fn set_frozen(&self, path: &str, v1: &str, v2: &str) -> Result<()> {
        for directory in self.roots.iter().map(|root| root.join(path)) {
            let (freezer, freeze) = (directory.join("freezer.state"), directory.join("cgroup.freeze"));
            if freezer.exists() {
                fs::write(&freezer, v1).at("write", &freezer)?;
            } else if self.unified() && freeze.exists() {
                // Beside v1, the v2 hierarchy holds the same processes: freezing them twice gains nothing.
                fs::write(&freeze, v2).at("write", &freeze)?;
            }
        }
        Ok(())
    }

    /// Kills everything at and below `path`, until nothing is left.
    pub(crate) fn kill(&self, path: &str) -> Result<()> {
        self.until(path, || self.kill_members(path))
    }

    /// Kills everything at and below `path` and removes the cgroups, until neither is there. Only then can no process that
    /// was started a moment ago still join.
    pub(crate) fn remove(&self, path: &str) -> Result<()> {
        self.until(path, || {
            self.kill_members(path);
            // Children come before parents. What is busy is tried again.
            self.below(path).iter().for_each(|directory| drop(fs::remove_dir(directory)));
            !self.exists(path)
        })
    }

    /// Says whether there was nobody. A frozen process dies only when it is thawed.
    fn kill_members(&self, path: &str) -> bool {
        for directory in self.below(path) {
            for (file, thawed) in [("freezer.state", "THAWED"), ("cgroup.freeze", "0")] {
                let file = directory.join(file);
                // Gone meanwhile: nothing to thaw.
                let _ = if file.exists() { fs::write(file, thawed) } else { Ok(()) };
            }
        }
        let members = self.members(path);
        for pid in members.iter().filter_map(|pid| Pid::from_raw(*pid)) {
            // Ended meanwhile: just as well.
            let _ = kill_process(pid, Signal::KILL);
        }
        members.is_empty()
    }

    fn until(&self, path: &str, done: impl FnMut() -> bool) -> Result<()> {
        if wait_until(Duration::from_secs(30), done) {
            return Ok(());
        }
        let left: Vec<String> = self.members(path).iter().map(i32::to_string).collect();
        let who = if left.is_empty() { "nobody".into() } else { format!("processes {}", left.join(", ")) };
        Err(Error::Refused(format!(
            "cgroup {path} cannot be cleared: {who} in it after 30 s of killing; look at /proc/<id>/stack, then try again"
        )))
    }

    /// [`Self::remove`] for what is below `path`, which itself stays.
    pub(crate) fn remove_below(&self, path: &str) -> Result<()> {
        let children: BTreeSet<String> = self
            .roots
            .iter()
            .flat_map(|root| directories(&root.join(path)))
            .filter_map(|child| Some(format!("{path}/{}", child.file_name()?.to_str()?)))
            .collect();
        children.iter().try_for_each(|child| self.remove(child))
    }

    /// All directories at and below `path` in all hierarchies, children before parents.
    fn below(&self, path: &str) -> Vec<PathBuf> {
        let mut found = Vec::new();
        for root in self.roots.iter().map(|root| root.join(path)).filter(|root| root.is_dir()) {
            descend(&root, &mut found);
        }
        found
    }
}

fn descend(directory: &Path, found: &mut Vec<PathBuf>) {
    for child in directories(directory) {
        descend(&child, found);
    }
    found.push(directory.to_owned());
}

fn directories(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| entry.path())
        .collect()
}

/// The mount points of all cgroup hierarchies in a /proc/self/mounts.
fn hierarchies(mounts: &str) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    for mount in mounts.lines() {
        let mut fields = mount.split_whitespace().skip(1);
        if let (Some(point), Some("cgroup" | "cgroup2")) = (fields.next(), fields.next())
            && !found.contains(&PathBuf::from(point))
        {
            found.push(point.into());
        }
    }
    found
}

/// v2: a child has the controllers that its parent hands down.
fn switch_on(parent: &Path) -> Result<()> {
    let Ok(there) = fs::read_to_string(parent.join("cgroup.controllers")) else { return Ok(()) };
    let wanted: Vec<String> = there
        .split_whitespace()
        .filter(|name| CONTROLLERS.contains(name))
        .map(|name| format!("+{name}"))
        .collect();
    let file = parent.join("cgroup.subtree_control");
    if wanted.is_empty() {
        Ok(())
    } else {
        fs::write(&file, wanted.join(" ")).at("switch controllers on in", &file)
    }
}

/// v1: a cpuset is empty until it is filled, and an empty one takes no process.
fn fill_cpuset(parent: &Path, child: &Path) -> Result<()> {
    // In v2 an empty cpuset means all of the parent's.
    if parent.join("cgroup.controllers").exists() {
        return Ok(());
    }
    for file in ["cpuset.cpus", "cpuset.mems"] {
        if let Ok(value) = fs::read_to_string(parent.join(file)) {
            fs::write(child.join(file), value.trim()).at("write", child.join(file))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mounted_hierarchy_is_found_once() {
        let mounts = "tmpfs /sys/fs/cgroup tmpfs rw 0 0\ncgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\n\
                      cgroup /sys/fs/cgroup/pids cgroup rw,pids 0 0\ncgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n\
                      cgroup /sys/fs/cgroup/pids cgroup rw,pids 0 0\n";
        let found: Vec<String> = hierarchies(mounts).iter().map(|path| path.display().to_string()).collect();
        assert_eq!(found, ["/sys/fs/cgroup/cpu", "/sys/fs/cgroup/pids", "/sys/fs/cgroup/unified"]);
    }

    /// A directory that looks like a hierarchy: as much of one as a test without privileges can have.
    fn hierarchy(name: &str, files: &[(&str, &str)]) -> PathBuf {
        let root = std::env::temp_dir().join(format!("capstan-lab-test-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        fs::create_dir_all(&root).unwrap();
        for (file, text) in files {
            fs::write(root.join(file), text).unwrap();
        }
        root
    }

    #[test]
    fn a_v1_cpuset_is_filled_level_by_level() {
        let root = hierarchy("cpuset", &[("cpuset.cpus", "0-1\n"), ("cpuset.mems", "0\n")]);
        Cgroups::at([root.clone()]).create("capstan0/node1/system").unwrap();
        assert_eq!(fs::read_to_string(root.join("capstan0/node1/system/cpuset.cpus")).unwrap(), "0-1");
        assert_eq!(fs::read_to_string(root.join("capstan0/cpuset.mems")).unwrap(), "0");
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn in_v2_the_controllers_are_handed_down_and_the_cpuset_stays_empty() {
        let root = hierarchy("v2", &[("cgroup.controllers", "cpuset cpu io memory hugetlb pids rdma\n")]);
        let cgroups = Cgroups::at([root.clone()]);
        cgroups.create("capstan0/control").unwrap();
        assert!(cgroups.unified());
        let switched = fs::read_to_string(root.join("cgroup.subtree_control")).unwrap();
        assert_eq!(switched, "+cpuset +cpu +io +memory +pids");
        assert!(!root.join("capstan0/cpuset.cpus").exists());
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn removing_goes_from_the_leaves_up_and_is_done_when_nothing_is_there() {
        let root = hierarchy("remove", &[]);
        let cgroups = Cgroups::at([root.clone()]);
        cgroups.create("capstan0/node1/kubepods/pod1").unwrap();
        cgroups.create("capstan0/node1/system").unwrap();
        cgroups.remove_below("capstan0/node1").unwrap();
        assert!(cgroups.exists("capstan0/node1") && !cgroups.exists("capstan0/node1/kubepods"));
        cgroups.remove("capstan0").unwrap();
        cgroups.remove("capstan0").unwrap();
        assert!(!cgroups.exists("capstan0"));
        fs::remove_dir_all(root).unwrap();
    }

    /// The kernel's own v2 hierarchy, which is mounted beside v1 as well, without controllers.
    #[test]
    fn in_a_real_v2_hierarchy_processes_are_frozen_killed_and_gone() {
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
        let root = mounts.lines().find(|mount| mount.split_whitespace().nth(2) == Some("cgroup2"));
        let cgroups = Cgroups::at(root.map(|root| root.split_whitespace().nth(1).unwrap().into()));
        let path = format!("capstan-test-{}", std::process::id());
        if root.is_none() || cgroups.create(&format!("{path}/node1/system")).is_err() {
            skipped::because("no cgroup v2 hierarchy on this machine that the test may write to");
            return;
        }
        let mut command = crate::process::command(&cgroups, &format!("{path}/node1/system"), "sleep");
        let mut child = command.arg("infinity").spawn().unwrap();
        assert!(wait_until(Duration::from_secs(5), || cgroups.members(&path).len() == 1));
        cgroups.freeze(&format!("{path}/node1")).unwrap();
        assert!(cgroups.frozen(&format!("{path}/node1")));
        cgroups.kill(&path).unwrap();
        assert!(!child.wait().unwrap().success());
        cgroups.remove(&path).unwrap();
        assert!(!cgroups.exists(&path));
    }
}
