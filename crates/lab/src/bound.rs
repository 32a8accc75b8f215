//! Processes that end when this one does, however it ends: no compiler and no daemon is left behind by `kill -9`.

use std::{
    ffi::OsStr,
    io,
    process::{Child, Command, Stdio},
};

use rustix::process::{Pid, Signal, kill_process};

/// The kernel sends SIGTERM when the thread that starts it is gone. setpriv comes with util-linux, as nsenter and unshare do.
pub(crate) fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "TERM", "--"]).arg(program).stdin(Stdio::null());
    command
}

/// Asks it to end, and waits until it has.
pub(crate) fn end(child: &mut Child) -> io::Result<()> {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    if let Some(pid) = pid.filter(|_| matches!(child.try_wait(), Ok(None))) {
        kill_process(pid, Signal::TERM)?;
    }
    child.wait().map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_asked_to_end_and_has_ended_then() {
        let mut child = command("sleep").arg("3600").spawn().unwrap();
        end(&mut child).unwrap();
        assert!(child.try_wait().unwrap().is_some_and(|status| !status.success()));
        end(&mut child).unwrap();
    }
}
