//! What the objects of an ExampleApp are called, and by which labels they are found.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kit::{Key, Labels};
use kube::{Resource, ResourceExt as _};

use crate::{ExampleApp, Operation, OperationKind, Step};

/// Everything that belongs to some ExampleApp, for watches.
pub(crate) const OURS: &str = "app.kubernetes.io/name=example-app,app.kubernetes.io/managed-by=capstan";
pub(crate) const INSTANCE: &str = "app.kubernetes.io/instance";
pub(crate) const COMPONENT: &str = "app.kubernetes.io/component";
/// On the claim: the version whose format the data has. It survives the ExampleApp, as the data does.
pub(crate) const DATA_VERSION: &str = "example-app.appdelivery.cncf.io/version";

/// The parts of an ExampleApp, as the label `component` has them.
pub(crate) const APP: &str = "app";
pub(crate) const BACKUP: &str = "backup";
pub(crate) const MIGRATE: &str = "migrate";
pub(crate) const RESTORE: &str = "restore";

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
    let step = match step {
        Step::BackUp => "backup",
        Step::Migrate => "migrate",
        Step::Restore => "restore",
        Step::UndoData => "undo",
        Step::Stop | Step::Start | Step::UndoStop | Step::UndoStart => "none",
    };
    format!("{}-{}-{}-{step}", app.name_any(), kind(operation.kind), operation.id)
}

pub(crate) fn kind(kind: OperationKind) -> &'static str {
    match kind {
        OperationKind::Upgrade => "upgrade",
        OperationKind::Restore => "restore",
        OperationKind::Remediation => "remediation",
        OperationKind::Backup => "backup",
    }
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
    format!("{place}{}{time}-{}-{}.notes", prefix(app), kind(operation.kind), operation.id)
}

/// Metadata of an object called `name`, with the recommended labels.
pub(crate) fn meta(app: &ExampleApp, name: String, component: &str) -> ObjectMeta {
    let labels = labels(app, component);
    ObjectMeta { name: Some(name), namespace: app.namespace(), labels: Some(labels), ..ObjectMeta::default() }
}

pub(crate) fn labels(app: &ExampleApp, component: &str) -> std::collections::BTreeMap<String, String> {
    let instance = app.name_any();
    let labels = Labels { name: "example-app", instance: &instance, component, managed_by: "capstan" };
    labels.pairs().into_iter().map(|(label, value)| (label.to_owned(), value.to_owned())).collect()
}

/// Whether this operator made `object` for `app`, or would make the same again: an object without a controller that carries
/// our labels is what a deleted ExampleApp of the same name left behind.
pub(crate) fn is_ours(app: &ExampleApp, object: &impl Resource<DynamicType = ()>) -> bool {
    let owner = object.owner_references().iter().find(|owner| owner.controller == Some(true));
    match owner {
        Some(owner) => owner.kind == "ExampleApp" && owner.name == app.name_any(),
        None => {
            let ours = labels(app, "");
            let same = |label: &str| object.labels().get(label) == ours.get(label);
            same(INSTANCE) && same("app.kubernetes.io/managed-by")
        }
    }
}
