//! etcd's life: created, used, broken, upgraded twice under load, grown, and left alone. All the while a client writes and reads,
//! and what fails is counted.

use std::{path::PathBuf, process::Command, time::Duration};

use anyhow::{Context as _, Result, bail, ensure};

use super::{kubectl::Kubectl, story::Story};

/// The versions of the story, the first to create with.
pub(crate) const VERSIONS: [&str; 3] = ["3.5.35", "3.6.16", "3.7.3"];

/// What to type after the story.
pub(crate) const TRY: &[&str] = &[
    "kubectl -n demo get etcd",
    "kubectl -n demo describe etcd db",
    "kubectl -n demo logs client --tail=1",
    "kubectl -n demo scale etcd db --replicas=3",
];

const PATIENCE: Duration = Duration::from_secs(120);
const CLIENT: &str = "examples/demo/etcd-client.yaml";

pub(crate) fn tell(story: &Story, kubectl: &Kubectl, ground: Installed<'_>) -> Result<()> {
    let etcd = Etcd { story, kubectl, ground };
    etcd.create()?;
    etcd.connect()?;
    etcd.lose_a_member()?;
    etcd.upgrade()?;
    etcd.scale()?;
    etcd.operator_gone()
}

/// How Capstan got there.
pub(crate) struct Installed<'a> {
    /// What installs it.
    pub(crate) manifest: &'a str,
    /// Its image.
    pub(crate) image: &'a str,
    /// Its binary, on this machine.
    pub(crate) capstan: PathBuf,
}

struct Etcd<'a> {
    story: &'a Story,
    kubectl: &'a Kubectl,
    ground: Installed<'a>,
}

