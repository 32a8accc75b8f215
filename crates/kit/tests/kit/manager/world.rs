//! A world to test managers in: an API server, and an operator that does what its script says and notes what it sees.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    sync::{Arc, Mutex},
    time::Duration,
};

use apiserver::{Server, User};
use k8s_openapi::{api::core::v1::ConfigMap, jiff::Timestamp};
use kit::{
    Acted, Api, Backoff, Clock, Context, Error, Event, Key, KindId, Manager, ManagerError, Outcome, Precious,
    Reconciler, Result, Row, Scope, Select, Setup, Store, access::Access, metrics::Metrics, own, pause,
};
use kube::{
    CustomResource, CustomResourceExt as _, Resource as _, ResourceExt as _,
    api::{DeleteParams, Patch, PatchParams},
    core::ObjectMeta,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::{
    sync::watch,
    task::JoinHandle,
    time::{Instant, timeout},
};
use tokio_util::sync::CancellationToken;

#[derive(CustomResource, Serialize, Deserialize, JsonSchema, Clone, Debug)]
#[kube(group = "kit.test", version = "v1", kind = "Task", namespaced, status = "TaskStatus")]
pub(crate) struct TaskSpec {
    pub(crate) size: u8,
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
pub(crate) struct TaskStatus {
    pub(crate) size: Option<u8>,
    pub(crate) paused: Option<bool>,
}

kit::reasons! {
    /// What the operator of these tests tells.
    pub(crate) enum Told {
        /// The child is there.
        Applied,
    }
}

/// What one reconcile does, after it has looked.
#[derive(Debug, Clone)]
pub(crate) enum Do {
    Done,
    Wait(Duration),
    Fail,
    Terminal,
    Stale,
    NotLeader,
    Panic,
    Hang,
    Work(Duration),
    /// Applies the child, a ConfigMap of the task's name, with this text.
    Apply(&'static str),
    /// Works, and then applies the child.
    WorkAndApply(Duration, &'static str),
    /// Applies a ConfigMap in another namespace.
    ApplyIn(&'static str),
    /// Deletes the child.
    Prune,
}

/// What one reconcile saw.
#[derive(Debug, Clone)]
pub(crate) struct Pass {
    pub(crate) at: Duration,
    pub(crate) key: Key,
    /// Nothing when the object is gone.
    pub(crate) size: Option<u8>,
    pub(crate) children: Vec<String>,
}

/// The operator's reconciler, and what it noted.
pub(crate) struct Probe {
    tasks: Store<Task>,
    children: Store<ConfigMap>,
    notes: Arc<Notes>,
}

pub(crate) struct Notes {
    pub(crate) start: Instant,
    script: Mutex<HashMap<String, VecDeque<Do>>>,
    passes: Mutex<Vec<Pass>>,
    running: Mutex<BTreeMap<Key, usize>>,
    most: Mutex<Most>,
    /// Whether reports write status.
    reports: bool,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Most {
    pub(crate) at_once: usize,
    pub(crate) of_one_object: usize,
}

pub(crate) struct Picture {
    task: Option<Arc<Task>>,
    children: Vec<Arc<ConfigMap>>,
    step: Do,
    _running: Working,
}

pub(crate) struct Plan {
    task: Arc<Task>,
    children: Vec<Arc<ConfigMap>>,
    step: Do,
}

/// Counts a reconcile as running until its picture is dropped.
struct Working(Arc<Notes>, Key);

impl Working {
    fn begin(notes: &Arc<Notes>, key: &Key) -> Self {
        let mut running = notes.running.lock().unwrap();
        let of_this = running.entry(key.clone()).or_default();
        *of_this += 1;
        let of_this = *of_this;
        let mut most = notes.most.lock().unwrap();
        most.at_once = most.at_once.max(running.values().sum());
        most.of_one_object = most.of_one_object.max(of_this);
        Self(notes.clone(), key.clone())
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        *self.0.running.lock().unwrap().entry(self.1.clone()).or_default() -= 1;
    }
}

impl Reconciler for Probe {
    const NAME: &'static str = "probe";
    type Kind = Task;
    type Picture = Picture;
    type Plan = Option<Plan>;

    async fn observe(&self, _: &Context, key: &Key) -> Result<Picture> {
        let _running = Working::begin(&self.notes, key);
        let task = self.tasks.get(key);
        let children =
            task.as_ref().map(|task| self.children.by("owner", Row::uid(&**task))).unwrap_or_default();
        let text = |child: &Arc<ConfigMap>| {
            child.data.as_ref().and_then(|data| data.get("text")).cloned().unwrap_or_default()
        };
        self.notes.passes.lock().unwrap().push(Pass {
            at: self.notes.start.elapsed(),
            key: key.clone(),
            size: task.as_ref().map(|task| task.spec.size),
            children: children.iter().map(text).collect(),
        });
        let next = self.notes.script.lock().unwrap().get_mut(key.name()).and_then(VecDeque::pop_front);
        Ok(Picture { task, children, step: next.unwrap_or(Do::Done), _running })
    }

    fn decide(&self, picture: &Picture, _: Timestamp) -> Self::Plan {
        let task = picture.task.clone()?;
        Some(Plan { task, children: picture.children.clone(), step: picture.step.clone() })
    }

    async fn act(&self, cx: &Context, plan: &Self::Plan) -> Result<()> {
        let Some(Plan { task, children, step }) = plan else { return Ok(()) };
        let (kind, key) = (Box::new(KindId::of::<Task>()), Row::key(&**task));
        match step {
            Do::Done | Do::Wait(_) | Do::Terminal => {}
            Do::Fail => return Err(Error::other("the script says so")),
            Do::Stale => return Err(Error::Stale { kind, key }),
            Do::NotLeader => return Err(Error::NotLeader { kind, key }),
            Do::Panic => panic!("the script says so"),
            Do::Hang => std::future::pending().await,
            Do::Work(time) => pass(*time).await,
            Do::WorkAndApply(time, text) => {
                pass(*time).await;
                self.apply(cx, task, text).await?;
            }
            Do::Apply(text) => self.apply(cx, task, text).await?,
            Do::ApplyIn(namespace) => {
                let mut child = child(task, "elsewhere");
                child.metadata.namespace = Some((*namespace).to_owned());
                cx.apply(&child, None).await?;
            }
            Do::Prune => {
                cx.prune(Row::uid(&**task), children, &[], Precious::Spare).await?;
            }
        }
        Ok(())
    }

    async fn report(&self, cx: &Context, _: &Picture, plan: &Self::Plan, acted: Acted) -> Outcome {
        let Some(Plan { task, step, .. }) = plan else { return acted.outcome() };
        if self.notes.reports {
            let status =
                TaskStatus { size: Some(task.spec.size), paused: Some(matches!(acted, Acted::Paused)) };
            if let Err(error) = cx.write_status(&**task, &status).await {
                return Outcome::Retry(error);
            }
        }
        match (step, acted) {
            (Do::Wait(after), Acted::Done) => Outcome::wait("the script says so", *after),
            (Do::Terminal, Acted::Done) => Outcome::Terminal(Error::Invalid("the script says so".into())),
            (_, acted) => acted.outcome(),
        }
    }

    fn paused(&self, picture: &Picture) -> bool {
        picture.task.as_ref().is_some_and(|task| pause::is_paused(task.meta()))
    }

    fn access() -> Vec<Access> {
        vec![
            Access::apply::<ConfigMap>(),
            Access::prune::<ConfigMap>(),
            Access::status::<Task>(),
            Access::owner::<Task>(),
        ]
    }
}

impl Probe {
    async fn apply(&self, cx: &Context, task: &Arc<Task>, text: &str) -> Result<()> {
        let mut child = child(task, text);
        own(&mut child, &**task).unwrap();
        let live = self.children.get(&Row::key(&child));
        if cx.apply(&child, live.as_deref()).await?.is_some() {
            cx.event(&**task, Event::normal(Told::Applied, "Apply", format!("the child says {text}")));
        }
        Ok(())
    }
}

fn child(task: &Task, text: &str) -> ConfigMap {
    let metadata =
        ObjectMeta { name: Some(task.name_any()), namespace: task.namespace(), ..ObjectMeta::default() };
    ConfigMap { metadata, data: Some([("text".to_owned(), text.to_owned())].into()), ..ConfigMap::default() }
}

/// Lets virtual time pass; everything that is due meanwhile happens.
pub(crate) async fn pass(time: Duration) {
    timeout(time, std::future::pending::<()>()).await.unwrap_err();
}

pub(crate) fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// A server with tasks and namespaces `default` and `other`.
pub(crate) fn server() -> Server {
    let server = bare_server();
    server.install(json!(Task::crd())).unwrap();
    server
}

/// The same, which does not know tasks yet.
pub(crate) fn bare_server() -> Server {
    let server = Server::new();
    server.install(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}})).unwrap();
    server
}

/// The usual operator `name` on `server`: it waits one second after a first failure, and twice as long after each
/// further one, and does not look again without a reason.
pub(crate) fn setup(server: &Server, name: &str) -> Setup {
    let mut setup = Setup::new("probe", Api::service(server.connection(name, User::admin())));
    setup.controllers.backoff = Backoff { first: seconds(1), longest: seconds(60) };
    setup.controllers.resync = Duration::ZERO;
    // The machine's clock runs on while virtual time stands still, and would close the fence of a leader that is only busy.
    setup.clock = Clock::starting_at(server.now());
    setup
}

/// A manager of the probe.
pub(crate) fn manager(setup: Setup, reports: bool) -> (Manager, Arc<Notes>) {
    let mut manager = Manager::new(setup).unwrap();
    let tasks = manager.watch::<Task>(Select::all());
    let children = manager.watch::<ConfigMap>(Select::all());
    let notes = Arc::new(Notes {
        start: Instant::now(),
        script: Mutex::default(),
        passes: Mutex::default(),
        running: Mutex::default(),
        most: Mutex::default(),
        reports,
    });
    let probe = Probe { tasks: tasks.clone(), children: children.clone(), notes: notes.clone() };
    let controller = manager.controller(probe, &tasks).owns(&children);
    manager.add(controller);
    (manager, notes)
}

/// An operator that runs.
pub(crate) struct Operator {
    pub(crate) notes: Arc<Notes>,
    pub(crate) metrics: Metrics,
    pub(crate) scope: watch::Sender<Scope>,
    pub(crate) stop: CancellationToken,
    pub(crate) task: JoinHandle<Result<(), ManagerError>>,
}

pub(crate) fn start(setup: Setup) -> Operator {
    start_with(setup, &[])
}

pub(crate) fn start_with(setup: Setup, script: &[(&str, &[Do])]) -> Operator {
    let (manager, notes) = manager(setup, false);
    run(manager, notes, script)
}

pub(crate) fn run(manager: Manager, notes: Arc<Notes>, script: &[(&str, &[Do])]) -> Operator {
    for (name, steps) in script {
        notes.script(name, steps);
    }
    let (metrics, scope, stop) = (manager.metrics(), manager.scope(), CancellationToken::new());
    let task = tokio::spawn(manager.run(stop.clone()));
    Operator { notes, metrics, scope, stop, task }
}

impl Operator {
    pub(crate) async fn stop(self) -> Result<(), ManagerError> {
        self.stop.cancel();
        self.task.await.unwrap()
    }

    /// The value of one series, for example `workqueue_depth{priority="0"}`: the labels may be any part of its own.
    pub(crate) fn metric(&self, name: &str, labels: &[&str]) -> f64 {
        let text = self.metrics.encode();
        let found: Vec<&str> = text
            .lines()
            .filter(|line| line.strip_prefix(name).is_some_and(|rest| rest.starts_with(['{', ' '])))
            .filter(|line| labels.iter().all(|label| line.contains(label)))
            .collect();
        match found.as_slice() {
            [line] => line.rsplit(' ').next().unwrap().parse().unwrap(),
            [] => 0.0,
            several => panic!("several series: {several:?}"),
        }
    }
}

impl Notes {
    pub(crate) fn script(&self, name: &str, steps: &[Do]) {
        self.script.lock().unwrap().insert(name.to_owned(), steps.iter().cloned().collect());
    }

    pub(crate) fn passes(&self) -> Vec<Pass> {
        self.passes.lock().unwrap().clone()
    }

    pub(crate) fn passes_of(&self, name: &str) -> Vec<Pass> {
        self.passes().into_iter().filter(|pass| pass.key.name() == name).collect()
    }

    /// How often the object was reconciled.
    pub(crate) fn count(&self, name: &str) -> usize {
        self.passes_of(name).len()
    }

    /// At which second each reconcile of the object began, rounded.
    pub(crate) fn seconds_of(&self, name: &str) -> Vec<u64> {
        self.passes_of(name).iter().map(|pass| (pass.at.as_millis() as u64 + 500) / 1000).collect()
    }

    pub(crate) fn most(&self) -> Most {
        *self.most.lock().unwrap()
    }

    pub(crate) fn last(&self, name: &str) -> Pass {
        self.passes_of(name).pop().unwrap_or_else(|| panic!("{name} was never reconciled"))
    }
}

/// What users do.
pub(crate) struct Person {
    pub(crate) client: kube::Client,
}

pub(crate) fn user(server: &Server) -> Person {
    Person { client: server.client_named("user") }
}

impl Person {
    pub(crate) fn tasks(&self, namespace: &str) -> kube::Api<Task> {
        kube::Api::namespaced(self.client.clone(), namespace)
    }

    pub(crate) fn children(&self) -> kube::Api<ConfigMap> {
        kube::Api::namespaced(self.client.clone(), "default")
    }

    pub(crate) async fn create(&self, name: &str) {
        self.create_in("default", name).await;
    }

    pub(crate) async fn create_in(&self, namespace: &str, name: &str) {
        let task = Task::new(name, TaskSpec { size: 1 });
        self.tasks(namespace).create(&Default::default(), &task).await.unwrap();
    }

    pub(crate) async fn resize(&self, name: &str, size: u8) {
        self.patch("default", name, json!({"spec": {"size": size}})).await;
    }

    pub(crate) async fn patch(&self, namespace: &str, name: &str, patch: Value) {
        self.tasks(namespace).patch(name, &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    }

    pub(crate) async fn delete(&self, name: &str) {
        self.tasks("default").delete(name, &DeleteParams::default()).await.unwrap();
    }
}

pub(crate) fn install_tasks(server: &Server, names: impl IntoIterator<Item = String>) {
    for name in names {
        let metadata = json!({"name": name, "namespace": "default"});
        server
            .install(json!({"apiVersion": "kit.test/v1", "kind": "Task", "metadata": metadata, "spec": {"size": 1}}))
            .unwrap();
    }
}

/// What `client` wrote, without leases and events.
pub(crate) fn writes(server: &Server, client: &str) -> Vec<String> {
    let requests = server.requests().of(client).writes();
    let own = requests.iter().filter(|request| !["leases", "events"].contains(&&*request.resource));
    own.map(apiserver::Recorded::told).collect()
}
