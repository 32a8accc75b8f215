//! Calls npm: exactly what a package-lock.json names, each package verified by its hash; nothing of a package is run while it is installed.

use std::{fs, path::Path};

use crate::{
    Error, Progress, Result, bound,
    error::{At as _, last_component, last_lines},
};

const INSTALL: &str = "install node 18 or newer, and npm";

/// The lines of npm's output that are shown when it fails.
const LINES: usize = 15;

/// Everything that the directory `pinned` asks for, into the empty directory `out`.
pub(super) fn install(pinned: &Path, out: &Path, progress: &dyn Progress) -> Result<()> {
    progress.step(&format!("{}: installing it with npm, once", last_component(pinned)));
    for file in ["package.json", "package-lock.json"] {
        fs::copy(pinned.join(file), out.join(file)).at("copy to", out.join(file))?;
    }
    let mut command = bound::command("npm");
    command.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]).current_dir(out);
    let said = command.output().map_err(|source| Error::start("setpriv", "install util-linux", source))?;
    if said.status.success() {
        return Ok(());
    }
    let output = last_lines(&String::from_utf8_lossy(&said.stderr), LINES);
    let how = format!("failed ({}; is there a network? {INSTALL})", said.status);
    Err(Error::Command { command: "npm ci".into(), how, output })
}
