//! Starts and stops everything, in order.
//!
//! ```text
//! start:  ports → caches (on a standby too: it is warm when its turn comes) → lease → workers, each when its caches are synced
//! stop:   workers finish → events are sent → lease is given back → caches, ports
//! lost:   workers are cut off at once, and the process should exit: the fence has stopped their writes already
//! ```
//!
//! Dropping the future of [`Manager::run`] stops everything that it started.

mod api;
mod running;
mod setup;
mod signals;
mod webhooks;

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    panic::AssertUnwindSafe,
    sync::{Arc, OnceLock},
    time::Duration,
};

use futures::FutureExt as _;
use k8s_openapi::api::core::v1::Namespace;
use serde_json::json;
use tokio::{sync::watch, task::JoinSet};
use tokio_util::sync::CancellationToken;

use self::running::{Running, Task};
pub use self::{api::Api, setup::Setup, signals::until_signalled};
use crate::{
    Key, Reconciler, Row, Scope, Slim,
    access::{self, Access},
    client::ClientOptions,
    controller::{Controller, ControllerOptions, Run, Tools},
    events::{Events, Recorder, Reporter},
    informer::{Informer, Select, State, Store},
    lead::{BadElection, Elector, Ended, Fence, Leadership, Loss},
    metrics::Metrics,
    queue::{Priority, Queue},
    scope,
    serve::{Admin, BindError, Bound, Listen},
};

/// Why an operator could not start, or stopped.
#[derive(Debug, thiserror::Error)]
pub enum ManagerError {
    /// No API server is configured.
    #[error(
        "cannot tell where the API server is: {why}. Set --kubeconfig and --context, or run in a cluster"
    )]
    Unconfigured {
        /// What was tried, and why it failed.
        why: String,
    },
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
    name: String,
    namespace: String,
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
    bound: Option<Bound>,
    /// How many caches there are of each kind, for their names.
    caches: BTreeMap<String, usize>,
    background: Vec<Task>,
    controllers: Vec<Box<dyn Run>>,
    access: Vec<Access>,
    graceful_shutdown_timeout: Duration,
}

