//! `cargo xtask test-kubernetes`: what must be seen on a real Kubernetes, phase by phase, with the time of each.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    process::{Command, Stdio},
    sync::{Mutex, PoisonError},
    thread::{self, ScopedJoinHandle},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail};
use lab::{Lab, versions::Operand};

use crate::{
    cargo::{self, Target},
    clock::now,
    excerpt, image,
    lab::Timed,
    operand_tools, progress, release,
    tally::Tally,
    tree, walkthrough,
};

/// The lab of the tests: not that of `make demo`, which may be in use.
const LAB: &str = "test";

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
    /// Version of Kubernetes; the newest that is pinned if not given.
    #[arg(long)]
    kubernetes: Option<String>,
    /// Write docs/contract.md from what was seen, instead of comparing with it.
    #[arg(long)]
    write_table: bool,
}

/// What CI sees of ExampleApp's scenarios: every capability of the whitepaper once, and the operator at 0, killed and cut off, which are
/// played alone and take most of the time. A release that fails, and the way back from it, are in the demo; that a load of its own rule
/// is over is believed after a minute only, so that one is in the campaign.
const EXAMPLE_APP_SAMPLE: &[&str] = &[
    "install::fifteen_lines",
    "install::the_whitepapers_yaml",
    "adopt::an_existing_deployment",
    "configure::",
    "upgrade::an_upgrade_backs_up",
    "backup::a_backup_is_made_on_demand",
    "backup::the_schedule",
    "restore::a_new_instance",
    "remediation::",
    "scale::",
    "pause::",
    "input::bad_input",
    "uninstall::the_volume",
    "with_trouble::without_an_operator",
    "with_trouble::operators_that_die",
    "with_trouble::an_operator_that_is_cut_off",
];

/// What CI sees of etcd's scenarios: each capability once, and each kind of loss. All of them take more than a quarter of an hour, and
/// `make campaign` plays them.
///
/// Scaling and the downgrade run under load and fail if one request fails. Node death is played alone and takes more than a minute. The
/// upgrade over two minor versions is left to the campaign, for its time only: the demo, a phase of the same run, upgrades under load and
/// prints the number of failed requests.
const ETCD_SAMPLE: &[&str] = &[
    "create::",
    "scale::a_change_of_mind",
    "scale::one_three_five_three_one_under_load",
    "member_lost::a_pod",
    "member_lost::a_volume",
    "member_lost::an_empty_data_directory",
    "upgrade::a_failing_image",
    "upgrade::back_from_3_6_to_3_5",
    "backup::a_backup_is_taken_while_clients_write",
    "restore::the_data_of_a_cluster_is_replaced_in_place",
    "restore::every_version_goes_back_to_just_before_a_mistake",
    "tls::a_companys_own_certificates_and_their_renewal",
    "tls::a_new_ca_in_all_secrets",
    "corrupt::member_that_finds_itself_different",
    "dead_nodes::two_of_three_nodes_are_dead",
    "nodes::members_with_local_volumes",
    "refused::nonsense",
    "refused::what_the_schema",
    "surroundings::",
    "delete::the_volumes_stay",
    "with_trouble::without_an_operator",
    "with_trouble::a_member_on_a_node_that_dies",
];

/// What the sample of etcd must show, each with the beginning of a scenario that shows it.
#[cfg(test)]
const ETCD_SHOWN: &[(&str, &str)] = &[
    ("backup", "backup::a_backup_is_taken"),
    ("restore in place", "restore::the_data_of_a_cluster_is_replaced_in_place"),
    ("point in time", "restore::every_version_goes_back"),
    ("TLS renewal", "tls::a_companys_own_certificates_and_their_renewal"),
    ("node death", "with_trouble::a_member_on_a_node_that_dies"),
    ("downgrade", "upgrade::back_from"),
    ("scaling under load", "scale::one_three_five_three_one_under_load"),
];

