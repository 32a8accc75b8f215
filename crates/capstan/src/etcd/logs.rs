//! `capstan etcd logs`: what members log, side by side; followed through restarts and to members that come later.

use std::collections::BTreeSet;

use anyhow::{Result, bail};
use futures::{AsyncBufReadExt as _, TryStreamExt as _};
use k8s_openapi::api::core::v1::Pod;
use kit::Select;
use kube::{
    Api, ResourceExt as _,
    api::{ListParams, LogParams},
};
use tokio::{signal, sync::mpsc};

use super::{
    Common,
    server::{Server, explain},
    status::paint,
    watch::Followed,
};
use crate::{
    look::{Look, Paint},
    output::say,
};

const CLUSTER: &str = "etcd.capstan.dev/cluster";
const MEMBER: &str = "etcd.capstan.dev/member";
const CONTAINER: &str = "etcd";

/// Which lines.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lines {
    pub(super) follow: bool,
    pub(super) tail: Option<i64>,
    pub(super) previous: bool,
}

pub(super) async fn run(common: &Common, name: &str, member: Option<String>, lines: Lines) -> Result<()> {
    let server = Server::of(common).await?;
    server.cluster(name).await?;
    // Pods of backups carry the cluster's name, too.
    let mut selector = format!("app.kubernetes.io/name=etcd,{CLUSTER}={name}");
    if let Some(member) = &member {
        selector.push_str(&format!(",{MEMBER}={member}"));
    }
    let logs = Logs {
        pods: Api::namespaced(server.client.clone(), &server.namespace),
        lines,
        alone: member.is_some(),
        paint: paint(common),
    };
    if lines.follow {
        return logs.follow(&server, selector).await;
    }
    let listed = logs.pods.list(&ListParams::default().labels(&selector)).await;
    let pods = listed.map_err(|error| {
        explain(error, "list", &format!("the pods of EtcdCluster {}/{name}", server.namespace))
    })?;
    if pods.items.is_empty() {
        let whom = member.unwrap_or_else(|| name.to_owned());
        bail!("{whom} has no pod in namespace {}: see `capstan etcd status {name}`", server.namespace);
    }
    for pod in pods {
        logs.print(&pod).await?;
    }
    Ok(())
}

struct Logs {
    pods: Api<Pod>,
    lines: Lines,
    /// Whether one member was chosen: its lines need no name.
    alone: bool,
    paint: Paint,
}

impl Logs {
    fn parameters(&self) -> LogParams {
        LogParams {
            container: Some(CONTAINER.into()),
            follow: self.lines.follow,
            previous: self.lines.previous,
            tail_lines: self.lines.tail,
            ..LogParams::default()
        }
    }

    async fn print(&self, pod: &Pod) -> Result<()> {
        let name = pod.name_any();
        let opened = self.pods.log_stream(&name, &self.parameters()).await;
        let mut lines =
            opened.map_err(|error| explain(error, "read", &format!("the log of pod {name}")))?.lines();
        while let Some(line) = lines.try_next().await? {
            self.say(&whose(pod), &line)?;
        }
        Ok(())
    }

    /// Every container that runs now or later, each from its start (or its last lines).
    async fn follow(&self, server: &Server, selector: String) -> Result<()> {
        let mut pods: Followed<Pod> = Followed::start(server, Select::labels(selector), false);
        let (sender, mut receiver) = mpsc::channel::<(String, String)>(1000);
        let mut open = BTreeSet::new();
        loop {
            tokio::select! {
                key = pods.changes.next() => {
                    let Some(pod) = pods.store.get(&key) else { continue };
                    if let Some(container) = running(&pod) && open.insert(container) {
                        tokio::spawn(pass_on(self.pods.clone(), self.parameters(), pod.name_any(), whose(&pod), sender.clone()));
                    }
                }
                Some((member, line)) = receiver.recv() => self.say(&member, &line)?,
                interrupted = signal::ctrl_c() => return Ok(interrupted?),
            }
        }
    }

    fn say(&self, member: &str, line: &str) -> Result<()> {
        match self.alone {
            true => say(&format!("{line}\n")),
            false => say(&format!("{} {line}\n", self.paint.as_(Look::Strong, member))),
        }
    }
}

/// One container's lines, until it ends. Why it cannot be read is a line, too: the others go on.
async fn pass_on(
    pods: Api<Pod>,
    parameters: LogParams,
    pod: String,
    member: String,
    to: mpsc::Sender<(String, String)>,
) {
    let read = async {
        let mut lines = pods.log_stream(&pod, &parameters).await.map_err(|error| error.to_string())?.lines();
        while let Some(line) = lines.try_next().await.map_err(|error| error.to_string())? {
            if to.send((member.clone(), line)).await.is_err() {
                return Ok(());
            }
        }
        Ok::<_, String>(())
    };
    if let Err(why) = read.await {
        to.send((member.clone(), format!("(no more of its log: {why})"))).await.ok();
    }
}

/// The container that runs in the pod, by an ID that each has for itself.
fn running(pod: &Pod) -> Option<String> {
    let status =
        pod.status.as_ref()?.container_statuses.as_ref()?.iter().find(|status| status.name == CONTAINER)?;
    status.state.as_ref()?.running.as_ref()?;
    status.container_id.clone()
}

fn whose(pod: &Pod) -> String {
    pod.labels().get(MEMBER).cloned().unwrap_or_else(|| pod.name_any())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn pod(state: &Value) -> Pod {
        serde_json::from_value(json!({
            "metadata": {"name": "db-1-0", "labels": {"etcd.capstan.dev/member": "db-1"}},
            "status": {"containerStatuses": [{"name": "etcd", "image": "", "imageID": "", "ready": true, "restartCount": 0,
                "containerID": "containerd://4711", "state": state}]}
        }))
        .unwrap()
    }

    #[test]
    fn only_a_container_that_runs_is_followed() {
        assert_eq!(running(&pod(&json!({"running": {}}))).as_deref(), Some("containerd://4711"));
        assert_eq!(running(&pod(&json!({"waiting": {"reason": "CrashLoopBackOff"}}))), None);
        assert_eq!(whose(&pod(&json!({}))), "db-1");
    }
}
