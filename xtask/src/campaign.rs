//! `cargo xtask campaign`: every story with every fault, in a build of its own, and the table of it in docs/reliability.md.
//!
//! Test programs play the stories, two at a time on two cores, and write a record of each (crates/simulation/src/record.rs). A story that has
//! a record of the same sources is not played again: a run that was interrupted goes on where it was.

mod table;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::{cargo, progress, tally::Tally, tree};

/// The test programs with stories.
const PROGRAMS: &[&str] = &["simulation", "example_app", "kit"];

/// How their tests that play a campaign end.
const TESTS: &str = "as_without_faults";

/// What decides how a story ends, but for [`SCENARIOS`].
const SOURCES: &[&str] = &["crates", "Cargo.toml", "Cargo.lock", "rust-toolchain.toml"];

/// Scenarios on a real Kubernetes, in the folder of each crate's tests: no story runs them.
const SCENARIOS: &str = "/tests/kubernetes/";

const DOCUMENT: &str = "docs/reliability.md";

/// What the user chose.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Only stories whose test's name contains this; the table stays as it is.
    only: Option<String>,
    /// `full` plays refused requests, silent members and pairs of crashes, too. It takes many times as long.
    #[arg(long, value_enum, default_value_t = Extent::Crashes)]
    extent: Extent,
    /// Write the table into docs/reliability.md.
    #[arg(long)]
    write: bool,
    /// Directory for the records of the stories; `target/campaign-records` if not given.
    #[arg(long)]
    results: Option<PathBuf>,
    /// Profile of the build.
    #[arg(long, default_value = "campaign")]
    profile: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Extent {
    /// Every crash and lost answer at every write, every stale read.
    Crashes,
    /// All faults.
    Full,
}

impl Extent {
    fn name(self) -> &'static str {
        match self {
            Self::Crashes => "crashes",
            Self::Full => "full",
        }
    }
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let sources = Sources::of_the_tree()?;
    let results = options.results.clone().unwrap_or_else(|| tree::root().join("target/campaign-records"));
    fs::create_dir_all(&results).with_context(|| format!("cannot create {}", results.display()))?;
    // cargo runs tests elsewhere.
    let results = results.canonicalize().with_context(|| format!("cannot find {}", results.display()))?;
    forget_unnamed(&results)?;
    let programs = PROGRAMS.iter().flat_map(|program| ["--test", program]);
    let build: Vec<&str> =
        ["test", "--profile", &options.profile, "--workspace"].into_iter().chain(programs).collect();
    cargo::compile(&[build.as_slice(), &["--no-run"]].concat())?;

    let only = options.only.as_deref();
    let mut command =
        cargo::command(&[build.as_slice(), &["--quiet", "--no-fail-fast", "--", "--nocapture"]].concat());
    command.arg(only.unwrap_or(TESTS));
    command.env("CAPSTAN_CAMPAIGN", options.extent.name()).env("CAPSTAN_CAMPAIGN_RESULTS", &results);
    command.env("CAPSTAN_CAMPAIGN_COMMIT", &sources.commit);
    if let Some(build) = &sources.build {
        command.env("CAPSTAN_CAMPAIGN_BUILD", build);
    }
    let mut tally = Tally::default();
    let describe = |time| format!("campaign: playing, {}", progress::told(time));
    let status = progress::during(describe, || {
        cargo::read_lines(command, |line| {
            tally.read(line);
            progress::print(line);
        })
    })?;

    let records = records(&results, &sources, options.extent)?;
    let text = table::text(&records, options.extent.name());
    progress::print(&format!("{text}\n{tally}"));
    let played = tally.passed() + tally.failed();
    if options.write && only.is_none() {
        // A story that panicked has no record: a table without it would claim too much.
        if records.len() != played {
            bail!(
                "{} stories were played, {} have a record: {DOCUMENT} stays as it is",
                played,
                records.len()
            );
        }
        let path = tree::root().join(DOCUMENT);
        let document = fs::read_to_string(&path).with_context(|| format!("cannot read {DOCUMENT}"))?;
        fs::write(&path, table::refresh(&document, &text)?)
            .with_context(|| format!("cannot write {DOCUMENT}"))?;
        progress::print(&format!("{DOCUMENT} has the table"));
    }
    if !status.success() {
        bail!("a story failed, see above");
    }
    Ok(())
}

/// Removes records of sources without a name: they may have changed since.
fn forget_unnamed(results: &Path) -> Result<()> {
    for (path, record) in all_records(results)? {
        if record.get("build").is_none_or(|build| build == "") {
            fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
        }
    }
    Ok(())
}

fn all_records(results: &Path) -> Result<Vec<(PathBuf, Value)>> {
    let mut records = Vec::new();
    for entry in fs::read_dir(results).with_context(|| format!("cannot list {}", results.display()))? {
        let path = entry?.path();
        if path.extension().is_some_and(|end| end == "json") {
            let text =
                fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
            let record = serde_json::from_str(&text).with_context(|| path.display().to_string())?;
            records.push((path, record));
        }
    }
    Ok(records)
}

/// The records of these sources.
fn records(results: &Path, sources: &Sources, extent: Extent) -> Result<Vec<Value>> {
    let mut records: Vec<Value> = all_records(results)?.into_iter().map(|(_, record)| record).collect();
    let build = sources.build.as_deref().unwrap_or_default();
    let is = |record: &Value, field: &str, value: &str| record.get(field).is_some_and(|it| it == value);
    records.retain(|record| is(record, "build", build) && is(record, "extent", extent.name()));
    records
        .sort_by_key(|record| ["operator", "story"].map(|field| record.get(field).map(ToString::to_string)));
    Ok(records)
}

/// The state of the tree.
struct Sources {
    commit: String,
    /// A name that is the same as long as [`SOURCES`] are. None when they are not committed: then every story is played.
    build: Option<String>,
}

impl Sources {
    fn of_the_tree() -> Result<Self> {
        let commit = git(&["rev-parse", "--short=12", "HEAD"])?;
        let is_source = |line: &&str| !line.contains(SCENARIOS);
        // Untracked files one by one: a new folder would be named without what is in it.
        let changed = git(&[&["status", "--porcelain", "--untracked-files=all", "--"], SOURCES].concat())?;
        if changed.lines().any(|line| is_source(&line)) {
            return Ok(Self { commit: format!("{commit} with local changes"), build: None });
        }
        let objects = git(&[&["ls-tree", "-r", "HEAD", "--"], SOURCES].concat())?;
        let mut hash = Sha256::new();
        for object in objects.lines().filter(is_source) {
            hash.update(object);
            hash.update("\n");
        }
        let build = hash.finalize().iter().take(10).map(|byte| format!("{byte:02x}")).collect();
        Ok(Self { commit, build: Some(build) })
    }
}

fn git(arguments: &[&str]) -> Result<String> {
    let output = Command::new("git").args(arguments).current_dir(tree::root()).output();
    let output = output.context("cannot run git")?;
    if !output.status.success() {
        bail!("`git {}` failed: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
