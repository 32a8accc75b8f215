//! The shape of a reconcile: observe, decide, act, report.

use std::{borrow::Cow, future::Future, time::Duration};

use jiff::Timestamp;

use crate::{Context, Error, Key, Result, Row, access::Access};

/// What an operator knows, in four steps. The kit calls them in this order, never twice at once for the same object.
pub trait Reconciler: Send + Sync + 'static {
    /// The kind that this reconciler is about.
    type Kind: Row;
    /// One immutable picture of the object and everything that the decision depends on.
    type Picture: Send + Sync;
    /// What to do about it, as data.
    type Plan: Send + Sync;

    /// The controller's name, in metrics, logs and the field manager.
    const NAME: &'static str;

    /// Builds the picture from caches and quick reads. It is called for an object that is gone, too: the picture then says so.
    fn observe(&self, cx: &Context, key: &Key) -> impl Future<Output = Result<Self::Picture>> + Send;

    /// Decides, without I/O: the same picture and time give the same plan.
    fn decide(&self, picture: &Self::Picture, now: Timestamp) -> Self::Plan;

    /// Carries the plan out.
    fn act(&self, cx: &Context, plan: &Self::Plan) -> impl Future<Output = Result<()>> + Send;

    /// Writes status and events, and says what is next. It is called whatever became of `act`.
    fn report(
        &self,
        cx: &Context,
        picture: &Self::Picture,
        plan: &Self::Plan,
        acted: Acted,
    ) -> impl Future<Output = Outcome> + Send;

    /// What it does to the API server besides watching: the source of its RBAC.
    fn access() -> Vec<Access>;

    /// Whether the user asked to leave this object alone. `act` is skipped then; status goes on.
    fn paused(&self, picture: &Self::Picture) -> bool {
        let _ = picture;
        false
    }
}

/// What became of the plan.
#[derive(Debug)]
pub enum Acted {
    /// All of it was carried out.
    Done,
    /// It failed on the way.
    Failed(Error),
    /// Nothing was tried: the object is paused.
    Paused,
}

/// How a reconcile ended.
#[derive(Debug)]
pub enum Outcome {
    /// Nothing is left to do until something changes.
    Done,
    /// Something must happen elsewhere first. Not an error.
    Wait {
        /// What is waited for, for people.
        reason: Cow<'static, str>,
        /// When to look again, if nothing changes before.
        after: Duration,
    },
    /// It failed; try again, later each time.
    Retry(Error),
    /// It failed, and trying again is useless until the object changes.
    Terminal(Error),
}

impl Outcome {
    /// Waiting for `reason`, looking again after `after`.
    pub fn wait(reason: impl Into<Cow<'static, str>>, after: Duration) -> Self {
        Self::Wait { reason: reason.into(), after }
    }
}

impl Acted {
    /// The same as [`outcome`](Self::outcome), but what is done is looked at again, if `again` says when and what for.
    pub fn outcome_or_wait(self, again: Option<(Duration, impl Into<Cow<'static, str>>)>) -> Outcome {
        match (self, again) {
            (Self::Done, Some((after, reason))) => Outcome::wait(reason, after),
            (acted, _) => acted.outcome(),
        }
    }

    /// The usual end of a report: done, or try again.
    pub fn outcome(self) -> Outcome {
        match self {
            Self::Done | Self::Paused => Outcome::Done,
            Self::Failed(error @ Error::Invalid(_)) => Outcome::Terminal(error),
            Self::Failed(error) if error.is_of_terminating_namespace() => {
                Outcome::wait("the end of its namespace", Duration::from_secs(30))
            }
            Self::Failed(error) => Outcome::Retry(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Secret;
    use kube::core::{Status, response::StatusCause, response::StatusDetails};

    use super::*;
    use crate::KindId;

    #[test]
    fn what_is_done_may_be_looked_at_again_and_what_failed_is_retried() {
        let again = Some((Duration::from_secs(5), "its load"));
        assert!(matches!(Acted::Done.outcome_or_wait(again), Outcome::Wait { .. }));
        assert!(matches!(Acted::Done.outcome_or_wait(None::<(Duration, &str)>), Outcome::Done));
        assert!(matches!(Acted::Paused.outcome_or_wait(again), Outcome::Done));
        assert!(matches!(Acted::Failed(Error::other("no")).outcome_or_wait(again), Outcome::Retry(_)));
    }

    #[test]
    fn an_object_whose_namespace_goes_is_waited_for_not_retried() {
        let cause = StatusCause {
            reason: "NamespaceTerminating".into(),
            message: "namespace demo is being terminated".into(),
            field: "metadata.namespace".into(),
        };
        let none = String::new;
        let details = StatusDetails {
            name: none(),
            group: none(),
            kind: none(),
            uid: none(),
            causes: vec![cause],
            retry_after_seconds: 0,
        };
        let status = Status::failure("forbidden", "Forbidden").with_code(403).with_details(details);
        let error = Error::api(
            "apply",
            KindId::of::<Secret>(),
            Key::new("demo", "a"),
            kube::Error::Api(status.boxed()),
        );
        assert!(matches!(Acted::Failed(error).outcome(), Outcome::Wait { .. }));
    }
}
