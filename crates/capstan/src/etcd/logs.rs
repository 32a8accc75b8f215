//! `capstan etcd logs`: what members log, side by side; followed through restarts and to members that come later.
//!
//! Invariant: a member whose log cannot be read is told, and takes nobody else's lines away.

use std::{collections::BTreeSet, time::Duration};

use anyhow::{Error, Result, anyhow, bail};
use clap::Args;
use etcd_types::EtcdCluster;
use futures::{AsyncBufReadExt as _, TryStreamExt as _};
use k8s_openapi::api::core::v1::{ContainerStatus, Pod};
use kit::Select;
use kube::{
    Api, ResourceExt as _,
    api::{ListParams, LogParams},
};
use tokio::{sync::mpsc, time::interval};

use super::{
    Common,
    ending::Stop,
    server::{Server, explain},
    status::paint,
    time, view,
    watch::Followed,
};
use crate::{
    look::{Look, Paint, words::count},
    output::{Unheard, go_on, mention},
};

const CLUSTER: &str = "etcd.capstan.dev/cluster";
const MEMBER: &str = "etcd.capstan.dev/member";
const CONTAINER: &str = "etcd";

#[derive(Debug, Args)]
pub(super) struct Asked {
    /// The EtcdCluster.
    name: String,
    /// The member, such as db-1.
    member: Option<String>,
    #[command(flatten)]
    lines: Lines,
}

/// Which lines.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(super) struct Lines {
    /// Go on as they write, also through restarts.
    #[arg(short, long)]
    follow: bool,
    /// Only the last lines of each.
    #[arg(long, value_name = "LINES", value_parser = clap::value_parser!(i64).range(0..))]
    tail: Option<i64>,
    /// Only what is not older than this, such as 5m or 1h.
    #[arg(long, value_name = "TIME", value_parser = time)]
    since: Option<Duration>,
    /// With the time of each line.
    #[arg(long)]
    timestamps: bool,
    /// What was logged before the last restart of the container.
    #[arg(short, long, conflicts_with = "follow")]
    previous: bool,
}

impl Lines {
    fn parameters(self) -> LogParams {
        // Whole seconds, and rather a line too many.
        let seconds = |time: Duration| time.as_secs() + u64::from(time.subsec_nanos() > 0);
        LogParams {
            container: Some(CONTAINER.into()),
            follow: self.follow,
            previous: self.previous,
            tail_lines: self.tail,
            since_seconds: self.since.map(|time| i64::try_from(seconds(time)).unwrap_or(i64::MAX)),
            timestamps: self.timestamps,
            ..LogParams::default()
        }
    }
}

pub(super) async fn run(common: &Common, asked: Asked) -> Result<()> {
    let server = Server::of(common).await?;
    let cluster = server.cluster(&asked.name).await?;
    read(&server, &cluster, asked.member.as_deref(), asked.lines, paint(common)).await
}

/// Of one member, or of all.
async fn read(
    server: &Server,
    cluster: &EtcdCluster,
    member: Option<&str>,
    lines: Lines,
    paint: Paint,
) -> Result<()> {
    let whom = format!("EtcdCluster {}", view::name(cluster));
    // Pods of backups carry the cluster's name, too.
    let mut selector = format!("app.kubernetes.io/name=etcd,{CLUSTER}={}", cluster.name_any());
    if let Some(member) = member {
        selector.push_str(&format!(",{MEMBER}={member}"));
    }
    let api: Api<Pod> = Api::namespaced(server.client.clone(), &server.namespace);
    let listed = api.list(&ListParams::default().labels(&selector)).await;
    let pods = listed.map_err(|error| explain(error, "list", &format!("the pods of {whom}")))?.items;
    let names = pods.iter().map(whose).collect();
    let mut logs = Logs { pods: api, lines, voices: Voices { alone: member.is_some(), names, paint } };
    if pods.is_empty() {
        let nobody = nobody(cluster, member);
        match lines.follow {
            true => mention(&format!("{}; Ctrl-C ends this", nobody?)),
            false => return Err(nobody.map_or_else(|never| never, Error::msg)),
        }
    }
    match lines.follow {
        true => {
            pods.iter().filter_map(silence).for_each(|why| mention(&why));
            logs.follow(server, selector).await
        }
        false => logs.print(&pods).await,
    }
}

