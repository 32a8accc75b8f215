//! What goes wrong between an operator and etcd: at the nth write, or the nth call of all.

use etcd_api::{EtcdError, Refusal};

use super::call::{Call, Made};

/// What befalls one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EtcdFault {
    /// The operator dies; the call was not made.
    CrashBefore,
    /// The operator dies; the call had its effect.
    CrashAfter,
    /// The call has its effect, and the answer is lost.
    Lost,
    /// The call is refused, and has no effect.
    Refused(Refusal),
    /// No effect, and no answer.
    Failed(EtcdError),
}

/// Which call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nth {
    /// Of those that change something.
    Write(usize),
    /// Of all.
    Call(usize),
}

/// Counts calls, and breaks some.
#[derive(Debug, Default)]
pub(super) struct Faults {
    rules: Vec<(Nth, EtcdFault)>,
    made: Vec<Made>,
    writes: usize,
    hits: usize,
}

impl Faults {
    /// Counts from now.
    pub(super) fn plan(&mut self, rules: Vec<(Nth, EtcdFault)>) {
        *self = Self { rules, ..Self::default() };
    }

    pub(super) fn made(&self) -> &[Made] {
        &self.made
    }

    pub(super) fn hits(&self) -> usize {
        self.hits
    }

    /// Records a call; what befalls it.
    pub(super) fn meet(&mut self, url: &str, call: &Call, revision: u64) -> Option<EtcdFault> {
        let (calls, writes) = (self.made.len(), self.writes);
        self.made.push(Made { url: url.to_owned(), call: call.clone(), revision });
        self.writes += usize::from(call.is_write());
        let here = |nth: &Nth| match nth {
            Nth::Write(nth) => call.is_write() && *nth == writes,
            Nth::Call(nth) => *nth == calls,
        };
        let fault = self.rules.iter().find(|(nth, _)| here(nth)).map(|(_, fault)| fault.clone());
        self.hits += usize::from(fault.is_some());
        fault
    }
}
