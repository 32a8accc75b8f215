//! Builds what is missing of the programs in [`crate::versions`], once per machine, and says where they are.
//!
//! Invariant: a directory of programs is whole or not there; two processes never build the same one.

mod go;
mod npm;

use std::{
    fs,
    path::{Path, PathBuf},
};

use sha2::{Digest as _, Sha256};

use crate::{
    Progress, Result, cache,
    error::{At as _, last_component},
    versions::{self, Component, Operand, Tool},
    whole,
};

/// The programs of one Kubernetes version: the control plane with its etcd, the node's and kubectl.
#[derive(Debug, Clone)]
pub struct Kubernetes {
    pub dir: PathBuf,
    pub component: &'static Component,
}

impl Kubernetes {
    pub fn program(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    pub fn version(&self) -> &'static str {
        self.component.version
    }
}

/// Kubernetes at `version`, built if it is not there: minutes the first time, nothing afterwards.
pub fn kubernetes(version: &str, progress: &dyn Progress) -> Result<Kubernetes> {
    let component = versions::kubernetes_at(version)?;
    Ok(Kubernetes { dir: programs(component, progress)?, component })
}

/// The cluster's DNS server, built if it is not there.
pub fn coredns(progress: &dyn Progress) -> Result<PathBuf> {
    Ok(programs(&versions::COREDNS, progress)?.join("coredns"))
}

/// The directory with the operand's programs at `version`, built if it is not there.
pub fn operand(operand: Operand, version: &str, progress: &dyn Progress) -> Result<PathBuf> {
    programs(operand.at(version)?, progress)
}

/// The tool of this version, built if it is not there.
pub fn tool(tool: Tool, version: &str, progress: &dyn Progress) -> Result<PathBuf> {
    let row = versions::find(tool.versions(), version)?;
    Ok(programs(row, progress)?.join(tool.name()))
}

/// A Google Cloud Storage as a process, built if it is not there; crates/lab/go/fake-gcs-server-* says how it is started.
pub fn gcs(progress: &dyn Progress) -> Result<PathBuf> {
    Ok(programs(&versions::GCS, progress)?.join("gcs"))
}

/// An Azure Blob Storage as a program for node, installed if it is not there.
pub fn azurite(progress: &dyn Progress) -> Result<PathBuf> {
    Ok(installed(AZURITE, progress)?.join("node_modules/azurite/dist/src/blob/main.js"))
}

/// The newest that runs on node 18, which Debian has; from 3.37 on it is 360 MB instead of 190.
const AZURITE: &str = "azurite-3.35.0";

/// A directory of `crates/lab/npm`, which pins and verifies everything in its package-lock.json, installed in the cache.
fn installed(name: &str, progress: &dyn Progress) -> Result<PathBuf> {
    let pinned = Path::new(env!("CARGO_MANIFEST_DIR")).join("npm").join(name);
    let mut hash = Sha256::new();
    for path in sources(&pinned)? {
        hash.update(fs::read(&path).at("read", &path)?);
    }
    let key: String = format!("{:x}", hash.finalize()).chars().take(12).collect();
    let target = cache()?.join("bin").join(format!("{name}-{key}"));
    let waiting = || progress.step(&format!("{name}: another process installs it, waiting"));
    whole::directory(&target, waiting, |making| npm::install(&pinned, making, progress))?;
    Ok(target)
}

fn programs(component: &Component, progress: &dyn Progress) -> Result<PathBuf> {
    let Component { name, version, .. } = component;
    let target = cache()?.join("bin").join(format!("{name}-{version}-{}", key(component)?));
    let waiting = || progress.step(&format!("{name} {version}: another process builds it, waiting"));
    whole::directory(&target, waiting, |making| go::build(component, making, progress))?;
    Ok(target)
}

/// Changes with everything of ours that decides what the programs are: sources, pinned versions and flags.
fn key(component: &Component) -> Result<String> {
    let mut hash = Sha256::new();
    for path in sources(&component.directory())? {
        hash.update(last_component(&path));
        hash.update(fs::read(&path).at("read", &path)?);
    }
    for build in component.builds {
        hash.update(format!("{:?} {} {}\n", build.programs, component.ldflags(build), component.tags));
    }
    Ok(format!("{:x}", hash.finalize()).chars().take(12).collect())
}

fn sources(directory: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for path in whole::children(directory)? {
        match path.is_dir() {
            true => found.extend(sources(&path)?),
            false => found.push(path),
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_component_has_a_key_of_its_own_and_the_same_one_each_time() {
        let rows: Vec<_> = Operand::ALL.into_iter().flat_map(Operand::versions).collect();
        let keys = || rows.iter().map(|row| key(row).unwrap());
        assert_eq!(keys().collect::<BTreeSet<_>>().len(), rows.len());
        assert!(keys().eq(keys()));
    }

    #[test]
    fn the_key_covers_sources_in_directories_below() {
        let directory = versions::kubernetes_at("1.36").unwrap().directory();
        let names: Vec<_> = sources(&directory).unwrap().iter().map(|path| last_component(path)).collect();
        assert_eq!(names, ["main.go", "go.mod", "go.sum"]);
    }
}
