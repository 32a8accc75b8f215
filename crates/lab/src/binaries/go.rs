//! Calls the Go toolchain: downloads first, with a limit and retries, then compiles, with a line for each program that is done.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus},
    time::{Duration, Instant},
};

use crate::{
    Error, Progress, Result, bound,
    error::{At as _, last_lines},
    versions::{Build, Component},
    wait::{now, pause},
    whole::children,
};

const INSTALL: &str = "install Go 1.21 or newer; it fetches by itself the exact version that a program needs";

/// `go` itself never gives up on a connection that stalls.
const DOWNLOAD_LIMIT: Duration = Duration::from_secs(300);
const DOWNLOAD_TRIES: u32 = 3;

/// Compiling Kubernetes is silent for minutes before its first program is linked.
const SIGN_OF_LIFE: Duration = Duration::from_secs(20);
const LOOK: Duration = Duration::from_millis(100);

/// The lines of go's output that are shown when it fails.
const LINES: usize = 15;

/// All programs of `component`, into the empty directory `out`.
pub(super) fn build(component: &Component, out: &Path, progress: &dyn Progress) -> Result<()> {
    let Component { name, version, .. } = component;
    check_toolchain()?;
    let start = now();
    progress.step(&format!("{name} {version}: downloading its sources"));
    download(component, out)?;
    let count = component.programs().count();
    let sources = seconds(start);
    progress
        .step(&format!("{name} {version}: building {count} programs, once (sources are here, {sources} s)"));
    for build in component.builds {
        compile(component, build, out, progress, start)?;
    }
    Ok(())
}

/// An older Go does not understand our go.mod and says so in riddles.
fn check_toolchain() -> Result<()> {
    let output = Command::new("go")
        .args(["env", "GOVERSION"])
        .output()
        .map_err(|source| Error::start("go", INSTALL, source))?;
    let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    match understands_toolchains(&version) {
        true => Ok(()),
        false => Err(Error::NoProgram {
            program: format!("go (there is {version:?}, which is too old)"),
            remedy: INSTALL,
        }),
    }
}

fn understands_toolchains(version: &str) -> bool {
    let minor = version.trim_start_matches("go1.").split(|c: char| !c.is_ascii_digit()).next();
    version.starts_with("go1.")
        && minor.and_then(|minor| minor.parse::<u32>().ok()).is_some_and(|minor| minor >= 21)
}

fn download(component: &Component, out: &Path) -> Result<()> {
    let mut command = go(component);
    command.args(["mod", "download"]);
    let mut tries = 1;
    loop {
        let mut run = Run::start(&mut command, "go mod download", &log_beside(out))?;
        let status = run.until(Some(DOWNLOAD_LIMIT), || ())?;
        if status.is_some_and(|status| status.success()) {
            return run.forget_log();
        }
        if tries == DOWNLOAD_TRIES {
            let how = match status {
                Some(status) => {
                    format!("failed {tries} times ({status}; is there a network, or a GOPROXY to set?)")
                }
                None => format!("did not finish within {} s, {tries} times", DOWNLOAD_LIMIT.as_secs()),
            };
            return Err(run.failed(how));
        }
        tries += 1;
    }
}

fn compile(
    component: &Component,
    build: &Build,
    out: &Path,
    progress: &dyn Progress,
    start: Instant,
) -> Result<()> {
    let mut command = go(component);
    // -v names each package when it is compiled: the only sign of life that go gives.
    command.args([
        "build",
        "-v",
        "-trimpath",
        "-tags",
        component.tags,
        "-ldflags",
        &component.ldflags(build),
        "-o",
    ]);
    command.arg(out.join("")).args(build.programs.iter().map(|(package, _)| package));
    let mut run = Run::start(&mut command, "go build", &log_beside(out))?;
    let log = run.log.clone();
    let mut watch = Watch::new(component, build, out);
    let status = run.until(None, || watch.look(&log, progress, start))?;
    if !status.is_some_and(|status| status.success()) {
        return Err(run.failed("failed".into()));
    }
    for (package, program) in build.programs {
        let (made, wanted) = (out.join(output_name(package)), out.join(program));
        if made != wanted {
            fs::rename(&made, &wanted).at("rename to", &wanted)?;
        }
    }
    watch.rest(progress, start);
    run.forget_log()
}

/// In the module's directory; proxy and checksum database stay what the user has set.
fn go(component: &Component) -> Command {
    let mut command = bound::command("go");
    command.current_dir(component.directory());
    command.envs([("CGO_ENABLED", "0"), ("GOFLAGS", "-mod=readonly -buildvcs=false"), ("GOWORK", "off")]);
    // Fetches a newer toolchain where a go.mod asks for one, and only then.
    command.env("GOTOOLCHAIN", "auto");
    command
}

/// What `go build -o directory/` calls a program: the last part of its package's path that is not a major version.
fn output_name(package: &str) -> &str {
    let is_major = |part: &&str| part.strip_prefix('v').is_some_and(|rest| rest.parse::<u32>().is_ok());
    package.rsplit('/').find(|part| !is_major(part)).unwrap_or(package)
}

fn log_beside(out: &Path) -> PathBuf {
    out.join(".go.log")
}

fn seconds(start: Instant) -> u64 {
    start.elapsed().as_secs()
}

