//! What a lab leaves behind: nothing, however it ended.

use std::{
    collections::BTreeSet,
    fs,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use lab::addresses::SLOTS;

use super::{Check, KILLED, PATIENCE, ensure, run, timed, until};

/// Everything of the machine that a lab touches, as lines; what belongs to other labs that come and go meanwhile is left out.
pub(crate) struct Snapshot {
    lines: BTreeSet<String>,
}

impl Snapshot {
    pub(crate) fn take() -> Check<Self> {
        let mut lines = BTreeSet::new();
        lines.extend(names(Path::new("/sys/class/net")).map(|link| format!("link {link}")));
        let routes = run(Command::new("ip").args(["-4", "route", "show", "table", "all"]))?;
        lines.extend(routes.lines().map(|route| format!("route {}", route.trim())));
        let mounts = fs::read_to_string("/proc/self/mounts")?;
        lines.extend(mounts.lines().map(|mount| format!("mount {mount}")));
        lines.extend(names(Path::new("/run")).map(|file| format!("file /run/{file}")));
        lines.extend(names(Path::new("/opt")).map(|file| format!("file /opt/{file}")));
        lines.extend(names(Path::new("/run/netns")).map(|file| format!("netns {file}")));
        for mount in mounts.lines().filter(|mount| mount.starts_with("cgroup")) {
            let hierarchy = Path::new(mount.split_whitespace().nth(1).ok_or("a mount without a place")?);
            lines.extend(
                names(hierarchy)
                    .filter(|name| name.starts_with("capstan"))
                    .map(|name| format!("cgroup {name}")),
            );
        }
        // While any lab runs, its kubelets' settings are in force.
        if !Path::new("/run/capstan-lab").exists() {
            for name in
                ["vm/overcommit_memory", "kernel/panic", "kernel/panic_on_oops", "kernel/keys/root_maxkeys"]
            {
                lines.insert(format!(
                    "sysctl {name} {}",
                    fs::read_to_string(format!("/proc/sys/{name}"))?.trim()
                ));
            }
        }
        Ok(Self { lines })
    }

    /// Nothing of this lab, which was in `slot`, is there; and beside other labs the machine is as it was.
    pub(crate) fn compare(&self, name: &str, slot: u8) -> Check {
        let after = Self::take()?;
        // Other labs come and go meanwhile, and one of them may have had this slot before.
        let of_a_lab = |line: &&String| (0..SLOTS).any(|slot| belongs(line, slot));
        let left = after.lines.iter().filter(|line| belongs(line, slot));
        let tuned = |line: &&String| line.starts_with("sysctl") || line.ends_with("/run/capstan-lab");
        let elsewhere = self.lines.symmetric_difference(&after.lines).filter(|line| !of_a_lab(line));
        let changed: Vec<&String> = left.chain(elsewhere).collect();
        let alone = [self, &after]
            .iter()
            .all(|snapshot| snapshot.lines.iter().any(|line| line.starts_with("sysctl")));
        let changed: Vec<&String> = changed.into_iter().filter(|line| alone || !tuned(line)).collect();
        ensure(changed.is_empty(), format!("left behind or changed: {changed:#?}"))?;
        let state = state(name)?;
        ensure(!state.exists(), format!("{} is still there", state.display()))?;
        let processes = processes_of(&state);
        ensure(processes.is_empty(), format!("still running: {processes:#?}"))
    }
}

/// Is the line about something of this slot?
fn belongs(line: &str, slot: u8) -> bool {
    let marks = [
        format!("capstan{slot}"),
        format!("capstan-lab/slot{slot}"),
        format!("10.79.{slot}"),
        format!("10.{}", 160 + slot),
    ];
    marks.iter().any(|mark| {
        line.split(mark.as_str()).skip(1).any(|rest| !rest.starts_with(|next: char| next.is_ascii_digit()))
    })
}

/// `lab up`, killed when something is there for the first time; in the order in which they appear.
pub(crate) fn checks(before: &Snapshot) -> Check {
    let state = state(KILLED)?;
    let slot = || slot_of(KILLED);
    let in_slot = |file: &'static str| {
        move || {
            slot_of(KILLED)
                .is_some_and(|slot| Path::new(&format!("/run/capstan-lab/slot{slot}/{file}")).exists())
        }
    };
    let link =
        || slot_of(KILLED).is_some_and(|slot| Path::new(&format!("/sys/class/net/capstan{slot}")).exists());
    let there = |file: &str| {
        let file = state.join(file);
        move || file.exists()
    };
    type Moment = Box<dyn Fn() -> bool>;
    let moments: [(&str, Moment); 9] = [
        ("the slot is claimed", Box::new(move || slot().is_some())),
        ("there are certificates", Box::new(there("pki/apiserver.key"))),
        ("there is a switch", Box::new(in_slot("switch.net"))),
        ("there is a link", Box::new(link)),
        ("etcd starts", Box::new(there("log/etcd.log"))),
        ("there is a network of a node", Box::new(in_slot("node1.net"))),
        ("there are namespaces", Box::new(there("node1/pid"))),
        ("containerd runs", Box::new(there("node1/run/containerd/containerd.sock"))),
        ("the kubelet starts", Box::new(there("log/node1-kubelet.log"))),
    ];
    for (what, moment) in moments {
        timed(&format!("lab up killed when {what}: down leaves nothing"), || {
            let slot = kill_when(moment)?;
            lab::down(KILLED)?;
            before.compare(KILLED, slot)
        })?;
    }
    timed("lab up killed, all files lost: the slot's number is enough", || {
        let slot = kill_when(Box::new(there("log/node1-kube-proxy.log")))?;
        fs::remove_file(format!("/run/capstan-lab/slot{slot}/claim.json"))?;
        lab::down_slot(slot)?;
        // Its state directory names no slot any more: by its name it still goes.
        lab::down(KILLED)?;
        before.compare(KILLED, slot)
    })?;
    timed("lab up killed: the next lab up cleans first", || {
        let slot = kill_when(Box::new(there("node1/pid")))?;
        let lab = super::up(KILLED, 1)?;
        ensure(lab.addresses().slot == slot, "it took another slot")?;
        lab.down()?;
        before.compare(KILLED, slot)
    })
}

