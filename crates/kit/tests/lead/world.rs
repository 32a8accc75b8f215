//! Replicas, a network that can be broken, and a server that keeps one lease and writes down who wrote when.

use std::{
    future::Future,
    pin::{Pin, pin},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use futures::task::AtomicWaker;
use http::{Method, Request, Response};
use http_body_util::BodyExt;
use jiff::SignedDuration;
use kit::{
    Clock,
    client::{ClientOptions, layered},
    lead::{Election, Elector, Ended, Fence, Leadership, is_not_leader},
    metrics::Metrics,
};
use kube::client::Body;
use serde_json::{Value, json};
use tokio::{
    sync::watch,
    time::{Instant, sleep, timeout},
};
use tokio_util::sync::CancellationToken;
use tower::BoxError;

/// One write, as the server stored it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Commit {
    pub(crate) at: Duration,
    pub(crate) writer: String,
    /// None when it was written just before the writer led, and got through just after.
    pub(crate) token: Option<u64>,
}

/// What happens to one request on its way.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Fault {
    pub(crate) before: Duration,
    pub(crate) fate: Fate,
    pub(crate) after: Duration,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Fate {
    #[default]
    Served,
    /// It never arrives, and the connection breaks.
    RequestLost,
    /// It is carried out, and the connection breaks.
    AnswerLost,
    /// It is carried out, and nothing more is ever heard of it.
    Hangs,
    /// A read is answered from so many changes ago.
    Stale(usize),
    /// It is answered with this status, and not carried out.
    Refused(u16),
}

type Plan = Box<dyn Fn(usize, &Request<Body>) -> Fault + Send + Sync>;

pub(crate) struct World {
    began: Instant,
    server: Mutex<Server>,
    plan: Mutex<Plan>,
    requests: AtomicUsize,
}

#[derive(Default)]
struct Server {
    version: u64,
    lease: Option<Value>,
    history: Vec<Option<Value>>,
    commits: Vec<Commit>,
}

impl World {
    pub(crate) fn new() -> Arc<Self> {
        Self::with_faults(|_, _| Fault::default())
    }

    /// `plan` says what happens to the n-th request of all.
    pub(crate) fn with_faults(plan: impl Fn(usize, &Request<Body>) -> Fault + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self {
            began: Instant::now(),
            server: Mutex::default(),
            plan: Mutex::new(Box::new(plan)),
            requests: AtomicUsize::new(0),
        })
    }

    pub(crate) fn heal(&self) {
        *self.plan.lock().unwrap() = Box::new(|_, _| Fault::default());
    }

    pub(crate) fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }

    pub(crate) fn commits(&self) -> Vec<Commit> {
        self.server.lock().unwrap().commits.clone()
    }

    pub(crate) fn lease(&self) -> Option<Value> {
        self.server.lock().unwrap().lease.clone()
    }

    /// Changes the lease behind everybody's back; `None` deletes it.
    pub(crate) fn edit(&self, edit: impl FnOnce(Value) -> Option<Value>) {
        let mut server = self.server.lock().unwrap();
        let lease = server.lease.take().expect("a lease");
        match edit(lease) {
            Some(lease) => drop(server.store(lease)),
            None => server.history.push(None),
        }
    }

    /// Who wrote, from when to when, in the server's order; fails when that is not one after the other.
    pub(crate) fn terms(&self) -> Vec<Term> {
        let mut terms: Vec<Term> = Vec::new();
        for Commit { at, writer, token } in self.commits() {
            match terms.last_mut().filter(|term| term.writer == writer) {
                Some(term) => term.last = at,
                None => {
                    assert!(terms.iter().all(|term| term.writer != writer), "{writer} writes again at {at:?}: {terms:?}");
                    terms.push(Term { writer, token: None, first: at, last: at });
                }
            }
            let tokens: Vec<_> = terms.iter().filter_map(|term| term.token).collect();
            let term = terms.last_mut().expect("just there");
            if let Some(token) = token {
                assert!(term.token.is_none_or(|same| same == token), "one term, one token: {token} in {term:?}");
                assert!(term.token.is_some() || tokens.iter().all(|earlier| *earlier < token), "{token} after {tokens:?}");
                term.token = Some(token);
            }
        }
        terms
    }

    async fn serve(&self, replica: usize, cut: &mut watch::Receiver<bool>, request: Request<Body>) -> Result<Response<Body>, BoxError> {
        let fault = self.plan.lock().unwrap()(self.requests.fetch_add(1, Ordering::SeqCst), &request);
        sleep(fault.before).await;
        // A cut line holds what is sent; after the repair it arrives.
        cut.wait_for(|cut| !cut).await?;
        let (parts, body) = request.into_parts();
        let body = body.collect().await?.to_bytes();
        let reset = || BoxError::from(std::io::Error::from(std::io::ErrorKind::ConnectionReset));
        let (code, answer) = match fault.fate {
            Fate::RequestLost => return Err(reset()),
            Fate::Refused(code) => (code, status(code, "Refused")),
            fate => self.server.lock().unwrap().answer(self.began.elapsed(), replica, &parts, &body, fate),
        };
        sleep(fault.after).await;
        cut.wait_for(|cut| !cut).await?;
        match fault.fate {
            Fate::AnswerLost => Err(reset()),
            Fate::Hangs => std::future::pending().await,
            _ => Ok(Response::builder().status(code).body(Body::from(serde_json::to_vec(&answer)?))?),
        }
    }
}

