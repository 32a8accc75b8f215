//! The data in the format of another version: a new tree beside the old one, and one rename.
//!
//! Whenever it is interrupted, starting it again gives the same result.

use std::path::Path;

use super::{
    Done,
    disk::Disk,
    failure::Failure,
    tree::Tree,
    versions::{AppVersion, Way},
};

pub(super) fn migrate(root: &Path, to: &'static AppVersion, disk: &Disk) -> Result<Done, Failure> {
    let old = Tree::open_or_create(root, to.format, disk)?;
    old.remove_others(disk)?;
    match to.way_from(old.format)? {
        Way::Roll => Ok(Done { notes: old.check()?, format: old.format, object: None }),
        Way::Migrate => convert(&old, to, disk),
    }
}

/// Undoes a migration: `to` is the version that served before it. Nothing is lost but what only the newer format has, the times
/// of creation; so a user who just asks for an older version is refused, and this is for an upgrade that failed.
pub(super) fn migrate_back(root: &Path, to: &'static AppVersion, disk: &Disk) -> Result<Done, Failure> {
    let old = Tree::open_or_create(root, to.format, disk)?;
    if old.format <= to.format {
        return migrate(root, to, disk);
    }
    old.remove_others(disk)?;
    convert(&old, to, disk)
}

fn convert(old: &Tree, to: &'static AppVersion, disk: &Disk) -> Result<Done, Failure> {
    let new = old.successor(to.format, disk)?;
    let keys = old.keys()?;
    for key in &keys {
        if let Some((_, note)) = old.read(key)? {
            new.add(key, &note, disk)?;
        }
    }
    new.switch(disk)?;
    new.remove_others(disk)?;
    Ok(Done { notes: keys.len(), format: new.format, object: None })
}
