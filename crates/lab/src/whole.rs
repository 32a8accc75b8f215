//! Directories of the cache that are either whole or not there, whoever is killed while making them.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process,
};

use rustix::fs::{FlockOperation, flock};

use crate::{
    Result,
    error::{At as _, last_component},
};

/// Makes `target` unless it is there: `fill` gets an empty directory beside it, which is renamed when all went well.
/// One process at a time; the others wait (`waiting` is called once), then find it made. Returns whether it was made now.
pub(crate) fn directory(
    target: &Path,
    waiting: impl FnOnce(),
    fill: impl FnOnce(&Path) -> Result<()>,
) -> Result<bool> {
    if target.is_dir() {
        return Ok(false);
    }
    let parent = target.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(parent).at("create", parent)?;
    let name = last_component(target);
    let _lock = lock(&parent.join(format!(".{name}.lock")), waiting)?;
    if target.is_dir() {
        return Ok(false);
    }
    let prefix = format!(".{name}.making-");
    // Whoever left one of these is dead: we hold the lock.
    for left in children(parent)?.iter().filter(|path| last_component(path).starts_with(&prefix)) {
        fs::remove_dir_all(left).at("remove", left)?;
    }
    let making = parent.join(format!("{prefix}{}", process::id()));
    fs::create_dir(&making).at("create", &making)?;
    if let Err(error) = fill(&making) {
        drop(fs::remove_dir_all(&making)); // the error says more than a failure to tidy up
        return Err(error);
    }
    fs::rename(&making, target).at("rename to", target)?;
    Ok(true)
}

/// The kernel takes the lock away when the process ends, however it ends.
fn lock(path: &Path, waiting: impl FnOnce()) -> Result<File> {
    let file = File::create(path).at("create", path)?;
    if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
        waiting();
        flock(&file, FlockOperation::LockExclusive).map_err(std::io::Error::from).at("lock", path)?;
    }
    Ok(file)
}

pub(crate) fn children(directory: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(directory).at("read", directory)?;
    let mut paths =
        entries.map(|entry| Ok(entry.at("read", directory)?.path())).collect::<Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;
    use crate::{Error, scratch::Scratch};

    #[test]
    fn a_failure_leaves_nothing_and_the_next_try_succeeds() {
        let scratch = Scratch::new("whole");
        let target = scratch.path().join("target");
        let failed = directory(
            &target,
            || (),
            |making| {
                fs::write(making.join("half"), "x").unwrap();
                Err(Error::NoCache)
            },
        );
        assert!(failed.is_err());
        assert_eq!(children(scratch.path()).unwrap(), [scratch.path().join(".target.lock")]);
        assert!(
            directory(&target, || (), |making| fs::write(making.join("whole"), "x").at("write", making))
                .unwrap()
        );
        assert!(!directory(&target, || (), |_| panic!("made twice")).unwrap());
        assert!(target.join("whole").is_file());
    }

    #[test]
    fn what_a_killed_process_left_is_not_taken_for_the_result() {
        let scratch = Scratch::new("whole");
        let target = scratch.path().join("target");
        let left = scratch.path().join(".target.making-1");
        fs::create_dir(&left).unwrap();
        fs::write(left.join("half"), "x").unwrap();
        assert!(directory(&target, || (), |_| Ok(())).unwrap());
        assert!(!left.exists());
        assert_eq!(children(&target).unwrap(), Vec::<PathBuf>::new());
    }

    #[test]
    fn a_second_one_waits_for_the_first_and_does_not_make_it_again() {
        let scratch = Scratch::new("whole");
        let target = scratch.path().join("target");
        let (waits, waiting) = mpsc::channel();
        let mut second = None;
        let first = directory(
            &target,
            || (),
            |_| {
                let target = target.clone();
                second = Some(std::thread::spawn(move || {
                    directory(&target, || waits.send(()).unwrap(), |_| panic!("made twice")).unwrap()
                }));
                waiting.recv().unwrap();
                Ok(())
            },
        );
        assert!(first.unwrap());
        assert!(!second.unwrap().join().unwrap());
    }
}
