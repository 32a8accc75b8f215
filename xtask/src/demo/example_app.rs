//! ExampleApp's life: installed, changed, upgraded, backed up, lost, recovered, and left alone.

use std::{
    io::Write as _,
    process::{Command, Stdio},
    time::Duration,
};

use anyhow::{Context as _, Result, bail, ensure};

use super::{kubectl::Kubectl, story::Story};

/// What to type after the story.
pub(crate) const TRY: &[&str] = &[
    "kubectl -n demo get exampleapps",
    "kubectl -n demo describe exampleapp notes",
    "kubectl -n demo scale exampleapp notes --replicas=3",
    "kubectl -n demo get events --field-selector involvedObject.kind=ExampleApp",
];

const PATIENCE: Duration = Duration::from_secs(120);

pub(crate) fn tell(story: &Story, kubectl: &Kubectl, manifest: &str) -> Result<()> {
    let app = App { story, kubectl, manifest };
    app.install()?;
    app.features()?;
    app.upgrade()?;
    app.broken_release()?;
    app.backup()?;
    app.disaster()?;
    app.operator_gone()
}

struct App<'a> {
    story: &'a Story,
    kubectl: &'a Kubectl,
    /// What installs Capstan.
    manifest: &'a str,
}

impl App<'_> {
    fn install(&self) -> Result<()> {
        self.story.heading("Install");
        self.story.say("The whitepaper's example, a small notes service, in 15 lines.");
        self.kubectl.show(self.story, "apply -f examples/notes.yaml")?;
        self.settled("0.0.1")?;
        self.kubectl.show(self.story, "get exampleapp notes")?;
        self.kubectl.show(
            self.story,
            "get deployment,service,secret,pvc,cronjob -l app.kubernetes.io/instance=notes -o name",
        )?;
        self.story.say("Three notes go in.");
        for (key, text) in
            [("milk", "two litres"), ("oats", "the coarse ones"), ("call", "mother, before eight")]
        {
            self.http(Method::Put, &format!("notes/{key}"), text)?;
        }
        self.keeps_the_notes()
    }

    fn features(&self) -> Result<()> {
        self.story.heading("A feature is switched on");
        self.patch(r#"{"spec": {"features": {"exampleFeature1": true}}}"#)?;
        let found = self.answers("search?q=coarse", "oats")?;
        self.story.shown(format!("full-text search is there: q=coarse finds {found}"));
        Ok(())
    }

    fn upgrade(&self) -> Result<()> {
        self.story.heading("Upgrade, with a migration of the data");
        self.story.say("0.1.0 cannot read what 0.0.1 writes. It is asked for all the same.");
        self.patch(r#"{"spec": {"appVersion": "0.1.0"}}"#)?;
        let why = self.refusal_with("0.0.2")?;
        self.story.shown(format!("refused, and nothing was touched: {why}"));
        self.story.say("So 0.0.2 first: backup, stop, migrate, start, verify.");
        self.patch(r#"{"spec": {"appVersion": "0.0.2"}}"#)?;
        self.settled("0.0.2")?;
        self.keeps_the_notes()
    }

    fn broken_release(&self) -> Result<()> {
        self.story.heading("A release that does not work");
        self.story.say("0.0.3 was shipped broken: it never becomes healthy.");
        self.patch(r#"{"spec": {"appVersion": "0.0.3"}}"#)?;
        let why = self.rolled_back()?;
        self.story.shown(format!("rolled back by itself: {why}"));
        self.keeps_the_notes()?;
        self.story.say("0.1.0 works, and may follow 0.0.2.");
        self.patch(r#"{"spec": {"appVersion": "0.1.0"}}"#)?;
        self.settled("0.1.0")
    }

    fn backup(&self) -> Result<()> {
        self.story.heading("Backup");
        self.story.say("Every night by a CronJob, which needs no operator; and whenever somebody asks.");
        let before = self.kubectl.field("exampleapp/notes", ".status.backup.lastBackup")?;
        self.patch(r#"{"spec": {"backup": {"request": "before-the-holidays"}}}"#)?;
        let key = self.story.until("a new backup", PATIENCE, || {
            let key = self.kubectl.field("exampleapp/notes", ".status.backup.lastBackup")?;
            Ok((!key.is_empty() && key != before).then_some(key))
        })?;
        self.story.shown(format!("in S3, read back and compared: {key}"));
        Ok(())
    }

    fn disaster(&self) -> Result<()> {
        self.story.heading("Disaster, and recovery");
        self.story.say("Everything goes: the application, and its volume with the notes.");
        self.kubectl.show(self.story, "delete exampleapp notes")?;
        self.kubectl.show(self.story, "delete pvc -l app.kubernetes.io/instance=notes")?;
        self.story.say("A new one is born from the newest backup.");
        self.kubectl.show(self.story, "apply -f examples/notes-recovered.yaml")?;
        self.settled("0.1.0")?;
        self.keeps_the_notes()
    }

    fn operator_gone(&self) -> Result<()> {
        self.story.heading("The operator goes, and the application goes on");
        let home = self.kubectl.of(Some("capstan-system"));
        self.kubectl.of(None).run(self.story, "delete -f deploy/operator.yaml")?;
        self.story.say("No operator. The application's pod is killed, too.");
        self.kubectl.run(self.story, "delete pod -l app.kubernetes.io/instance=notes")?;
        self.story.until("the pod is back", PATIENCE, || {
            Ok((self.kubectl.field("deployment/notes", ".status.readyReplicas")? == "1").then_some(()))
        })?;
        self.keeps_the_notes()?;
        self.story.say("The operator comes back, and finds nothing to do.");
        let pods = [
            "get",
            "pods",
            "-l",
            "app.kubernetes.io/instance=notes",
            "-o",
            "jsonpath={.items[*].metadata.uid}",
        ];
        let before = self.kubectl.ask(&pods)?;
        self.story.command("kubectl apply -f deploy/install.yaml");
        home.ask_with(&["apply", "--server-side", "--force-conflicts", "-f", "-"], self.manifest)?;
        home.run(self.story, "rollout status deployment capstan --timeout=120s")?;
        ensure!(self.kubectl.ask(&pods)? == before, "a pod was restarted by the returning operator");
        self.story.shown("same pod, no restart");
        Ok(())
    }

    fn patch(&self, patch: &str) -> Result<()> {
        self.kubectl.run(self.story, &format!("patch exampleapp notes --type=merge -p '{patch}'"))
    }

    /// Follows what the status says until the application runs this version and nothing is under way.
    fn settled(&self, version: &str) -> Result<()> {
        let mut told = String::new();
        self.story.until(&format!("version {version} ready"), PATIENCE, || {
            let status = self.kubectl.field("exampleapp/notes", ".status.message")?;
            if !status.is_empty() && status != told {
                told.clone_from(&status);
                self.story.progress(&status);
            }
            let current = self.kubectl.field("exampleapp/notes", ".status.currentVersion")?;
            Ok((current == version && self.is_up_to_date()?).then_some(()))
        })?;
        self.story.shown(format!("version {version} runs"));
        Ok(())
    }

    fn is_up_to_date(&self) -> Result<bool> {
        let generation = self.kubectl.field("exampleapp/notes", ".metadata.generation")?;
        let seen = self.kubectl.field("exampleapp/notes", ".status.observedGeneration")?;
        let operation = self.kubectl.field("exampleapp/notes", ".status.operation.kind")?;
        let available = r#".status.conditions[?(@.type=="Available")].status"#;
        Ok(generation == seen
            && operation.is_empty()
            && self.kubectl.field("exampleapp/notes", available)? == "True")
    }

    /// What the spec is refused for, as soon as it is about this.
    fn refusal_with(&self, text: &str) -> Result<String> {
        self.story.until(&format!("a refusal about {text}"), PATIENCE, || {
            let accepted = r#".status.conditions[?(@.type=="Accepted")].message"#;
            let message = self.kubectl.field("exampleapp/notes", accepted)?;
            Ok(message.contains(text).then_some(message))
        })
    }

    /// Why the upgrade failed, when everything is as it was before.
    fn rolled_back(&self) -> Result<String> {
        let mut told = String::new();
        self.story.until("the upgrade is rolled back", PATIENCE, || {
            let message = self.kubectl.field("exampleapp/notes", ".status.message")?;
            if message != told {
                told.clone_from(&message);
                self.story.progress(&message);
            }
            let failed = self.kubectl.field("exampleapp/notes", ".status.failedUpgrade.message")?;
            Ok((!failed.is_empty() && self.is_up_to_date()?).then_some(failed))
        })
    }

    fn keeps_the_notes(&self) -> Result<()> {
        let text = self.answers("notes/oats", "the coarse ones")?;
        self.story.shown(format!("the notes are there: oats = {text}"));
        Ok(())
    }

    /// Asks until the answer contains what is expected: a rolling change takes its moment.
    fn answers(&self, path: &str, expected: &str) -> Result<String> {
        self.story.command(format!("curl -u notes:$PASSWORD $URL/{path}"));
        self.story.until(&format!("{path} answers {expected}"), PATIENCE, || {
            Ok(self.http(Method::Get, path, "").ok().filter(|answer| answer.contains(expected)))
        })
    }

    /// One request to the application, through `kubectl port-forward` and curl. The password goes by standard input.
    fn http(&self, method: Method, path: &str, body: &str) -> Result<String> {
        let secret = self.kubectl.field("exampleapp/notes", ".status.authSecretName")?;
        let password = self.kubectl.ask(&[
            "get",
            "secret",
            &secret,
            "-o",
            "go-template={{.data.password | base64decode}}",
        ])?;
        let forward = self.kubectl.forward("notes", 80)?;
        let url = format!("http://127.0.0.1:{}/{path}", forward.port);
        let mut curl = Command::new("curl");
        curl.args([
            "--silent",
            "--show-error",
            "--fail-with-body",
            "--max-time",
            "10",
            "--config",
            "-",
            &url,
        ]);
        if let Method::Put = method {
            curl.args(["--request", "PUT", "--data-binary", body]);
        }
        let mut child = curl
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .context("cannot run curl")?;
        if let Some(mut stdin) = child.stdin.take() {
            writeln!(stdin, "user = \"notes:{password}\"").context("curl does not read its configuration")?;
        }
        let done = child.wait_with_output().context("curl did not end")?;
        if !done.status.success() {
            bail!(
                "{path}: {}{}",
                String::from_utf8_lossy(&done.stderr),
                String::from_utf8_lossy(&done.stdout)
            );
        }
        Ok(String::from_utf8_lossy(&done.stdout).trim().to_owned())
    }
}

#[derive(Clone, Copy)]
enum Method {
    Get,
    Put,
}
