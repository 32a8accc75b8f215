//! Types what a document tells its readers to type, in its order, on the lab: a command that does not work fails the phase.
//!
//! Typed is what stands indented, and what a table of commands has in its first column. A block of YAML that begins with the name of a file is
//! that file from there on. Most lines are run as they are; those that never end, or that need a pod, are named in [`OTHERWISE`].
#![expect(clippy::print_stdout, reason = "shows what is typed")]

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs,
    io::{BufRead as _, BufReader},
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
};

use anyhow::{Context as _, Result, bail};
use lab::{Lab, binaries, versions::Operand};
use serde_json::json;

use crate::{lab::Timed, tree};

/// What is typed from top to bottom, in one namespace, and what each takes for granted.
const DOCUMENTS: &[(&str, &[&str])] = &[("docs/etcd.md", &[]), ("docs/etcd-backup.md", BEFORE_BACKUPS)];

/// A cluster, a store in another namespace, and the files that the commands name.
const BEFORE_BACKUPS: &[&str] = &[
    "kubectl apply -f examples/etcd.yaml",
    "kubectl create namespace documents-storage",
    "kubectl create secret generic backup-credentials --namespace documents-storage \
     --from-literal=AWS_ACCESS_KEY_ID=backup --from-literal=AWS_SECRET_ACCESS_KEY=not-a-secret",
    "sed s/example-backup/backups/ examples/demo/s3.yaml | kubectl apply --namespace documents-storage -f -",
    "mkdir -p backups client credentials",
    "printf backup >credentials/accessKeyID; printf not-a-secret >credentials/secretAccessKey",
    "kubectl rollout status deployment/s3 --namespace documents-storage",
    "capstan etcd status db --until-healthy",
    "for key in ca.crt tls.crt tls.key; do \
     kubectl get secret db-client-tls -o go-template=\"{{index .data \\\"$key\\\" | base64decode}}\" >client/$key; done",
];

/// Where documents say something that is elsewhere here.
const ELSEWHERE: &[(&str, &str)] = &[
    ("s3.storage.svc", "s3.documents-storage.svc"),
    ("--namespace storage ", "--namespace documents-storage "),
];
const NAMESPACE: &str = "documents";
/// The one that examples/etcd.yaml names.
const ETCD: &str = "3.6.16";
/// The longest that a command may take, for `timeout`.
const PATIENCE: &str = "120";

/// What these programs are told is typed; other text that stands indented is not.
const PROGRAMS: &[&str] = &["kubectl ", "capstan ", "etcdctl "];

