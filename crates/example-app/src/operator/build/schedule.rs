//! The CronJob for backups: Kubernetes makes them at their time, with or without this operator.

use k8s_openapi::{
    api::batch::v1::{CronJob, CronJobSpec, JobTemplateSpec},
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};

use super::{job, owned};
use crate::operator::{decide::spec::Wanted, names, observe::World};

/// Nothing when no backups are wanted. While an operation works on the data it is suspended.
pub(crate) fn schedule(world: &World, wanted: &Wanted, suspend: bool) -> Option<CronJob> {
    let app = &*world.app;
    let when = wanted.schedule.clone()?;
    let backup = app.spec.backup.as_ref().filter(|backup| backup.enabled)?;
    let arguments = ["--prefix".to_owned(), names::prefix(app)];
    let template = JobTemplateSpec {
        metadata: Some(ObjectMeta {
            labels: Some(names::labels(app, names::BACKUP)),
            ..ObjectMeta::default()
        }),
        spec: Some(job::spec(world, names::BACKUP, job::stored(backup, "backup", arguments))),
    };
    let schedule = CronJob {
        metadata: names::meta(app, names::schedule(app), names::BACKUP),
        spec: CronJobSpec {
            schedule: when,
            suspend: Some(suspend),
            concurrency_policy: Some("Forbid".to_owned()),
            // One that was missed is made up for, unless it is older than this.
            starting_deadline_seconds: Some(3600),
            successful_jobs_history_limit: Some(3),
            failed_jobs_history_limit: Some(3),
            time_zone: Some("Etc/UTC".to_owned()),
            job_template: template,
        },
        status: None,
    };
    Some(owned(schedule, app))
}
