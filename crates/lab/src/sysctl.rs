//! What the kubelet silently sets on the whole machine, and how it gets back.
//!
//! The record is taken before the first lab of the machine and used after the last: a second lab would record what the
//! first one's kubelets have set.

use std::{fs, path::Path};

use crate::{
    addresses::MACHINE,
    error::{At as _, Result},
};

/// Kubernetes: pkg/kubelet/cm/container_manager_linux.go, setupKernelTunables.
const TUNED: &[&str] = &[
    "vm/overcommit_memory",
    "vm/panic_on_oom",
    "kernel/panic",
    "kernel/panic_on_oops",
    "kernel/keys/root_maxkeys",
    "kernel/keys/root_maxbytes",
];

/// Call it with the machine's lock held.
pub(crate) fn save() -> Result<()> {
    let record = Path::new(MACHINE).join("sysctl");
    if record.exists() {
        return Ok(());
    }
    let lines: Vec<String> = TUNED
        .iter()
        .filter_map(|name| Some(format!("{name} {}", fs::read_to_string(file(name)).ok()?.trim())))
        .collect();
    // A record that is cut short would lose a value: it appears whole or not at all.
    let draft = record.with_extension("new");
    fs::write(&draft, lines.join("\n")).at("write", &draft)?;
    fs::rename(&draft, &record).at("write", &record)
}

/// Call it with the machine's lock held, when no lab is left.
pub(crate) fn restore() -> Result<()> {
    let record = Path::new(MACHINE).join("sysctl");
    let Ok(text) = fs::read_to_string(&record) else { return Ok(()) };
    for (name, value) in text.lines().filter_map(|line| line.split_once(' ')) {
        let file = file(name);
        if fs::read_to_string(&file).is_ok_and(|now| now.trim() != value) {
            fs::write(&file, value).at("restore", &file)?;
        }
    }
    fs::remove_file(&record).at("remove", &record)
}

fn file(name: &str) -> String {
    format!("/proc/sys/{name}")
}
