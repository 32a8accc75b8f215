//! `cargo xtask test-kubernetes`: what must be seen on a real Kubernetes, phase by phase, with the time of each.
#![expect(clippy::print_stdout, reason = "a long job tells where it is")]

use std::{
    collections::BTreeSet,
    fs,
    io::{BufRead as _, BufReader},
    process::{Command, Stdio},
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail};
use lab::{Lab, images::Tar, versions::Operand};

use crate::{
    cargo::{self, Target},
    clock::now,
    excerpt, image,
    lab::Timed,
    tree,
};

/// What the user chose.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Only phases whose name contains this (the lab comes up for any).
    #[arg(default_value = "")]
    only: String,
    /// Leave the lab as it is in the end; `cargo xtask lab down --name test` removes it.
    #[arg(long)]
    keep: bool,
    /// Every scenario of every operator, not only the sample that CI takes: `make campaign`.
    #[arg(long)]
    whole: bool,
    /// Write docs/contract.md from what was seen, instead of comparing with it.
    #[arg(long)]
    write_table: bool,
}

/// What CI sees of etcd's scenarios; all of them take a quarter of an hour. The upgrade from 3.5 to 3.7 demands that not one request
/// fails, for which two cores are too few to rely on: here the demo upgrades, and tells how many failed.
const ETCD_SAMPLE: &[&str] = &[
    "create::",
    "scale::a_change_of_mind",
    "member_lost::a_pod",
    "member_lost::a_volume",
    "member_lost::an_empty_data_directory",
    "upgrade::a_failing_image",
    "refused::nonsense",
    "refused::what_the_schema",
    "delete::the_volumes_stay",
    "with_trouble::without_an_operator",
];

/// Phases that follow each other on a lab of their own. Tracks run side by side: scenarios wait for Kubernetes most of the time, and what
/// troubles one lab (a restarted API server, a dead node, no operator) must not trouble the scenarios of another.
struct Track {
    lab: &'static str,
    phases: &'static [Phase],
}

struct Phase {
    name: &'static str,
    run: fn(&Stage<'_>) -> Result<()>,
}

const fn phase(name: &'static str, run: fn(&Stage<'_>) -> Result<()>) -> Phase {
    Phase { name, run }
}

/// None of them is the lab of `make demo`, which may be in use.
const TRACKS: &[Track] = &[
    Track {
        lab: "test",
        phases: &[
            phase("contract", contract),
            phase("example-app", |stage| stage.scenarios("example_app_on_kubernetes", 8, &[])),
        ],
    },
    Track {
        lab: "test-etcd",
        phases: &[phase("lab", |stage| stage.run_test("lab", &[])), phase("etcd", etcd)],
    },
];

/// Alone, when the tracks have ended: it counts requests that fail, and people look at its pace.
const STORY: Track = Track { lab: "test", phases: &[phase("demo", story)] };

/// Where a phase is played: the lab, and what the user chose.
struct Stage<'a> {
    lab: &'static str,
    options: &'a Options,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let all = || TRACKS.iter().chain([&STORY]);
    let names: Vec<&str> = all().flat_map(|track| track.phases).map(|phase| phase.name).collect();
    if !names.iter().any(|name| name.contains(&options.only)) {
        bail!("no phase is called {}: there are {}", options.only, names.join(", "));
    }
    let times = Times::start();
    let done = play(options, &times);
    let labs: BTreeSet<&str> = all().map(|track| track.lab).collect();
    if options.keep {
        println!(
            "what labs there are, and how to remove one: cargo xtask lab status, cargo xtask lab down --name test"
        );
    } else {
        times.take("labs down", || Ok(labs.iter().try_for_each(|lab| lab::down(lab).map(drop))?))?;
    }
    times.print();
    done
}

fn play(options: &Options, times: &Times) -> Result<()> {
    let images = times.take("images", || image::all(&Timed::start()))?;
    times.take("programs", compile)?;
    let ends: Vec<Result<()>> = thread::scope(|scope| {
        let playing: Vec<_> =
            TRACKS.iter().map(|track| scope.spawn(|| track.play(&images, options, times))).collect();
        let end = |thread: thread::ScopedJoinHandle<'_, Result<()>>| {
            thread.join().unwrap_or_else(|_| bail!("a phase panicked, see above"))
        };
        playing.into_iter().map(end).collect()
    });
    // The first that failed tells why; the others have said so on their own lines.
    ends.into_iter().collect::<Result<()>>()?;
    STORY.play(&images, options, times)
}

impl Track {
    fn play(&self, images: &[Tar], options: &Options, times: &Times) -> Result<()> {
        let chosen: Vec<&Phase> =
            self.phases.iter().filter(|phase| phase.name.contains(&options.only)).collect();
        if chosen.is_empty() {
            return Ok(());
        }
        up(self.lab, images)?;
        let stage = Stage { lab: self.lab, options };
        for phase in chosen {
            times.take(phase.name, || (phase.run)(&stage)).with_context(|| {
                format!("phase {0}; once more, alone: cargo xtask test-kubernetes --keep {0}", phase.name)
            })?;
        }
        Ok(())
    }
}

