//! What the objects of an ExampleApp are called, and by which labels they are found.

use std::{collections::BTreeMap, fmt::Debug};

use kit::{Key, Kinship, kinds::ObjectMeta};
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

/// The Job of a step, for example `notes-upgrade-3-migrate`: the same for as long as the operation lasts, and never used again.
pub(crate) fn job(app: &ExampleApp, operation: &Operation, step: Step) -> String {
    let step = if step == Step::UndoData { "undo".to_owned() } else { word(step) };
    format!("{}-{}-{}-{step}", app.name_any(), word(operation.kind), operation.id)
}

/// A variant's name, in small letters.
pub(crate) fn word(variant: impl Debug) -> String {
    format!("{variant:?}").to_lowercase()
}

/// Where the backups of an instance are in the bucket.
pub(crate) fn prefix(app: &ExampleApp) -> String {
    format!("{}/", Key::of(app))
}

/// The backup that an operation makes first. What is about to be replaced by an older backup must not become the newest one:
/// it has a prefix of its own.
pub(crate) fn backup_key(app: &ExampleApp, operation: &Operation) -> String {
    let time = operation.started_at.0.strftime("%Y%m%dT%H%M%SZ");
    let place = match operation.kind {
        OperationKind::Restore | OperationKind::Remediation => "before-restore/",
        OperationKind::Upgrade | OperationKind::Backup => "",
    };
    format!("{place}{}{time}-{}-{}.notes", prefix(app), word(operation.kind), operation.id)
}

/// Metadata of an object called `name`, with the recommended labels.
pub(crate) fn meta(app: &ExampleApp, name: String, component: &str) -> ObjectMeta {
    KINSHIP.meta(app, name, component)
}

pub(crate) fn labels(app: &ExampleApp, component: &str) -> BTreeMap<String, String> {
    KINSHIP.labels(&app.name_any(), component)
}
