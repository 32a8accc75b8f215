//! Down, so that nothing is left: process, namespace, mount, cgroup, link, route, sysctl, file.
//!
//! Everything is found by the slot's number, so a lab whose state is lost, or whose `lab up` was killed at any moment,
//! goes as well as one that is whole. Each step finds nothing to do when it was done before.

use std::path::Path;

use crate::{
    addresses::{Addresses, SLOTS},
    cache,
    cgroup::Cgroups,
    error::Result,
    lab::{self, Lab},
    network, preflight,
    slot::{self, Claim, MachineLock},
};

impl Lab {
    /// Takes this lab down.
    pub fn down(self) -> Result<()> {
        down(self.name()).map(drop)
    }
}

/// Takes the lab with this name down, whatever is left of it. Says whether there was anything.
pub fn down(name: &str) -> Result<bool> {
    preflight::root()?;
    let directory = lab::directory_of(name)?;
    if let Some(claim) = slot::of(&directory) {
        take_down(&Cgroups::mounted()?, &claim)?;
        return Ok(true);
    }
    MachineLock::take()?.sweep()?;
    // Without a claim nothing of it runs: the machine was restarted, or `lab up` was killed before its first step.
    let there = directory.exists();
    slot::remove_all(&directory)?;
    Ok(there)
}

/// Takes every lab of this cache down, and what is left in slots that nobody has or whose state is gone. Names what went.
pub fn down_all() -> Result<Vec<String>> {
    preflight::root()?;
    let cgroups = Cgroups::mounted()?;
    let ours = cache()?.join("run");
    let mut gone = Vec::new();
    let machine = MachineLock::take()?;
    let claims = machine.claims();
    drop(machine);
    for claim in claims.iter().filter(|claim| claim.state.starts_with(&ours) || !claim.state.exists()) {
        take_down(&cgroups, claim)?;
        gone.push(format!("lab {}", claim.name));
    }
    for addresses in (0..SLOTS).map(|slot| Addresses { slot }) {
        let claimed = claims.iter().any(|claim| claim.slot == addresses.slot);
        if !claimed && down_slot(addresses.slot)? {
            gone.push(format!("what was left in slot {}", addresses.slot));
        }
    }
    let names = std::fs::read_dir(&ours).into_iter().flatten().flatten();
    for directory in names.map(|entry| entry.path()).filter(|directory| slot::of(directory).is_none()) {
        slot::remove_all(&directory)?;
        gone.push(format!("the state in {}", directory.display()));
    }
    Ok(gone)
}

/// Takes down whatever is in a slot, found by its number alone: for a lab whose state and claim are lost. Says whether there
/// was anything.
pub fn down_slot(slot: u8) -> Result<bool> {
    preflight::root()?;
    let (cgroups, addresses) = (Cgroups::mounted()?, Addresses { slot });
    let machine = MachineLock::take()?;
    if let Some(claim) = machine.claims().into_iter().find(|claim| claim.slot == slot) {
        drop(machine);
        take_down(&cgroups, &claim)?;
        return Ok(true);
    }
    let there = left_over(&cgroups, addresses)?;
    clean(&cgroups, addresses, None)?;
    machine.release(addresses)?;
    Ok(there)
}

fn left_over(cgroups: &Cgroups, addresses: Addresses) -> Result<bool> {
    let links = network::links()?;
    Ok(cgroups.exists(&addresses.cgroup())
        || links.contains(&addresses.link())
        || addresses.directory().exists())
}

fn take_down(cgroups: &Cgroups, claim: &Claim) -> Result<()> {
    let _lock = slot::lock(claim)?;
    clean(cgroups, claim.addresses(), Some(&claim.state))?;
    MachineLock::take()?.release(claim.addresses())
}

/// Removes all of a slot but the claim. Order matters: while its cgroups are there, a process of it may still make something;
/// while a process lives, its namespaces keep their links.
pub(crate) fn clean(cgroups: &Cgroups, addresses: Addresses, state: Option<&Path>) -> Result<()> {
    cgroups.remove(&addresses.cgroup())?;
    network::remove_link(addresses)?;
    network::unmount_below(&addresses.directory())?;
    if let Some(state) = state {
        // Nothing of a lab is mounted here for the host to see. If it is, removing would reach through it.
        network::unmount_below(state)?;
        slot::remove_all(state)?;
    }
    Ok(())
}
