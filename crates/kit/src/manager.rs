//! Starts and stops everything, in order.
//!
//! ```text
//! start:  ports → caches (on a standby too: it is warm when its turn comes) → lease → workers, each when its caches are synced
//! stop:   workers finish → lease is given back → events are sent → caches, ports
//! lost:   workers are cut off at once, and the process should exit: the fence has stopped their writes already
//! ```
//!
//! Dropping the future of [`Manager::run`] stops everything that it started.

mod api;
mod signals;

use std::time::Duration;

use serde_json::json;
use tokio::{sync::watch, task::JoinSet};
use tokio_util::sync::CancellationToken;

pub use self::{api::Api, signals::until_signalled};
use crate::{
    Clock, Key, Reconciler, Row, Scope,
    access::{self, Access},
    client::ClientOptions,
    controller::{Controller, ControllerOptions, Run, Tools},
    events::{Events, Recorder, Reporter},
    informer::{Informer, Select, State, Store},
    lead::{BadElection, Elector, Election, Ended, Fence, Loss},
    metrics::Metrics,
    queue::{Priority, Queue},
    scope,
    serve::{Admin, BindError, Bound, Listen},
};

/// How long running reconciles may take to end when the operator stops. Kubernetes gives a pod 30 seconds.
const DRAIN: Duration = Duration::from_secs(20);

/// How an operator is set up. Everything has a default but the name and the way to the API server.
pub struct Setup {
    /// The operator's name: its field manager, its user agent, its place in events.
    pub name: String,
    /// Where the API server is.
    pub api: Api,
    /// Which namespaces it looks after; may be changed later through [`Manager::scope`].
    pub scope: Scope,
    /// The election among replicas; without one, this is the only replica.
    pub election: Option<Election>,
    /// How its controllers work.
    pub controllers: ControllerOptions,
    /// How long one request may take.
    pub request_timeout: Duration,
    /// How many writes may be under way at once.
    pub max_writes_in_flight: usize,
    /// Where metrics are served.
    pub metrics_listen: Listen,
    /// Where health is served.
    pub health_listen: Listen,
    /// What time it is.
    pub clock: Clock,
    /// Where everything is counted.
    pub metrics: Metrics,
}

impl Setup {
    /// The defaults: all namespaces, no election, no ports.
    pub fn new(name: impl Into<String>, api: Api) -> Self {
        let metrics = Metrics::new();
        let client = ClientOptions::new("", metrics.clone());
        Self {
            name: name.into(),
            api,
            scope: Scope::All,
            election: None,
            controllers: ControllerOptions::default(),
            request_timeout: client.request_timeout,
            max_writes_in_flight: client.max_writes_in_flight,
            metrics_listen: Listen::Off,
            health_listen: Listen::Off,
            clock: Clock::system(),
            metrics,
        }
    }
}

