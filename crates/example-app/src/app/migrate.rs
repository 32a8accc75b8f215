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
    if to.way_from(old.format)? == Way::Roll {
        return Ok(Done { notes: old.check()?, format: old.format, object: None });
    }
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
