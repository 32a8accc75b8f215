//! What was measured of many clusters, as a table for people, and whether the targets are met.

use std::{fmt, time::Duration};

use super::{Asked, Delay};

/// A call to a member that hangs is waited for so long: who waits behind it would be that late.
const CALL: Duration = Duration::from_millis(1500);

/// All that was measured.
#[derive(Debug)]
pub struct Fleet {
    pub count: usize,
    /// How many edits each delay is of.
    pub edits: usize,
    pub created: Asked,
    /// When nothing happens.
    pub resting: Asked,
    /// From the start of a second operator until it rests.
    pub restarted: Asked,
    /// What the second one added to memory, in bytes.
    pub resident: u64,
    /// While so many clusters hang.
    pub delays: [(usize, Delay); 3],
}

struct Target {
    what: &'static str,
    measured: f64,
    at_most: f64,
}

impl Fleet {
    pub fn passes(&self) -> bool {
        self.targets().iter().all(|target| target.measured <= target.at_most)
    }

    fn targets(&self) -> [Target; 3] {
        let target = |what, measured, at_most| Target { what, measured, at_most };
        let [_, (_, one), _] = self.delays;
        [
            target("requests at rest, other than watches", but_watches(&self.resting) as f64, 0.0),
            target("writes of an operator that starts", writes(&self.restarted) as f64, 0.0),
            target("edit to first action while one hangs, p99 in ms", millis(one.p99), millis(CALL)),
        ]
    }
}

fn but_watches(asked: &Asked) -> usize {
    asked.requests.iter().filter(|(verb, _)| *verb != "watch").map(|(_, count)| count).sum()
}

fn writes(asked: &Asked) -> usize {
    let reads = ["watch", "list", "get", "discovery"];
    asked.requests.iter().filter(|(verb, _)| !reads.contains(&verb.as_str())).map(|(_, count)| count).sum()
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// By verb, as `17 watch, 3 get`; in a minute, if it was counted for long.
fn told(asked: &Asked) -> String {
    let each: Vec<String> = asked.requests.iter().map(|(verb, count)| format!("{count} {verb}")).collect();
    if each.is_empty() { "none".to_owned() } else { each.join(", ") }
}

impl fmt::Display for Fleet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { count, edits, created, resting, restarted, resident, delays } = self;
        let minutes = resting.took.as_secs_f64() / 60.0;
        writeln!(f, "{count} clusters of three members with TLS, on simulated etcd\n")?;
        let mut row = |what: &str, value: String| writeln!(f, "{what:<44}{value}");
        row("creating them, until all are healthy", format!("{:.0} s", created.took.as_secs_f64()))?;
        row("  CPU of the operator", format!("{:.1} s", created.cpu.as_secs_f64()))?;
        row("  requests", told(created))?;
        row("at rest, in a minute", String::new())?;
        row("  requests", format!("{} (in {:.0} s)", told(resting), resting.took.as_secs_f64()))?;
        row("  calls of etcd", format!("{:.0}", resting.etcd_calls as f64 / minutes))?;
        row("  CPU", format!("{:.2} s", resting.cpu.as_secs_f64() / minutes))?;
        row(
            "another operator starts, until it rests",
            format!("{:.1} s of CPU", restarted.cpu.as_secs_f64()),
        )?;
        row("  requests", told(restarted))?;
        row(
            "  memory",
            format!(
                "{:.1} MB, {:.0} kB a cluster",
                *resident as f64 / 1e6,
                *resident as f64 / 1e3 / *count as f64
            ),
        )?;
        row("edit to first action", format!("{edits} edits each"))?;
        for (hanging, Delay { median, p99 }) in delays {
            let what = format!("  while {hanging} of them hang");
            row(&what, format!("median {:.1} ms, p99 {:.1} ms", millis(*median), millis(*p99)))?;
        }
        writeln!(f, "\n{:<60}{:>12}{:>12}", "Target", "measured", "at most")?;
        for Target { what, measured, at_most } in self.targets() {
            let verdict = if measured <= at_most { "PASS" } else { "FAIL" };
            writeln!(f, "{what:<60}{measured:>12.1}{at_most:>12.1}  {verdict}")?;
        }
        Ok(())
    }
}
