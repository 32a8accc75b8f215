//! Conditions: what is (not) the case with an object, since when, and why.
//!
//! Invariants: `lastTransitionTime` moves only when the status flips; the order does not change; what others wrote stays.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition as ApiCondition, Time};

use crate::Reason;

/// The API's limit on the message.
const MAX_MESSAGE: usize = 32 * 1024;
const CUT: &str = "…";

/// Whether it is the case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Truth {
    /// It is.
    True,
    /// It is not.
    False,
    /// We cannot tell.
    Unknown,
}

impl Truth {
    /// As the API has it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        }
    }
}

impl From<bool> for Truth {
    fn from(is: bool) -> Self {
        if is { Self::True } else { Self::False }
    }
}

/// What an operator finds to be (not) the case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    kind: &'static str,
    status: Truth,
    reason: &'static str,
    message: String,
}

impl Condition {
    /// The condition `kind`, for example `Ready`. `message` is a sentence for people.
    pub fn new(
        kind: &'static str,
        status: impl Into<Truth>,
        reason: impl Reason,
        message: impl Into<String>,
    ) -> Self {
        Self { kind, status: status.into(), reason: reason.as_str(), message: bounded(message.into()) }
    }
}

/// The conditions of one object, as they will be written.
#[derive(Debug, Clone, PartialEq)]
pub struct Conditions {
    conditions: Vec<ApiCondition>,
    generation: Option<i64>,
    now: Timestamp,
}

impl Conditions {
    /// Starts from what the object's status has. `generation` is that of the spec that was looked at.
    pub fn from_live(live: &[ApiCondition], generation: Option<i64>, now: Timestamp) -> Self {
        Self { conditions: live.to_vec(), generation, now }
    }

    /// Sets one. It keeps its place, and its time unless it flips.
    pub fn set(&mut self, condition: Condition) -> &mut Self {
        let Condition { kind, status, reason, message } = condition;
        self.put(kind, status, reason, message)
    }

    /// Sets several.
    pub fn set_all(&mut self, conditions: impl IntoIterator<Item = Condition>) -> &mut Self {
        for condition in conditions {
            self.set(condition);
        }
        self
    }

    /// Takes one away that no longer applies.
    pub fn remove(&mut self, kind: &str) -> &mut Self {
        self.conditions.retain(|known| known.type_ != kind);
        self
    }

    /// One of them.
    pub fn get(&self, kind: &str) -> Option<&ApiCondition> {
        self.conditions.iter().find(|known| known.type_ == kind)
    }

    /// As the API has them.
    pub fn into_vec(self) -> Vec<ApiCondition> {
        self.conditions
    }

    fn put(&mut self, kind: &str, status: Truth, reason: &str, message: String) -> &mut Self {
        let mut fresh = ApiCondition {
            type_: kind.to_owned(),
            status: status.as_str().to_owned(),
            reason: reason.to_owned(),
            message,
            observed_generation: self.generation,
            last_transition_time: Time(self.now),
        };
        match self.conditions.iter_mut().find(|known| known.type_ == kind) {
            Some(known) => {
                if known.status == fresh.status {
                    fresh.last_transition_time = known.last_transition_time.clone();
                }
                *known = fresh;
            }
            None => self.conditions.push(fresh),
        }
        self
    }
}

fn bounded(mut message: String) -> String {
    if message.len() > MAX_MESSAGE {
        message.truncate(message.floor_char_boundary(MAX_MESSAGE - CUT.len()));
        message.push_str(CUT);
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    crate::reasons! {
        /// For these tests.
        enum Why {
            /// It answers.
            Answers,
            /// It does not.
            Silent,
        }
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn shown(conditions: &Conditions) -> Vec<String> {
        let show = |c: &ApiCondition| {
            let (since, generation) =
                (c.last_transition_time.0.as_second(), c.observed_generation.unwrap_or(-1));
            format!("{}={} {} since {since} gen {generation}: {}", c.type_, c.status, c.reason, c.message)
        };
        conditions.conditions.iter().map(show).collect()
    }

    #[test]
    fn time_moves_only_on_a_flip_and_order_stays() {
        let mut first = Conditions::from_live(&[], Some(1), at(10));
        first.set(Condition::new("Up", true, Why::Answers, "it answers")).set(Condition::new(
            "Fast",
            false,
            Why::Silent,
            "no answer",
        ));
        let mut second = Conditions::from_live(&first.into_vec(), Some(2), at(20));
        second.set(Condition::new("Fast", true, Why::Answers, "it answers")).set(Condition::new(
            "Up",
            true,
            Why::Answers,
            "it answers quickly",
        ));
        assert_eq!(
            shown(&second),
            [
                "Up=True Answers since 10 gen 2: it answers quickly",
                "Fast=True Answers since 20 gen 2: it answers"
            ]
        );
        second.remove("Up");
        assert_eq!(shown(&second), ["Fast=True Answers since 20 gen 2: it answers"]);
    }

    #[test]
    fn what_others_wrote_stays_untouched() {
        let json = r#"{"type": "theirs/Checked", "status": "Maybe", "reason": "", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}"#;
        let foreign: ApiCondition = serde_json::from_str(json).unwrap();
        let mut conditions = Conditions::from_live(std::slice::from_ref(&foreign), Some(7), at(10));
        conditions.set(Condition::new("Up", Truth::Unknown, Why::Silent, ""));
        assert_eq!(conditions.into_vec()[0], foreign);
    }

    #[test]
    fn a_message_is_cut_between_characters() {
        let condition = Condition::new("Up", true, Why::Answers, "ä".repeat(MAX_MESSAGE));
        assert!(condition.message.len() <= MAX_MESSAGE && condition.message.len() > MAX_MESSAGE - 4);
        assert!(condition.message.ends_with("ä…"));
    }
}
