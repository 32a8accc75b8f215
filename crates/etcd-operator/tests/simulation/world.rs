//! Where the scenarios are played: a server with workloads and simulated etcd, the operator with exactly the rights that it declares.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use apiserver::{Connection, Recorded, Server, User};
use etcd_operator::Options;
use etcd_types::EtcdCluster;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod, Secret};
use kit::{Api, Clock, Manager, Setup, access};
use kube::{
    ResourceExt as _,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};
use simulation::{
    Injected, OPERATOR, Run, Scenario,
    etcd::{Etcd, OUTSIDE, TROUBLE},
    workloads::{self, Volumes},
};
use tokio_util::sync::CancellationToken;

pub(crate) const NAMESPACE: &str = "default";
pub(crate) const NAME: &str = "db";
pub(crate) const CLUSTER: &str = "etcdclusters.etcd.capstan.dev default/db";
/// Longer than what anybody waits for: a replaced member, a failing roll.
const REST: Duration = Duration::from_secs(400);

/// What a scenario's steps can reach besides the API.
#[derive(Clone, Default)]
pub(crate) struct Stage {
    pub(crate) etcd: Etcd,
    volumes: Volumes,
    /// The server of the present run: its clock is the operator's.
    server: Arc<Mutex<Option<Server>>>,
    /// Besides the one.
    more_operators: usize,
}

/// Plays a story that no other test needs.
#[track_caller]
pub(crate) fn play(scenario: &Scenario) -> Run {
    simulation::run(scenario, Injected::Nothing).unwrap_or_else(|error| panic!("{error}"))
}

/// A field of an object that is left in the end.
pub(crate) fn left<'r>(run: &'r Run, place: &str, pointer: &str) -> &'r str {
    let object = run.dump.objects().get(place);
    let field = object.and_then(|object| object.pointer(pointer));
    field.and_then(Value::as_str).unwrap_or("(nothing)")
}

#[track_caller]
pub(crate) fn healthy(run: &Run) {
    let status = &run.dump.objects()[CLUSTER]["status"];
    assert_eq!(left(run, CLUSTER, "/status/phase"), "Healthy", "{status:#}");
}

fn manager(connection: Connection, etcd: &Etcd, now: Timestamp) -> Manager {
    let mut setup = Setup::new("etcd", Api::service(connection));
    setup.clock = Clock::starting_at(now);
    let mut manager = Manager::new(setup).expect("a manager");
    let options = Options { dial: etcd.dial(), ask: Arc::new(Talkative), ..Options::default() };
    etcd_operator::add_to(&mut manager, options);
    manager
}

/// Pods of backups that always say the same.
#[derive(Debug)]
struct Talkative;

impl etcd_operator::backup::Ask for Talkative {
    fn ask<'a>(&'a self, _: &'a str) -> futures::future::BoxFuture<'a, Option<Value>> {
        let point = |revision: i64| json!({"revision": revision, "time": "2026-01-01T00:00:00Z"});
        let said = json!({"bytes": 5, "total": 10, "bytesPerSecond": 1, "from": point(1), "to": point(9), "problem": null});
        Box::pin(async move { Some(said) })
    }
}

/// What the operator declares that it needs.
pub(crate) fn declared() -> Vec<access::Access> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let _inside = runtime.enter();
    let server = Server::new();
    manager(server.connection("", User::admin()), &Etcd::default(), server.now()).access()
}

