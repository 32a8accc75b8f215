//! Which slot of the machine a lab has. Claims are facts of the machine, not of a clone: they are in /run/capstan-lab.
//!
//! Invariant: the claim is written before anything of the slot is made, and removed after everything of it is gone.

use std::{
    fs::{self, File},
    net::TcpListener,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    time::Duration,
};

use serde::{Deserialize, Serialize};

use crate::{
    addresses::{self, Addresses, MACHINE, SLOTS, Subnet},
    cgroup::Cgroups,
    error::{At as _, Error, Result},
    network,
    process::wait_until,
    sysctl,
};

/// Who has a slot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Claim {
    #[serde(skip)]
    pub(crate) slot: u8,
    pub(crate) name: String,
    /// Where its state is.
    pub(crate) state: PathBuf,
}

impl Claim {
    pub(crate) fn addresses(&self) -> Addresses {
        Addresses { slot: self.slot }
    }
}

/// Held while slots are claimed or given back: one process of the machine at a time.
pub(crate) struct MachineLock {
    _file: File,
}

impl MachineLock {
    pub(crate) fn take() -> Result<Self> {
        let path = Path::new(MACHINE).join("lock");
        loop {
            fs::create_dir_all(MACHINE).at("make", MACHINE)?;
            // The last lab that goes takes the directory with it: a lock on a file that is no longer there locks nothing.
            let Ok(file) = File::create(&path) else { continue };
            file.lock().at("lock", &path)?;
            let held = file.metadata().at("look at", &path)?;
            if fs::metadata(&path).is_ok_and(|there| there.ino() == held.ino()) {
                return Ok(Self { _file: file });
            }
        }
    }

    /// All claims, lowest slot first.
    pub(crate) fn claims(&self) -> Vec<Claim> {
        claims()
    }

    /// The lowest slot that nobody has, and on whose addresses nothing else of this machine lives; now claimed.
    pub(crate) fn claim(&self, cgroups: &Cgroups, name: &str, state: &Path) -> Result<Claim> {
        let world = World {
            claimed: claims().iter().map(|claim| claim.slot).collect(),
            links: network::links()?,
            subnets: network::subnets()?,
        };
        let free = |addresses: &Addresses| {
            world.leaves_free(*addresses) && !cgroups.exists(&addresses.cgroup()) && ports_free(*addresses)
        };
        let Some(addresses) = (0..SLOTS).map(|slot| Addresses { slot }).find(free) else {
            return Err(Error::Refused(format!(
                "none of the {SLOTS} slots is free: links capstan*, cgroups capstan*, or the subnets {} … are in use; `cargo xtask lab down --all` removes labs, `ip route` shows who else has them",
                Addresses { slot: 0 }.nodes()
            )));
        };
        sysctl::save()?;
        let claim = Claim { slot: addresses.slot, name: name.into(), state: state.into() };
        let directory = addresses.directory();
        fs::create_dir_all(&directory).at("make", &directory)?;
        let (draft, file) = (directory.join("claim.new"), directory.join("claim.json"));
        let text = serde_json::to_string(&claim).map_err(|error| Error::Refused(error.to_string()))?;
        fs::write(&draft, text).at("write", &draft)?;
        fs::rename(&draft, &file).at("write", &file)?;
        Ok(claim)
    }

    /// Gives the slot back.
    pub(crate) fn release(&self, addresses: Addresses) -> Result<()> {
        remove_all(&addresses.directory())?;
        self.sweep()
    }

    /// Without a claim left, the machine is as it was before the first: also what a claim that was cut short left is removed.
    pub(crate) fn sweep(&self) -> Result<()> {
        if claims().is_empty() {
            sysctl::restore()?;
            remove_all(Path::new(MACHINE))?;
        }
        Ok(())
    }
}

/// Held while a lab is being brought up or taken down.
pub(crate) fn lock(claim: &Claim) -> Result<File> {
    let path = claim.addresses().directory().join("claim.json");
    let file = File::open(&path).at("open", &path)?;
    // A child that was just forked has the lock of its killed parent until it becomes another program.
    if wait_until(Duration::from_secs(2), || file.try_lock().is_ok()) {
        return Ok(file);
    }
    Err(Error::Refused(format!(
        "another process is just bringing lab {} up or down: wait until it is done, or end it",
        claim.name
    )))
}

fn claims() -> Vec<Claim> {
    (0..SLOTS)
        .filter_map(|slot| {
            let file = Addresses { slot }.directory().join("claim.json");
            let claim: Claim = serde_json::from_str(&fs::read_to_string(file).ok()?).ok()?;
            Some(Claim { slot, ..claim })
        })
        .collect()
}

/// The claim of the lab whose state is at `state`.
pub(crate) fn of(state: &Path) -> Option<Claim> {
    claims().into_iter().find(|claim| claim.state == state)
}

pub(crate) fn remove_all(directory: &Path) -> Result<()> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error).at("remove", directory),
        _ => Ok(()),
    }
}

/// What the choice of a slot depends on.
struct World {
    claimed: Vec<u8>,
    links: Vec<String>,
    subnets: Vec<Subnet>,
}

impl World {
    fn leaves_free(&self, addresses: Addresses) -> bool {
        let taken = |subnet: Subnet| self.subnets.iter().any(|other| other.overlaps(subnet));
        !self.claimed.contains(&addresses.slot)
            && !self.links.iter().any(|link| *link == addresses.link())
            && !taken(addresses.nodes())
            && !taken(addresses.pods())
    }
}

/// Somebody who listens on a port at every address also has it at ours.
fn ports_free(addresses: Addresses) -> bool {
    use addresses::{API_PORT, CONTROLLERS_PORT, ETCD_PEER_PORT, ETCD_PORT, SCHEDULER_PORT};
    [API_PORT, ETCD_PORT, ETCD_PEER_PORT, CONTROLLERS_PORT, SCHEDULER_PORT]
        .iter()
        .all(|port| TcpListener::bind((addresses.loopback(), *port)).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn world(claimed: &[u8], links: &[&str], subnets: &[&str]) -> World {
        World {
            claimed: claimed.into(),
            links: links.iter().map(|link| (*link).to_owned()).collect(),
            subnets: subnets.iter().filter_map(|subnet| Subnet::parse(subnet)).collect(),
        }
    }

    fn first_free(world: &World) -> Option<u8> {
        (0..SLOTS).find(|slot| world.leaves_free(Addresses { slot: *slot }))
    }

    #[test]
    fn a_slot_is_free_when_nobody_is_on_its_names_and_addresses() {
        let cases = [
            (world(&[], &["eth0", "lo"], &["192.168.1.0/24", "127.0.0.0/8"]), Some(0), "an empty machine"),
            (world(&[0, 1], &[], &[]), Some(2), "two labs"),
            (world(&[], &["capstan0"], &[]), Some(1), "a left-over link"),
            (world(&[], &[], &["10.79.0.0/24"]), Some(1), "somebody's bridge with our node subnet"),
            (world(&[], &[], &["10.160.7.0/24", "10.79.1.0/30"]), Some(2), "parts of our subnets"),
            (world(&[], &[], &["10.0.0.0/8"]), None, "a network that has all of them"),
        ];
        for (world, slot, what) in cases {
            assert_eq!(first_free(&world), slot, "{what}");
        }
    }
}
