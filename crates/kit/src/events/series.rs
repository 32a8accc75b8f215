//! Which events are worth a request: repetitions become a series, floods are cut off.
//!
//! A repetition is counted for ever but told at once only while its object has tokens; what was counted and not told is told
//! when the series ends.

use std::{collections::HashMap, time::Duration};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use tokio::time::Instant;

use super::{
    Severity, Told,
    bucket::{Bucket, Rate},
};
use crate::fingerprint::Fingerprint;

/// Per object, as client-go's spam filter has it: 25 at once, then one in five minutes.
const PER_OBJECT: Rate = Rate { burst: 25, every: Duration::from_secs(300) };
/// For the whole operator: a restart over thousands of sick objects must not drown the server.
const OVERALL: Rate = Rate { burst: 200, every: Duration::from_millis(100) };
/// A series ends when nothing was added to it for this long, as in client-go.
const ENDS_AFTER: Duration = Duration::from_secs(6 * 60);
/// How much is remembered. Beyond it the series that was quiet for longest is forgotten.
const MAX_SERIES: usize = 4096;

/// What makes two events the same. The note is part of it: "member 1 is down" does not hide "member 2 is down".
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Identity {
    severity: Severity,
    reason: &'static str,
    action: &'static str,
    regarding: u64,
    related: u64,
    note: u64,
}

impl Identity {
    pub(super) fn of(told: &Told) -> Self {
        let event = &told.event;
        Self {
            severity: event.severity,
            reason: event.reason,
            action: event.action,
            regarding: object(&told.regarding),
            related: event.related.as_ref().map_or(0, object),
            note: Fingerprint::of(event.note.as_bytes()),
        }
    }
}

fn object(reference: &ObjectReference) -> u64 {
    let text = |part: &Option<String>| part.clone().unwrap_or_default();
    let parts = [&reference.uid, &reference.kind, &reference.namespace, &reference.name].map(text);
    Fingerprint::of(parts.join("\0").as_bytes())
}

/// What to do about an event.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// It is new: create it.
    Create,
    /// It is known: count up the series of the one that exists.
    Repeat(Repeat),
    /// It was counted, and will be told later.
    Counted,
    /// It is one too many.
    Drop(&'static str),
}

/// The event whose series goes on, and how far it got.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Repeat {
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) count: i32,
    pub(super) last: Timestamp,
}

#[derive(Debug)]
struct Series {
    repeat: Repeat,
    /// How many of `repeat.count` the server knows of.
    written: i32,
    seen: Instant,
}

/// What was told lately.
#[derive(Debug)]
pub(super) struct Ledger {
    series: HashMap<Identity, Series>,
    objects: HashMap<u64, Bucket>,
    overall: Bucket,
}

impl Ledger {
    pub(super) fn new(now: Instant) -> Self {
        Self { series: HashMap::new(), objects: HashMap::new(), overall: Bucket::full(OVERALL, now) }
    }

    /// Decides about `told`. After [`Step::Create`] the caller says with [`Self::created`] what became of it.
    pub(super) fn step(&mut self, identity: &Identity, told: &Told, now: Instant) -> Step {
        let allowed = self.allowed(identity.regarding, now);
        match self.series.get_mut(identity) {
            Some(series) if now.saturating_duration_since(series.seen) < ENDS_AFTER => {
                series.repeat.count = series.repeat.count.saturating_add(1);
                series.repeat.last = told.at;
                series.seen = now;
                if allowed.is_err() {
                    return Step::Counted;
                }
                series.written = series.repeat.count;
                Step::Repeat(series.repeat.clone())
            }
            _ => match allowed {
                Ok(()) => Step::Create,
                Err(why) => Step::Drop(why),
            },
        }
    }

    /// The event is on the server under this name: from now on it has a series.
    pub(super) fn created(
        &mut self,
        identity: Identity,
        namespace: String,
        name: String,
        at: Timestamp,
        now: Instant,
    ) {
        if self.series.len() >= MAX_SERIES
            && let Some(quietest) = self.series.iter().min_by_key(|(_, s)| s.seen).map(|(id, _)| id.clone())
        {
            self.series.remove(&quietest);
        }
        let repeat = Repeat { namespace, name, count: 1, last: at };
        self.series.insert(identity, Series { repeat, written: 1, seen: now });
    }

    /// The server has lost the event (they live for an hour): the next one starts anew.
    pub(super) fn forget(&mut self, identity: &Identity) {
        self.series.remove(identity);
    }

    /// When the next series ends.
    pub(super) fn next_end(&self) -> Option<Instant> {
        self.series.values().map(|series| series.seen + ENDS_AFTER).min()
    }

    /// Drops the series that ended, and yields those of which the server does not know all.
    pub(super) fn ended(&mut self, now: Instant) -> Vec<Repeat> {
        self.objects.retain(|_, bucket| !bucket.is_full(now));
        self.series
            .extract_if(|_, series| now.saturating_duration_since(series.seen) >= ENDS_AFTER)
            .filter_map(|(_, series)| series.untold())
            .collect()
    }

    /// All series of which the server does not know all: for the end of the process.
    pub(super) fn untold(&mut self) -> Vec<Repeat> {
        std::mem::take(&mut self.series).into_values().filter_map(Series::untold).collect()
    }

    fn allowed(&mut self, object: u64, now: Instant) -> Result<(), &'static str> {
        let bucket = self.objects.entry(object).or_insert_with(|| Bucket::full(PER_OBJECT, now));
        if !bucket.take(now) {
            return Err("object-limit");
        }
        if !self.overall.take(now) {
            return Err("overall-limit");
        }
        Ok(())
    }
}

impl Series {
    fn untold(self) -> Option<Repeat> {
        (self.written < self.repeat.count).then_some(self.repeat)
    }
}