struct Phase {
    name: &'static str,
    run: fn(&Session<'_>) -> Result<()>,
    stands_on: Ground,
}

/// What a phase stands on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ground {
    /// Nothing of the tests' lab, so it runs beside those that come after it.
    Apart,
    /// The lab.
    Lab,
    /// The lab, with our images on its nodes. They are compiled beside what comes before.
    Images,
}

/// What all phases of a run share.
struct Session<'o> {
    options: &'o Options,
    /// The tests of all phases so far.
    tally: Mutex<Tally>,
    /// Phases that are running, the first of them begun first.
    running: Mutex<Vec<(&'static str, Instant)>>,
}

impl<'o> Session<'o> {
    fn new(options: &'o Options) -> Self {
        Self { options, tally: Mutex::default(), running: Mutex::default() }
    }

    /// One line about what is going on, for times when nothing else is printed.
    fn describe(&self, time: Duration) -> String {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let phases =
            running.iter().map(|(name, began)| format!("{name} ({})", progress::told(began.elapsed())));
        let (phases, passed) = (phases.collect::<Vec<_>>().join(", "), self.tally().passed());
        format!("running: {phases}; {passed} tests passed, {}", progress::told(time))
    }

    fn tally(&self) -> Tally {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Does `work` and tells how long it took; lines of progress name it meanwhile.
    fn timed<T>(&self, name: &'static str, work: impl FnOnce() -> T) -> (Duration, T) {
        let running = || self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let began = now();
        running().push((name, began));
        let done = work();
        running().retain(|(other, _)| *other != name);
        (began.elapsed(), done)
    }
}

const fn phase(name: &'static str, stands_on: Ground, run: fn(&Session<'_>) -> Result<()>) -> Phase {
    Phase { name, run, stands_on }
}

/// In this order. Two labs with scenarios side by side were tried: a load of 80 on two cores, and scenarios that wait 90 s for what
/// takes 10.
const PHASES: &[Phase] = &[
    phase("lab", Ground::Apart, |session| session.run_test("lab", &[])),
    phase("prometheus-tools", Ground::Lab, |session| {
        session
            .run(operand_tools::tests(session.options.whole)?)
            .context("the checkers refuse what we generate")
    }),
    phase("contract", Ground::Lab, contract),
    phase("real-etcd", Ground::Apart, real_etcd),
    phase("example-app", Ground::Images, example_app),
    phase("etcd", Ground::Images, etcd),
    phase("documents", Ground::Images, |_| documents()),
    phase("demo", Ground::Images, |_| story()),
];

/// Those that CI has no time for: from a cold cache, a checker takes minutes to compile.
const CAMPAIGN_ONLY: &[&str] = &["prometheus-tools"];

pub(crate) fn run(options: &Options) -> Result<()> {
    let session = Session::new(options);
    let mut times = Times { session: &session, began: now(), taken: Vec::new() };
    progress::during(
        |time| session.describe(time),
        || {
            let done = all(&session, &mut times);
            if options.keep {
                progress::print(&format!("the lab is still up: cargo xtask lab down --name {LAB}"));
            } else {
                times.take("lab down", || Ok(lab::down(LAB)?))?;
            }
            times.print();
            progress::print(&format!("\n{}", session.tally()));
            done
        },
    )
}

fn all(session: &Session<'_>, times: &mut Times<'_>) -> Result<()> {
    let options = session.options;
    let meant = |phase: &&Phase| match options.only.as_str() {
        "" => options.whole || !CAMPAIGN_ONLY.contains(&phase.name),
        only => phase.name.contains(only),
    };
    let chosen: Vec<&Phase> = PHASES.iter().filter(meant).collect();
    if chosen.is_empty() {
        let names: Vec<&str> = PHASES.iter().map(|phase| phase.name).collect();
        bail!("no phase is called {}: there are {}", options.only, names.join(", "));
    }
    times.take("programs", compile)?;
    thread::scope(|scope| {
        let needed = chosen.iter().any(|phase| phase.stands_on == Ground::Images);
        let mut images =
            needed.then(|| scope.spawn(|| session.timed("images", || image::all(&Timed::start()))));
        times.take("lab up", || up(options))?;
        let mut apart = Vec::new();
        for phase in chosen {
            if phase.stands_on == Ground::Apart {
                progress::print(&format!("\n==> {}, beside what follows", phase.name));
                let run = move || session.timed(phase.name, || (phase.run)(session));
                apart.push((phase.name, scope.spawn(run)));
                continue;
            }
            if phase.stands_on == Ground::Images
                && let Some(building) = images.take()
            {
                let made = times.wait("images", building)?;
                let paths: Vec<_> = made.into_iter().map(|image| image.path).collect();
                Lab::open(LAB)?.load_images(&paths)?;
            }
            times.take(phase.name, || (phase.run)(session)).with_context(|| again(phase.name))?;
        }
        for (name, thread) in apart {
            times.wait(name, thread).with_context(|| again(name))?;
        }
        Ok(())
    })
}