impl Etcd<'_> {
    fn create(&self) -> Result<()> {
        self.story.heading("etcd, in eight lines");
        self.story.say("Three members with TLS, an authority of their own, and a volume each.");
        self.kubectl.show(self.story, "apply -f examples/demo/etcd.yaml")?;
        self.healthy()?;
        self.story.shown("three members serve");
        self.capstan("etcd status db").map(drop)
    }

    fn connect(&self) -> Result<()> {
        self.story.heading("A client connects");
        self.story.say(
            "It has the Secret that the status names, and will write and read until the end of the story.",
        );
        let text = std::fs::read_to_string(crate::tree::root().join(CLIENT)).context(CLIENT)?;
        self.story.command(format!("kubectl -n demo apply -f {CLIENT}"));
        self.kubectl.ask_with(&["apply", "-f", "-"], &text.replace("capstan:dev", self.ground.image))?;
        self.story
            .until("the client's first answers", PATIENCE, || Ok((self.requests()? > 0).then_some(())))?;
        self.story.shown("it writes and reads");
        Ok(())
    }

    fn lose_a_member(&self) -> Result<()> {
        self.story.heading("A member is lost, with its disk");
        let lost = self.follower()?;
        self.kubectl.run(self.story, &format!("delete pvc {lost} --wait=false"))?;
        self.kubectl.run(self.story, &format!("delete pod {lost}-0"))?;
        self.story.until("the lost member is noticed", PATIENCE, || {
            Ok((!self.members()?.contains(&lost)).then_some(()))
        })?;
        self.healthy()?;
        self.story.shown(format!("{lost} was replaced: {} serve", self.members()?.join(", ")));
        self.client_says()
    }

    fn upgrade(&self) -> Result<()> {
        let [_, middle, newest] = VERSIONS;
        self.story.heading("Upgrade, twice, under load");
        self.story.say(format!("{newest} is asked for at once."));
        self.version(newest)?;
        let why = self.story.until("a refusal", PATIENCE, || {
            let valid = r#".status.conditions[?(@.type=="SpecValid")]"#;
            let refused = self.kubectl.field("etcd/db", &format!("{valid}.status"))? == "False";
            let message = self.kubectl.field("etcd/db", &format!("{valid}.message"))?;
            Ok(refused.then_some(message))
        })?;
        self.story.shown(format!("refused, and nothing was touched: {why}"));
        for version in [middle, newest] {
            self.version(version)?;
            self.follow(version)?;
        }
        self.client_says()
    }

    fn scale(&self) -> Result<()> {
        self.story.heading("Two members more");
        self.kubectl.show(self.story, "scale etcd db --replicas=5")?;
        self.healthy()?;
        self.story.shown("five members vote; each learnt all data before");
        self.client_says()
    }

    fn operator_gone(&self) -> Result<()> {
        self.story.heading("The operator goes, and etcd goes on");
        self.kubectl.of(None).run(self.story, "delete -f deploy/operator.yaml")?;
        let leader = self.kubectl.field("etcd/db", ".status.leader")?;
        self.story.say("No operator. The leader's pod is killed, too.");
        self.kubectl.run(self.story, &format!("delete pod {leader}-0"))?;
        self.story.until("the pod is back", PATIENCE, || {
            let ready = r#".status.conditions[?(@.type=="Ready")].status"#;
            Ok((self.kubectl.field(&format!("pod/{leader}-0"), ready)? == "True").then_some(()))
        })?;
        self.story.shown(format!("{leader} is back, by Kubernetes alone"));
        self.client_says()?;
        self.story.say("The operator comes back, and finds nothing to do.");
        let before = self.pods()?;
        let home = self.kubectl.of(Some("capstan-system"));
        self.story.command("kubectl apply -f deploy/install.yaml");
        home.ask_with(&["apply", "--server-side", "--force-conflicts", "-f", "-"], self.ground.manifest)?;
        home.run(self.story, "rollout status deployment capstan --timeout=120s")?;
        self.healthy()?;
        ensure!(self.pods()? == before, "a pod was restarted by the returning operator");
        self.story.shown("the same pods, no restart");
        self.client_says()?;
        self.kubectl.show(self.story, "get etcd")?;
        Ok(())
    }

    fn version(&self, version: &str) -> Result<()> {
        let patch = format!(r#"{{"spec": {{"version": "{version}"}}}}"#);
        self.kubectl.run(self.story, &format!("patch etcd db --type=merge -p '{patch}'"))
    }

    /// What the status says on the way to a version.
    fn follow(&self, version: &str) -> Result<()> {
        let mut told = String::new();
        self.story.until(&format!("version {version}"), PATIENCE, || {
            let message = self.kubectl.field("etcd/db", ".status.operation.message")?;
            if !message.is_empty() && message != told {
                told.clone_from(&message);
                self.story.progress(&message);
            }
            Ok((self.kubectl.field("etcd/db", ".status.version.current")? == version).then_some(()))
        })?;
        self.healthy()?;
        self.story.shown(format!("all members run {version}"));
        Ok(())
    }

    /// Waits until all is well, by a watch.
    fn healthy(&self) -> Result<()> {
        self.ran(&["etcd", "status", "db", "--until-healthy", "--timeout", "2m"]).map(drop)
    }

    /// A command line of `capstan`, shown and run; its output shown and returned.
    fn capstan(&self, line: &str) -> Result<String> {
        self.story.command(format!("capstan {line} -n demo"));
        let told = self.ran(&line.split(' ').collect::<Vec<_>>())?;
        self.story.output(&told);
        Ok(told)
    }

    fn ran(&self, arguments: &[&str]) -> Result<String> {
        let mut command = Command::new(&self.ground.capstan);
        command.args(arguments).args(&self.kubectl.cluster);
        if let Some(namespace) = self.kubectl.namespace {
            command.args(["--namespace", namespace]);
        }
        let done =
            command.output().with_context(|| format!("cannot run {}", self.ground.capstan.display()))?;
        if !done.status.success() {
            bail!("capstan {} failed: {}", arguments.join(" "), String::from_utf8_lossy(&done.stderr).trim());
        }
        Ok(String::from_utf8_lossy(&done.stdout).trim_end().to_owned())
    }

    fn members(&self) -> Result<Vec<String>> {
        let names = self.kubectl.field("etcd/db", ".status.members[*].name")?;
        Ok(names.split_whitespace().map(str::to_owned).collect())
    }

    /// The last member that does not lead.
    fn follower(&self) -> Result<String> {
        let leader = self.kubectl.field("etcd/db", ".status.leader")?;
        let members = self.members()?;
        members.into_iter().rfind(|member| *member != leader).context("there is no follower")
    }

    fn pods(&self) -> Result<String> {
        let uids = "jsonpath={.items[*].metadata.uid}";
        self.kubectl.ask(&["get", "pods", "-l", "etcd.capstan.dev/cluster=db", "-o", uids])
    }

    /// What the client has counted, shown; a wrong answer ends the story.
    fn client_says(&self) -> Result<()> {
        let told = self.kubectl.show(self.story, "logs client --tail=1")?;
        ensure!(told.contains(", 0 wrong"), "the client got wrong answers: {told}");
        Ok(())
    }

    /// How many requests the client has made; 0 before it runs.
    fn requests(&self) -> Result<u64> {
        let running = self.kubectl.field("pod/client", ".status.phase")? == "Running";
        let told = if running { self.kubectl.ask(&["logs", "client", "--tail=1"])? } else { String::new() };
        Ok(told.split_whitespace().next().and_then(|number| number.parse().ok()).unwrap_or(0))
    }
}