impl Stage {
    /// The definition, the rights that the operator declares and no more, a node, and a cluster that runs pods.
    fn prepare(&self, server: &Server) {
        for definition in etcd_types::definitions() {
            server.install(json!(definition)).unwrap();
        }
        let class = json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "fast"},
            "provisioner": "example.com/fast", "allowVolumeExpansion": true});
        server.install(class).unwrap();
        let ready = json!([{"type": "Ready", "status": "True", "lastHeartbeatTime": null}]);
        let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-1"}, "status": {"conditions": ready}});
        server.install(node).unwrap();
        let declared = manager(server.connection("", User::admin()), &self.etcd, server.now()).access();
        let install = access::Install {
            name: "etcd".into(),
            namespace: NAMESPACE.into(),
            service_account: "etcd".into(),
            watched: access::Watched::All,
        };
        server.install_yaml(&access::manifests(&declared, &install).to_yaml().unwrap()).unwrap();
        workloads::start(server, self.etcd.clone(), &self.volumes);
        self.etcd.start(server, &self.volumes);
        *self.server.lock().unwrap_or_else(PoisonError::into_inner) = Some(server.clone());
    }

    pub(crate) fn scenario(&self, name: &'static str) -> Scenario {
        let (prepared, operating) = (self.clone(), self.clone());
        Scenario::new(
            name,
            move |server| prepared.prepare(server),
            move |connection| {
                let (now, stage) = (operating.server().now(), operating.clone());
                Box::pin(async move {
                    let one = || async {
                        let manager = manager(connection.clone(), &stage.etcd, now);
                        manager.run(CancellationToken::new()).await.expect("it runs for ever");
                    };
                    futures::future::join_all((0..=stage.more_operators).map(|_| one())).await;
                })
            },
        )
        .operated_by(User::named("system:serviceaccount:default:etcd"))
        .with_etcd(self.etcd.clone())
        .at_rest_after(REST)
        .compared_after(without_chance)
    }

    /// Where two operators work at the same time, each without knowing of the other.
    pub(crate) fn with_two_operators() -> Self {
        Self { more_operators: 1, ..Self::default() }
    }

    /// The server of the present run.
    pub(crate) fn server(&self) -> Server {
        self.server.lock().unwrap_or_else(PoisonError::into_inner).clone().expect("prepared")
    }

    /// From now on the operator sees nothing new.
    pub(crate) fn freeze(&self) {
        self.server().faults().freeze(OPERATOR, self.server().revision());
    }

    pub(crate) fn thaw(&self) {
        self.server().faults().thaw(OPERATOR);
    }

    /// Lets time pass, in which a world that is not broken would come to rest. It is virtual.
    pub(crate) async fn wait(&self) {
        simulation::pass(REST).await;
    }

    /// What the operator has written so far.
    pub(crate) fn writes(&self) -> Vec<Recorded> {
        self.server().requests().of(OPERATOR).writes().to_vec()
    }

    /// The objects that there are.
    pub(crate) fn objects(&self) -> BTreeSet<String> {
        self.server().dump().objects().keys().cloned().collect()
    }

    /// The backups in a store.
    pub(crate) fn stored(&self, url: &str) -> Vec<String> {
        self.volumes.read(OUTSIDE, url).into_keys().filter(|name| name != TROUBLE).collect()
    }

    /// What a store says to everybody from now on.
    pub(crate) fn trouble(&self, url: &str, trouble: Option<&str>) {
        self.volumes.change(OUTSIDE, url, |store| match trouble {
            Some(trouble) => drop(store.insert(TROUBLE.to_owned(), trouble.to_owned())),
            None => drop(store.remove(TROUBLE)),
        });
    }

    /// A member's volume is empty, and its pod dies: a node was reinstalled, say.
    pub(crate) async fn lose_data(&self, client: kube::Client, member: &str) -> kube::Result<()> {
        self.volumes.erase(NAMESPACE, member);
        lose_pod(client, member).await
    }
}

pub(crate) fn clusters(client: kube::Client) -> kube::Api<EtcdCluster> {
    kube::Api::namespaced(client, NAMESPACE)
}

pub(crate) async fn create(client: kube::Client, spec: Value) -> kube::Result<()> {
    let cluster = json!({"apiVersion": "etcd.capstan.dev/v1alpha1", "kind": "EtcdCluster",
        "metadata": {"name": NAME}, "spec": spec});
    let cluster: EtcdCluster = serde_json::from_value(cluster).expect("an EtcdCluster");
    clusters(client).create(&PostParams::default(), &cluster).await.map(drop)
}