/// A run of go, its output in a file: a pipe that nobody reads would stop it.
struct Run {
    child: Child,
    what: String,
    log: PathBuf,
}

impl Run {
    fn start(command: &mut Command, what: &str, log: &Path) -> Result<Self> {
        let output = File::create(log).at("create", log)?;
        let errors = output.try_clone().at("open", log)?;
        let child = command.stdout(output).stderr(errors).spawn();
        let child = child.map_err(|source| Error::start("setpriv", "install util-linux", source))?;
        let what = format!("{what} in {}", command.get_current_dir().unwrap_or(Path::new(".")).display());
        Ok(Self { child, what, log: log.into() })
    }

    /// Waits for the end, with a look at things now and then; `None` when the limit has passed and it was killed.
    fn until(&mut self, limit: Option<Duration>, mut look: impl FnMut()) -> Result<Option<ExitStatus>> {
        let start = now();
        loop {
            if let Some(status) = self.child.try_wait().at("wait for", "go")? {
                return Ok(Some(status));
            }
            if limit.is_some_and(|limit| start.elapsed() > limit) {
                bound::end(&mut self.child).at("end", "go")?;
                return Ok(None);
            }
            look();
            pause(LOOK);
        }
    }

    fn failed(&self, how: String) -> Error {
        let output = fs::read_to_string(&self.log).unwrap_or_default();
        Error::Command { command: self.what.clone(), how, output: last_lines(&complaints(&output), LINES) }
    }

    fn forget_log(self) -> Result<()> {
        fs::remove_file(&self.log).at("remove", &self.log)
    }
}

/// go's output without the names of packages and downloads that went well.
fn complaints(output: &str) -> String {
    let said = |line: &&str| line.contains(' ') && !line.starts_with("go: downloading ");
    output.lines().filter(said).collect::<Vec<_>>().join("\n")
}

/// Tells of programs as they appear in the output directory, and between them that something still happens.
struct Watch<'a> {
    name: String,
    out: &'a Path,
    /// By go's name for it: ours, and the size at the last look.
    awaited: BTreeMap<&'static str, (&'static str, u64)>,
    last_sign: Instant,
}

impl<'a> Watch<'a> {
    fn new(component: &Component, build: &Build, out: &'a Path) -> Self {
        let awaited = build.programs.iter().map(|(package, program)| (output_name(package), (*program, 0)));
        let name = format!("{} {}", component.name, component.version);
        Self { name, out, awaited: awaited.collect(), last_sign: now() }
    }

    fn look(&mut self, log: &Path, progress: &dyn Progress, start: Instant) {
        let Ok(present) = children(self.out) else { return };
        for path in present {
            let Some(made) = path.file_name().and_then(|name| name.to_str()) else { continue };
            let size = fs::metadata(&path).map_or(0, |metadata| metadata.len());
            let Some((program, before)) = self.awaited.get_mut(made) else { continue };
            // go may copy into place: done when it no longer grows.
            if *before != size || size == 0 {
                *before = size;
                continue;
            }
            done(&self.name, program, size, progress, start);
            self.awaited.remove(made);
            self.last_sign = now();
        }
        if self.last_sign.elapsed() > SIGN_OF_LIFE {
            let packages = fs::read_to_string(log)
                .unwrap_or_default()
                .lines()
                .filter(|line| !line.contains(' '))
                .count();
            let what = match packages {
                0 => "linking".to_owned(),
                _ => format!("{packages} packages compiled"),
            };
            progress.step(&format!("{}: {what}, {} s", self.name, seconds(start)));
            self.last_sign = now();
        }
    }

    /// Those that appeared after the last look; they have their own names by now.
    fn rest(&self, progress: &dyn Progress, start: Instant) {
        for (program, _) in self.awaited.values() {
            let size = fs::metadata(self.out.join(program)).map_or(0, |metadata| metadata.len());
            done(&self.name, program, size, progress, start);
        }
    }
}

fn done(name: &str, program: &str, size: u64, progress: &dyn Progress, start: Instant) {
    progress.step(&format!("{name}: {program} ({} MB), {} s", size / 1_000_000, seconds(start)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_named_as_go_names_it() {
        let cases = [
            ("k8s.io/kubernetes/cmd/kubelet", "kubelet"),
            ("go.etcd.io/etcd/server/v3", "server"),
            ("./coredns", "coredns"),
            ("example.com/a-long-name", "a-long-name"),
            ("example.com/vector", "vector"),
        ];
        for (package, name) in cases {
            assert_eq!(output_name(package), name);
        }
    }

    #[test]
    fn a_go_that_cannot_fetch_toolchains_is_refused() {
        let cases = [
            ("go1.26.8", true),
            ("go1.21", true),
            ("go1.21rc2", true),
            ("go1.19.8", false),
            ("", false),
            ("devel", false),
        ];
        for (version, understood) in cases {
            assert_eq!(understands_toolchains(version), understood, "{version}");
        }
    }

    #[test]
    fn a_failed_build_shows_the_complaint_and_not_the_packages_before_it() {
        let output = "go: downloading k8s.io/api v0.36.3\ninternal/abi\nk8s.io/api\n# lab/coredns\n./main.go:3:1: expected declaration\n";
        assert_eq!(complaints(output), "# lab/coredns\n./main.go:3:1: expected declaration");
    }
}
