//! The last step of bringing a backup to a volume: what `etcdutl snapshot restore` made becomes the data directory, at once or not at all.
//!
//! It can be repeated: a mark beside the data directory says whose data it is, and is there before the data is.

use std::{
    fs::{self, File},
    io::ErrorKind,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result};
use clap::Args;
use etcd_backup::manifest;
use serde_json::{Map, Value, json};

use super::ending::{Ending, HOPELESS, told};
use crate::output::say;

/// What `etcdutl` writes to, below the directory that was fetched into.
const OUT: &str = "out";
/// Beside the data directory.
const MARK: &str = "seeded";

#[derive(Debug, Args)]
pub(super) struct Settle {
    /// The directory that was fetched into; its `out` is what etcdutl made. It is removed in the end.
    #[arg(long, value_name = "DIR")]
    from: PathBuf,
    /// The data directory. One that is there already is left alone, and is an error unless it has the same mark.
    #[arg(long, value_name = "DIR")]
    to: PathBuf,
    /// What tells this attempt's data from other data.
    #[arg(long, value_name = "TEXT")]
    mark: String,
    /// Where to write how it ended, as one line of JSON.
    #[arg(long, value_name = "FILE")]
    result: Option<PathBuf>,
}

impl Settle {
    pub(super) fn run(self) -> Result<()> {
        let done = settle(&self.from, &self.to, &self.mark);
        told(self.result.as_deref(), done)?;
        say(&format!("{} has the restored data.\n", self.to.display()))
    }
}

fn settle(from: &Path, to: &Path, mark: &str) -> Result<Value> {
    let volume = to.parent().context("the data directory has no place")?;
    let mark_file = volume.join(MARK);
    let text = fs::read(from.join(manifest::OBJECT)).ok();
    let about = text.and_then(|text| serde_json::from_slice::<Value>(&text).ok()).unwrap_or(Value::Null);
    if to.exists() {
        if fs::read_to_string(&mark_file).ok().as_deref() != Some(mark) {
            let error =
                format!("{} has data that this restore did not bring: it is not overwritten", to.display());
            return Err(Ending { code: HOPELESS, error, more: Map::new() }.into());
        }
    } else {
        let out = from.join(OUT);
        sync_all(&out).with_context(|| format!("cannot write {} to the disk", out.display()))?;
        fs::write(&mark_file, mark)
            .and_then(|()| File::open(&mark_file)?.sync_all())
            .and_then(|()| sync(volume))
            .with_context(|| format!("cannot write {}", mark_file.display()))?;
        fs::rename(&out, to)
            .and_then(|()| sync(volume))
            .with_context(|| format!("cannot move {} to {}", out.display(), to.display()))?;
    }
    match fs::remove_dir_all(from) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            return Err(error).with_context(|| format!("cannot remove {}", from.display()));
        }
        _ => {}
    }
    Ok(json!({ "manifest": about }))
}

/// The directory and everything below it, so that no power cut leaves half of it.
fn sync_all(directory: &Path) -> std::io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            sync_all(&path)?;
        } else {
            File::open(&path)?.sync_all()?;
        }
    }
    sync(directory)
}

fn sync(directory: &Path) -> std::io::Result<()> {
    File::open(directory)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Volume(PathBuf);

    impl Volume {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("capstan-settle-{name}-{}", std::process::id()));
            fs::remove_dir_all(&path).ok();
            let volume = Self(path);
            fs::create_dir_all(volume.0.join("restore/out/member/snap")).unwrap();
            fs::write(volume.0.join("restore/out/member/snap/db"), "data").unwrap();
            fs::write(volume.0.join("restore/manifest.json"), r#"{"id": "nightly"}"#).unwrap();
            volume
        }

        fn settle(&self, mark: &str) -> Result<Value> {
            settle(&self.0.join("restore"), &self.0.join("data"), mark)
        }
    }

    impl Drop for Volume {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.0).ok();
        }
    }

    #[test]
    fn what_was_restored_becomes_the_data_and_nothing_else_stays() {
        let volume = Volume::new("first");
        assert_eq!(volume.settle("a").unwrap()["manifest"]["id"], "nightly");
        assert_eq!(fs::read_to_string(volume.0.join("data/member/snap/db")).unwrap(), "data");
        assert!(!volume.0.join("restore").exists());
        volume.settle("a").expect("it can be repeated");
    }

    #[test]
    fn other_data_is_never_overwritten() {
        let volume = Volume::new("other");
        fs::create_dir_all(volume.0.join("data/member")).unwrap();
        let refused = volume.settle("a").unwrap_err().to_string();
        assert!(refused.contains("did not bring"), "{refused}");
        assert!(volume.0.join("restore/out").exists(), "nor is what was fetched lost");
    }

    #[test]
    fn a_mark_without_data_is_an_attempt_that_was_interrupted() {
        let volume = Volume::new("interrupted");
        fs::write(volume.0.join(MARK), "a").unwrap();
        volume.settle("a").unwrap();
        assert!(volume.0.join("data/member/snap/db").exists());
    }
}