/// Why an operator could not start, or stopped.
#[derive(Debug, thiserror::Error)]
pub enum ManagerError {
    /// The way to the API server cannot be used.
    #[error("cannot reach the API server as configured")]
    Connect(#[source] crate::Error),
    /// The election cannot be held as configured.
    #[error(transparent)]
    Election(#[from] BadElection),
    /// A port could not be opened.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// Another replica may lead now; start again as a standby.
    #[error("leadership was lost: {0}")]
    Lost(Loss),
}

/// Everything an operator is made of.
pub struct Manager {
    /// Not behind the fence: reads are free, and so is the lease.
    free: kube::Client,
    tools: Tools,
    options: ControllerOptions,
    scope: watch::Sender<Scope>,
    /// The scope with its label selector resolved: what informers follow.
    resolved: watch::Sender<Scope>,
    elector: Option<Elector>,
    recorder: Recorder,
    admin: Admin,
    listen: (Listen, Listen),
    informers: Vec<Task>,
    controllers: Vec<Box<dyn Run>>,
    access: Vec<Access>,
}

type Task = Box<dyn FnOnce(CancellationToken) -> futures::future::BoxFuture<'static, ()> + Send>;

impl Manager {
    /// A manager with nothing to do yet. Needs a tokio runtime.
    pub fn new(setup: Setup) -> Result<Self, ManagerError> {
        let Setup { name, api, scope, election, controllers, metrics_listen, health_listen, clock, metrics, .. } = setup;
        let client = |fence: Fence| {
            let options = ClientOptions {
                request_timeout: setup.request_timeout,
                max_writes_in_flight: setup.max_writes_in_flight,
                ..ClientOptions::new(&*name, metrics.clone()).fenced(fence)
            };
            api.client(options).map_err(ManagerError::Connect)
        };
        let free = client(Fence::open())?;
        let instance = election.as_ref().map_or_else(|| name.clone(), |election| election.identity.clone());
        let mut access = access::of_events();
        let (elector, fence) = match election {
            None => (None, Fence::open()),
            Some(election) => {
                access.extend(access::of_lease(&election));
                // Its own connections: a renewal must not queue behind writes.
                let (elector, fence) = Elector::new(client(Fence::open())?, election, clock, metrics.clone())?;
                (Some(elector), fence)
            }
        };
        let fenced = client(fence)?;
        let reporter = Reporter { controller: name.clone(), instance };
        let (events, recorder) = Events::new(fenced.clone(), reporter, clock, metrics.clone());
        let admin = Admin::new(metrics.clone());
        let tools = Tools { client: fenced, field_manager: name.into(), events, clock, metrics };
        Ok(Self {
            free,
            tools,
            options: controllers,
            resolved: watch::Sender::new(scope.clone()),
            scope: watch::Sender::new(scope),
            elector,
            recorder,
            admin,
            listen: (metrics_listen, health_listen),
            informers: Vec::new(),
            controllers: Vec::new(),
            access,
        })
    }

    /// Watches the objects of a kind that `select` selects, in the scope. The store has an index `owner`: by the UID of the
    /// controlling owner.
    pub fn watch<R: Row>(&mut self, select: Select) -> Store<R> {
        self.watch_indexed(select, |informer| informer)
    }

    /// The same, with further indexes.
    pub fn watch_indexed<R: Row>(
        &mut self,
        select: Select,
        indexes: impl FnOnce(Informer<R>) -> Informer<R>,
    ) -> Store<R> {
        let informer = Informer::new(self.free.clone(), select, self.resolved.subscribe(), self.tools.metrics.clone());
        let owner = |row: &R| row.controller().map(|owner| owner.uid.to_string()).into_iter().collect();
        let informer = indexes(informer.index("owner", owner));
        let store = informer.store();
        let kind = R::kind();
        self.access.push(Access::watch::<R>());
        let (ready, state) = (store.clone(), store.clone());
        self.admin.ready(format!("cache-{}", kind.plural), move || match ready.health() {
            health if health.state == State::Synced => Ok(()),
            health => Err(health.to_string()),
        });
        self.admin.state(format!("cache-{}", kind.plural), move || {
            json!({"objects": state.len(), "state": state.health().to_string()})
        });
        self.informers.push(Box::new(move |stop| Box::pin(informer.run(stop))));
        store
    }

    /// A controller of the objects in `main`. Say what else it depends on, then [`add`](Self::add) it.
    pub fn controller<R: Reconciler>(&self, reconciler: R, main: &Store<R::Kind>) -> Controller<R> {
        Controller::new(reconciler, main.clone(), self.options.clone(), self.tools.clone())
    }

    /// Runs `controller` while this replica leads.
    pub fn add<R: Reconciler>(&mut self, controller: Controller<R>) {
        self.access.extend(R::access());
        let queue = Run::queue(&controller);
        let state = queue.clone();
        self.admin.state(format!("queue-{}", R::NAME), move || state.look(|order| {
            let running: Vec<String> = order.running().map(|(key, _)| key.to_string()).collect();
            json!({"busy": order.busy(), "running": running})
        }));
        let metrics = self.tools.metrics.clone();
        self.tools.metrics.on_scrape(move || measure(&metrics, R::NAME, &queue));
        self.controllers.push(Box::new(controller));
    }

    /// The namespaces in scope; send another value to change them while it runs.
    pub fn scope(&self) -> watch::Sender<Scope> {
        self.scope.clone()
    }

    /// Everything that this operator may do, from what was declared: the source of its RBAC.
    pub fn access(&self) -> Vec<Access> {
        access::merged(&self.access)
    }

    /// The API server, for reading. Writes belong into a reconcile, where they are fenced.
    pub fn client(&self) -> kube::Client {
        self.free.clone()
    }

    /// The admin server's registry, for checks and state of the application's own.
    pub fn admin(&self) -> Admin {
        self.admin.clone()
    }

    /// Works until `stop` is cancelled or leadership is lost.
    pub async fn run(self, stop: CancellationToken) -> Result<(), ManagerError> {
        let (metrics, health) = &self.listen;
        let bound = self.admin.clone().bind(metrics, health).await?;
        let (free, metrics) = (self.free.clone(), self.tools.metrics.clone());
        let (asked, resolved) = (self.scope.subscribe(), self.resolved.clone());
        let resolve: Task = Box::new(move |stop| Box::pin(scope::resolve(free, asked, resolved, metrics, stop)));
        let background = self.informers.into_iter().chain([resolve]);
        let mut running = Running::start(bound, background, self.recorder);
        let Some(elector) = self.elector else {
            running.work(self.controllers);
            stop.cancelled().await;
            running.stop().await;
            return Ok(());
        };

        let mut leadership = elector.leadership();
        let state = elector.leadership();
        self.admin.state("lease", move || json!(*state.borrow()));
        let release = CancellationToken::new();
        let mut election = JoinSet::new();
        election.spawn(elector.run(release.clone()));
        let mut controllers = Some(self.controllers);
        loop {
            tokio::select! {
                biased;
                ended = election.join_next() => {
                    running.cut_off();
                    return Err(ManagerError::Lost(loss(ended)));
                }
                () = stop.cancelled() => break,
                changed = leadership.changed(), if controllers.is_some() => {
                    if changed.is_ok() && leadership.borrow().leading && let Some(controllers) = controllers.take() {
                        running.work(controllers);
                    }
                }
            }
        }
        running.drain().await;
        running.flush_events().await;
        release.cancel();
        election.join_next().await;
        running.stop().await;
        Ok(())
    }
}

/// The tasks of a running manager; all end when this is dropped.
struct Running {
    background: JoinSet<()>,
    recorder: JoinSet<()>,
    workers: JoinSet<()>,
    stop_background: CancellationToken,
    stop_recorder: CancellationToken,
    stop_workers: CancellationToken,
}

impl Running {
    fn start(bound: Bound, tasks: impl Iterator<Item = Task>, recorder: Recorder) -> Self {
        let mut running = Self {
            background: JoinSet::new(),
            recorder: JoinSet::new(),
            workers: JoinSet::new(),
            stop_background: CancellationToken::new(),
            stop_recorder: CancellationToken::new(),
            stop_workers: CancellationToken::new(),
        };
        running.background.spawn(bound.run(running.stop_background.clone()));
        for task in tasks {
            running.background.spawn(task(running.stop_background.clone()));
        }
        running.recorder.spawn(recorder.run(running.stop_recorder.clone()));
        running
    }

    /// Starts every controller as soon as its own caches are synced: one missing CRD stops one controller.
    fn work(&mut self, controllers: Vec<Box<dyn Run>>) {
        for controller in controllers {
            let stop = self.stop_workers.clone();
            self.workers.spawn(async move {
                let synced = futures::future::join_all(controller.caches().iter().map(|cache| cache.wait_synced()));
                tokio::select! {
                    () = stop.cancelled() => return,
                    _ = synced => {}
                }
                tracing::info!(controller = controller.name(), "caches are synced, starting");
                controller.run(stop).await;
            });
        }
    }

    async fn drain(&mut self) {
        self.stop_workers.cancel();
        let drained = async { while self.workers.join_next().await.is_some() {} };
        if tokio::time::timeout(DRAIN, drained).await.is_err() {
            tracing::warn!(after = ?DRAIN, "some reconciles did not end and were cut off");
            self.workers.shutdown().await;
        }
    }

    async fn flush_events(&mut self) {
        self.stop_recorder.cancel();
        self.recorder.join_next().await;
    }

    async fn stop(mut self) {
        self.drain().await;
        self.flush_events().await;
        self.stop_background.cancel();
        while self.background.join_next().await.is_some() {}
    }

    fn cut_off(&mut self) {
        self.workers.abort_all();
    }
}

fn loss(ended: Option<Result<Ended, tokio::task::JoinError>>) -> Loss {
    match ended {
        Some(Ok(Ended::Lost(loss))) => loss,
        // It was not told to stop: only a bug of ours can end it otherwise, and then nobody renews the lease.
        _ => Loss::NotRenewed { within: Duration::ZERO, problem: "the election ended by itself".into() },
    }
}

/// What the queue looks like, measured when somebody asks.
fn measure(metrics: &Metrics, name: &str, queue: &Queue<Key>) {
    let now = tokio::time::Instant::now();
    queue.look(|order| {
        for priority in [Priority::LOW, Priority::NORMAL, Priority::HIGH] {
            metrics.queue_depth(name, priority.0, order.depth(priority));
        }
        let running = || order.running().map(|(_, since)| now.saturating_duration_since(since));
        metrics.queue_unfinished(name, running().sum());
        metrics.queue_longest_running(name, running().max().unwrap_or_default());
    });
}

impl std::fmt::Debug for Manager {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let controllers: Vec<&str> = self.controllers.iter().map(|controller| controller.name()).collect();
        f.debug_struct("Manager").field("controllers", &controllers).finish_non_exhaustive()
    }
}

