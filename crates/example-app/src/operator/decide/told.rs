//! Plans as tests tell them.

use std::fmt;

use k8s_openapi::api::{apps::v1::Deployment, batch::v1::CronJob};
use kit::Task;

use super::{News, Plan};
use crate::operator::observe::version_of;

/// What would be done, and of what matters most how.
fn told(task: &Task) -> String {
    let deployment = task.applies::<Deployment>().map(|it| {
        let version = version_of(it).unwrap_or_default();
        format!(": {version} x {}", it.spec.replicas.unwrap_or(1))
    });
    let is_suspended = task.applies::<CronJob>().is_some_and(|it| it.spec.suspend == Some(true));
    let schedule = is_suspended.then(|| ", suspended".to_owned());
    format!("{task}{}", deployment.or(schedule).unwrap_or_default())
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for refusal in self.refused.all() {
            writeln!(f, "refuse {refusal}")?;
        }
        match &self.news {
            Some(News::Began(it)) => writeln!(f, "begin {:?} {} at {:?}", it.kind, it.id, it.step)?,
            Some(News::Succeeded(it)) => writeln!(f, "{:?} {} is done: {}", it.kind, it.id, it.to)?,
            Some(News::Undoing(it)) => {
                writeln!(f, "undo {:?} {}: {}", it.kind, it.id, it.failure.as_deref().unwrap_or_default())?;
            }
            Some(News::GivenUp(it, why)) => writeln!(f, "give up {:?} {}: {why}", it.kind, it.id)?,
            Some(News::Step(_)) | None => {}
        }
        if let (Some(it), false) = (&self.status.operation, matches!(self.news, Some(News::Began(_)))) {
            writeln!(f, "{:?} {}: {:?}", it.kind, it.id, it.step)?;
        }
        self.tasks.iter().try_for_each(|task| writeln!(f, "{}", told(task)))?;
        match self.again {
            Some((after, what)) => writeln!(f, "look again in {} s for {what}", after.as_secs()),
            None => Ok(()),
        }
    }
}
