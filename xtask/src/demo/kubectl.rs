//! The stock kubectl, on one cluster, in one namespace.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    path::PathBuf,
    process::{Child, ChildStdout, Command, Stdio},
};

use anyhow::{Context as _, Result, bail};

use super::story::Story;
use crate::tree;

pub(crate) struct Kubectl {
    pub(crate) program: PathBuf,
    /// What chooses the cluster: `--kubeconfig FILE` or `--context NAME`. Not shown: the user's shell will have it.
    pub(crate) cluster: Vec<String>,
    /// Shown and passed with every command; none for what is in no namespace.
    pub(crate) namespace: Option<&'static str>,
}

impl Kubectl {
    /// The same cluster, another namespace.
    pub(crate) fn of(&self, namespace: Option<&'static str>) -> Self {
        Self { program: self.program.clone(), cluster: self.cluster.clone(), namespace }
    }

    fn typed(&self, line: &str) -> String {
        match self.namespace {
            None => format!("kubectl {line}"),
            Some(namespace) => format!("kubectl -n {namespace} {line}"),
        }
    }

    /// A command line of kubectl, shown and run; its output shown and returned.
    pub(crate) fn show(&self, story: &Story, line: &str) -> Result<String> {
        story.command(self.typed(line));
        let told = self.ask(&words(line))?;
        story.output(&told);
        Ok(told)
    }

    /// The same, without its output.
    pub(crate) fn run(&self, story: &Story, line: &str) -> Result<()> {
        story.command(self.typed(line));
        self.ask(&words(line)).map(drop)
    }

    /// What kubectl answers; not shown.
    pub(crate) fn ask(&self, arguments: &[&str]) -> Result<String> {
        self.ask_with(arguments, "")
    }

    /// The same, with something on its standard input.
    pub(crate) fn ask_with(&self, arguments: &[&str], input: &str) -> Result<String> {
        let mut child = self
            .command(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot run {}", self.program.display()))?;
        if let Some(mut stdin) = child.stdin.take() {
            stdin.write_all(input.as_bytes()).context("kubectl does not read its input")?;
        }
        let done = child.wait_with_output().context("kubectl did not end")?;
        if !done.status.success() {
            bail!("kubectl {} failed: {}", arguments.join(" "), String::from_utf8_lossy(&done.stderr).trim());
        }
        Ok(String::from_utf8_lossy(&done.stdout).trim_end().to_owned())
    }

    /// One field of one object, empty when either is missing.
    pub(crate) fn field(&self, object: &str, path: &str) -> Result<String> {
        let path = format!("jsonpath={{{path}}}");
        self.ask(&["get", object, "--ignore-not-found", "-o", &path])
    }

    /// A port of this machine that leads to a port of a Service, while the result lives.
    pub(crate) fn forward(&self, service: &str, port: u16) -> Result<Forward> {
        let target = format!("service/{service}");
        let mut child = self
            .command(&["port-forward", &target, &format!(":{port}")])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .context("cannot run kubectl port-forward")?;
        let mut says = BufReader::new(child.stdout.take().context("kubectl port-forward has no output")?);
        let mut line = String::new();
        says.read_line(&mut line).context("kubectl port-forward says nothing")?;
        // `Forwarding from 127.0.0.1:40001 -> 8080`
        let local = line.split("127.0.0.1:").nth(1).and_then(|rest| rest.split_whitespace().next());
        let port = local.and_then(|port| port.parse().ok()).unwrap_or_default();
        let forward = Forward { child, port, _says: says };
        if forward.port == 0 {
            bail!("kubectl port-forward {target} gives no port: {line}");
        }
        Ok(forward)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.cluster);
        if let Some(namespace) = self.namespace {
            command.args(["--namespace", namespace]);
        }
        command.args(arguments).current_dir(tree::root());
        command
    }
}

/// An open `kubectl port-forward`.
pub(crate) struct Forward {
    child: Child,
    pub(crate) port: u16,
    /// Kept open: kubectl tells of every connection here, and dies when nobody listens.
    _says: BufReader<ChildStdout>,
}

impl Drop for Forward {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// The words of a command line; `'…'` holds one together.
fn words(line: &str) -> Vec<&str> {
    let mut words = Vec::new();
    for (index, part) in line.split('\'').enumerate() {
        if index % 2 == 0 { words.extend(part.split_whitespace()) } else { words.push(part) }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_hold_a_word_together() {
        assert_eq!(
            words("patch ea notes -p '{\"a\": 1}' -o name"),
            ["patch", "ea", "notes", "-p", "{\"a\": 1}", "-o", "name"]
        );
    }
}
