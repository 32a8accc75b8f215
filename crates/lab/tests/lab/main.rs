//! The lab itself, on a real machine: what it promises, check after check, each with its time.
//!
//! One lab serves most checks, so they run in order in one program: `cargo test --workspace --test lab`. With `up NAME`
//! the program brings a lab up and ends: that is what the checks kill.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a test program reports on its output")]

mod cluster;
mod faults;
mod leftovers;

use std::{
    error::Error,
    process::{Command, ExitCode},
    time::{Duration, Instant},
};

use lab::{Lab, Options, Progress};

type Check<T = ()> = Result<T, Box<dyn Error>>;

/// Names that no user's lab has.
const FIRST: &str = "test-first";
const SECOND: &str = "test-second";
const KILLED: &str = "test-killed";

/// Longer than any step takes on a machine that is busy with something else, too.
const PATIENCE: Duration = Duration::from_secs(90);

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["up", name] => up(name, 1).map(drop),
        ["lab", "provision", directory] => provision(directory),
        _ => all(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("FAILED: {error}");
            ExitCode::FAILURE
        }
    }
}

fn all() -> Check {
    let start = now();
    // What an earlier run that failed has left for us to look at.
    for name in [FIRST, SECOND, KILLED] {
        lab::down(name)?;
    }
    let before = leftovers::Snapshot::take()?;
    let first = timed("a lab of three nodes comes up", || up(FIRST, 3))?;
    cluster::checks(&first)?;
    faults::checks(&first)?;
    timed("a second lab beside it, one node", || beside(&first))?;
    let slot = first.addresses().slot;
    timed("down", || Ok(first.down()?))?;
    timed("nothing is left", || before.compare(FIRST, slot))?;
    leftovers::checks(&before)?;
    println!("all checks passed in {:.0} s", start.elapsed().as_secs_f32());
    Ok(())
}

fn beside(first: &Lab) -> Check {
    let second = up(SECOND, 1)?;
    ensure(second.addresses() != first.addresses(), "two labs in one slot")?;
    let count = |lab: &Lab| {
        Ok::<_, Box<dyn Error>>(run(lab.kubectl().args(["get", "nodes", "-o", "name"]))?.lines().count())
    };
    ensure(count(&second)? == 1 && count(first)? == 3, "each lab has its own nodes")?;
    second.down()?;
    first.wait_for_nodes(PATIENCE)?;
    cluster::service_answers(first)
}

fn up(name: &str, nodes: u8) -> Check<Lab> {
    Ok(Lab::up(&Options { name: name.into(), nodes, ..Options::default() }, &Timed { start: now() })?)
}

/// Every lab that this program brings up keeps a copy of it for its volumes.
fn provision(directory: &str) -> Check {
    Ok(Lab::provision(directory.as_ref(), |line| println!("{line}"))?)
}

struct Timed {
    start: Instant,
}

impl Progress for Timed {
    fn step(&self, text: &str) {
        println!("    {:5.1}s {text}", self.start.elapsed().as_secs_f32());
    }
}

fn timed<T>(what: &str, check: impl FnOnce() -> Check<T>) -> Check<T> {
    let start = now();
    let result = check().map_err(|error| format!("{what}: {error}"))?;
    println!("{:6.1}s {what}", start.elapsed().as_secs_f32());
    Ok(result)
}

fn ensure(holds: bool, else_say: impl std::fmt::Display) -> Check {
    if holds { Ok(()) } else { Err(else_say.to_string().into()) }
}

/// Standard output of a command that must succeed.
fn run(command: &mut Command) -> Check<String> {
    let output = command.output()?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return Ok(said);
    }
    Err(format!("{command:?} failed: {said}{}", String::from_utf8_lossy(&output.stderr)).into())
}

/// What a command that must fail says.
fn refused(command: &mut Command) -> Check<String> {
    let output = command.output()?;
    let said =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    if output.status.success() {
        Err(format!("{command:?} was not refused: {said}").into())
    } else {
        Ok(said)
    }
}

/// Asks until the answer is yes: for what nobody tells us.
fn until(what: &str, limit: Duration, mut holds: impl FnMut() -> bool) -> Check {
    let start = now();
    while !holds() {
        ensure(start.elapsed() < limit, format!("{what}: not within {} s", limit.as_secs()))?;
        pause();
    }
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "real processes take real time")]
fn now() -> Instant {
    Instant::now()
}

#[expect(clippy::disallowed_methods, reason = "between two looks at something that does not tell us")]
fn pause() {
    std::thread::sleep(Duration::from_millis(2));
}
