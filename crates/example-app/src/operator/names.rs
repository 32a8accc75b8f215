//! What the objects of an ExampleApp are called, and by which labels they are found.

use kit::{Key, Kinship, operation::word};
use kube::ResourceExt as _;

use crate::{ExampleApp, Operation, OperationKind, Step};

pub(crate) const KINSHIP: Kinship = Kinship {
    owner: "app.kubernetes.io/instance",
    ours: &[("app.kubernetes.io/name", "example-app"), ("app.kubernetes.io/managed-by", "capstan")],
    suffixes: &["", "-data", "-backup"],
};
/// On the claim: the version whose format the data has. It survives the ExampleApp, as the data does.
pub(crate) const DATA_VERSION: &str = "example-app.appdelivery.cncf.io/version";

/// The parts of an ExampleApp, as the label `component` has them.
pub(crate) const APP: &str = "app";
pub(crate) const BACKUP: &str = "backup";

pub(crate) fn claim(app: &ExampleApp) -> String {
    format!("{}-data", app.name_any())
}

pub(crate) fn secret(app: &ExampleApp) -> String {
    format!("{}-auth", app.name_any())
}

pub(crate) fn schedule(app: &ExampleApp) -> String {
    format!("{}-backup", app.name_any())
}

/// The Job of a step, for example `notes-upgrade-3-migrate`.
pub(crate) fn job(app: &ExampleApp, operation: &Operation, step: Step) -> String {
    let step = if step == Step::UndoData { "undo".to_owned() } else { word(step) };
    operation.job(&app.name_any(), &step)
}

/// Where the backups of an instance are in the bucket.
pub(crate) fn prefix(app: &ExampleApp) -> String {
    format!("{}/", Key::of(app))
}

/// The backup that an operation makes first. What is about to be replaced by an older backup must not become the newest one:
/// it has a prefix of its own.
pub(crate) fn backup_key(app: &ExampleApp, it: &Operation) -> String {
    let replaces = matches!(it.kind, OperationKind::Restore | OperationKind::Remediation);
    let (place, time) =
        (if replaces { "before-restore/" } else { "" }, it.started_at.0.strftime("%Y%m%dT%H%M%SZ"));
    format!("{place}{}{time}-{}-{}.notes", prefix(app), word(it.kind), it.id)
}
