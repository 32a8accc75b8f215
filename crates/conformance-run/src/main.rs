//! Upstream's recorded cases against all crates that answer for an area: what `cargo xtask conformance DIR` runs.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, ensure};
use clap::Parser;
use conformance::{Answerer, Only, Report};

/// Each crate says itself which areas are its own.
const ANSWERERS: &[Answerer] = &[
    (alertmanager_config::conformance::AREAS, alertmanager_config::conformance::answer),
    (prometheus_admission::conformance::AREAS, prometheus_admission::conformance::answer),
    (prometheus_config::conformance::AREAS, prometheus_config::conformance::answer),
    (prometheus_rules::conformance::AREAS, prometheus_rules::conformance::answer),
    (prometheus_workloads::conformance::AREAS, prometheus_workloads::conformance::answer),
];

/// Where a crate does not follow upstream, on purpose; the other crates do everywhere.
const DEPARTURES: &[&[(&str, &str)]] =
    &[prometheus_admission::conformance::DEPARTURES, prometheus_rules::conformance::DEPARTURES];

/// Puts recorded cases to our code: a row per area, then `N passed, M failed`.
#[derive(Debug, Parser)]
struct Options {
    /// The directory with the cases, for example ../shared/conformance/prometheus.
    dir: PathBuf,
    /// Only this area.
    #[arg(long)]
    area: Option<String>,
    /// Only cases whose name contains this.
    #[arg(long)]
    case: Option<String>,
    /// Show what differs in failing cases.
    #[arg(long)]
    differences: bool,
}

fn main() -> Result<ExitCode> {
    let Options { dir, area, case, differences } = Options::parse();
    let mut report = conformance::run(&dir, ANSWERERS, &Only::new(area, case))?;
    report.count_unanswered_as_failed();
    let departures = DEPARTURES.concat();
    let departed = report.depart(&departures);
    ensure!(report.passed() + report.failed() > 0, "no case was selected: check --area and --case");
    print(&report, &departed, differences);
    Ok(if report.failed() == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

#[expect(clippy::print_stdout, reason = "what the program is for")]
fn print(report: &Report, departed: &[&(&str, &str)], differences: bool) {
    for (case, why) in departed {
        println!("DEPARTS {case}: {why}");
    }
    for failure in report.failures() {
        if differences {
            println!("{failure}\n");
        } else {
            println!("FAILED {}: {}", failure.area, failure.case);
        }
    }
    println!("{report}");
}
