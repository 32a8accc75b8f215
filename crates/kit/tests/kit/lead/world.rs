//! Replicas, a network that can be broken, and a server behind it; what it stores for whom is written down.

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

use apiserver::{Connection, Server, User};
use bytes::Bytes;
use futures::task::AtomicWaker;
use http::{Method, Request, Response};
use http_body_util::{BodyExt, Full};
use jiff::SignedDuration;
use k8s_openapi::api::coordination::v1::Lease;
use kit::{
    Clock,
    client::{ClientOptions, layered},
    lead::{Election, Elector, Ended, Fence, Leadership, is_not_leader},
    metrics::Metrics,
};
use kube::{Api, client::Body};
use serde_json::{Value, json};
use tokio::{
    sync::watch,
    time::{Instant, sleep, timeout},
};
use tokio_util::sync::CancellationToken;
use tower::{BoxError, Service as _};

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
    server: Server,
    plan: Mutex<Plan>,
    requests: AtomicUsize,
    commits: Mutex<Vec<Commit>>,
    /// Every lease that was ever stored, for reads from the past.
    leases: Mutex<Vec<Bytes>>,
}

impl World {
    pub(crate) fn new() -> Arc<Self> {
        Self::with_faults(|_, _| Fault::default())
    }

    /// `plan` says what happens to the n-th request of all.
    pub(crate) fn with_faults(
        plan: impl Fn(usize, &Request<Body>) -> Fault + Send + Sync + 'static,
    ) -> Arc<Self> {
        let server = Server::builder().without_controllers().build();
        server
            .install(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ops"}}))
            .unwrap();
        server.install(witness("", "")).unwrap();
        Arc::new(Self {
            began: Instant::now(),
            server,
            plan: Mutex::new(Box::new(plan)),
            requests: AtomicUsize::new(0),
            commits: Mutex::default(),
            leases: Mutex::default(),
        })
    }

    pub(crate) fn heal(&self) {
        *self.plan.lock().unwrap() = Box::new(|_, _| Fault::default());
    }

    pub(crate) fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }

    pub(crate) fn commits(&self) -> Vec<Commit> {
        self.commits.lock().unwrap().clone()
    }

    pub(crate) async fn lease(&self) -> Lease {
        self.by_hand().get("capstan").await.unwrap()
    }

    /// The leases, as somebody with kubectl has them.
    pub(crate) fn by_hand(&self) -> Api<Lease> {
        Api::namespaced(self.server.client(), "ops")
    }

    /// Who wrote, from when to when, in the server's order; fails when that is not one after the other.
    pub(crate) fn terms(&self) -> Vec<Term> {
        let mut terms: Vec<Term> = Vec::new();
        for Commit { at, writer, token } in self.commits() {
            match terms.last_mut().filter(|term| term.writer == writer) {
                Some(term) => term.last = at,
                None => {
                    assert!(
                        terms.iter().all(|term| term.writer != writer),
                        "{writer} writes again at {at:?}: {terms:?}"
                    );
                    terms.push(Term { writer, token: None, first: at, last: at });
                }
            }
            let tokens: Vec<_> = terms.iter().filter_map(|term| term.token).collect();
            let term = terms.last_mut().expect("just there");
            if let Some(token) = token {
                assert!(
                    term.token.is_none_or(|same| same == token),
                    "one term, one token: {token} in {term:?}"
                );
                assert!(
                    term.token.is_some() || tokens.iter().all(|earlier| *earlier < token),
                    "{token} after {tokens:?}"
                );
                term.token = Some(token);
            }
        }
        terms
    }

    /// The way of one request from `connection` to the server and back, through whatever is planned for it.
    async fn carry(
        &self,
        mut connection: Connection,
        mut cut: watch::Receiver<bool>,
        request: Request<Body>,
    ) -> Result<Response<Full<Bytes>>, BoxError> {
        let fault = self.plan.lock().unwrap()(self.requests.fetch_add(1, Ordering::SeqCst), &request);
        sleep(fault.before).await;
        // A cut line holds what is sent; after the repair it arrives.
        cut.wait_for(|cut| !cut).await?;
        let lost = || BoxError::from(std::io::Error::from(std::io::ErrorKind::ConnectionReset));
        let (code, answer) = match fault.fate {
            Fate::RequestLost => return Err(lost()),
            Fate::Refused(code) => (code, refusal(code)),
            Fate::Stale(ago) if request.method() == Method::GET => self.past(ago),
            _ => self.serve(&mut connection, request).await?,
        };
        sleep(fault.after).await;
        cut.wait_for(|cut| !cut).await?;
        match fault.fate {
            Fate::AnswerLost => Err(lost()),
            Fate::Hangs => std::future::pending().await,
            _ => Ok(Response::builder().status(code).body(Full::new(answer))?),
        }
    }

