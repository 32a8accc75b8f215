//! A story's campaign, played to its end: lines of progress on the way, and a record of what was played and what differed.
//!
//! `cargo xtask campaign` sets the environment, and makes a table of the records:
//!
//! | variable | meaning |
//! |---|---|
//! | `CAPSTAN_CAMPAIGN` | `crashes` or `full`; a sample without it |
//! | `CAPSTAN_CAMPAIGN_RESULTS` | directory for the records, one file per story; none without it |
//! | `CAPSTAN_CAMPAIGN_BUILD` | name of the sources; a story with a record of the same sources and extent is not played again |
//! | `CAPSTAN_CAMPAIGN_COMMIT` | commit, for people |

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};

use crate::{Campaign, Finding, Injected};

/// How every test that plays a campaign ends: by this `cargo xtask campaign` finds them.
const TEST: &str = "as_without_faults";

/// Time between two lines of progress.
const PROGRESS: Duration = Duration::from_secs(10);

/// What was played of a story, and what came of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    pub operator: String,
    pub story: String,
    /// `sample`, `crashes` or `full`.
    pub extent: String,
    /// The sources that were played.
    pub build: String,
    pub commit: String,
    /// Day on which it was played, in UTC.
    pub date: String,
    pub seconds: u64,
    /// In the order in which the kinds were first played.
    pub kinds: Vec<Count>,
    /// Each run that did not end as the one without faults, with the command that repeats it.
    pub differences: Vec<String>,
}

/// The runs with one kind of fault.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Count {
    pub kind: String,
    pub runs: usize,
    pub differences: usize,
}

/// What the environment asks for.
#[derive(Debug, Clone, Default)]
struct Request {
    extent: Option<String>,
    results: Option<PathBuf>,
    build: Option<String>,
    commit: Option<String>,
    /// One fault only, to find the cause of a difference: no record.
    fault: Option<String>,
}

impl Request {
    #[expect(clippy::disallowed_methods, reason = "not a setting of an operator")]
    fn from_environment() -> Self {
        let variable = |name: &str| std::env::var(name).ok();
        Self {
            extent: variable("CAPSTAN_CAMPAIGN"),
            results: variable("CAPSTAN_CAMPAIGN_RESULTS").map(PathBuf::from),
            build: variable("CAPSTAN_CAMPAIGN_BUILD"),
            commit: variable("CAPSTAN_CAMPAIGN_COMMIT"),
            fault: variable("CAPSTAN_FAULT"),
        }
    }

    fn extent(&self) -> String {
        self.extent.clone().unwrap_or_else(|| "sample".to_owned())
    }

    /// The file of a story's record.
    fn file(&self, operator: &str, story: &str) -> Option<PathBuf> {
        let results = self.results.as_deref().filter(|_| self.fault.is_none())?;
        Some(results.join(format!("{operator}-{story}.json")))
    }

    /// A record of the same sources, played to the same extent. Sources without a name may have changed.
    fn played(&self, file: &Path) -> Option<Record> {
        let record: Record = serde_json::from_str(&fs::read_to_string(file).ok()?).ok()?;
        let same = Some(&record.build) == self.build.as_ref() && record.extent == self.extent();
        same.then_some(record)
    }
}

impl Campaign {
    /// Plays the faults that the environment asks for, about `sample` of them by default, and records them. `Ok` says how many runs ended
    /// as the one without faults; an error names every run that did not, each with the command that repeats it.
    ///
    /// # Errors
    /// When a run differs, or the record cannot be written.
    pub fn outcome(&self, operator: &str, story: &str, sample: usize) -> Result<String, String> {
        let thread = thread::current();
        let test = thread.name().unwrap_or("main");
        if test != "main" && !test.ends_with(TEST) {
            return Err(format!("{test}: end the name on {TEST}; `cargo xtask campaign` plays tests by it"));
        }
        let request = Request::from_environment();
        let file = request.file(operator, story);
        let name = format!("{operator} {story}");
        let record = match file.as_deref().and_then(|file| request.played(file)) {
            Some(record) => {
                say(&format!("{name}: played before with these sources, in {} s", record.seconds));
                record
            }
            None => {
                let faults = self.chosen(sample).map_err(|error| error.to_string())?;
                let (began, mut told) = (now(), now());
                let mut counts = Counts::default();
                for (nth, fault) in faults.iter().enumerate() {
                    let finding = self.meet(*fault).err();
                    // At once: a whole campaign takes long, and may be interrupted.
                    if let Some(finding) = &finding {
                        say(&format!("{name}: {}", repeated(finding, test)));
                    }
                    counts.add(*fault, finding.as_ref(), test);
                    if request.extent.is_some() && told.elapsed() >= PROGRESS {
                        told = now();
                        let (runs, differences) = (nth + 1, counts.differences.len());
                        let (of, seconds) = (faults.len(), began.elapsed().as_secs());
                        say(&format!("{name}: run {runs} of {of}, {differences} differences, {seconds} s"));
                    }
                }
                let record = Record {
                    operator: operator.to_owned(),
                    story: story.to_owned(),
                    extent: request.extent(),
                    build: request.build.clone().unwrap_or_default(),
                    commit: request.commit.clone().unwrap_or_default(),
                    date: today(),
                    seconds: began.elapsed().as_secs(),
                    kinds: counts.kinds,
                    differences: counts.differences,
                };
                if let Some(file) = &file {
                    write(file, &record).map_err(|error| format!("{}: {error}", file.display()))?;
                }
                record
            }
        };
        record.judged(&name)
    }
}

