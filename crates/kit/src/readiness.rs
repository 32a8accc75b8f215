//! Is it ready, and if not, why? Pure answers from what an object's status says, with a sentence for people.

mod ground;
mod replicas;
mod run;

pub use replicas::is_stopped;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

/// The answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Readiness {
    /// It is as it should be.
    Ready,
    /// Not yet; this is what it waits for.
    Waiting(String),
    /// It will not become ready by itself; this is why.
    Failed(String),
}

impl Readiness {
    /// Whether it is ready.
    pub fn is_ready(&self) -> bool {
        *self == Self::Ready
    }

    /// The same as a result: the error is why it is not ready.
    pub fn into_result(self) -> Result<(), String> {
        match self {
            Self::Ready => Ok(()),
            Self::Waiting(why) | Self::Failed(why) => Err(why),
        }
    }

    fn waiting(why: impl Into<String>) -> Self {
        Self::Waiting(why.into())
    }

    fn failed(why: impl Into<String>) -> Self {
        Self::Failed(why.into())
    }
}

/// Objects that can be asked: StatefulSet, Deployment, DaemonSet, Job, Pod, PersistentVolumeClaim, Service,
/// CustomResourceDefinition.
pub trait Workload {
    /// The answer.
    fn readiness(&self) -> Readiness;
}

/// Whether `workload` is ready.
pub fn is_ready(workload: &impl Workload) -> bool {
    workload.readiness().is_ready()
}

/// What makes every status worthless: the object is going, or its controller has not seen its spec yet.
fn unsettled(meta: &ObjectMeta, observed_generation: Option<i64>) -> Option<Readiness> {
    if meta.deletion_timestamp.is_some() {
        return Some(Readiness::waiting("it is being deleted"));
    }
    let (generation, observed) = (meta.generation?, observed_generation.unwrap_or_default());
    (observed < generation).then(|| {
        Readiness::waiting(format!(
            "its controller has not seen generation {generation} yet, only {observed}"
        ))
    })
}

/// The reason and the message of a condition, as far as they are there, in one sentence.
fn sentence(reason: Option<&str>, message: Option<&str>) -> String {
    match (reason.filter(|r| !r.is_empty()), message.filter(|m| !m.is_empty())) {
        (Some(reason), Some(message)) => format!("{reason}: {message}"),
        (Some(one), None) | (None, Some(one)) => one.to_owned(),
        (None, None) => "no reason is given".to_owned(),
    }
}

#[cfg(test)]
fn check<K: Workload + serde::de::DeserializeOwned>(cases: &[(&str, serde_json::Value, &str)]) {
    for (name, object, want) in cases {
        let object: K =
            serde_json::from_value(object.clone()).unwrap_or_else(|error| panic!("{name}: {error}"));
        let said = match object.readiness() {
            Readiness::Ready => "ready".to_owned(),
            Readiness::Waiting(why) => format!("waiting: {why}"),
            Readiness::Failed(why) => format!("failed: {why}"),
        };
        assert_eq!(said, *want, "{name}");
    }
}