/// All test programs at once: cargo would wait for itself where phases run side by side.
fn compile() -> Result<()> {
    cargo::run(&["test", "--workspace", "--no-run", "--quiet", "--test", "*", "--example", "contract"])
}

fn up(name: &str, images: &[Tar]) -> Result<()> {
    lab::down(name)?;
    let lab = Lab::up(&lab::Options { name: name.into(), ..lab::Options::default() }, &Timed::start())?;
    images.iter().try_for_each(|image| Ok(lab.load_image(&image.path)?))
}

/// Both servers, and the page about them. The real one has to forget its past for some cases.
fn contract(stage: &Stage<'_>) -> Result<()> {
    let me = this_program();
    let forget = format!("{me} lab compact --name {0} && {me} lab restart-api --name {0}", stage.lab);
    let mut contract = Command::new(cargo::built(Target::Example("contract"))?);
    contract.args(["--forget", &forget, "--table", "docs/contract.md"]);
    if !stage.options.write_table {
        contract.arg("--check");
    }
    stage.run(contract)
}

/// The demo, as a user sees it; and README.md shows nothing else.
fn story(stage: &Stage<'_>) -> Result<()> {
    let mut child = Command::new(this_program())
        .args(["demo", "--lab", stage.lab])
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot tell")?;
    let mut told = String::new();
    for line in child.stdout.take().into_iter().flat_map(|output| BufReader::new(output).lines()) {
        let line = line.context("the demo does not print text")?;
        println!("{line}");
        told += &line;
        told.push('\n');
    }
    if !child.wait().context("the demo did not end")?.success() {
        bail!("the demo failed, see above");
    }
    let readme = fs::read_to_string(tree::root().join("README.md")).context("README.md")?;
    let wrong = excerpt::not_told(&readme, &told)?;
    if !wrong.is_empty() {
        bail!("README.md shows what the demo no longer says:\n  {}", wrong.join("\n  "));
    }
    Ok(())
}

/// Also when it was compiled anew meanwhile, and its file is another one.
fn this_program() -> String {
    format!("/proc/{}/exe", std::process::id())
}

/// The client on etcd's own processes; then whole clusters. Every version that is pinned is on the nodes, to be upgraded from and to.
fn etcd(stage: &Stage<'_>) -> Result<()> {
    let progress = Timed::start();
    let versions = Operand::Etcd.versions().iter().map(|component| component.version);
    let images = versions.map(|version| lab::images::operand(Operand::Etcd, version, &progress));
    Lab::open(stage.lab)?.load_images(&images.collect::<lab::Result<Vec<_>>>()?)?;
    stage.run_test("real_etcd", &[])?;
    stage.run_test("backups_of_real_etcd", &[])?;
    let chosen = if stage.options.whole { &[] } else { ETCD_SAMPLE };
    stage.scenarios("etcd_on_kubernetes", 4, chosen)
}

impl Stage<'_> {
    /// So many at a time: they wait for Kubernetes most of the time.
    fn scenarios(&self, test: &str, at_once: u8, only: &[&str]) -> Result<()> {
        let threads = format!("--test-threads={at_once}");
        self.run_test(test, &[&[threads.as_str()], only].concat())
    }

    fn run_test(&self, test: &str, options: &[&str]) -> Result<()> {
        let cargo = ["test", "--workspace", "--quiet", "--test", test, "--", "--nocapture"];
        self.run(cargo::command(&[&cargo, options].concat()))
    }

    fn run(&self, mut command: Command) -> Result<()> {
        let lab = Lab::open(self.lab)?;
        command.env("KUBECONFIG", lab.kubeconfig()).env("CAPSTAN_LAB", self.lab).current_dir(tree::root());
        let status = command.status().context("cannot run it")?;
        if !status.success() {
            bail!("failed, see above");
        }
        Ok(())
    }
}

/// How long each phase took. Some ran side by side, so they are more than the whole.
struct Times {
    began: Instant,
    taken: Mutex<Vec<(&'static str, Duration)>>,
}

impl Times {
    fn start() -> Self {
        Self { began: now(), taken: Mutex::default() }
    }

    fn take<T>(&self, name: &'static str, phase: impl FnOnce() -> Result<T>) -> Result<T> {
        println!("\n==> {name}");
        let began = now();
        let done = phase();
        self.all().push((name, began.elapsed()));
        done
    }

    fn all(&self) -> MutexGuard<'_, Vec<(&'static str, Duration)>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn print(&self) {
        println!("\n    seconds  phase");
        for (name, took) in self.all().iter() {
            println!("    {:>7.1}  {name}", took.as_secs_f32());
        }
        println!("    {:>7.1}  in all", self.began.elapsed().as_secs_f32());
    }
}