fn again(phase: &str) -> String {
    format!("phase {phase}; once more, alone: cargo xtask test-kubernetes --keep {phase}")
}

/// All test programs at once: cargo would wait for itself where phases run side by side.
fn compile() -> Result<()> {
    cargo::compile(&["test", "--workspace", "--no-run", "--test", "*", "--example", "contract"]).map(drop)
}

fn up(options: &Options) -> Result<()> {
    lab::down(LAB)?;
    let kubernetes = options.kubernetes.clone();
    Lab::up(&lab::Options { name: LAB.into(), kubernetes, ..lab::Options::default() }, &Timed::start())?;
    Ok(())
}

/// Both servers, and the page about them, which is of the newest Kubernetes; another one has only to pass. The real one has to forget
/// its past for some cases.
fn contract(session: &Session<'_>) -> Result<()> {
    let options = session.options;
    let me = this_program();
    let forget = format!("{me} lab compact --name {LAB} && {me} lab restart-api --name {LAB}");
    let mut contract = Command::new(cargo::built(Target::Example("contract"))?);
    contract.args(["--forget", &forget]);
    if options.kubernetes.is_none() {
        contract.args(["--table", "docs/contract.md"]);
        contract.args((!options.write_table).then_some("--check"));
    }
    session.on_the_lab(contract)
}

