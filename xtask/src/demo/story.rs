//! How the demo is told: a heading, a sentence, a command, what came of it, and how long it took.
#![expect(clippy::print_stdout, reason = "telling is what it is for")]

use std::{
    fmt::Display,
    io::{self, IsTerminal as _},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use anyhow::{Result, bail};

use crate::clock::now;

/// How often a condition is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(200);

pub(crate) struct Story {
    began: Instant,
    /// When the last thing was told: what is waited for counts from here.
    last: Mutex<Instant>,
    colour: bool,
}

impl Story {
    pub(crate) fn begin() -> Self {
        let now = now();
        Self { began: now, last: Mutex::new(now), colour: io::stdout().is_terminal() }
    }

    pub(crate) fn heading(&self, text: &str) {
        let at = format!("{:.0} s", self.began.elapsed().as_secs_f32());
        let rule = "─".repeat(100_usize.saturating_sub(text.chars().count() + at.len() + 5));
        println!(
            "\n{} {} {}",
            self.paint(BOLD, format!("── {text}")),
            self.paint(DIM, rule),
            self.paint(DIM, at)
        );
        self.mark();
    }

    /// What the next commands are for.
    pub(crate) fn say(&self, text: impl Display) {
        println!("{text}");
        self.mark();
    }

    /// A command, as a user would type it.
    pub(crate) fn command(&self, text: impl Display) {
        println!("  {} {}", self.paint(DIM, "$"), self.paint(BLUE, text));
        self.mark();
    }

    /// What it printed.
    pub(crate) fn output(&self, text: &str) {
        text.lines().for_each(|line| println!("    {line}"));
    }

    /// Something on the way.
    pub(crate) fn progress(&self, text: impl Display) {
        println!("    {} {text}", self.paint(DIM, "…"));
    }

    /// What can be seen now, and how long it took since the last command.
    pub(crate) fn shown(&self, text: impl Display) {
        let took = format!("{:.1} s", self.marked().elapsed().as_secs_f32());
        println!("  {} {text} {}", self.paint(GREEN, "✓"), self.paint(DIM, format!("({took})")));
        self.mark();
    }

    /// Something for the user to try.
    pub(crate) fn type_this(&self, line: &str) {
        println!("    {}", self.paint(BLUE, line));
    }

    /// Looks until `probe` finds something. `what` is what a failure says did not come.
    pub(crate) fn until<T>(
        &self,
        what: &str,
        patience: Duration,
        mut probe: impl FnMut() -> Result<Option<T>>,
    ) -> Result<T> {
        let since = now();
        loop {
            if let Some(found) = probe()? {
                return Ok(found);
            }
            if since.elapsed() > patience {
                bail!("not within {} s: {what}", patience.as_secs());
            }
            rest();
        }
    }

    fn mark(&self) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = now();
    }

    fn marked(&self) -> Instant {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn paint(&self, style: &str, text: impl Display) -> String {
        if self.colour { format!("{style}{text}\x1b[0m") } else { text.to_string() }
    }
}

const BOLD: &str = "\x1b[1m";
const DIM: &str = "\x1b[2m";
const BLUE: &str = "\x1b[34m";
const GREEN: &str = "\x1b[32m";

#[expect(clippy::disallowed_methods, reason = "one thread, which has nothing else to do")]
fn rest() {
    std::thread::sleep(LOOK_EVERY);
}