/// Starts a `lab up` in a process of its own and kills it when the moment has come. Gives the slot that it had.
fn kill_when(moment: Box<dyn Fn() -> bool>) -> Check<u8> {
    let mut child = Command::new(std::env::current_exe()?)
        .args(["up", KILLED])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()?;
    let come =
        until("the moment", PATIENCE, || moment() || child.try_wait().is_ok_and(|ended| ended.is_some()));
    child.kill()?;
    let said = said(&mut child);
    child.wait()?;
    come?;
    slot_of(KILLED).ok_or_else(|| format!("it ended without a slot: {said}").into())
}

fn said(child: &mut Child) -> String {
    let lines = child.stderr.take().into_iter().flat_map(|stderr| BufReader::new(stderr).lines());
    lines.map_while(Result::ok).collect::<Vec<_>>().join("\n")
}

fn slot_of(name: &str) -> Option<u8> {
    (0..SLOTS).find(|slot| {
        let claim = fs::read_to_string(format!("/run/capstan-lab/slot{slot}/claim.json"));
        claim.is_ok_and(|claim| claim.contains(&format!("\"{name}\"")))
    })
}

fn state(name: &str) -> Check<PathBuf> {
    Ok(lab::cache()?.join("run").join(name))
}

/// Processes that were started with a path of the lab's state.
fn processes_of(state: &Path) -> Vec<String> {
    let state = state.display().to_string();
    let commands = names(Path::new("/proc")).filter_map(|pid| {
        pid.parse::<u32>().ok()?;
        Some(String::from_utf8_lossy(&fs::read(format!("/proc/{pid}/cmdline")).ok()?).replace('\0', " "))
    });
    commands.filter(|command| command.contains(&state)).collect()
}

fn names(directory: &Path) -> impl Iterator<Item = String> {
    fs::read_dir(directory)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
}
