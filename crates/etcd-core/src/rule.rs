//! What a rule says about a case, and how its words become an operation on record.

use std::time::Duration;

use etcd_types::{Operation, OperationKind};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use crate::{Serial, Step, Template, Why, case::Case};

/// How often to look at what etcd gives no watch for, while something is under way.
pub(crate) const LOOK: Duration = Duration::from_secs(1);
/// The same, where a moment is all that is waited for: a learner catches up, a port opens.
pub(crate) const SOON: Duration = Duration::from_millis(300);

/// What a rule says.
#[expect(clippy::large_enum_variant, reason = "there is one at a time, for a moment")]
pub(crate) enum Verdict {
    /// Nothing for me.
    Pass,
    /// Nothing yet; look again then.
    Later(Duration, String),
    /// This, and no rule after me.
    Do(Deed),
}

/// What is to be done, or waited for.
#[derive(Debug, Clone)]
pub(crate) struct Deed {
    pub(crate) kind: OperationKind,
    /// What it leads to.
    pub(crate) target: String,
    /// Whom it is about now.
    pub(crate) member: Option<Serial>,
    /// What is being done, in a word or two.
    pub(crate) doing: &'static str,
    pub(crate) message: Option<String>,
    pub(crate) step: Option<Step>,
    /// The template of the one member whose turn it is.
    pub(crate) template: Option<(Serial, Template)>,
    pub(crate) wake: Option<(Duration, String)>,
    /// Why it does not go on, if it does not.
    pub(crate) stuck: Option<Why>,
}

impl Deed {
    pub(crate) fn new(kind: OperationKind, target: impl Into<String>, doing: &'static str) -> Self {
        let (target, member, message, step) = (target.into(), None, None, None);
        Self { kind, target, member, doing, message, step, template: None, wake: None, stuck: None }
    }

    pub(crate) fn about(self, member: Serial) -> Self {
        Self { member: Some(member), ..self }
    }

    pub(crate) fn saying(self, message: impl Into<String>) -> Self {
        Self { message: Some(message.into()), ..self }
    }

    pub(crate) fn step(self, step: Step) -> Self {
        Self { step: Some(step), ..self }
    }

    pub(crate) fn made_from(self, serial: Serial, template: Template) -> Self {
        Self { template: Some((serial, template)), ..self }
    }

    /// It waits for something that no watch tells of.
    pub(crate) fn look_again(self, after: Duration, what: impl Into<String>) -> Self {
        Self { wake: Some((after, what.into())), ..self }
    }

    pub(crate) fn stuck(self, why: Why) -> Self {
        Self { stuck: Some(why), ..self }
    }

    /// Whether the status on the server has this on record, so that its step may be taken.
    pub(crate) fn is_on_record(&self, case: &Case<'_>) -> bool {
        let Some(known) = &case.picture.status.operation else { return false };
        let same = known.kind == self.kind && known.target == self.target;
        // A number is on record, in both places, before etcd hears of it: then it is never given twice.
        let given = match &self.step {
            Some(Step::AddLearner { serial, .. }) => {
                let latched =
                    case.picture.latch.as_ref().is_some_and(|latch| latch.latest_serial >= serial.0);
                latched && known.member.as_ref() == Some(&case.name(*serial))
            }
            _ => true,
        };
        same && given
    }

    /// As the status is to say it. Times go on from what is on record.
    pub(crate) fn operation(&self, case: &Case<'_>) -> Operation {
        let known = case.picture.status.operation.as_ref();
        let same = known.filter(|known| known.kind == self.kind && known.target == self.target);
        let member = self.member.map(|serial| case.name(serial));
        let same_step = same.filter(|known| known.step == self.doing && known.member == member);
        Operation {
            kind: self.kind,
            target: self.target.clone(),
            step: self.doing.to_owned(),
            member,
            started_at: same.map_or(Time(case.now), |known| known.started_at.clone()),
            step_started_at: same_step.map_or(Time(case.now), |known| known.step_started_at.clone()),
            message: self.message.clone(),
        }
    }
}

/// The operation on record, if it is one of these kinds: what is under way keeps its name until it is done.
pub(crate) fn on_record<'a>(case: &'a Case<'_>, kinds: &[OperationKind]) -> Option<&'a Operation> {
    case.picture.status.operation.as_ref().filter(|operation| kinds.contains(&operation.kind))
}
