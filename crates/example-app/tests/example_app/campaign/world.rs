//! Where the scenarios are played: a server with workloads, the operator with exactly the rights that it declares.

use std::{
    fmt::Debug,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use apiserver::{Connection, Server, User};
use example_app::{ExampleApp, Options};
use jiff::Timestamp;
use k8s_openapi::{NamespaceResourceScope, api::core::v1::ConfigMap};
use kit::{Api, Clock, Manager, Setup, access};
use kube::{
    Resource,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use simulation::{
    Scenario,
    workloads::{self, Volumes},
};
use tokio_util::sync::CancellationToken;

use super::notes::{self, OUTSIDE};

pub(crate) const NAMESPACE: &str = "default";
pub(crate) const NAME: &str = "notes";
pub(crate) const BUCKET: &str = "backups";
/// Longer than new pods may take to become ready.
const REST: Duration = Duration::from_secs(300);

/// What a scenario's steps can reach besides the API.
#[derive(Clone, Default)]
pub(crate) struct Stage {
    volumes: Volumes,
    /// The server of the present run: its clock is the operator's.
    server: Arc<Mutex<Option<Server>>>,
}

fn manager(connection: Connection, now: Timestamp) -> Manager {
    let mut setup = Setup::new("example-app", Api::service(connection));
    setup.clock = Clock::starting_at(now);
    let mut manager = Manager::new(setup).expect("a manager");
    example_app::add_to(&mut manager, Options::default());
    manager
}

/// What the operator declares that it needs.
pub(crate) fn declared() -> Vec<access::Access> {
    let server = Server::new();
    manager(server.connection("", User::admin()), server.now()).access()
}

impl Stage {
    /// The definition, the rights that the operator declares and no more, and a cluster that runs pods.
    fn prepare(&self, server: &Server) {
        server.install(json!(example_app::crd())).unwrap();
        let declared = manager(server.connection("", User::admin()), server.now()).access();
        let install = access::Install {
            name: "example-app".into(),
            namespace: NAMESPACE.into(),
            service_account: "example-app".into(),
            watched: access::Watched::All,
        };
        server.install_yaml(&access::manifests(&declared, &install).to_yaml().unwrap()).unwrap();
        workloads::start(server, notes::behave, &self.volumes);
        *self.server.lock().unwrap_or_else(PoisonError::into_inner) = Some(server.clone());
    }

    pub(crate) fn scenario(&self, name: &'static str) -> Scenario {
        let (prepared, clock) = (self.clone(), self.server.clone());
        Scenario::new(
            name,
            move |server| prepared.prepare(server),
            move |connection| {
                let now =
                    clock.lock().unwrap_or_else(PoisonError::into_inner).as_ref().expect("prepared").now();
                Box::pin(async move {
                    manager(connection, now).run(CancellationToken::new()).await.expect("it runs for ever");
                })
            },
        )
        .operated_by(User::named("system:serviceaccount:default:example-app"))
        .at_rest_after(REST)
        .compared_after(without_chance)
    }

    /// Somebody writes a note.
    pub(crate) fn write(&self, claim: &str, text: &str) {
        self.volumes.change(NAMESPACE, claim, |data| data.insert("note".into(), text.into()));
    }

    /// Puts what is on a claim and in the bucket where runs are compared.
    pub(crate) async fn look(&self, client: kube::Client, claim: &str) -> kube::Result<()> {
        let data = self.volumes.read(NAMESPACE, claim);
        let bucket = self.volumes.read(OUTSIDE, BUCKET);
        let seen = json!({"metadata": {"name": "seen"},
            "data": {"data": json!(data).to_string(), "bucket": json!(bucket).to_string()}});
        create::<ConfigMap>(client, seen).await
    }
}

pub(crate) async fn create<K: Kind>(client: kube::Client, object: Value) -> kube::Result<()> {
    let object: K = serde_json::from_value(object).expect("an object of this kind");
    kube::Api::<K>::namespaced(client, NAMESPACE).create(&PostParams::default(), &object).await.map(drop)
}

/// Kinds that live in namespaces.
pub(crate) trait Kind:
    Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + Serialize + DeserializeOwned
{
}
impl<K> Kind for K where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Clone
        + Debug
        + Serialize
        + DeserializeOwned
{
}

fn apps(client: kube::Client) -> kube::Api<ExampleApp> {
    kube::Api::namespaced(client, NAMESPACE)
}

/// What most scenarios start with.
pub(crate) fn spec(version: &str) -> Value {
    json!({"appVersion": version, "features": {"exampleFeature1": true, "exampleFeature2": false},
        // At a time that no run reaches: how long a run takes is not what is compared.
        "backup": {"enabled": true, "storageType": "s3", "host": "s3.example.com", "bucketName": BUCKET, "schedule": "0 0 1 7 *"}})
}

pub(crate) async fn install(client: kube::Client, spec: Value) -> kube::Result<()> {
    let app = json!({"apiVersion": "example-app.appdelivery.cncf.io/v1alpha1", "kind": "ExampleApp",
        "metadata": {"name": NAME}, "spec": spec});
    let app: ExampleApp = serde_json::from_value(app).expect("an ExampleApp");
    apps(client).create(&PostParams::default(), &app).await.map(drop)
}

pub(crate) async fn edit(client: kube::Client, spec: Value) -> kube::Result<()> {
    let patch = Patch::Merge(json!({ "spec": spec }));
    apps(client).patch(NAME, &PatchParams::default(), &patch).await.map(drop)
}

pub(crate) async fn uninstall(client: kube::Client) -> kube::Result<()> {
    apps(client).delete(NAME, &DeleteParams::background()).await.map(drop)
}

pub(crate) async fn lose<K: Kind>(client: kube::Client, name: &'static str) -> kube::Result<()> {
    kube::Api::<K>::namespaced(client, NAMESPACE).delete(name, &DeleteParams::background()).await.map(drop)
}

/// Takes out what two runs cannot have in common: passwords, and times wherever they are written.
fn without_chance(place: &str, object: &mut Value) {
    if place.starts_with("secrets ") {
        object["data"]["password"] = json!("(password)");
    }
    without_times(object);
}

fn without_times(value: &mut Value) {
    match value {
        Value::String(text) if text.parse::<Timestamp>().is_ok() => *text = "(time)".into(),
        Value::String(text) => *text = without_compact_times(text),
        Value::Array(list) => list.iter_mut().for_each(without_times),
        Value::Object(map) => map.values_mut().for_each(without_times),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// `20260101T000000Z`, as backups are named.
fn without_compact_times(text: &str) -> String {
    const SHAPE: &str = "00000000T000000Z";
    let is_time = |part: &str| {
        part.chars()
            .zip(SHAPE.chars())
            .all(|(c, shape)| if shape == '0' { c.is_ascii_digit() } else { c == shape })
    };
    let found = (0..text.len()).find(|at| text.get(*at..at + SHAPE.len()).is_some_and(is_time));
    match found {
        Some(at) => format!("{}(time){}", &text[..at], without_compact_times(&text[at + SHAPE.len()..])),
        None => text.to_owned(),
    }
}
