//! The figures of a run: printed with their samples as they come, compared with their limits, and written to `docs/figures/etcd.json`
//! if `CAPSTAN_WRITE_FIGURES` is set. `cargo xtask generate` makes the table of docs/etcd.md from that file.

use std::fs;

use jiff::Timestamp;
use serde::Serialize;

use crate::world::{World, root};

/// Where the figures are kept, from the root of the repository.
const FILE: &str = "docs/figures/etcd.json";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) enum Unit {
    #[serde(rename = "s")]
    Seconds,
    #[serde(rename = "ms")]
    Milliseconds,
    #[serde(rename = "requests")]
    Requests,
}

/// What was measured several times.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Samples {
    what: String,
    unit: Unit,
    /// The median; of failed requests the most.
    measured: f32,
    samples: Vec<f32>,
}

impl Samples {
    pub(super) fn of(what: &str, unit: Unit, samples: &[f32]) -> Self {
        // Milliseconds are enough for people.
        let samples: Vec<f32> = samples.iter().map(|it| (it * 1000.0).round() / 1000.0).collect();
        let mut sorted = samples.clone();
        sorted.sort_by(f32::total_cmp);
        let measured = if unit == Unit::Requests { sorted.last().copied() } else { median(&sorted) };
        let measured = measured.unwrap_or_else(|| panic!("{what}: nothing was measured"));
        Self { what: what.to_owned(), unit, measured, samples }
    }

    pub(super) fn seconds(what: &str, samples: &[f32]) -> Self {
        Self::of(what, Unit::Seconds, samples)
    }

    pub(super) fn measured(&self) -> f32 {
        self.measured
    }
}

fn median(sorted: &[f32]) -> Option<f32> {
    sorted.get(sorted.len() / 2).copied()
}

/// A row of the table.
#[derive(Debug, Serialize)]
struct Row {
    #[serde(flatten)]
    samples: Samples,
    limit: f32,
    /// Measured in the same run.
    beside: Vec<Samples>,
    note: String,
}

/// All of them, with what they depend on.
#[derive(Debug, Serialize)]
struct Figures<'a> {
    measured_at: String,
    kubernetes: String,
    cores: usize,
    rows: &'a [Row],
}

#[derive(Debug, Default)]
pub(super) struct Table {
    rows: Vec<Row>,
}

impl Table {
    /// Adds a row, and prints it at once: those before a failure are of use, too.
    pub(super) fn row(&mut self, samples: Samples, limit: f32, beside: &[&Samples], note: &str) {
        let beside: Vec<Samples> = beside.iter().map(|it| (*it).clone()).collect();
        println!("    figure: {}", line(&samples));
        println!("      limit {limit:.2}; {note}");
        beside.iter().for_each(|it| println!("      beside: {}", line(it)));
        self.rows.push(Row { samples, limit, beside, note: note.to_owned() });
    }

    /// Writes the file if asked to; then fails if a figure is over its limit.
    pub(super) async fn write_and_judge(&self, world: &World) {
        let kubernetes = world.client.apiserver_version().await.unwrap().git_version;
        let cores = std::thread::available_parallelism().map_or(0, Into::into);
        let figures = Figures { measured_at: today(), kubernetes, cores, rows: &self.rows };
        let text = serde_json::to_string_pretty(&figures).unwrap();
        if wants_file() {
            let path = root().join(FILE);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, format!("{text}\n")).unwrap();
            println!("    wrote {FILE}; `cargo xtask generate` brings it into docs/etcd.md");
        }
        let exceeded: Vec<String> = self
            .rows
            .iter()
            .filter(|row| row.samples.measured > row.limit)
            .map(|row| format!("{}; the limit is {:.2}", line(&row.samples), row.limit))
            .collect();
        assert!(exceeded.is_empty(), "over the limit:\n{}", exceeded.join("\n"));
    }
}

fn line(Samples { what, unit, measured, samples }: &Samples) -> String {
    let samples: Vec<String> = samples.iter().map(|it| format!("{it:.2}")).collect();
    format!("{what}: {measured:.2} {unit:?} of [{}]", samples.join(", "))
}

#[expect(clippy::disallowed_methods, reason = "the day of the measurement")]
fn today() -> String {
    Timestamp::now().strftime("%Y-%m-%d").to_string()
}

#[expect(
    clippy::disallowed_methods,
    reason = "how the user of `cargo xtask test-kubernetes` asks for the file"
)]
fn wants_file() -> bool {
    std::env::var_os("CAPSTAN_WRITE_FIGURES").is_some()
}
