//! Types what a document tells its readers to type, in its order, on the lab: a command that does not work fails the phase.
//!
//! Typed is what stands indented, and what a table of commands has in its first column. Most lines are run as they are; those that
//! never end, or that need a pod, are named in [`OTHERWISE`].
#![expect(clippy::print_stdout, reason = "shows what is typed")]

use std::{
    ffi::OsString,
    fs,
    io::{BufRead as _, BufReader},
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context as _, Result, bail};
use lab::Lab;
use serde_json::json;

use crate::tree;

/// What is typed from top to bottom, in one namespace.
const DOCUMENTS: &[&str] = &["docs/etcd.md"];
const NAMESPACE: &str = "documents";
/// The longest that a command may take, for `timeout`.
const PATIENCE: &str = "120";

/// What these programs are told is typed; other text that stands indented is not.
const PROGRAMS: &[&str] = &["kubectl ", "capstan ", "etcdctl "];

/// How a line is typed that cannot simply be run to its end, by how it begins.
const OTHERWISE: &[(&str, How)] = &[
    ("kubectl port-forward ", How::Until("Forwarding from")),
    ("capstan etcd status db --watch", How::Until("Healthy")),
    ("capstan etcd logs db --follow", How::Until("db-1")),
    ("capstan etcd move-leader db --to db-2", How::After("capstan etcd move-leader db --to db-1")),
    ("etcdctl ", How::InAPod { image: "quay.io/coreos/etcd:v3.6.16", more: &[] }),
    ("capstan etcd load ", How::InAPod { image: "capstan:dev", more: &["--for", "2s"] }),
];

#[derive(Clone, Copy)]
enum How {
    AsItIs,
    /// Stopped as soon as it has said this.
    Until(&'static str),
    /// So that there is something to do: this first, whatever comes of it.
    After(&'static str),
    /// With the client's Secret at `/tls`, and more words so that it ends.
    InAPod {
        image: &'static str,
        more: &'static [&'static str],
    },
}

/// A reader's desk: a directory with what the documents take for granted, and a shell that leads to the lab.
struct Desk {
    directory: PathBuf,
    path: OsString,
}

/// Types all of them on `lab`; `programs` is where `capstan` is.
pub(crate) fn run(lab: &Lab, programs: &Path) -> Result<()> {
    let desk = Desk::at(lab, programs)?;
    for document in DOCUMENTS {
        let text = fs::read_to_string(tree::root().join(document)).with_context(|| (*document).to_owned())?;
        for (number, line) in typed(&text) {
            println!("{document}:{number}: $ {line}");
            desk.types(line).with_context(|| format!("{document}:{number}: `{line}`"))?;
        }
    }
    desk.clear()
}

/// The lines to type, with their numbers.
fn typed(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().filter_map(|(index, line)| {
        let in_table = || line.strip_prefix("| `")?.split('`').next();
        let line = line.strip_prefix("    ").or_else(in_table)?.split(" #").next()?.trim_end();
        PROGRAMS.iter().any(|program| line.starts_with(program)).then_some((index + 1, line))
    })
}

fn how(line: &str) -> How {
    let otherwise = OTHERWISE.iter().find(|(start, _)| line.starts_with(start));
    otherwise.map_or(How::AsItIs, |(_, how)| *how)
}

impl Desk {
    fn at(lab: &Lab, programs: &Path) -> Result<Self> {
        let directory = lab::cache()?.join(format!("desk-{}", std::process::id()));
        fs::create_dir_all(&directory).context("cannot make a directory to type in")?;
        for part in ["deploy", "examples"] {
            symlink(tree::root().join(part), directory.join(part)).with_context(|| part.to_owned())?;
        }
        let example =
            fs::read_to_string(tree::root().join("examples/etcd.yaml")).context("examples/etcd.yaml")?;
        fs::write(directory.join("edited.yaml"), example.replace("size: 3", "size: 5"))
            .context("edited.yaml")?;
        fs::copy(lab.kubeconfig(), directory.join("kubeconfig")).context("kubeconfig")?;
        let kubectl = PathBuf::from(lab.kubectl().get_program());
        let tools = kubectl.parent().context("kubectl is nowhere")?;
        let path = std::env::join_paths([programs, tools, Path::new("/usr/bin"), Path::new("/bin")])?;
        let desk = Self { directory, path };
        desk.ends(&format!("kubectl config set-context --current --namespace={NAMESPACE}"))?;
        desk.ends(&format!("kubectl create namespace {NAMESPACE}"))?;
        Ok(desk)
    }