/// How a line is typed that cannot simply be run to its end, by how it begins.
const OTHERWISE: &[(&str, How)] = &[
    ("kubectl port-forward ", How::Beside("Forwarding from")),
    ("capstan backup capture ", How::Beside("capturing")),
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
    /// In a terminal of its own, until the same is typed again or the document ends; what follows waits until it has said this.
    Beside(&'static str),
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
    /// What runs in terminals of its own, by what was typed.
    beside: BTreeMap<String, Child>,
}

/// Types all of them on `lab`; `programs` is where `capstan` is.
pub(crate) fn run(lab: &Lab, programs: &Path) -> Result<()> {
    let mut desk = Desk::at(lab, programs)?;
    for (document, before) in DOCUMENTS {
        let text = fs::read_to_string(tree::root().join(document)).with_context(|| (*document).to_owned())?;
        let text = ELSEWHERE.iter().fold(text, |text, (said, meant)| text.replace(said, meant));
        for line in *before {
            desk.ends(line).with_context(|| format!("before {document}: `{line}`"))?;
        }
        for (name, content) in files(&text) {
            fs::write(desk.directory.join(name), content).with_context(|| name.to_owned())?;
        }
        for (number, line) in typed(&text) {
            println!("{document}:{number}: $ {line}");
            desk.types(line).with_context(|| format!("{document}:{number}: `{line}`"))?;
        }
        desk.ends_what_runs_beside()?;
    }
    desk.clear()
}

/// The blocks of YAML that begin with the name of a file, and the names.
fn files(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.split("```yaml\n# ").skip(1).filter_map(|block| block.split("```").next()?.split_once('\n'))
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
        symlink(binaries::operand(Operand::Etcd, ETCD, &Timed::start())?, directory.join("bin"))
            .context("bin")?;
        let example =
            fs::read_to_string(tree::root().join("examples/etcd.yaml")).context("examples/etcd.yaml")?;
        fs::write(directory.join("edited.yaml"), example.replace("size: 3", "size: 5"))
            .context("edited.yaml")?;
        fs::copy(lab.kubeconfig(), directory.join("kubeconfig")).context("kubeconfig")?;
        let kubectl = PathBuf::from(lab.kubectl().get_program());
        let tools = kubectl.parent().context("kubectl is nowhere")?;
        let path = std::env::join_paths([programs, tools, Path::new("/usr/bin"), Path::new("/bin")])?;
        let desk = Self { directory, path, beside: BTreeMap::new() };
        desk.ends(&format!("kubectl config set-context --current --namespace={NAMESPACE}"))?;
        desk.ends(&format!("kubectl create namespace {NAMESPACE}"))?;
        Ok(desk)
    }

    fn clear(self) -> Result<()> {
        self.ends(&format!("kubectl delete namespace {NAMESPACE} {NAMESPACE}-storage --wait=false")).map(drop)
    }

    fn types(&mut self, line: &str) -> Result<()> {
        match how(line) {
            How::Beside(said) => self.starts(line, said),
            How::AsItIs => self.ends(line).map(drop),
            How::Until(said) => self.says(line, said),
            How::After(before) => {
                self.ends(before).ok();
                self.ends(line).map(drop)
            }
            How::InAPod { image, more } => self.in_a_pod(line, image, more),
        }
    }

    /// What a shell is asked to do here. A reader's `/` is the desk.
    fn shell(&self, line: &str) -> Command {
        let mut command = Command::new("timeout");
        let line = line.replace("file:///", &format!("file://{}/", self.directory.display()));
        command.args([PATIENCE, "bash", "-c", &line]).current_dir(&self.directory).stdin(Stdio::null());
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
        let (child, said) = self.listen(line, wanted)?;
        stop(child)?;
        said
    }

    fn starts(&mut self, line: &str, wanted: &str) -> Result<()> {
        if let Some(earlier) = self.beside.remove(line) {
            stop(earlier)?;
        }
        let (child, said) = self.listen(line, wanted)?;
        self.beside.insert(line.to_owned(), child);
        said
    }

    /// Starts it, and waits until it has said what is wanted, or nothing more; says which.
    fn listen(&self, line: &str, wanted: &str) -> Result<(Child, Result<()>)> {
        let mut child = self
            .shell(&format!("{line} 2>&1"))
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot run a shell")?;
        let mut lines = BufReader::new(child.stdout.take().context("no output")?).lines();
        let said = lines.any(|line| line.is_ok_and(|line| line.contains(wanted)));
        // What it says from now on nobody reads, and it must not stop for that.
        thread::spawn(move || lines.for_each(drop));
        Ok((child, said.then_some(()).with_context(|| format!("it never said {wanted:?}"))))
    }

    fn ends_what_runs_beside(&mut self) -> Result<()> {
        std::mem::take(&mut self.beside).into_values().try_for_each(stop)
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

impl Drop for Desk {
    /// Whatever came of it. What cannot be tidied up is in nobody's way: the next desk has another name.
    fn drop(&mut self) {
        self.ends_what_runs_beside().ok();
        fs::remove_dir_all(&self.directory).ok();
    }
}

/// To `timeout`, which hands it on; a kill would leave the program behind.
fn stop(mut child: Child) -> Result<()> {
    Command::new("kill").arg(child.id().to_string()).status().context("cannot stop it")?;
    child.wait().context("it does not stop").map(drop)
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

    #[test]
    fn a_block_that_begins_with_a_name_is_a_file() {
        let text =
            "```yaml\n# one.yaml\na: 1\n```\nand\n```yaml\nb: 2\n```\n```yaml\n# two.yaml\nc: 3\n```\n";
        assert_eq!(files(text).collect::<Vec<_>>(), [("one.yaml", "a: 1\n"), ("two.yaml", "c: 3\n")]);
    }

    /// A line of the table that no document has any more would never be tried.
    #[test]
    fn every_line_that_is_typed_otherwise_is_in_a_document() {
        let texts: Vec<String> = DOCUMENTS
            .iter()
            .map(|(document, _)| fs::read_to_string(tree::root().join(document)).unwrap())
            .collect();
        for (start, _) in OTHERWISE {
            let there = texts.iter().flat_map(|text| typed(text)).any(|(_, line)| line.starts_with(start));
            assert!(there, "no document tells to type {start}");
        }
    }
}