/// A span in which one replica wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Term {
    pub(crate) writer: String,
    pub(crate) token: Option<u64>,
    pub(crate) first: Duration,
    pub(crate) last: Duration,
}

impl Server {
    fn store(&mut self, mut lease: Value) -> Value {
        self.version += 1;
        lease["metadata"]["resourceVersion"] = json!(self.version.to_string());
        self.lease = Some(lease.clone());
        self.history.push(Some(lease.clone()));
        lease
    }

    fn answer(&mut self, at: Duration, replica: usize, parts: &http::request::Parts, body: &[u8], fate: Fate) -> (u16, Value) {
        if parts.uri.path().ends_with("/configmaps/witness") {
            let data = serde_json::from_slice::<Value>(body).unwrap()["data"].clone();
            let writer = data["writer"].as_str().unwrap().to_owned();
            assert!(writer.starts_with(&format!("replica-{replica}-")));
            self.commits.push(Commit { at, writer, token: data["token"].as_str().unwrap().parse().ok() });
            return (200, json!({}));
        }
        match parts.method {
            Method::GET => {
                let seen = match fate {
                    Fate::Stale(ago) => self.history.iter().rev().nth(ago).cloned().flatten(),
                    _ => self.lease.clone(),
                };
                seen.map_or_else(|| (404, status(404, "NotFound")), |lease| (200, lease))
            }
            Method::POST if self.lease.is_some() => (409, status(409, "AlreadyExists")),
            Method::POST => (201, self.store(serde_json::from_slice(body).unwrap())),
            _ => {
                let new: Value = serde_json::from_slice(body).unwrap();
                match &self.lease {
                    None => (404, status(404, "NotFound")),
                    Some(old) if old["metadata"]["resourceVersion"] != new["metadata"]["resourceVersion"] => {
                        (409, status(409, "Conflict"))
                    }
                    // What changes nothing is not stored.
                    Some(old) if *old == new => (200, new),
                    Some(_) => (200, self.store(new)),
                }
            }
        }
    }
}

fn status(code: u16, reason: &str) -> Value {
    json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason, "message": reason})
}

/// One replica: a process that stands by, leads, writes all the time, and is started again a second after it has lost.
#[derive(Clone)]
pub(crate) struct Replica {
    shared: Arc<Shared>,
}

struct Shared {
    world: Arc<World>,
    number: usize,
    skew: SignedDuration,
    cut: watch::Sender<bool>,
    freeze: Freeze,
    stop: CancellationToken,
    refused: AtomicUsize,
    ends: Mutex<Vec<(Duration, Ended)>>,
    leadership: Mutex<Option<watch::Receiver<Leadership>>>,
}

impl Replica {
    /// Starts replica `number`, its wall clock `skew` hours off.
    pub(crate) fn start(world: &Arc<World>, number: usize, skew: i64) -> Self {
        let shared = Arc::new(Shared {
            world: Arc::clone(world),
            number,
            skew: SignedDuration::from_hours(skew),
            cut: watch::Sender::new(false),
            freeze: Freeze::default(),
            stop: CancellationToken::new(),
            refused: AtomicUsize::new(0),
            ends: Mutex::default(),
            leadership: Mutex::default(),
        });
        let replica = Self { shared };
        let process = Box::pin(replica.clone().process());
        tokio::spawn(Frozen { replica: replica.clone(), process });
        replica
    }

    /// Nothing gets through any more, in either direction.
    pub(crate) fn cut(&self) {
        self.shared.cut.send_replace(true);
    }