    fn clear(self) -> Result<()> {
        self.ends(&format!("kubectl delete namespace {NAMESPACE} --wait=false"))?;
        fs::remove_dir_all(&self.directory).context("cannot remove the directory to type in")
    }

    fn types(&self, line: &str) -> Result<()> {
        match how(line) {
            How::AsItIs => self.ends(line).map(drop),
            How::Until(said) => self.says(line, said),
            How::After(before) => {
                self.ends(before).ok();
                self.ends(line).map(drop)
            }
            How::InAPod { image, more } => self.in_a_pod(line, image, more),
        }
    }

    /// What a shell is asked to do here.
    fn shell(&self, line: &str) -> Command {
        let mut command = Command::new("timeout");
        command.args([PATIENCE, "bash", "-c", line]).current_dir(&self.directory).stdin(Stdio::null());
        command.env("PATH", &self.path).env("KUBECONFIG", self.directory.join("kubeconfig"));
        command.env("NO_PROXY", "*");
        command
    }

    fn ends(&self, line: &str) -> Result<String> {
        let done = self.shell(line).output().context("cannot run a shell")?;
        let said = String::from_utf8_lossy(&done.stdout).into_owned();
        if !done.status.success() {
            bail!("{}:\n{said}{}", done.status, String::from_utf8_lossy(&done.stderr));
        }
        Ok(said)
    }

    fn says(&self, line: &str, wanted: &str) -> Result<()> {
        let mut child = self.shell(line).stdout(Stdio::piped()).spawn().context("cannot run a shell")?;
        let mut lines = BufReader::new(child.stdout.take().context("no output")?).lines();
        let said = lines.any(|line| line.is_ok_and(|line| line.contains(wanted)));
        // To `timeout`, which hands it on; a kill would leave the program behind.
        Command::new("kill").arg(child.id().to_string()).status().context("cannot stop it")?;
        child.wait().context("it does not stop")?;
        if !said {
            bail!("it never said {wanted:?}");
        }
        Ok(())
    }

    fn in_a_pod(&self, line: &str, image: &str, more: &[&str]) -> Result<()> {
        let command: Vec<&str> = line.split_whitespace().chain(more.iter().copied()).collect();
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "reader"}, "spec": {
            "restartPolicy": "Never",
            "volumes": [{"name": "tls", "secret": {"secretName": "db-client-tls"}}],
            "containers": [{"name": "reader", "image": image, "command": command,
                "volumeMounts": [{"name": "tls", "mountPath": "/tls"}]}],
        }});
        fs::write(self.directory.join("pod.json"), pod.to_string()).context("pod.json")?;
        self.ends("kubectl create -f pod.json")?;
        let ended =
            self.ends("kubectl wait pod/reader --for=jsonpath='{.status.phase}'=Succeeded --timeout=60s");
        let said = self.ends("kubectl logs pod/reader").unwrap_or_default();
        self.ends("kubectl delete pod/reader --now")?;
        ended.map(drop).context(said)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typed_is_what_stands_indented_or_first_in_a_table_and_is_a_command() {
        let text = "`kubectl get` is told, not typed:\n\n    kubectl get etcd db   # how is it?\n    size: 3\n\n\
                    | `capstan etcd status` | all of them; `capstan etcd status -A` |\n| `size` | 3 |\n";
        let lines: Vec<_> = typed(text).collect();
        assert_eq!(lines, [(3, "kubectl get etcd db"), (6, "capstan etcd status")]);
    }

    /// A line of the table that no document has any more would never be tried.
    #[test]
    fn every_line_that_is_typed_otherwise_is_in_a_document() {
        let texts: Vec<String> = DOCUMENTS
            .iter()
            .map(|document| fs::read_to_string(tree::root().join(document)).unwrap())
            .collect();
        for (start, _) in OTHERWISE {
            let there = texts.iter().flat_map(|text| typed(text)).any(|(_, line)| line.starts_with(start));
            assert!(there, "no document tells to type {start}");
        }
    }
}
