//! The backup before another version (`spec.updateStrategy.backup`): no member is touched before an EtcdBackup of its own is completed.
//!
//! Invariant: it counts only if it was made for this operation. One that an earlier try has left behind is made anew.

use etcd_types::BackupPhase;

use crate::{
    Step, UpgradeBackup, Version, Why,
    case::Case,
    rule::{Deed, Verdict, on_record},
};

const BACKING_UP: &str = "BackingUp";

/// What keeps the first member from moving to `version`; nothing when the way is free.
pub(crate) fn backup(case: &Case<'_>, deed: &Deed, version: Version) -> Option<Verdict> {
    let store = case.wanted.update.backup.clone()?;
    let name = case.names.backup_before(version);
    let deed = Deed { doing: BACKING_UP, ..deed.clone() };
    let waits = deed.clone().saying(format!("waits for the EtcdBackup {name}"));
    let Some(known) = on_record(case, &[deed.kind]).filter(|known| known.target == deed.target) else {
        return Some(Verdict::Do(waits));
    };
    let made = case.picture.upgrade_backup.as_ref().filter(|made| made.name == name);
    let Some(made) = made else {
        return Some(Verdict::Do(waits.step(Step::TakeBackup { name, store })));
    };
    if made.cluster != case.picture.cluster.name {
        let why =
            format!("the EtcdBackup {name} is of {}: delete it, so that one can be taken", made.cluster);
        return Some(Verdict::Do(deed.saying(why).stuck(Why::BackupFailed)));
    }
    if made.deleting {
        return Some(Verdict::Do(
            deed.saying(format!("the EtcdBackup {name} is being deleted; then another one is taken")),
        ));
    }
    if made.created < known.started_at.0 {
        let why = "it is of an earlier try, and what was stored stays".to_owned();
        return Some(Verdict::Do(waits.step(Step::DeleteBackup { name, uid: made.uid.clone(), why })));
    }
    match made.phase {
        Some(BackupPhase::Completed) => None,
        Some(BackupPhase::Failed) => {
            Some(Verdict::Do(deed.saying(failed(case, made)).stuck(Why::BackupFailed)))
        }
        Some(BackupPhase::Pending | BackupPhase::Running) | None => {
            let said = made.message.as_deref().map_or_else(String::new, |said| format!(": {said}"));
            Some(Verdict::Do(deed.saying(format!("waits for the EtcdBackup {name}{said}"))))
        }
    }
}

fn failed(case: &Case<'_>, made: &UpgradeBackup) -> String {
    let why = made.message.as_deref().unwrap_or("it does not say why");
    let back = case.lowest_version().map(|version| format!(", or set spec.version back to {version}"));
    format!(
        "the EtcdBackup {} has failed: {}. No member was touched: delete it to try again{}",
        made.name,
        why.trim_end_matches('.'),
        back.unwrap_or_default()
    )
}