    pub(crate) fn reconnect(&self) {
        self.shared.cut.send_replace(false);
    }

    /// SIGSTOP: no task of the process runs.
    pub(crate) fn freeze(&self) {
        self.shared.freeze.on.store(true, Ordering::SeqCst);
    }

    pub(crate) fn thaw(&self) {
        self.shared.freeze.on.store(false, Ordering::SeqCst);
        self.shared.freeze.waker.wake();
    }

    pub(crate) fn stop(&self) {
        self.shared.stop.cancel();
    }

    /// Writes that the fence refused.
    pub(crate) fn refused(&self) -> usize {
        self.shared.refused.load(Ordering::SeqCst)
    }

    /// How and when its leaderships ended.
    pub(crate) fn ends(&self) -> Vec<(Duration, Ended)> {
        self.shared.ends.lock().unwrap().clone()
    }

    pub(crate) fn leadership(&self) -> Leadership {
        self.shared.leadership.lock().unwrap().as_ref().expect("started").borrow().clone()
    }

    pub(crate) fn leads(&self) -> bool {
        self.leadership().leading
    }

    pub(crate) async fn until_it_leads(&self) {
        let mut leadership = loop {
            let started = self.shared.leadership.lock().unwrap().clone();
            match started {
                Some(leadership) => break leadership,
                None => tokio::task::yield_now().await,
            }
        };
        leadership.wait_for(|leadership| leadership.leading).await.unwrap();
    }

    async fn process(self) {
        for life in 0.. {
            let election = Election {
                identity: format!("replica-{}-{life}", self.shared.number),
                ..Election::new("ops", "capstan")
            };
            let ended = self.live(election).await;
            let lost = matches!(ended, Ended::Lost(_));
            self.shared.ends.lock().unwrap().push((self.shared.world.began.elapsed(), ended));
            if !lost {
                return;
            }
            sleep(Duration::from_secs(1)).await;
        }
    }

    async fn live(&self, election: Election) -> Ended {
        let noon: jiff::Timestamp = "2026-01-01T12:00:00Z".parse().unwrap();
        let clock = Clock::starting_at(noon + self.shared.skew);
        let identity = election.identity.clone();
        let (elector, fence) = Elector::new(self.client(Fence::open()), election, clock, Metrics::new()).unwrap();
        *self.shared.leadership.lock().unwrap() = Some(elector.leadership());
        let mut writes = pin!(self.write_for_ever(identity, self.client(fence.clone()), fence));
        let ended = tokio::select! {
            biased;
            () = &mut writes => unreachable!("it writes for ever"),
            ended = elector.run(self.shared.stop.clone()) => ended,
        };
        // The process goes on for a while: nobody has told its writers yet.
        let _ = timeout(Duration::from_secs(1), writes).await;
        ended
    }

    async fn write_for_ever(&self, writer: String, client: kube::Client, fence: Fence) {
        loop {
            // Written all the same while it does not lead: that is the fence's to refuse.
            let token = fence.check().map_or_else(|_| String::new(), |()| fence.token().to_string());
            let data = json!({"data": {"writer": writer, "token": token}});
            let put = Request::put("/api/v1/namespaces/ops/configmaps/witness")
                .body(Body::from(serde_json::to_vec(&data).unwrap()))
                .unwrap();
            if let Err(error) = client.send(put).await
                && is_not_leader(&error)
            {
                self.shared.refused.fetch_add(1, Ordering::SeqCst);
            }
            sleep(Duration::from_millis(300)).await;
        }
    }

    fn client(&self, fence: Fence) -> kube::Client {
        let (world, number, cut) = (Arc::clone(&self.shared.world), self.shared.number, self.shared.cut.subscribe());
        let service = tower::service_fn(move |request| {
            let (world, mut cut) = (Arc::clone(&world), cut.clone());
            async move { world.serve(number, &mut cut, request).await }
        });
        layered(service, "ops", ClientOptions::new("test/1", Metrics::new()).fenced(fence))
    }
}

#[derive(Default)]
struct Freeze {
    on: AtomicBool,
    waker: AtomicWaker,
}

/// Runs a replica's process while it is not frozen.
struct Frozen<F> {
    replica: Replica,
    process: Pin<Box<F>>,
}

impl<F: Future<Output = ()>> Future for Frozen<F> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let freeze = &self.replica.shared.freeze;
        freeze.waker.register(cx.waker());
        if freeze.on.load(Ordering::SeqCst) { Poll::Pending } else { self.process.as_mut().poll(cx) }
    }
}
