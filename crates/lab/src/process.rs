//! How the lab starts processes: each is in its cgroup before it does anything.
//!
//! Teardown kills by membership in the lab's cgroups and nothing else. A process that could not join ends at once, so none
//! is ever missed: neither a daemon, nor an `ip link add` of a `lab up` that was killed a moment ago.

use std::{
    fs::OpenOptions,
    path::Path,
    process::{Command, Output, Stdio},
    time::Duration,
};

use crate::{
    cgroup::Cgroups,
    error::{At as _, Error, Result, last_lines},
    wait,
};

const INSTALL: &str = "`scripts/setup kubernetes` installs it";

/// `$1` files to write our own process id into, then the program. `set -e`: no cgroup, no program.
const JOIN: &str =
    r#"set -e; n=$1; shift; while [ "$n" -gt 0 ]; do echo $$ > "$1"; shift; n=$((n - 1)); done; exec "$@""#;

/// Starts a program again when it ends, as an init system would. The kubelet needs it: it gives up when containerd listens
/// but does not serve yet.
const RESTART: &str = r#"while :; do "$@"; sleep 0.2; done"#;

/// A command that runs in the cgroup at `path`, with nothing from our environment: a proxy set there, or a KUBECONFIG,
/// would change what daemons do.
pub(crate) fn command(cgroups: &Cgroups, path: &str, program: impl AsRef<Path>) -> Command {
    let mut command = clean("sh");
    let files = cgroups.member_files(path);
    command.args(["-c", JOIN, "join", &files.len().to_string()]).args(files).arg(program.as_ref());
    command
}

/// A program without our environment.
pub(crate) fn clean(program: impl AsRef<Path>) -> Command {
    let mut command = Command::new(program.as_ref());
    command
        .env_clear()
        .env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
        .env("HOME", "/root")
        .current_dir("/")
        .stdin(Stdio::null());
    command
}

/// How much garbage Go's programs let grow, in percent of what they need. Twenty daemons share two cores, and there is memory: with Go's own
/// 100 the API server computes half as much again.
const GOGC: &str = "400";

/// Starts `command` as a daemon of its own session that is restarted when it ends; its output goes to `log`.
pub(crate) fn daemon(
    cgroups: &Cgroups,
    path: &str,
    log: &Path,
    enter: &[String],
    argv: &[String],
) -> Result<()> {
    let file = OpenOptions::new().create(true).append(true).open(log).at("open", log)?;
    let mut command = command(cgroups, path, "setsid");
    command.args(["--fork"]).args(enter).args(["sh", "-c", RESTART, "restart"]).args(argv).env("GOGC", GOGC);
    command.stdout(file.try_clone().at("open", log)?).stderr(file);
    run(&mut command).map(drop)
}

/// Runs a command to its end and gives its standard output.
pub(crate) fn run(command: &mut Command) -> Result<String> {
    let output =
        command.output().map_err(|source| Error::start(command.get_program().display(), INSTALL, source))?;
    finished(command, &output)
}

/// As [`run`], with `input` on standard input.
pub(crate) fn run_with(command: &mut Command, input: &str) -> Result<String> {
    use std::io::Write as _;
    let program = command.get_program().display().to_string();
    let start = |source| Error::start(&program, INSTALL, source);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(start)?;
    if let Some(mut stdin) = child.stdin.take() {
        // A program that ends early says why on stderr; the broken pipe is not the news.
        let _ = stdin.write_all(input.as_bytes());
    }
    let output = child.wait_with_output().map_err(start)?;
    finished(command, &output)
}

pub(crate) fn finished(command: &Command, output: &Output) -> Result<String> {
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said =
        [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned()).join("\n");
    Err(Error::Command {
        command: words(command),
        how: format!("failed ({})", output.status),
        output: last_lines(&said, 8),
    })
}

/// The command as people would type it, without the way into cgroups and namespaces.
fn words(command: &Command) -> String {
    let all: Vec<String> = std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let skip = match all.get(2) {
        Some(script) if script == JOIN => {
            5 + all.get(4).and_then(|count| count.parse::<usize>().ok()).unwrap_or_default()
        }
        _ => 0,
    };
    all.get(skip..).unwrap_or_default().join(" ")
}

/// Asks `done` until it says yes or `limit` has passed.
pub(crate) fn wait_until(limit: Duration, mut done: impl FnMut() -> bool) -> bool {
    let start = wait::now();
    while !done() {
        if start.elapsed() > limit {
            return false;
        }
        wait::pause(Duration::from_millis(20));
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_cannot_join_its_cgroup_does_not_run() {
        let cgroups = Cgroups::at(["/nonexistent".into()]);
        let error = run(&mut command(&cgroups, "capstan0/control", "echo")).unwrap_err().to_string();
        assert!(error.starts_with("`echo` failed"), "{error}");
    }

    #[test]
    fn a_failed_command_says_what_it_was_and_what_it_said() {
        let mut command = command(&Cgroups::at([]), "x", "sh");
        let error = run(command.args(["-c", "echo no such thing >&2; exit 3"])).unwrap_err().to_string();
        assert!(error.contains("failed (exit status: 3)") && error.contains("no such thing"), "{error}");
    }
}
