//! A campaign: a scenario with every fault at every place, each run compared with the one without faults.

use std::collections::BTreeSet;

use apiserver::CrashPoint;

use crate::{AtCall, Injected, NoSuchFault, Run, Scenario, run};

const POINTS: [CrashPoint; 3] = [CrashPoint::Before, CrashPoint::AfterCommit, CrashPoint::AfterResponse];
const AT_ETCD_WRITES: [AtCall; 4] = [AtCall::CrashBefore, AtCall::CrashAfter, AtCall::Lost, AtCall::Refused];
const AT_ETCD_READS: [AtCall; 2] = [AtCall::Silent, AtCall::Crash];
const REFUSALS: [u16; 4] = [409, 429, 500, 503];

/// How much of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// Every crash at every write, every lost answer, every stale revision; the same at etcd's, and its refusals.
    Sample,
    /// And every refusal of every request, every question to etcd crashed or without an answer, and crashes in pairs.
    Whole,
}

/// A scenario under every fault.
pub struct Campaign {
    scenario: Scenario,
    reference: Run,
}

/// A run that did not end as it should.
#[derive(Debug, Clone)]
pub struct Finding {
    /// What was injected.
    pub fault: Injected,
    /// What is wrong.
    pub wrong: Vec<String>,
}

impl Campaign {
    /// Plays the scenario without faults, twice: what differs between the two would drown everything else.
    pub fn new(scenario: Scenario) -> Result<Self, String> {
        let reference = run(&scenario, Injected::Nothing)?;
        let again = run(&scenario, Injected::Nothing)?;
        let differences = wrong(&reference, &again);
        if !differences.is_empty() {
            return Err(format!(
                "two runs of \"{}\" without faults differ:\n  {}",
                scenario.name,
                differences.join("\n  ")
            ));
        }
        Ok(Self { scenario, reference })
    }

    /// With a run without faults that has been played already.
    pub fn against(scenario: Scenario, reference: Run) -> Self {
        Self { scenario, reference }
    }

    /// The run without faults.
    pub fn reference(&self) -> &Run {
        &self.reference
    }

    /// The faults that there are places for.
    pub fn faults(&self, extent: Extent) -> Vec<Injected> {
        let requests = self.reference.requests.len();
        let writes = self.reference.requests.iter().filter(|request| request.is_write()).count();
        let mut faults = Vec::new();
        for write in 0..writes {
            faults.extend(POINTS.map(|point| Injected::Crash { point, write }));
            faults.push(Injected::Lost { write });
        }
        faults.extend((0..=self.reference.revisions).map(|revision| Injected::Stale { revision }));
        let etcd_writes = self.reference.etcd_calls.iter().filter(|made| made.call.is_write()).count();
        for nth in 0..etcd_writes {
            faults.extend(AT_ETCD_WRITES.map(|what| Injected::Etcd { what, nth }));
        }
        if extent == Extent::Whole {
            for nth in self.questions() {
                faults.extend(AT_ETCD_READS.map(|what| Injected::Etcd { what, nth }));
            }
            for request in 0..requests {
                faults.extend(REFUSALS.map(|code| Injected::Refused { code, request }));
            }
            for write in 0..writes {
                faults.extend(POINTS.map(|point| Injected::CrashTwice { point, write }));
            }
        }
        faults
    }

    /// What the environment asks for: the one fault of `CAPSTAN_FAULT`, all of `CAPSTAN_CAMPAIGN=full|crashes`, or about `sample` of
    /// them, evenly spread, always the same.
    #[expect(clippy::disallowed_methods, reason = "not a setting of an operator")]
    pub fn chosen(&self, sample: usize) -> Result<Vec<Injected>, NoSuchFault> {
        if let Ok(fault) = std::env::var("CAPSTAN_FAULT") {
            return Ok(vec![fault.parse()?]);
        }
        let all = self.faults(Extent::Sample);
        Ok(match std::env::var("CAPSTAN_CAMPAIGN").as_deref() {
            Ok("full") => self.faults(Extent::Whole),
            Ok("crashes") => all,
            // A step that shares no divisor with the four faults of a write meets each of them.
            _ => all.iter().copied().step_by((all.len() / sample).max(1) | 1).collect(),
        })
    }

    /// The calls of etcd that only ask. The same question again, with nothing changed in between, is the same place: operators
    /// look at their members from time to time.
    fn questions(&self) -> Vec<usize> {
        let (mut asked, mut changes) = (BTreeSet::new(), 0);
        let mut questions = Vec::new();
        for (nth, made) in self.reference.etcd_calls.iter().enumerate() {
            if made.call.is_write() {
                changes += 1;
            } else if asked.insert((made.revision, changes, &made.url, format!("{:?}", made.call))) {
                questions.push(nth);
            }
        }
        questions
    }

    /// Plays the scenario with each of `faults`. Every one must hit, and none must leave a trace.
    pub fn play(&self, faults: &[Injected]) -> Vec<Finding> {
        faults.iter().filter_map(|fault| self.meet(*fault).err()).collect()
    }

    /// Plays the scenario with one fault. The run, if it left what the one without faults left.
    pub fn meet(&self, fault: Injected) -> Result<Run, Finding> {
        let run = run(&self.scenario, fault).map_err(|error| Finding { fault, wrong: vec![error] })?;
        let mut wrong = wrong(&self.reference, &run);
        if run.hits == 0 && !matches!(fault, Injected::Nothing | Injected::Stale { .. }) {
            wrong.push("the fault hit nothing: this run proves nothing".into());
        }
        if wrong.is_empty() { Ok(run) } else { Err(Finding { fault, wrong }) }
    }
}

/// What `run` left that `reference` did not, and the other way round.
fn wrong(reference: &Run, run: &Run) -> Vec<String> {
    let mut wrong = reference.dump.clone().without("events").difference(&run.dump.clone().without("events"));
    let names = reference.comings_and_goings.keys().chain(run.comings_and_goings.keys());
    for name in names.collect::<BTreeSet<_>>() {
        let counts = |run: &Run| run.comings_and_goings.get(name).copied().unwrap_or_default();
        let ((came, went), (comes, goes)) = (counts(reference), counts(run));
        if (came, went) != (comes, goes) {
            wrong.push(format!("{name} came {comes} and went {goes} times, not {came} and {went}"));
        }
    }
    if reference.etcd != run.etcd {
        let (expected, found) = (reference.etcd.join("; "), run.etcd.join("; "));
        wrong.push(format!("etcd ended as {found}, not as {expected}"));
    }
    wrong
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "CAPSTAN_FAULT='{}':\n  {}", self.fault, self.wrong.join("\n  "))
    }
}
