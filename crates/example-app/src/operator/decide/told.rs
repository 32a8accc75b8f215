//! Plans as tests tell them.

use std::fmt;

use k8s_openapi::api::{apps::v1::Deployment, batch::v1::CronJob};
use kube::ResourceExt as _;

use super::{News, Plan, Refusal, Task, version_of};

/// What would be done, a line each.
impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Apply(wish) => {
                write!(f, "apply {} {}", wish.kind(), wish.name())?;
                if let Some(it) = wish.of::<Deployment>() {
                    let version = version_of(it).unwrap_or_default();
                    write!(f, ": {version} x {}", it.spec.replicas.unwrap_or(1))?;
                }
                let suspended = wish.of::<CronJob>().is_some_and(|it| it.spec.suspend == Some(true));
                f.write_str(if suspended { ", suspended" } else { "" })
            }
            Self::Password(it) => write!(f, "create Secret {} with a new password", it.name_any()),
            Self::Unschedule => f.write_str("no CronJob"),
            Self::Run(it) => write!(f, "run Job {}", it.name_any()),
            Self::RunAlone(it) => write!(f, "run Job {}, alone on the volume", it.name_any()),
        }
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Refusal { field, why } in &self.refused {
            writeln!(f, "refuse {field}: {why}")?;
        }
        match &self.news {
            Some(News::Began(it)) => writeln!(f, "begin {:?} {} at {:?}", it.kind, it.id, it.step)?,
            Some(News::Succeeded(it)) => writeln!(f, "{:?} {} is done: {}", it.kind, it.id, it.to)?,
            Some(News::Undoing(it)) => {
                writeln!(f, "undo {:?} {}: {}", it.kind, it.id, it.failure.as_deref().unwrap_or_default())?;
            }
            Some(News::GivenUp(it, why)) => writeln!(f, "give up {:?} {}: {why}", it.kind, it.id)?,
            None => {}
        }
        if let (Some(it), false) = (&self.status.operation, matches!(self.news, Some(News::Began(_)))) {
            writeln!(f, "{:?} {}: {:?}", it.kind, it.id, it.step)?;
        }
        self.tasks.iter().try_for_each(|task| writeln!(f, "{task}"))?;
        match self.again {
            Some((after, what)) => writeln!(f, "look again in {} s for {what}", after.as_secs()),
            None => Ok(()),
        }
    }
}