/// That there is no pod, and what to do; an error if there never will be one.
fn nobody(cluster: &EtcdCluster, member: Option<&str>) -> Result<String> {
    let hint = format!("see `capstan etcd status {}`", cluster.name_any());
    let Some(member) = member else {
        return Ok(format!("EtcdCluster {} has no pods at the moment: {hint}", view::name(cluster)));
    };
    match view::unknown(cluster, member) {
        Some(unknown) => Err(anyhow!(unknown)),
        None => Ok(format!("{member} has no pod at the moment: {hint}")),
    }
}

struct Logs {
    pods: Api<Pod>,
    lines: Lines,
    voices: Voices,
}

impl Logs {
    /// One after the other, also if some cannot be read.
    async fn print(&mut self, pods: &[Pod]) -> Result<()> {
        let mut unread = Vec::new();
        for pod in pods {
            let printed = self.print_one(pod).await;
            match printed {
                Ok(()) => {}
                Err(error) if error.is::<Unheard>() || pods.len() == 1 => return Err(error),
                Err(error) => {
                    mention(&format!("{}: {error:#}", whose(pod)));
                    unread.push(whose(pod));
                }
            }
        }
        if !unread.is_empty() {
            bail!(
                "{} of {} could not be read: {}",
                unread.len(),
                count(pods.len(), "log"),
                unread.join(", ")
            );
        }
        Ok(())
    }

    async fn print_one(&mut self, pod: &Pod) -> Result<()> {
        let name = pod.name_any();
        let opened = self.pods.log_stream(&name, &self.lines.parameters()).await;
        let mut lines =
            opened.map_err(|error| explain(error, "read", &format!("the log of pod {name}")))?.lines();
        while let Some(line) = lines.try_next().await? {
            go_on(&self.voices.line(&whose(pod), &line))?;
        }
        Ok(())
    }

    /// Every container that runs now or later, each from its start (or its last lines), until somebody stops it.
    async fn follow(&mut self, server: &Server, selector: String) -> Result<()> {
        let mut stop = Stop::listen()?;
        let mut pods: Followed<Pod> = Followed::start(server, Select::labels(selector), false);
        let (sender, mut receiver) = mpsc::channel::<(String, String)>(1000);
        let (mut open, mut trouble) = (BTreeSet::new(), None);
        let mut seconds = interval(Duration::from_secs(1));
        loop {
            tokio::select! {
                key = pods.changes.next() => {
                    let Some(pod) = pods.store.get(&key) else { continue };
                    if let Some(container) = running(&pod) && open.insert(container) {
                        let (api, parameters) = (self.pods.clone(), self.lines.parameters());
                        tokio::spawn(pass_on(api, parameters, pod.name_any(), whose(&pod), sender.clone()));
                    }
                }
                Some((member, line)) = receiver.recv() => go_on(&self.voices.line(&member, &line))?,
                _ = seconds.tick() => {
                    let now = pods.trouble();
                    if let Some(why) = now.as_ref().filter(|why| trouble.as_ref() != Some(*why)) {
                        mention(&format!("no news of pods from the API server: {why}"));
                    }
                    trouble = now;
                }
                stopped = stop.asked() => return Err(stopped.into()),
            }
        }
    }
}

/// Who speaks: a name in front of each line, in a colour of its own.
struct Voices {
    /// Whether one member was chosen: its lines need no name.
    alone: bool,
    /// All that were heard of, in the order of their colours.
    names: Vec<String>,
    paint: Paint,
}

