//! Upstream's recorded cases: read, answered by our code, compared.
//!
//! ```text
//! *.jsonl ── case ──▶ answer(area, input) ──▶ compare ──▶ report
//! ```
//!
//! A product crate adapts itself in its `conformance` module (`AREAS`, `answer`) and lets [`check`] judge it in one test.
//! `cargo xtask conformance DIR` runs all of them. The rules of comparison are those of the data's README and stand in
//! [`compare`]; nothing here knows what an area means.

mod answer;
mod case;
mod compare;
mod find;
mod report;
mod run;
mod tools;

pub use answer::{Answer, Answerer};
pub use case::{Case, Expect, ReadError, read};
pub use compare::compare;
pub use find::{Only, data};
pub use report::{AreaRow, Failure, Report};
pub use run::run;
pub use tools::{Tool, tools};

/// Why a test that needs the data is skipped where [`data`] finds none.
pub const NO_DATA: &str =
    "no conformance data above this crate; set CAPSTAN_CONFORMANCE to the directory that holds prometheus/";

/// Runs a crate's areas over the data found above `crate_dir` (or at `$CAPSTAN_CONFORMANCE`): the whole of its conformance test.
///
/// `departures` are the cases in which we do not follow upstream, each with its reason; one that passes after all is an error too,
/// so that the list stays true. `Ok` holds the report. Without data the running test is reported as skipped, and the report is empty.
pub fn check(crate_dir: &str, answerers: &[Answerer], departures: &[(&str, &str)]) -> Result<String, String> {
    let Some(data) = data(crate_dir) else {
        skipped::because(NO_DATA);
        return Ok(String::new());
    };
    let only = Only::from_environment();
    let report = run(&data.join("prometheus"), answerers, &only).map_err(|error| error.to_string())?;
    let departures = if only.is_everything() { departures } else { &[] };
    let unexpected = report.unexpected(departures);
    if unexpected.is_empty() {
        Ok(report.to_string())
    } else {
        Err(format!("{}\n{report}", unexpected.join("\n")))
    }
}