impl Record {
    /// How many runs there were.
    pub fn runs(&self) -> usize {
        self.kinds.iter().map(|count| count.runs).sum()
    }

    fn judged(&self, name: &str) -> Result<String, String> {
        let (runs, wrong) = (self.runs(), self.differences.len());
        if wrong == 0 {
            return Ok(format!("{name}: {runs} of {runs} runs ended as the run without faults"));
        }
        Err(format!("{name}: {wrong} of {runs} runs differ:\n{}", self.differences.join("\n")))
    }
}

#[derive(Default)]
struct Counts {
    kinds: Vec<Count>,
    differences: Vec<String>,
}

impl Counts {
    fn add(&mut self, fault: Injected, finding: Option<&Finding>, test: &str) {
        let (kind, differences) = (fault.kind(), usize::from(finding.is_some()));
        match self.kinds.iter_mut().find(|count| count.kind == kind) {
            Some(count) => {
                count.runs += 1;
                count.differences += differences;
            }
            None => self.kinds.push(Count { kind: kind.to_owned(), runs: 1, differences }),
        }
        self.differences.extend(finding.map(|finding| repeated(finding, test)));
    }
}

/// A finding, with the command that repeats its run.
fn repeated(finding: &Finding, test: &str) -> String {
    let program = std::env::current_exe().ok();
    let program =
        program.as_deref().and_then(Path::file_stem).and_then(|name| name.to_str()).unwrap_or_default();
    // cargo ends the name of a program on a hash.
    let program = program.rsplit_once('-').map_or(program, |(name, _)| name);
    let Finding { fault, wrong } = finding;
    let command = format!("CAPSTAN_FAULT='{fault}' cargo test --workspace --test {program} {test}");
    format!("{command}\n  {}", wrong.join("\n  "))
}

/// Complete or not there at all: a record that was cut off would not be played again.
fn write(file: &Path, record: &Record) -> std::io::Result<()> {
    let unfinished = file.with_extension("unfinished");
    fs::write(&unfinished, serde_json::to_string_pretty(record)?)?;
    fs::rename(unfinished, file)
}

/// Prints a line although the test may pass: libtest holds back `println!`.
fn say(line: &str) {
    // Without a standard output there is no reader.
    let _ = std::io::stdout().write_all(format!("{line}\n").as_bytes());
}

#[expect(
    clippy::disallowed_methods,
    reason = "how long the machine takes, not a time of the simulated world"
)]
fn now() -> Instant {
    Instant::now()
}

#[expect(clippy::disallowed_methods, reason = "the day of the record, not a time of the simulated world")]
fn today() -> String {
    jiff::Timestamp::now().strftime("%F").to_string()
}

#[cfg(test)]
mod tests {
    use apiserver::CrashPoint;

    use super::*;

    fn counts() -> Counts {
        let crash = |write| Injected::Crash { point: CrashPoint::Before, write };
        let mut counts = Counts::default();
        counts.add(crash(0), None, "t");
        counts.add(Injected::Stale { revision: 3 }, None, "t");
        let finding = Finding { fault: crash(1), wrong: vec!["db-1 came 2 and went 1 times".to_owned()] };
        counts.add(crash(1), Some(&finding), "t");
        counts
    }

    fn record() -> Record {
        let Counts { kinds, differences } = counts();
        Record {
            operator: "etcd".to_owned(),
            story: "scaling".to_owned(),
            extent: "crashes".to_owned(),
            build: "b1".to_owned(),
            commit: "c1".to_owned(),
            date: "2026-11-18".to_owned(),
            seconds: 7,
            kinds,
            differences,
        }
    }

    #[test]
    fn runs_and_differences_are_counted_by_kind() {
        let count = |kind: &str, runs, differences| Count { kind: kind.to_owned(), runs, differences };
        assert_eq!(counts().kinds, [count("crash before a write", 2, 1), count("stale read", 1, 0)]);
    }

    #[test]
    fn difference_names_the_command_that_repeats_it() {
        let told = record().judged("etcd scaling").unwrap_err();
        assert!(
            told.starts_with("etcd scaling: 1 of 3 runs differ:\nCAPSTAN_FAULT='crash before 1' cargo test"),
            "{told}"
        );
        assert!(told.ends_with(" t\n  db-1 came 2 and went 1 times"), "{told}");
    }

    #[test]
    fn only_a_record_of_the_same_sources_and_extent_counts() {
        let directory = std::env::temp_dir().join(format!("capstan-record-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        let request = |build: Option<&str>, extent: &str| Request {
            results: Some(directory.clone()),
            build: build.map(str::to_owned),
            extent: Some(extent.to_owned()),
            ..Request::default()
        };
        let same = request(Some("b1"), "crashes");
        let file = same.file("etcd", "scaling").unwrap();
        assert_eq!(same.played(&file), None);
        write(&file, &record()).unwrap();
        assert_eq!(same.played(&file), Some(record()));
        for other in [request(Some("b2"), "crashes"), request(Some("b1"), "full"), request(None, "crashes")] {
            assert_eq!(other.played(&file), None, "{other:?}");
        }
        let one = Request { fault: Some("lost 2".to_owned()), ..same };
        assert_eq!(one.file("etcd", "scaling"), None, "one run is no campaign");
        fs::remove_dir_all(directory).unwrap();
    }
}
