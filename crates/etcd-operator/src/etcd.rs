//! Connections to members: one each, kept open, and heard when it breaks.
//!
//! ```text
//! keep(cluster, urls) ──> a task per member: dial ──> health stream ──broke──> dial again …
//!                                  │ each change: the cluster is due                │
//! look(url) <── Up(endpoint) or Down(why), at once ─────────────────────────────────┘
//! ```
//!
//! A member's death is known when its connection breaks, milliseconds after it; its return, when it can be dialed again. Nobody
//! else dials: a reconcile never waits for a member that is away, but for the first time that it is tried.

mod hashes;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use etcd_api::{Dial, Endpoint, EtcdError, Health, Refusal, Tls};
use etcd_core::{DataHash, MemberId, Unreachable};
use futures::StreamExt as _;
use kit::{Key, Trigger};
use tokio::{
    sync::{Notify, watch},
    time::{Instant, sleep, timeout},
};
use tokio_util::task::AbortOnDropHandle;

pub(crate) use hashes::At;

/// For a connection, and then for each call.
pub(crate) const DEADLINE: Duration = Duration::from_millis(1500);
/// For each call to a member that kept the last one waiting in vain: others must not wait for it every time.
pub(crate) const IMPATIENCE: Duration = Duration::from_millis(300);
/// How long that is so, until it gets its whole time once more.
const DOUBT: Duration = Duration::from_secs(5);
/// Between two tries to reach a member: at first, and at most.
const SOON: Duration = Duration::from_millis(200);
const LATE: Duration = Duration::from_secs(5);
/// How often a learner is asked whether it has a health stream by now.
const LEARNS: Duration = Duration::from_secs(1);

/// A member that is reached.
#[derive(Debug, Clone)]
pub(crate) struct Reached {
    pub(crate) endpoint: Arc<dyn Endpoint>,
    /// For how long, if its return was seen; one that was met running may have been up for ever.
    pub(crate) watched_for: Option<Duration>,
    /// Whether it keeps us waiting.
    pub(crate) tardy: Tardy,
}

/// Whether a member that is connected keeps us waiting: since when, if it does.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tardy(Arc<Mutex<Option<Instant>>>);

impl Tardy {
    /// How long to wait for its next answer.
    pub(crate) fn patience(&self) -> Duration {
        let since = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if since.is_some_and(|since| since.elapsed() < DOUBT) { IMPATIENCE } else { DEADLINE }
    }

    /// What came of it.
    pub(crate) fn note(&self, late: bool, patience: Duration) {
        let mut since = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match late {
            false => *since = None,
            true if patience == DEADLINE => *since = Some(Instant::now()),
            true => {}
        }
    }
}

/// How a member is reached.
#[derive(Debug, Clone)]
enum Line {
    /// It was not tried yet.
    Dialing,
    Up(Arc<dyn Endpoint>, Option<Instant>),
    Down(EtcdError),
}

/// All connections of this operator.
#[derive(Debug)]
pub(crate) struct Connections {
    dial: Arc<dyn Dial>,
    trigger: Trigger,
    clusters: Mutex<BTreeMap<Key, BTreeMap<String, Kept>>>,
    hashes: hashes::Hashes,
}

/// How a member was met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Met {
    /// With its cluster: it may have been up for ever.
    Running,
    /// Afterwards: it has just come.
    Coming,
}

#[derive(Debug)]
struct Kept {
    tls: Option<Tls>,
    line: watch::Receiver<Line>,
    try_now: Arc<Notify>,
    tardy: Tardy,
    met: Met,
    _task: AbortOnDropHandle<()>,
}

impl Connections {
    /// `trigger` hears of every change of a connection.
    pub(crate) fn new(dial: Arc<dyn Dial>, trigger: Trigger) -> Self {
        Self { dial, trigger, clusters: Mutex::default(), hashes: hashes::Hashes::default() }
    }

    /// Keeps connections to these members of a cluster, and to no others.
    pub(crate) fn keep(&self, cluster: &Key, urls: &[String], tls: Option<&Tls>) {
        let mut clusters = self.clusters.lock().unwrap_or_else(PoisonError::into_inner);
        // Whoever comes later than the cluster itself was not met running.
        let met = if clusters.contains_key(cluster) { Met::Coming } else { Met::Running };
        let kept = clusters.entry(cluster.clone()).or_default();
        kept.retain(|url, kept| urls.contains(url) && kept.tls.as_ref() == tls);
        for url in urls {
            if !kept.contains_key(url) {
                kept.insert(url.clone(), self.start(cluster.clone(), url.clone(), tls.cloned(), met));
            }
        }
    }

    /// Closes all connections to a cluster.
    pub(crate) fn forget(&self, cluster: &Key) {
        self.clusters.lock().unwrap_or_else(PoisonError::into_inner).remove(cluster);
        self.hashes.forget(cluster);
    }