/// The demo, as a user sees it; and README.md shows nothing else.
fn story() -> Result<()> {
    let mut child = Command::new(this_program())
        .args(["demo", "--lab", LAB])
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot tell")?;
    let mut told = String::new();
    for line in child.stdout.take().into_iter().flat_map(|output| BufReader::new(output).lines()) {
        let line = line.context("the demo does not print text")?;
        progress::print(&line);
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

/// The client, and backups, on etcd's own processes and on every kind of store; some by the command.
fn real_etcd(session: &Session<'_>) -> Result<()> {
    session.run_test("real_etcd", &[])?;
    cargo::built(Target::Binary("capstan"))?;
    session.run_test("backups_of_real_etcd", &[])
}

fn example_app(session: &Session<'_>) -> Result<()> {
    let chosen = if session.options.whole { &[] } else { EXAMPLE_APP_SAMPLE };
    session.scenarios("example_app_on_kubernetes", 8, chosen)
}

fn etcd(session: &Session<'_>) -> Result<()> {
    load_etcd()?;
    let chosen = if session.options.whole { &[] } else { ETCD_SAMPLE };
    session.scenarios("etcd_on_kubernetes", 4, chosen)
}

/// Every version that is pinned is on the nodes, to be upgraded from and to.
fn load_etcd() -> Result<()> {
    let progress = Timed::start();
    let versions = Operand::Etcd.versions().iter().map(|component| component.version);
    let images = versions.map(|version| lab::images::operand(Operand::Etcd, version, &progress));
    Ok(Lab::open(LAB)?.load_images(&images.collect::<lab::Result<Vec<_>>>()?)?)
}

/// What users read, typed.
fn documents() -> Result<()> {
    load_etcd()?;
    walkthrough::run(&Lab::open(LAB)?, &release::programs(&Timed::start())?)
}

impl Session<'_> {
    /// So many at a time: they wait for Kubernetes most of the time.
    fn scenarios(&self, test: &str, at_once: u8, only: &[&str]) -> Result<()> {
        let threads = format!("--test-threads={at_once}");
        let mut command = test_program(test, &[&[threads.as_str()], only].concat());
        if only.is_empty() {
            // All of them: those that take long, too.
            command.env("CAPSTAN_CAMPAIGN", "full");
        }
        self.on_the_lab(command)
    }

    fn run_test(&self, test: &str, options: &[&str]) -> Result<()> {
        self.on_the_lab(test_program(test, options))
    }

    fn on_the_lab(&self, mut command: Command) -> Result<()> {
        let lab = Lab::open(LAB)?;
        command.env("KUBECONFIG", lab.kubeconfig()).env("CAPSTAN_LAB", LAB).current_dir(tree::root());
        self.run(command)
    }

    /// Runs tests, shows what they print, and counts them.
    fn run(&self, command: Command) -> Result<()> {
        let status = cargo::read_lines(command, |line| {
            progress::print(line);
            self.tally.lock().unwrap_or_else(PoisonError::into_inner).read(line);
        })?;
        if !status.success() {
            bail!("failed, see above");
        }
        Ok(())
    }
}

fn test_program(test: &str, options: &[&str]) -> Command {
    let cargo = ["test", "--workspace", "--test", test, "--", "--nocapture"];
    cargo::command(&[&cargo, options].concat())
}

/// How long each phase took. Some ran side by side, so that they take less in all than one after the other.
struct Times<'s> {
    session: &'s Session<'s>,
    began: Instant,
    taken: Vec<(&'static str, Duration)>,
}

impl Times<'_> {
    fn take<T>(&mut self, name: &'static str, phase: impl FnOnce() -> Result<T>) -> Result<T> {
        progress::print(&format!("\n==> {name}"));
        let (took, done) = self.session.timed(name, phase);
        self.taken.push((name, took));
        done
    }

    /// The same for what was begun before.
    fn wait<T>(
        &mut self,
        name: &'static str,
        begun: ScopedJoinHandle<'_, (Duration, Result<T>)>,
    ) -> Result<T> {
        progress::print(&format!("\n==> {name}, begun before"));
        let Ok((took, done)) = begun.join() else { bail!("{name} panicked, see above") };
        self.taken.push((name, took));
        done
    }

    fn print(&self) {
        progress::print("\n    seconds  phase");
        let whole = ("in all", self.began.elapsed());
        for (name, took) in self.taken.iter().chain([&whole]) {
            progress::print(&format!("    {:>7.1}  {name}", took.as_secs_f32()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn etcd_sample_shows_every_capability() {
        for (what, scenario) in ETCD_SHOWN {
            assert!(ETCD_SAMPLE.iter().any(|name| name.starts_with(scenario)), "{what}: add {scenario}");
        }
    }

    #[test]
    fn line_of_progress_names_running_phases() {
        let options =
            Options { only: String::new(), keep: false, whole: false, kubernetes: None, write_table: false };
        let session = Session::new(&options);
        session.tally.lock().unwrap().read("test result: ok. 12 passed; 0 failed");
        let (_, line) = session.timed("etcd", || session.describe(Duration::from_secs(65)));
        assert_eq!(line, "running: etcd (0 s); 12 tests passed, 1 min 5 s");
    }

    /// A scenario that was renamed would leave the sample without a word.
    #[test]
    fn every_name_in_a_sample_is_that_of_a_scenario() {
        let samples = [("example-app", EXAMPLE_APP_SAMPLE), ("etcd-operator", ETCD_SAMPLE)];
        for (package, name) in
            samples.iter().flat_map(|(package, names)| names.iter().map(move |name| (package, name)))
        {
            let (module, test) = name.split_once("::").unwrap();
            let path = format!("crates/{package}/tests/kubernetes/{module}.rs");
            let text = fs::read_to_string(tree::root().join(&path)).unwrap();
            assert!(text.contains(&format!("async fn {test}")), "{path}: no scenario begins with {test}");
        }
    }
}