impl Voices {
    fn line(&mut self, member: &str, line: &str) -> String {
        if self.alone {
            return format!("{line}\n");
        }
        let number = self.names.iter().position(|name| name == member).unwrap_or_else(|| {
            self.names.push(member.to_owned());
            self.names.len() - 1
        });
        format!("{} {line}\n", self.paint.as_(Look::Nth(number), member))
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

fn etcd(pod: &Pod) -> Option<&ContainerStatus> {
    pod.status.as_ref()?.container_statuses.as_ref()?.iter().find(|status| status.name == CONTAINER)
}

/// The container that runs in the pod, by an ID that each has for itself.
fn running(pod: &Pod) -> Option<String> {
    let status = etcd(pod)?;
    status.state.as_ref()?.running.as_ref()?;
    status.container_id.clone()
}

/// Why there is nothing to follow in a pod yet; nothing if there is.
fn silence(pod: &Pod) -> Option<String> {
    if running(pod).is_some() {
        return None;
    }
    let state = etcd(pod).and_then(|status| status.state.as_ref());
    let waits = state.and_then(|state| state.waiting.as_ref()?.reason.clone());
    let ended = state.and_then(|state| state.terminated.as_ref()).map(|_| "Terminated".to_owned());
    let why = waits.or(ended).unwrap_or_else(|| "Pending".to_owned());
    let whom = whose(pod);
    Some(format!("{whom} does not run now ({why}): its log follows when it does"))
}

fn whose(pod: &Pod) -> String {
    pod.labels().get(MEMBER).cloned().unwrap_or_else(|| pod.name_any())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{super::view::samples, *};

    fn pod(state: &Value) -> Pod {
        serde_json::from_value(json!({
            "metadata": {"name": "db-1-0", "labels": {"etcd.capstan.dev/member": "db-1"}},
            "status": {"containerStatuses": [{"name": "etcd", "image": "", "imageID": "", "ready": true, "restartCount": 0,
                "containerID": "containerd://4711", "state": state}]}
        }))
        .unwrap()
    }

    #[test]
    fn only_a_container_that_runs_is_followed_and_of_others_it_is_said() {
        assert_eq!(running(&pod(&json!({"running": {}}))).as_deref(), Some("containerd://4711"));
        assert_eq!(silence(&pod(&json!({"running": {}}))), None);
        let crashes = pod(&json!({"waiting": {"reason": "CrashLoopBackOff"}}));
        assert_eq!(running(&crashes), None);
        assert_eq!(
            silence(&crashes).unwrap(),
            "db-1 does not run now (CrashLoopBackOff): its log follows when it does"
        );
        assert!(silence(&Pod::default()).unwrap().contains("(Pending)"));
        assert_eq!(whose(&pod(&json!({}))), "db-1");
    }

    #[test]
    fn who_has_no_pod_is_told_apart_from_who_is_no_member() {
        let cluster = samples::healthy();
        let told = |member| nobody(&cluster, member).map_err(|error| error.to_string());
        assert_eq!(
            told(Some("db-2")),
            Ok("db-2 has no pod at the moment: see `capstan etcd status db`".into())
        );
        let never = "EtcdCluster shop/db has no member db-9; it has db-1, db-2, db-3";
        assert_eq!(told(Some("db-9")), Err(never.into()));
        assert!(told(None).unwrap().starts_with("EtcdCluster shop/db has no pods at the moment"));
    }

    #[test]
    fn members_are_told_apart_by_name_and_colour() {
        let mut voices = Voices { alone: false, names: vec!["db-1".into()], paint: Paint { colours: true } };
        let (one, eight) = (voices.line("db-1", "x"), voices.line("db-8", "x"));
        assert_eq!((one.as_str(), eight.as_str()), ("\x1b[36mdb-1\x1b[0m x\n", "\x1b[35mdb-8\x1b[0m x\n"));
        assert_eq!(voices.line("db-1", "x"), one);
        voices.alone = true;
        assert_eq!(voices.line("db-1", "x"), "x\n");
    }

    #[test]
    fn times_are_asked_for_in_whole_seconds_and_rather_too_long() {
        for (time, seconds) in [(Duration::from_secs(300), 300), (Duration::from_millis(1500), 2)] {
            let lines = Lines { since: Some(time), timestamps: true, ..Lines::default() };
            let parameters = lines.parameters();
            assert_eq!((parameters.since_seconds, parameters.timestamps), (Some(seconds), true));
        }
    }

    /// An API server with two pods: one can be read.
    fn half_readable() -> Server {
        let pod =
            |member: &str| json!({"metadata": {"name": format!("{member}-0"), "labels": {MEMBER: member}}});
        let pods = json!({"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": [pod("db-1"), pod("db-2")]});
        let waits = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "BadRequest", "code": 400,
            "message": "container \"etcd\" in pod \"db-1-0\" is waiting to start: ContainerCreating"});
        let answer = move |request: http::Request<kube::client::Body>| {
            let (code, text) = match request.uri().path() {
                "/api/v1/namespaces/shop/pods" => (200, pods.to_string()),
                "/api/v1/namespaces/shop/pods/db-2-0/log" => (200, "ready to serve\n".to_owned()),
                _ => (400, waits.to_string()),
            };
            let answer = http::Response::builder().status(code);
            std::future::ready(answer.body(kube::client::Body::from(text.into_bytes())))
        };
        let client = kube::Client::new(tower::service_fn(answer), "shop");
        Server { client, namespace: "shop".into() }
    }

    #[tokio::test]
    async fn a_pod_that_cannot_be_read_takes_nobody_elses_lines_away() {
        let (server, plain) = (half_readable(), Paint { colours: false });
        let all = read(&server, &samples::healthy(), None, Lines::default(), plain).await;
        assert_eq!(all.unwrap_err().to_string(), "1 of 2 logs could not be read: db-1");
    }
}
