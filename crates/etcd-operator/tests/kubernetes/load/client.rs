//! A client that knows all endpoints of a cluster and tries a request once more, at another one: as every etcd client library does.

use std::{
    collections::HashMap,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use etcd_api::{
    Client, EtcdError, EventStream, Tls,
    pb::{
        Compare, KeyValue, LeaseGrantRequest, LeaseRevokeRequest, PutRequest, RangeRequest, RangeResponse,
        RequestOp, ResponseHeader, TxnRequest,
        compare::{CompareTarget, TargetUnion},
        request_op,
    },
};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt as _;
use lab_tests::oracle::Stamp;
use tokio::time::{Instant, interval};

use crate::world::World;

/// What a client gives each try.
const DEADLINE: Duration = Duration::from_secs(5);
/// How long after the first try the second one is made, at the soonest: while leadership is handed over, etcd drops what it is asked.
const BACKOFF: Duration = Duration::from_millis(200);
/// How long an endpoint that failed is not the first choice.
const SHUN: Duration = Duration::from_secs(1);

/// Where members are found, and how they prove who they are.
#[derive(Clone)]
pub(crate) struct Place {
    /// Of the members' pods.
    pub(crate) labels: String,
    /// The headless Service that names them.
    pub(crate) service: String,
    pub(crate) tls: Option<Tls>,
    /// The EtcdCluster whose status is compared with what clients experience; none of an etcd without an operator.
    pub(crate) cluster: Option<String>,
}

impl Place {
    /// Connects to the member in this pod, by its address.
    pub(crate) async fn dial(&self, pod: &Pod) -> etcd_api::Result<Client> {
        let (name, namespace) = (pod.name_any(), pod.namespace().unwrap_or_default());
        let Some(address) = pod.status.as_ref().and_then(|status| status.pod_ip.clone()) else {
            return Err(EtcdError::Unreachable(format!("pod {name} has no address")));
        };
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        let tls =
            self.tls.as_ref().map(|tls| tls.of_server(&format!("{name}.{}.{namespace}.svc", self.service)));
        let url = format!("{scheme}://{address}:2379");
        Client::connect(&url, tls.as_ref(), DEADLINE).await
    }
}

/// One request.
#[derive(Debug, Clone)]
pub(crate) enum Request {
    Put(String, String),
    Get(String),
    /// Writes if the key's mod_revision is still the one to compare with.
    Swap {
        key: String,
        compared: i64,
        value: String,
    },
    /// Grants a lease with this TTL, in seconds.
    Grant(i64),
    PutLeased {
        key: String,
        lease: i64,
    },
    KeepAlive(i64),
    Revoke(i64),
}

/// What came back.
#[derive(Debug, Clone, Default)]
pub(crate) struct Answer {
    pub(crate) revision: i64,
    pub(crate) value: Option<String>,
    pub(crate) tries: u32,
    pub(super) stamp: Stamp,
    pub(super) kv: Option<KeyValue>,
    /// Of a swap.
    pub(super) succeeded: bool,
    pub(super) lease: i64,
    /// Of a lease that was granted or renewed; 0 if there is no such lease.
    pub(super) ttl: i64,
}

impl Answer {
    fn with(header: Option<&ResponseHeader>) -> Self {
        let stamp = stamp(header);
        Self { revision: stamp.revision, stamp, ..Self::default() }
    }
}

pub(super) fn stamp(header: Option<&ResponseHeader>) -> Stamp {
    let header = header.copied().unwrap_or_default();
    Stamp { cluster: header.cluster_id, revision: header.revision, term: header.raft_term }
}

/// The endpoints, refreshed from the ready pods: what the Service of the cluster leads to.
pub(crate) struct Endpoints {
    place: Place,
    known: Mutex<Vec<Pod>>,
    clients: Mutex<HashMap<String, Client>>,
    shunned: Mutex<HashMap<String, Instant>>,
    next: AtomicUsize,
}

impl Endpoints {
    pub(crate) fn new(place: Place) -> Self {
        Self {
            place,
            known: Mutex::default(),
            clients: Mutex::default(),
            shunned: Mutex::default(),
            next: AtomicUsize::new(0),
        }
    }

    /// As client libraries do: an endpoint is one to choose when the connection to it stands.
    pub(crate) async fn refresh(&self, world: &World) {
        let list = kube::api::ListParams::default().labels(&self.place.labels);
        // The API server may be away for a moment: then nothing is news.
        let Ok(pods) = world.api::<Pod>().list(&list).await else { return };
        let serves = |pod: &Pod| pod.metadata.deletion_timestamp.is_none() && kit::readiness::is_ready(pod);
        let mut ready = Vec::new();
        for pod in pods.items.into_iter().filter(serves) {
            if self.connect(&pod).await {
                ready.push(pod);
            }
        }
        if !ready.is_empty() {
            *self.known.lock().unwrap() = ready;
        }
    }

    async fn connect(&self, pod: &Pod) -> bool {
        if self.clients.lock().unwrap().contains_key(&uid(pod)) {
            return true;
        }
        let Ok(client) = self.place.dial(pod).await else { return false };
        self.clients.lock().unwrap().insert(uid(pod), client);
        true
    }

    /// In turn; those that failed a moment ago last.
    fn in_order(&self) -> Vec<Pod> {
        let mut pods = self.known.lock().unwrap().clone();
        let first = self.next.fetch_add(1, Ordering::Relaxed) % pods.len().max(1);
        pods.rotate_left(first);
        let shunned = self.shunned.lock().unwrap();
        pods.sort_by_key(|pod| shunned.get(&uid(pod)).is_some_and(|since| since.elapsed() < SHUN));
        pods
    }

    /// With one retry, a moment later and at another endpoint if there is one.
    pub(crate) async fn ask(&self, request: &Request) -> Result<Answer, String> {
        let mut complaints = Vec::new();
        let mut tried = None;
        let mut pace = interval(BACKOFF);
        for tries in 1..=2 {
            // At once the first time.
            pace.tick().await;
            // Chosen when it is sent: a dropped write fails after seconds, and another member may be down by then.
            let pods = self.in_order();
            let other = pods.iter().find(|pod| Some(uid(pod)) != tried).or(pods.first());
            let Some(pod) = other else { return Err("no endpoint is known".to_owned()) };
            match self.ask_one(pod, request).await {
                Ok(answer) => return Ok(Answer { tries, ..answer }),
                Err(error) => {
                    self.shun(pod);
                    complaints.push(format!("{}: {error}", pod.name_any()));
                    tried = Some(uid(pod));
                }
            }
        }
        Err(complaints.join(", then "))
    }

    /// Does not choose this endpoint first for a while.
    pub(super) fn shun(&self, pod: &Pod) {
        self.shunned.lock().unwrap().insert(uid(pod), Instant::now());
    }

    async fn ask_one(&self, pod: &Pod, request: &Request) -> etcd_api::Result<Answer> {
        let client = self.client(pod)?;
        let mut kv = client.kv();
        match request.clone() {
            Request::Put(key, value) => {
                let put = PutRequest { key: key.into(), value: value.into(), ..PutRequest::default() };
                Ok(Answer::with(client.call(kv.put(put)).await?.header.as_ref()))
            }
            Request::PutLeased { key, lease } => {
                let put = PutRequest { key: key.into(), lease, ..PutRequest::default() };
                Ok(Answer::with(client.call(kv.put(put)).await?.header.as_ref()))
            }
            Request::Get(key) => {
                let get = RangeRequest { key: key.into(), ..RangeRequest::default() };
                let answer = client.call(kv.range(get)).await?;
                let kv = answer.kvs.into_iter().next();
                let value = kv.as_ref().map(|kv| String::from_utf8_lossy(&kv.value).into_owned());
                Ok(Answer { value, kv, ..Answer::with(answer.header.as_ref()) })
            }
            Request::Swap { key, compared, value } => {
                let answer = client.call(kv.txn(swap(key, compared, value))).await?;
                Ok(Answer { succeeded: answer.succeeded, ..Answer::with(answer.header.as_ref()) })
            }
            Request::Grant(ttl) => {
                let grant = LeaseGrantRequest { ttl, ..LeaseGrantRequest::default() };
                let answer = client.call(client.lease().lease_grant(grant)).await?;
                Ok(Answer { lease: answer.id, ttl: answer.ttl, ..Answer::with(answer.header.as_ref()) })
            }
            Request::KeepAlive(id) => {
                let answer = client.keep_alive(id).await?;
                Ok(Answer { lease: id, ttl: answer.ttl, ..Answer::with(answer.header.as_ref()) })
            }
            Request::Revoke(id) => {
                let answer = client.call(client.lease().lease_revoke(LeaseRevokeRequest { id })).await?;
                Ok(Answer::with(answer.header.as_ref()))
            }
        }
    }

    /// Watches everything from `revision` on, at the endpoint whose turn it is; nothing if none is known.
    pub(super) async fn watch(&self, revision: i64) -> Option<(Pod, etcd_api::Result<EventStream>)> {
        let pod = self.in_order().into_iter().next()?;
        let events = match self.client(&pod) {
            Ok(client) => client.events(revision).await,
            Err(error) => Err(error),
        };
        if events.is_err() {
            self.shun(&pod);
        }
        Some((pod, events))
    }

    /// All that is below `prefix` at one revision, in pages.
    pub(crate) async fn all(&self, prefix: &str) -> Result<RangeResponse, String> {
        const PAGE: i64 = 2000;
        let pods = self.in_order();
        let client = self.client(pods.first().ok_or("no endpoint is known")?).map_err(|it| it.to_string())?;
        // The first key that does not begin with it: keys are of plain letters.
        let end: Vec<u8> = prefix.bytes().chain([0xff]).collect();
        let mut whole = RangeResponse::default();
        let mut from: Vec<u8> = prefix.into();
        loop {
            let range = RangeRequest {
                key: from.clone().into(),
                range_end: end.clone().into(),
                limit: PAGE,
                revision: whole.header.as_ref().map_or(0, |header: &ResponseHeader| header.revision),
                ..RangeRequest::default()
            };
            let page = client.call(client.kv().range(range)).await.map_err(|error| error.to_string())?;
            from = page.kvs.last().map(|kv| kv.key.iter().copied().chain([0]).collect()).unwrap_or_default();
            whole.header = whole.header.or(page.header);
            whole.kvs.extend(page.kvs);
            if !page.more {
                return Ok(whole);
            }
        }
    }

    fn client(&self, pod: &Pod) -> etcd_api::Result<Client> {
        let client = self.clients.lock().unwrap().get(&uid(pod)).cloned();
        client.ok_or_else(|| EtcdError::Unreachable("not connected".to_owned()))
    }
}

/// A transaction that writes if nobody has written since revision `compared`.
fn swap(key: String, compared: i64, value: String) -> TxnRequest {
    let mut compare = Compare {
        key: key.clone().into(),
        target_union: Some(TargetUnion::ModRevision(compared)),
        ..Compare::default()
    };
    compare.set_target(CompareTarget::Mod);
    let put = PutRequest { key: key.into(), value: value.into(), ..PutRequest::default() };
    let put = RequestOp { request: Some(request_op::Request::RequestPut(put)) };
    TxnRequest { compare: vec![compare], success: vec![put], failure: vec![] }
}

fn uid(pod: &Pod) -> String {
    pod.uid().unwrap_or_default()
}