pub(crate) async fn edit(client: kube::Client, spec: Value) -> kube::Result<()> {
    let patch = Patch::Merge(json!({ "spec": spec }));
    clusters(client).patch(NAME, &PatchParams::default(), &patch).await.map(drop)
}

pub(crate) async fn delete(client: kube::Client) -> kube::Result<()> {
    clusters(client).delete(NAME, &DeleteParams::background()).await.map(drop)
}

pub(crate) async fn lose_pod(client: kube::Client, member: &str) -> kube::Result<()> {
    let pods: kube::Api<Pod> = kube::Api::namespaced(client, NAMESPACE);
    pods.delete(&format!("{member}-0"), &DeleteParams::default()).await.map(drop)
}

/// The claim goes, and with it the volume; then the pod that used it.
pub(crate) async fn lose_claim(client: kube::Client, member: &str) -> kube::Result<()> {
    let claims: kube::Api<PersistentVolumeClaim> = kube::Api::namespaced(client.clone(), NAMESPACE);
    let claim = claims.get(member).await?;
    claims.delete(&claim.name_any(), &DeleteParams::default()).await?;
    let free = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    claims.patch(member, &PatchParams::default(), &free).await.ok();
    lose_pod(client, member).await
}

/// Somebody edits a certificate by hand.
pub(crate) async fn spoil(client: kube::Client, secret: &str) -> kube::Result<()> {
    let patch = Patch::Merge(json!({"data": {"tls.crt": "bm9uc2Vuc2U="}}));
    secrets(client).patch(secret, &PatchParams::default(), &patch).await.map(drop)
}

/// A Secret with parts of the right names, and nothing in them that could be used.
pub(crate) async fn give_nonsense(client: kube::Client, secret: &str) -> kube::Result<()> {
    let parts = json!({"ca.crt": "x", "tls.crt": "x", "tls.key": "x"});
    let secret = json!({"metadata": {"name": secret}, "stringData": parts});
    let secret: Secret = serde_json::from_value(secret).expect("a Secret");
    secrets(client).create(&PostParams::default(), &secret).await.map(drop)
}

fn secrets(client: kube::Client) -> kube::Api<Secret> {
    kube::Api::namespaced(client, NAMESPACE)
}

/// Takes out what two runs cannot have in common: keys, who leads, the IDs that etcd makes from the time, and times themselves.
fn without_chance(place: &str, object: &mut Value) {
    if place.starts_with("secrets ") {
        object["data"] = json!("(keys)");
        object["metadata"]["annotations"] = Value::Null; // a fingerprint of them, on one that was signed anew
    }
    // Its fingerprint is also of the time at which a member left.
    if place.starts_with("persistentvolumeclaims ") {
        object["metadata"]["annotations"]["capstan.dev/applied"] = json!("(fingerprint)");
    }
    if place.starts_with("etcdclusters") {
        object["status"]["leader"] = json!("(leader)");
        for member in object["status"]["members"].as_array_mut().into_iter().flatten() {
            member["id"] = json!("(id)");
            if member["role"] == "Leader" || member["role"] == "Follower" {
                member["role"] = json!("Voter");
            }
        }
    }
    without_times(object);
}

/// Times stand alone, or are words of a sentence.
fn without_times(value: &mut Value) {
    match value {
        Value::String(text) if text.split(' ').any(is_time) => {
            let words: Vec<&str> =
                text.split(' ').map(|word| if is_time(word) { "(time)" } else { word }).collect();
            *text = words.join(" ");
        }
        Value::Array(list) => list.iter_mut().for_each(without_times),
        Value::Object(map) => map.values_mut().for_each(without_times),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn is_time(word: &str) -> bool {
    word.parse::<Timestamp>().is_ok()
}