impl Manager {
    /// A manager with nothing to do yet. Needs a tokio runtime.
    pub fn new(setup: Setup) -> Result<Self, ManagerError> {
        let Setup { name, api, namespace, scope, election, metrics, clock, .. } = setup;
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
        let admin = Admin::new(metrics.clone());
        let mut access = access::of_events();
        if matches!(scope, Scope::Labelled(_)) {
            access.push(Access::watch::<Slim<Namespace>>());
        }
        let (elector, fence) = match election {
            None => (None, Fence::open()),
            Some(election) => {
                access.extend(access::of_lease(&election));
                // Its own connections: a renewal must not queue behind writes.
                let (elector, fence) =
                    Elector::new(client(Fence::open())?, election, clock, metrics.clone())?;
                show(&admin, elector.leadership());
                (Some(elector), fence)
            }
        };
        let fenced = client(fence)?;
        let reporter = Reporter { controller: name.clone(), instance };
        let (events, recorder) = Events::new(fenced.clone(), reporter, clock, metrics.clone());
        let resolved = watch::Sender::new(scope.clone());
        let field_manager = setup.field_manager.into();
        let tools =
            Tools { client: fenced, field_manager, events, clock, metrics, scope: resolved.subscribe() };
        Ok(Self {
            name,
            namespace,
            free,
            tools,
            options: setup.controllers,
            resolved,
            scope: watch::Sender::new(scope),
            elector,
            recorder,
            admin,
            listen: (setup.metrics_listen, setup.health_listen),
            bound: None,
            caches: BTreeMap::new(),
            background: Vec::new(),
            controllers: Vec::new(),
            access,
            graceful_shutdown_timeout: setup.graceful_shutdown_timeout,
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
        let informer =
            Informer::new(self.free.clone(), select, self.resolved.subscribe(), self.tools.metrics.clone());
        let owner = |row: &R| row.controller().map(|owner| owner.uid.to_string()).into_iter().collect();
        let informer = indexes(informer.index("owner", owner));
        let store = informer.store();
        self.access.push(Access::watch::<R>());
        let name = self.cache_name(&R::kind().plural);
        let (ready, state) = (store.clone(), store.clone());
        self.admin.ready(&*name, move || match ready.health() {
            health if health.state == State::Synced => Ok(()),
            health => Err(health.to_string()),
        });
        self.admin.state(name, move || json!({"objects": state.len(), "state": state.health().to_string()}));
        self.background.push(Box::new(move |stop| Box::pin(informer.run(stop))));
        store
    }

    /// `cache-pods`; a second cache of pods is `cache-pods-2`.
    fn cache_name(&mut self, plural: &str) -> String {
        let count = self.caches.entry(plural.to_owned()).or_default();
        *count += 1;
        match *count {
            1 => format!("cache-{plural}"),
            nth => format!("cache-{plural}-{nth}"),
        }
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
        self.admin.state(format!("queue-{}", R::NAME), move || {
            state.look(|order| {
                let running: Vec<String> = order.running().map(|(key, _)| key.to_string()).collect();
                json!({"busy": order.busy(), "running": running})
            })
        });
        let metrics = self.tools.metrics.clone();
        self.tools.metrics.on_scrape(move || measure(&metrics, R::NAME, &queue));
        self.controllers.push(Box::new(controller));
    }

    /// Runs `task` from start to stop, on every replica, whether it leads or not: a server, or something that is polled. It should
    /// end when its token is cancelled. If it panics or ends before, the operator goes on and says so in its log and in
    /// `/readyz`.
    pub fn background<F>(
        &mut self,
        name: &'static str,
        task: impl FnOnce(CancellationToken) -> F + Send + 'static,
    ) where
        F: Future<Output = ()> + Send + 'static,
    {
        let ended = Arc::new(OnceLock::new());
        let known = ended.clone();
        self.admin.ready(format!("background-{name}"), move || {
            known.get().map_or(Ok(()), |why: &String| Err(why.clone()))
        });
        let task = move |stop: CancellationToken| async move {
            let panicked = AssertUnwindSafe(task(stop.clone())).catch_unwind().await.is_err();
            if panicked || !stop.is_cancelled() {
                let how = if panicked { "panicked (its log line says where)" } else { "ended by itself" };
                let why = format!("the background task {name} {how}: restart this operator");
                tracing::error!("{why}");
                ended.set(why).ok();
            }
        };
        self.background.push(Box::new(move |stop| Box::pin(task(stop))));
    }

    /// The namespaces in scope; send another value to change them while it runs. An object that leaves the scope is left as it
    /// is: nothing is reconciled that is not in scope.
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

    /// Where everything is counted.
    pub fn metrics(&self) -> Metrics {
        self.tools.metrics.clone()
    }

    /// The admin server's registry, for checks and state of the application's own.
    pub fn admin(&self) -> Admin {
        self.admin.clone()
    }

    /// Opens the ports of metrics and health, to know their addresses before [`run`](Self::run), which otherwise opens them.
    pub async fn bind(&mut self) -> Result<Vec<SocketAddr>, ManagerError> {
        let (metrics, health) = &self.listen;
        let bound = self.admin.clone().bind(metrics, health).await?;
        let addresses = bound.addresses();
        self.bound = Some(bound);
        Ok(addresses)
    }

    /// Works until `stop` is cancelled or leadership is lost.
    pub async fn run(mut self, stop: CancellationToken) -> Result<(), ManagerError> {
        if self.bound.is_none() {
            self.bind().await?;
        }
        let serve = self.bound.take().map(|bound| Box::new(move |stop| bound.run(stop).boxed()) as Task);
        let (free, metrics) = (self.free.clone(), self.tools.metrics.clone());
        let (asked, resolved) = (self.scope.subscribe(), self.resolved.clone());
        let resolve: Task =
            Box::new(move |stop| Box::pin(scope::resolve(free, asked, resolved, metrics, stop)));
        let background = self.background.into_iter().chain([resolve]).chain(serve);
        let mut running = Running::start(background, self.recorder, self.graceful_shutdown_timeout);
        match self.elector {
            None => {
                running.work(self.controllers);
                stop.cancelled().await;
                running.drain().await;
                running.flush_events().await;
            }
            Some(elector) => lead(elector, self.controllers, &mut running, stop).await?,
        }
        running.stop().await;
        Ok(())
    }
}

/// Waits for the lease, works while it is ours, and gives it back after `stop`.
async fn lead(
    elector: Elector,
    controllers: Vec<Box<dyn Run>>,
    running: &mut Running,
    stop: CancellationToken,
) -> Result<(), ManagerError> {
    let mut leadership = elector.leadership();
    let release = CancellationToken::new();
    let mut election = JoinSet::new();
    election.spawn(elector.run(release.clone()));
    let mut controllers = Some(controllers);
    loop {
        tokio::select! {
            biased;
            // The workers end with `running`, which is dropped now.
            ended = election.join_next() => return Err(ManagerError::Lost(loss(ended))),
            () = stop.cancelled() => break,
            changed = leadership.changed(), if controllers.is_some() => {
                if changed.is_ok() && leadership.borrow().leading && let Some(controllers) = controllers.take() {
                    running.work(controllers);
                }
            }
        }
    }
    running.drain().await;
    // Events are fenced as all writes are: they come before the release.
    running.flush_events().await;
    release.cancel();
    election.join_next().await;
    Ok(())
}

/// Shows the election in `/debug/state.json`, and in `/readyz` while it cannot be held at all.
fn show(admin: &Admin, leadership: watch::Receiver<Leadership>) {
    let ready = leadership.clone();
    admin.ready("lease", move || match &*ready.borrow() {
        Leadership { holder: None, problem: Some(problem), .. } => Err(format!("nobody leads: {problem}")),
        _ => Ok(()),
    });
    admin.state("lease", move || json!(*leadership.borrow()));
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
        metrics.queue_adds(name, order.adds());
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
