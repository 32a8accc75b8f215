//! One run: a server, an operator that may crash, the steps of a user, and one fault, all in virtual time.

use std::{collections::BTreeMap, time::Duration};

use apiserver::{Change, Dump, Plan, Recorded, Server, Verb};
use tokio::task::JoinHandle;

use crate::{
    Injected, Scenario,
    etcd::{Etcd, Made},
};

/// The operator's name at the server.
pub const OPERATOR: &str = "operator";

/// Lets time pass in a scenario; it is virtual, and costs nothing.
pub async fn pass(time: Duration) {
    tokio::time::sleep(time).await;
}

/// A world that is not at rest after so many times what it takes to be sure never will be. (Virtual: it costs nothing to wait.)
const RESTLESS: u32 = 60;

/// What became of a run.
#[derive(Debug, Clone)]
pub struct Run {
    /// What was left, in comparable form.
    pub dump: Dump,
    /// How often each object came and went.
    pub comings_and_goings: BTreeMap<String, (usize, usize)>,
    /// The operator's requests.
    pub requests: Vec<Recorded>,
    /// The operator's calls of etcd.
    pub etcd_calls: Vec<Made>,
    /// What became of the etcd clusters, in comparable form.
    pub etcd: Vec<String>,
    /// The revision at which the run began.
    pub first: u64,
    /// How many revisions the run made.
    pub revisions: usize,
    /// How often the operator crashed.
    pub crashes: usize,
    /// How often the fault hit.
    pub hits: usize,
}

/// Any will do, as long as every run has the same.
const SEED: u64 = 1;

/// Plays `scenario` with one fault. An error says what went wrong with the run itself.
pub fn run(scenario: &Scenario, fault: Injected) -> Result<Run, String> {
    // All of a run is on this thread. When watches are renewed is chance, and whether that meets a step of the scenario: not here.
    fastrand::seed(SEED);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    let runtime = runtime.map_err(|error| format!("no runtime: {error}"))?;
    runtime.block_on(tokio::task::LocalSet::new().run_until(play(scenario, fault)))
}

async fn play(scenario: &Scenario, fault: Injected) -> Result<Run, String> {
    let server = Server::new();
    (scenario.prepare)(&server);
    let first = server.revision();
    server.faults().plan(Plan::new(fault.rules()));
    let etcd = scenario.etcd.clone().unwrap_or_default();
    etcd.plan(fault.etcd_rules());
    let mut world = World {
        server: server.clone(),
        etcd: etcd.clone(),
        process: Process::start(scenario, &server),
        crashes: 0,
    };
    for step in &scenario.steps {
        let user = server.client_named("user");
        (step.act)(user).await.map_err(|error| format!("the user could not {}: {error}", step.name))?;
        world.rest(scenario).await.map_err(|busy| format!("after \"{}\": {busy}", step.name))?;
    }
    if let Injected::Stale { revision } = fault {
        let past = first + u64::try_from(revision).unwrap_or_default();
        server.faults().kill(OPERATOR);
        etcd.hang_up();
        server.faults().freeze(OPERATOR, past);
        world.process = Process::start(scenario, &server);
        // Not until it rests: to ask again from time to time whether the server has caught up is right.
        tokio::time::sleep(scenario.rest).await;
        server.faults().thaw(OPERATOR);
        world.rest(scenario).await.map_err(|busy| format!("after a stale server: {busy}"))?;
    }
    Ok(Run {
        dump: match scenario.edit {
            Some(edit) => server.dump().edited(edit),
            None => server.dump(),
        },
        comings_and_goings: comings_and_goings(&server, first),
        requests: server.requests().of(OPERATOR).iter().cloned().collect(),
        first,
        revisions: usize::try_from(server.revision() - first).unwrap_or_default(),
        crashes: world.crashes,
        hits: server.faults().fired().iter().sum::<usize>() + etcd.hits(),
        etcd_calls: etcd.calls(),
        etcd: etcd.summary(),
    })
}

struct World {
    server: Server,
    etcd: Etcd,
    process: Process,
    crashes: usize,
}

/// A running operator; dropping it is `kill -9`.
struct Process(JoinHandle<()>);

impl Process {
    fn start(scenario: &Scenario, server: &Server) -> Self {
        let connection = server.connection(OPERATOR, scenario.user.clone());
        Self(tokio::task::spawn_local((scenario.operator)(connection)))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl World {
    /// Waits until the world is at rest; an operator that crashes on the way is started again.
    async fn rest(&mut self, scenario: &Scenario) -> Result<(), String> {
        let (crashes, etcd) = (self.server.faults().crashes(), self.etcd.clone());
        let mut quiet = self.work_so_far();
        let mut rest = Box::pin(tokio::time::sleep(scenario.rest));
        let restless = tokio::time::sleep(scenario.rest * RESTLESS);
        tokio::pin!(restless);
        loop {
            tokio::select! {
                biased;
                _ = crashes.tripped() => self.restart(scenario),
                () = etcd.crashed() => self.restart(scenario),
                () = &mut rest => {
                    let now = self.work_so_far();
                    if now == quiet {
                        return Ok(());
                    }
                    quiet = now;
                }
                () = &mut restless => return Err(self.last_requests()),
            }
            rest = Box::pin(tokio::time::sleep(scenario.rest));
        }
    }

    fn restart(&mut self, scenario: &Scenario) {
        self.crashes += 1;
        self.etcd.hang_up();
        self.process = Process::start(scenario, &self.server);
    }

    /// Requests that are not just listening, everything that was written by anybody, and changes of etcd.
    fn work_so_far(&self) -> (usize, u64, usize) {
        let asked = self.server.requests().of(OPERATOR);
        let working =
            asked.iter().filter(|request| request.verb != Some(Verb::Watch) && request.resource != "leases");
        let changes = self.etcd.calls().iter().filter(|made| made.call.is_write()).count();
        (working.count(), self.server.revision(), changes)
    }

    fn last_requests(&self) -> String {
        let told = self.server.requests().of(OPERATOR).told();
        let last: Vec<&str> = told.iter().rev().take(10).map(String::as_str).collect();
        format!(
            "the operator does not come to rest; its last requests, newest first:\n  {}",
            last.join("\n  ")
        )
    }
}

/// A name that must not be given twice ends on the first part of a UID, which is another one in every run.
fn without_uid(place: String) -> String {
    let is_part = |end: &str| end.len() == 8 && end.bytes().all(|it| matches!(it, b'0'..=b'9' | b'a'..=b'f'));
    match place.rsplit_once('-') {
        Some((name, end)) if is_part(end) => format!("{name}-(uid)"),
        _ => place,
    }
}

/// How often each object was created and deleted since `first`. Events tell what happened, so each fault may tell its own.
fn comings_and_goings(server: &Server, first: u64) -> BTreeMap<String, (usize, usize)> {
    let mut counts: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for event in server.store().events_since(first, usize::MAX).unwrap_or_default() {
        if &*event.id.plural == "events" {
            continue;
        }
        let (came, went) = counts.entry(without_uid(event.id.to_string())).or_default();
        match event.change {
            Change::Added => *came += 1,
            Change::Deleted => *went += 1,
            Change::Modified => {}
        }
    }
    counts
}
