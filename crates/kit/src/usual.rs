//! The usual: reasons and conditions that most operators have, in the same words.

use std::fmt;

use crate::Condition;

crate::reasons! {
    /// The usual reasons of conditions and events.
    pub enum Usual {
        /// All pods serve.
        AllReady,
        /// Pods are missing; the message says what they wait for.
        NotReady,
        /// Nothing is being changed.
        Settled,
        /// An operation is being carried out; status.operation has its step.
        Operating,
        /// Pods are being replaced or added.
        RollingOut,
        /// The spec can be carried out.
        Valid,
        /// A field of the spec cannot be carried out; the message names it, and what to set instead. What runs stays as it is.
        Refused,
        /// An object of this name belongs to somebody else; the message names it, and what to do.
        NotOurs,
        /// Nothing is wrong.
        Healthy,
        /// Something could not be done; it is tried again.
        ActFailed,
        /// The data is corrupt; the message says how to get a backup back.
        DataCorrupt,
        /// An upgrade failed, and the version before runs again.
        UpgradeFailed,
        /// A restore failed; the data is what it was.
        RestoreFailed,
        /// The last backup is in the store.
        BackupDone,
        /// The last backup failed; the message has what the store said.
        BackupFailed,
        /// There has been no backup yet.
        NoBackupYet,
        /// An operation begins.
        Began,
        /// An operation has ended well.
        Succeeded,
        /// An operation is being undone, or was given up.
        Undone,
    }
}

/// A field that cannot be carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The field.
    pub field: &'static str,
    /// Why, and what to set instead.
    pub why: String,
    /// [`Usual::Refused`], or [`Usual::NotOurs`].
    pub reason: Usual,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.why)
    }
}

/// What of a spec cannot be carried out, field by field; what was in force before stays in force.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Refusals(Vec<Refusal>);

impl Refusals {
    /// What is in force of `field`; a reason why that is not what the field says is noted.
    pub fn judged<T>(&mut self, field: &'static str, (in_force, why): (T, Option<String>)) -> T {
        self.0.extend(why.map(|why| Refusal { field, why, reason: Usual::Refused }));
        in_force
    }

    /// Notes that an object belongs to somebody else; `field` would change that.
    pub fn not_ours(&mut self, field: &'static str, why: String) {
        self.0.push(Refusal { field, why, reason: Usual::NotOurs });
    }

    /// Whether an object belongs to somebody else.
    pub fn is_blocked(&self) -> bool {
        self.0.iter().any(|refusal| refusal.reason == Usual::NotOurs)
    }

    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = &Refusal> {
        self.0.iter()
    }
}

/// How an object that runs pods stands.
#[derive(Debug)]
pub struct Standing<'a> {
    /// How many pods serve.
    pub ready: i32,
    /// Whether all pods are as they should be.
    pub is_settled: bool,
    /// Whether an operation is under way.
    pub is_operating: bool,
    /// What cannot be carried out.
    pub refused: &'a Refusals,
    /// What is wrong, if anything is.
    pub trouble: Option<(Usual, String)>,
    /// What is going on, as a sentence.
    pub message: &'a str,
}

impl Standing<'_> {
    /// `Available`, `Progressing`, `Accepted` and `Degraded`.
    pub fn conditions(self) -> [Condition; 4] {
        let Self { ready, is_settled, is_operating, refused, trouble, message } = self;
        let available = match ready {
            0 => Condition::new("Available", false, Usual::NotReady, message),
            _ => Condition::new("Available", true, Usual::AllReady, format!("{ready} pods serve")),
        };
        let progressing = match (is_operating, is_settled) {
            (true, _) => Condition::new("Progressing", true, Usual::Operating, message),
            (false, false) => Condition::new("Progressing", true, Usual::RollingOut, message),
            (false, true) => Condition::new("Progressing", false, Usual::Settled, "nothing is being changed"),
        };
        let accepted = match refused.all().next() {
            Some(refusal) => Condition::new("Accepted", false, refusal.reason, refusal.to_string()),
            None => Condition::new("Accepted", true, Usual::Valid, "the spec can be carried out"),
        };
        let degraded = match trouble {
            Some((why, message)) => Condition::new("Degraded", true, why, message),
            None => Condition::new("Degraded", false, Usual::Healthy, "nothing is wrong"),
        };
        [available, progressing, accepted, degraded]
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::Conditions;

    fn told(standing: Standing<'_>) -> Vec<String> {
        let mut conditions = Conditions::from_live(&[], Some(1), Timestamp::UNIX_EPOCH);
        conditions.set_all(standing.conditions());
        let tell = |c: &k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition| {
            format!("{}={} {}: {}", c.type_, c.status, c.reason, c.message)
        };
        conditions.into_vec().iter().map(tell).collect()
    }

    #[test]
    fn the_usual_conditions_say_what_is_the_case_and_why() {
        let mut refused = Refusals::default();
        let well = Standing {
            ready: 2,
            is_settled: true,
            is_operating: false,
            refused: &refused,
            trouble: None,
            message: "",
        };
        let well = told(well);
        assert_eq!(
            well,
            [
                "Available=True AllReady: 2 pods serve",
                "Progressing=False Settled: nothing is being changed",
                "Accepted=True Valid: the spec can be carried out",
                "Degraded=False Healthy: nothing is wrong"
            ]
        );
        assert_eq!(refused.judged("spec.size", (3, Some("no".to_owned()))), 3);
        assert!(!refused.is_blocked());
        let trouble = Some((Usual::ActFailed, "timeout".to_owned()));
        let ill = Standing {
            ready: 0,
            is_settled: false,
            is_operating: true,
            refused: &refused,
            trouble,
            message: "it stops",
        };
        assert_eq!(
            told(ill),
            [
                "Available=False NotReady: it stops",
                "Progressing=True Operating: it stops",
                "Accepted=False Refused: spec.size: no",
                "Degraded=True ActFailed: timeout"
            ]
        );
        refused.not_ours("spec.takeOwnership", "db exists".to_owned());
        assert!(refused.is_blocked());
    }
}
