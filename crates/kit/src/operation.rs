//! Operations: what takes several steps. Each step is written to the status before anything of it is done, so a restarted operator
//! goes on where the one before it was stopped.

use std::{fmt::Debug, time::Duration};

use jiff::Timestamp;
use k8s_openapi::{api::batch::v1::Job, apimachinery::pkg::apis::meta::v1::Time};
use kube::ResourceExt as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Event, Live, Usual};

/// Something that takes several steps.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Operation<K, S> {
    /// What it is.
    pub kind: K,
    /// Which step is being carried out.
    pub step: S,
    /// The version before; nothing for a new instance.
    pub from: Option<String>,
    /// The version that it leads to.
    pub to: String,
    /// Its number: the names of its Jobs are derived from it.
    pub id: i64,
    /// When it began.
    pub started_at: Time,
    /// When the present step began.
    pub step_started_at: Time,
    /// The backup that was made before anything was changed.
    pub safety: Option<String>,
    /// What is wished for: the value of the field that asked for it.
    pub wish: Option<String>,
    /// Why it is being undone.
    pub failure: Option<String>,
}

/// What failed, and why.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Failed {
    /// The version, or the wish.
    pub what: String,
    /// Why.
    pub message: String,
}

/// What becomes of an operation.
#[derive(Debug, Clone, PartialEq)]
pub enum News<K, S> {
    /// It begins.
    Began(Operation<K, S>),
    /// It goes on with its next step.
    Step(Operation<K, S>),
    /// It is undone from here; its `failure` says why.
    Undoing(Operation<K, S>),
    /// It is over, and did what it should.
    Succeeded(Operation<K, S>),
    /// It is over, and did not: this is why. The data belongs to the version that it came `from`.
    GivenUp(Operation<K, S>, String),
}

/// A variant's name, in small letters.
pub fn word(variant: impl Debug) -> String {
    format!("{variant:?}").to_lowercase()
}

/// How many operations there have been, by what is remembered and by the Jobs that are left, should the memory have been lost: a
/// new operation must not take an old Job for its own.
pub fn latest(live: &Live, remembered: Option<i64>) -> i64 {
    let of_job = |job: &Job| {
        let name = job.name_any();
        let mut parts = name.strip_prefix(live.owner().name())?.strip_prefix('-')?.split('-');
        let (_kind, id, _step) = (parts.next()?, parts.next()?, parts.next()?);
        id.parse().ok()
    };
    live.all().filter_map(of_job).max().max(remembered).unwrap_or_default()
}

impl<K: Debug + Copy, S: Debug + Clone> Operation<K, S> {
    /// The name of the Job that carries out `step`, for example `notes-upgrade-3-migrate`: the same for as long as the operation
    /// lasts, and never used again.
    pub fn job(&self, owner: &str, step: &str) -> String {
        format!("{owner}-{}-{}-{step}", word(self.kind), self.id)
    }

    /// The same at another step.
    #[must_use]
    pub fn at(&self, step: S, now: Timestamp) -> Self {
        Self { step, step_started_at: Time(now), ..self.clone() }
    }

    /// How long the present step has left of `limit`; nothing when it is late.
    pub fn left(&self, limit: Duration, now: Timestamp) -> Option<Duration> {
        let passed = now.duration_since(self.step_started_at.0);
        limit.checked_sub(Duration::try_from(passed).unwrap_or_default()).filter(|left| !left.is_zero())
    }
}

impl<K: Debug + Copy, S: Debug + Clone> News<K, S> {
    /// Goes on with `step`, backwards if there is a reason to.
    pub fn step(it: &Operation<K, S>, step: S, undone: Option<String>, now: Timestamp) -> Self {
        match undone {
            None => Self::Step(it.at(step, now)),
            failure => Self::Undoing(Operation { failure, ..it.at(step, now) }),
        }
    }

    /// Kind and result, when it is over.
    pub fn result(&self) -> Option<(K, &'static str)> {
        match self {
            Self::Succeeded(it) => Some((it.kind, "succeeded")),
            Self::GivenUp(it, _) => Some((it.kind, "given-up")),
            Self::Began(_) | Self::Step(_) | Self::Undoing(_) => None,
        }
    }

    /// What to tell about it.
    pub fn event(&self) -> Option<Event> {
        let note = |it: &Operation<K, S>, end: &str| format!("{:?} {} to {} {end}", it.kind, it.id, it.to);
        Some(match self {
            Self::Step(_) => return None,
            Self::Began(it) => Event::normal(Usual::Began, "Begin", note(it, "begins")),
            Self::Succeeded(it) => Event::normal(Usual::Succeeded, "Finish", note(it, "is done")),
            Self::Undoing(it) => {
                let why = it.failure.as_deref().unwrap_or_default();
                Event::warning(Usual::Undone, "Undo", note(it, &format!("is undone: {why}")))
            }
            Self::GivenUp(it, why) => {
                Event::warning(Usual::Undone, "GiveUp", note(it, &format!("was given up: {why}")))
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Key, Kinship};

    const KINSHIP: Kinship = Kinship { owner: "app/instance", ours: &[], suffixes: &[""] };

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[derive(Debug, Clone, Copy, PartialEq)]
    enum Word {
        Upgrade,
        Stop,
        UndoStart,
    }

    fn upgrade() -> Operation<Word, Word> {
        let (started_at, step_started_at) = (Time(at(10)), Time(at(10)));
        let (from, safety, wish, failure) = (Some("1".to_owned()), None, None, None);
        let to = "2".to_owned();
        Operation {
            kind: Word::Upgrade,
            step: Word::Stop,
            from,
            to,
            id: 7,
            started_at,
            step_started_at,
            safety,
            wish,
            failure,
        }
    }

    #[test]
    fn a_number_is_never_used_again_even_if_the_memory_is_lost() {
        let mut live = Live::new::<Job>(&KINSHIP, Key::new("default", "my-notes"));
        assert_eq!((latest(&live, None), latest(&live, Some(3))), (0, 3));
        for name in ["my-notes-upgrade-7-migrate", "my-notes-backup-28374650", "other-upgrade-9-stop"] {
            live.put::<Job>(serde_json::from_value(serde_json::json!({"metadata": {"name": name}})).unwrap());
        }
        assert_eq!((latest(&live, None), latest(&live, Some(8))), (7, 8));
        assert_eq!(upgrade().job("my-notes", "migrate"), "my-notes-upgrade-7-migrate");
    }

    #[test]
    fn a_step_has_its_time_and_an_end_its_result() {
        let limit = Duration::from_secs(60);
        assert_eq!(upgrade().left(limit, at(30)), Some(Duration::from_secs(40)));
        assert_eq!(upgrade().left(limit, at(70)), None);
        let undone = News::step(&upgrade(), Word::UndoStart, Some("no".to_owned()), at(70));
        let News::Undoing(it) = &undone else { panic!("{undone:?}") };
        assert_eq!((it.step, it.left(limit, at(70)), undone.result()), (Word::UndoStart, Some(limit), None));
        assert!(News::step(&upgrade(), Word::Stop, None, at(1)).event().is_none());
        assert!(undone.event().is_some());
        let over = News::GivenUp(upgrade(), "no".to_owned());
        assert_eq!(over.result(), Some((Word::Upgrade, "given-up")));
    }
}
