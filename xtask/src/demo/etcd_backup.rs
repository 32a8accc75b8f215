//! A mistake, and how nothing is lost by it: a backup by kubectl, orders deleted, the cluster restored to just before; and a second
//! cluster born from the backup.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};

use super::{kubectl::Kubectl, story::Story};

/// What to type after the story.
pub(crate) const TRY: &[&str] = &[
    "kubectl -n demo get etcdbackups,etcdbackupschedules,etcdrestores",
    "kubectl -n demo exec shell -- etcdctl get --prefix orders/",
];

const PATIENCE: Duration = Duration::from_secs(120);
const RESTORE: &str = "examples/demo/etcd-restore.yaml";
/// Number and wish.
const ORDERS: [(&str, &str); 3] = [("1", "two books"), ("2", "a lamp"), ("3", "forty chairs")];

pub(crate) fn tell(story: &Story, kubectl: &Kubectl) -> Result<()> {
    let shop = Shop { story, kubectl };
    shop.open()?;
    shop.back_up()?;
    let before = shop.mistake()?;
    shop.restore(before)?;
    shop.copy()
}

struct Shop<'a> {
    story: &'a Story,
    kubectl: &'a Kubectl,
}

impl Shop<'_> {
    fn open(&self) -> Result<()> {
        self.story.heading("An etcd whose data matters");
        self.kubectl.show(self.story, "apply -f examples/demo/etcd-orders.yaml")?;
        self.kubectl
            .run(self.story, "wait etcd/orders --for=jsonpath={.status.phase}=Healthy --timeout=120s")?;
        self.kubectl.run(self.story, "wait pod/shell --for=condition=Ready --timeout=120s")?;
        self.story.say("A backup every night and one at once; from then on, every change is captured.");
        self.kubectl.run(self.story, "apply -f examples/demo/etcd-schedule.yaml")?;
        self.reaches(0)?;
        self.kubectl.show(self.story, "get etcdbackupschedule nightly")?;
        Ok(())
    }

    fn back_up(&self) -> Result<()> {
        self.story.heading("A backup, by kubectl");
        let [first, ..] = ORDERS;
        self.order(first)?;
        self.kubectl.run(self.story, "create -f examples/demo/etcd-backup.yaml")?;
        self.ends("etcdbackup/by-hand")?;
        self.kubectl.show(self.story, "get etcdbackup by-hand")?;
        self.story.shown("stored, read back and found whole");
        Ok(())
    }

    /// The revision just before it.
    fn mistake(&self) -> Result<i64> {
        self.story.heading("A mistake");
        let [_, later @ ..] = ORDERS;
        self.story.say("Orders come in after the backup. Then somebody tidies up.");
        for order in later {
            self.order(order)?;
        }
        let before = self.revision()?;
        self.kubectl.run(self.story, "exec shell -- etcdctl del --prefix orders/")?;
        ensure!(self.orders()?.is_empty(), "the orders are still there");
        self.story.shown(format!("no orders are left; the last good revision was {before}"));
        Ok(before)
    }

    fn restore(&self, before: i64) -> Result<()> {
        self.story.heading("Back to just before");
        self.reaches(before)?;
        let text = std::fs::read_to_string(crate::tree::root().join(RESTORE)).context(RESTORE)?;
        let id = self.kubectl.ask(&["get", "etcd", "orders", "--output=jsonpath={.status.clusterID}"])?;
        let id = id.trim();
        self.story.command(format!(
            "sed 's/REVISION/{before}/; s/CLUSTER_ID/{id}/' {RESTORE} | kubectl -n demo create -f -"
        ));
        let text = text.replace("REVISION", &before.to_string()).replace("CLUSTER_ID", id);
        self.kubectl.ask_with(&["create", "-f", "-"], &text)?;
        self.ends("etcdrestore/before-the-mistake")?;
        self.kubectl.show(self.story, "get etcdrestore before-the-mistake")?;
        let found = self.kubectl.show(self.story, "exec shell -- etcdctl get --prefix orders/")?;
        for (number, what) in ORDERS {
            ensure!(found.contains(what), "order {number} is not back: {found}");
        }
        self.story.shown("every order is back, those after the backup too; the old volumes are still there");
        Ok(())
    }

    fn copy(&self) -> Result<()> {
        self.story.heading("A second cluster, born from the backup");
        self.kubectl.run(self.story, "apply -f examples/demo/etcd-copy.yaml")?;
        self.follow("etcd/copy", "Healthy")?;
        self.kubectl.show(self.story, "get etcd orders copy")?;
        self.story.shown("one member, a newer etcd, the data of the backup");
        Ok(())
    }

    fn order(&self, (number, what): (&str, &str)) -> Result<()> {
        self.kubectl.run(self.story, &format!("exec shell -- etcdctl put orders/{number} '{what}'"))
    }

    fn orders(&self) -> Result<String> {
        self.kubectl.ask(&["exec", "shell", "--", "etcdctl", "get", "--prefix", "orders/"])
    }

    fn revision(&self) -> Result<i64> {
        let told =
            self.kubectl.ask(&["exec", "shell", "--", "etcdctl", "get", "orders/", "--write-out=json"])?;
        let told: serde_json::Value = serde_json::from_str(&told).context("etcdctl does not print JSON")?;
        told.pointer("/header/revision")
            .and_then(serde_json::Value::as_i64)
            .context("etcdctl names no revision")
    }

    /// Waits until what is captured reaches a revision.
    fn reaches(&self, revision: i64) -> Result<()> {
        self.story.until(&format!("revision {revision} is captured"), PATIENCE, || {
            let reached =
                self.kubectl.field("etcdbackupschedule/nightly", ".status.recoverable.to.revision")?;
            Ok(reached.parse::<i64>().is_ok_and(|reached| reached >= revision).then_some(()))
        })
    }

    fn ends(&self, object: &str) -> Result<()> {
        self.follow(object, "Completed")
    }

    /// What the status says on the way to a phase.
    fn follow(&self, object: &str, phase: &str) -> Result<()> {
        let mut told = String::new();
        self.story.until(&format!("{object} is {phase}"), PATIENCE, || {
            let now = self.kubectl.field(object, ".status.phase")?;
            let message = self.kubectl.field(object, ".status.message")?;
            if !message.is_empty() && message != told {
                told.clone_from(&message);
                self.story.progress(&message);
            }
            ensure!(now != "Failed", "{object} failed: {message}");
            Ok((now == phase).then_some(()))
        })
    }
}