    async fn serve(
        &self,
        connection: &mut Connection,
        request: Request<Body>,
    ) -> Result<(u16, Bytes), BoxError> {
        let (parts, body) = request.into_parts();
        let sent = body.collect().await?.to_bytes();
        let response = connection.call(Request::from_parts(parts.clone(), Full::new(sent.clone()))).await?;
        let code = response.status();
        let answer = response.into_body().collect().await?.to_bytes();
        if code.is_success() && parts.method != Method::GET {
            if parts.uri.path().contains("leases") {
                self.leases.lock().unwrap().push(answer.clone());
            } else {
                let data = serde_json::from_slice::<Value>(&sent)?["data"].clone();
                let (writer, token) = (data["writer"].as_str().unwrap(), data["token"].as_str().unwrap());
                let commit =
                    Commit { at: self.began.elapsed(), writer: writer.to_owned(), token: token.parse().ok() };
                self.commits.lock().unwrap().push(commit);
            }
        }
        Ok((code.as_u16(), answer))
    }

    fn past(&self, ago: usize) -> (u16, Bytes) {
        let leases = self.leases.lock().unwrap();
        leases.iter().rev().nth(ago).map_or_else(|| (404, refusal(404)), |lease| (200, lease.clone()))
    }
}

fn refusal(code: u16) -> Bytes {
    let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": "Planned", "message": "planned"});
    status.to_string().into()
}

fn witness(writer: &str, token: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"namespace": "ops", "name": "witness"},
        "data": {"writer": writer, "token": token},
    })
}

/// A span in which one replica wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Term {
    pub(crate) writer: String,
    pub(crate) token: Option<u64>,
    pub(crate) first: Duration,
    pub(crate) last: Duration,
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
    ends: Mutex<Vec<Ended>>,
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

    /// How its lives ended.
    pub(crate) fn ends(&self) -> Vec<Ended> {
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
            if !matches!(ended, Ended::Lost(_)) {
                return;
            }
            sleep(Duration::from_secs(1)).await;
        }
    }

    async fn live(&self, election: Election) -> Ended {
        let noon: jiff::Timestamp = "2026-01-01T12:00:00Z".parse().unwrap();
        let clock = Clock::starting_at(noon + self.shared.skew);
        let identity = election.identity.clone();
        let (elector, fence) =
            Elector::new(self.client(Fence::open()), election, clock, Metrics::new()).unwrap();
        *self.shared.leadership.lock().unwrap() = Some(elector.leadership());
        let mut writes = pin!(self.write_for_ever(identity, self.client(fence.clone()), fence));
        let ended = tokio::select! {
            biased;
            () = &mut writes => unreachable!("it writes for ever"),
            ended = elector.run(self.shared.stop.clone()) => ended,
        };
        self.shared.ends.lock().unwrap().push(ended.clone());
        // The process goes on for a while: nobody has told its writers yet.
        let _ = timeout(Duration::from_secs(1), writes).await;
        ended
    }

    async fn write_for_ever(&self, writer: String, client: kube::Client, fence: Fence) {
        loop {
            // Written all the same while it does not lead: that is the fence's to refuse.
            let token = fence.check().map_or_else(|_| String::new(), |()| fence.token().to_string());
            let put = Request::put("/api/v1/namespaces/ops/configmaps/witness")
                .body(Body::from(witness(&writer, &token).to_string().into_bytes()))
                .unwrap();
            if let Err(error) = client.send(put).await
                && is_not_leader(&error)
            {
                self.shared.refused.fetch_add(1, Ordering::SeqCst);
            }
            sleep(Duration::from_millis(500)).await;
        }
    }

    fn client(&self, fence: Fence) -> kube::Client {
        let (world, cut) = (Arc::clone(&self.shared.world), self.shared.cut.subscribe());
        let name = format!("replica-{}", self.shared.number);
        let connection = world.server.connection(&name, User::admin());
        let service = tower::service_fn(move |request| {
            let (world, connection, cut) = (Arc::clone(&world), connection.clone(), cut.clone());
            async move { world.carry(connection, cut, request).await }
        });
        layered(service, "ops", ClientOptions::new(name, Metrics::new()).fenced(fence))
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
