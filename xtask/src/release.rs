//! Our programs as the images have them, compiled once per state of the sources: another clone of the same commit, and CI after
//! a developer's own run, find them in the cache.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result};
use lab::Progress;
use sha2::{Digest as _, Sha256};

use crate::{cargo, tree};

/// What goes into an image.
pub(crate) const PROGRAMS: &[&str] = &["capstan", "s3"];
/// What decides what is compiled; of `crates`, all but what only tests see.
const SOURCES: &[&str] = &["Cargo.toml", "Cargo.lock", "rust-toolchain.toml", "crates"];
const ONLY_TESTS: &[&str] = &["tests", "benches", "examples", "go"];
/// How many states are kept.
const KEPT: usize = 4;

/// The directory that holds them.
pub(crate) fn programs(progress: &dyn Progress) -> Result<PathBuf> {
    let all = lab::cache()?.join("release");
    let here = all.join(sources()?);
    if !here.exists() {
        progress.step("compiling capstan and the S3 server of tests and demo (release)");
        let packages = PROGRAMS.iter().flat_map(|program| ["--package", program]);
        cargo::run_giving_way(
            &["build", "--quiet", "--release", "--locked"].into_iter().chain(packages).collect::<Vec<_>>(),
        )?;
        let unfinished = all.join(format!("unfinished-{}", std::process::id()));
        fs::create_dir_all(&unfinished).with_context(|| format!("cannot create {}", unfinished.display()))?;
        for program in PROGRAMS {
            fs::copy(tree::root().join("target/release").join(program), unfinished.join(program))
                .with_context(|| format!("cannot keep {program}"))?;
        }
        // Complete or not there at all; another run may have been quicker.
        if fs::rename(&unfinished, &here).is_err() {
            fs::remove_dir_all(&unfinished).context("cannot remove a copy that is not needed")?;
        }
        forget_older(&all, &here)?;
    }
    Ok(here)
}

/// A name for the present state of the sources.
fn sources() -> Result<String> {
    let mut hash = Sha256::new();
    for source in SOURCES {
        take(&tree::root().join(source), &mut hash)?;
    }
    Ok(hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect())
}

fn take(path: &Path, hash: &mut Sha256) -> Result<()> {
    let name = path.strip_prefix(tree::root()).unwrap_or(path);
    if path.file_name().is_some_and(|name| ONLY_TESTS.iter().any(|other| name == *other)) {
        return Ok(());
    }
    if path.is_dir() {
        return sorted(path)?.iter().try_for_each(|inner| take(inner, hash));
    }
    let content = fs::read(path).with_context(|| format!("cannot read {}", name.display()))?;
    hash.update(name.as_os_str().as_encoded_bytes());
    hash.update((content.len() as u64).to_le_bytes());
    hash.update(content);
    Ok(())
}

fn sorted(directory: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(directory).with_context(|| format!("cannot read {}", directory.display()))?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

fn forget_older(all: &Path, newest: &Path) -> Result<()> {
    let mut others: Vec<_> = sorted(all)?.into_iter().filter(|path| path != newest).collect();
    others.sort_by_key(|path| fs::metadata(path).and_then(|it| it.modified()).ok());
    others.reverse();
    for old in others.iter().skip(KEPT) {
        fs::remove_dir_all(old).with_context(|| format!("cannot remove {}", old.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_named_by_their_content_and_what_only_tests_see_does_not_count() {
        let all = std::env::temp_dir().join(format!("capstan-sources-{}", std::process::id()));
        let name = || {
            let mut hash = Sha256::new();
            take(&all, &mut hash).unwrap();
            hash.finalize()
        };
        fs::create_dir_all(all.join("src")).unwrap();
        fs::create_dir_all(all.join("tests")).unwrap();
        fs::write(all.join("src/lib.rs"), "a").unwrap();
        let before = name();
        fs::write(all.join("tests/it.rs"), "b").unwrap();
        assert_eq!(name(), before);
        fs::write(all.join("src/lib.rs"), "b").unwrap();
        assert_ne!(name(), before);
        fs::remove_dir_all(all).unwrap();
    }
}