    /// How a member that is kept is reached now. One that is down is tried again at once, and the cluster is due if it is up.
    pub(crate) async fn look(&self, cluster: &Key, url: &str) -> Result<Reached, EtcdError> {
        let Some((mut line, try_now, tardy, met)) = self.line(cluster, url) else {
            return Err(EtcdError::Unreachable("it is not dialed".to_owned()));
        };
        // Whoever has just come may keep us waiting for long, and is heard of as soon as it answers.
        let patience = if met == Met::Coming { IMPATIENCE } else { DEADLINE };
        let tried = timeout(patience, line.wait_for(|line| !matches!(line, Line::Dialing))).await;
        match tried {
            Ok(Ok(line)) => match &*line {
                Line::Up(endpoint, since) => Ok(Reached {
                    endpoint: endpoint.clone(),
                    watched_for: since.map(|since| since.elapsed()),
                    tardy,
                }),
                Line::Down(error) => {
                    try_now.notify_one();
                    Err(error.clone())
                }
                Line::Dialing => Err(EtcdError::Deadline(patience)),
            },
            Ok(Err(_)) | Err(_) => Err(EtcdError::Deadline(patience)),
        }
    }

    /// The hashes of these members' data, as far as they are known by now. The cluster is due when more are.
    pub(crate) async fn hashes(
        &self,
        cluster: &Key,
        members: Vec<(MemberId, Arc<dyn Endpoint>)>,
        at: At,
    ) -> BTreeMap<MemberId, Result<DataHash, Unreachable>> {
        self.hashes.ask(cluster, members, at, &self.trigger).await
    }

    /// Forgets the hashes of a cluster's members: nothing says any more that their data may differ.
    pub(crate) fn forget_hashes(&self, cluster: &Key) {
        self.hashes.forget(cluster);
    }

    fn line(&self, cluster: &Key, url: &str) -> Option<(watch::Receiver<Line>, Arc<Notify>, Tardy, Met)> {
        let clusters = self.clusters.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = clusters.get(cluster)?.get(url)?;
        Some((kept.line.clone(), kept.try_now.clone(), kept.tardy.clone(), kept.met))
    }

    fn start(&self, cluster: Key, url: String, tls: Option<Tls>, met: Met) -> Kept {
        let (sender, line) = watch::channel(Line::Dialing);
        let try_now = Arc::new(Notify::new());
        let keeper = Keeper {
            dial: self.dial.clone(),
            trigger: self.trigger.clone(),
            cluster,
            url,
            tls: tls.clone(),
            line: sender,
            try_now: try_now.clone(),
            met,
        };
        Kept {
            tls,
            line,
            try_now,
            tardy: Tardy::default(),
            met,
            _task: AbortOnDropHandle::new(tokio::spawn(keeper.run())),
        }
    }
}

/// Keeps one connection.
struct Keeper {
    dial: Arc<dyn Dial>,
    trigger: Trigger,
    cluster: Key,
    url: String,
    tls: Option<Tls>,
    line: watch::Sender<Line>,
    try_now: Arc<Notify>,
    met: Met,
}

impl Keeper {
    async fn run(self) {
        let mut pause = SOON;
        loop {
            match self.dial.dial(&self.url, self.tls.as_ref(), DEADLINE).await {
                Ok(endpoint) => {
                    tracing::debug!(url = self.url, "connected");
                    let since = Instant::now();
                    let returned = self.met == Met::Coming || matches!(&*self.line.borrow(), Line::Down(_));
                    self.line.send_replace(Line::Up(endpoint.clone(), returned.then_some(since)));
                    self.trigger.due(&self.cluster);
                    let error = self.hear(&*endpoint).await;
                    tracing::debug!(url = self.url, %error, "the connection ended");
                    self.line.send_replace(Line::Down(error));
                    self.trigger.due(&self.cluster);
                    // One that breaks again and again must not keep us busy.
                    if since.elapsed() > LATE {
                        pause = SOON;
                    }
                }
                Err(error) => {
                    // A member that stays away is no news; the first answer about it is.
                    let first = matches!(&*self.line.borrow(), Line::Dialing);
                    self.line.send_replace(Line::Down(error));
                    if first {
                        self.trigger.due(&self.cluster);
                    }
                }
            }
            let asked = timeout(pause, self.try_now.notified()).await.is_ok();
            pause = if asked { SOON } else { (pause * 2).min(LATE) };
        }
    }

    /// Listens until the connection breaks.
    async fn hear(&self, endpoint: &dyn Endpoint) -> EtcdError {
        let mut last = Health::Serving;
        loop {
            let error = self.listen(endpoint, &mut last).await;
            if error.refusal() != Some(Refusal::NotForLearners) {
                return error;
            }
            // A learner answers, and refuses every stream: it is reached, and asked again until it votes or is gone.
            sleep(LEARNS).await;
        }
    }

    /// Listens until the stream breaks; a server that says that it does not serve, or again does, is news too.
    async fn listen(&self, endpoint: &dyn Endpoint, last: &mut Health) -> EtcdError {
        let mut stream = endpoint.watch_health();
        while let Some(said) = stream.next().await {
            match said {
                Ok(health) if health != *last => {
                    *last = health;
                    self.trigger.due(&self.cluster);
                }
                Ok(_) => {}
                Err(error) => return error,
            }
        }
        EtcdError::Broken("the health stream ended".to_owned())
    }
}
