//! Apply on a server: nothing is sent for nothing, and what others own stays.

use apiserver::Server;
use k8s_openapi::api::{
    apps::v1::StatefulSet,
    core::v1::{ConfigMap, Secret, Service},
};
use kube::{Api, CustomResource, ResourceExt as _, api::PostParams};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::*;
use crate::Key;

fn object<K: DeserializeOwned>(value: Value) -> K {
    serde_json::from_value(value).unwrap()
}

fn config_map(name: &str, data: Value) -> ConfigMap {
    object(json!({"metadata": {"name": name, "namespace": "default"}, "data": data}))
}

fn stateful_set() -> StatefulSet {
    object(json!({
        "metadata": {"name": "db", "namespace": "default", "labels": {"app": "db"}},
        "spec": {
            "replicas": 3,
            "serviceName": "db",
            "selector": {"matchLabels": {"app": "db"}},
            "template": {
                "metadata": {"labels": {"app": "db"}},
                "spec": {
                    "containers": [{
                        "name": "etcd",
                        "image": "etcd:3.6.16",
                        "args": ["--a", "--b"],
                        "env": [{"name": "A", "value": ""}],
                        "ports": [{"containerPort": 2379}],
                        "resources": {"requests": {"cpu": "1000m", "memory": "1024Mi"}},
                        "volumeMounts": [{"name": "tmp", "mountPath": "/data", "readOnly": false}],
                        "readinessProbe": {"httpGet": {"path": "/ready", "port": 2379}, "initialDelaySeconds": 0},
                    }],
                    "volumes": [{"name": "tmp", "emptyDir": {}}],
                },
            },
        },
    }))
}

/// The requests since the last question.
struct Told(Server, usize);

impl Told {
    fn next(&mut self) -> Vec<String> {
        let told = self.0.requests().since(self.1).told();
        self.1 = self.0.request_count();
        told
    }
}

async fn live<K>(server: &Server, name: &str) -> K
where
    K: Resource<DynamicType = (), Scope = kube::core::NamespaceResourceScope>
        + DeserializeOwned
        + Clone
        + std::fmt::Debug,
{
    Api::<K>::namespaced(server.client(), "default").get(name).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn an_object_that_is_as_it_should_be_costs_nothing_not_even_after_a_restart() {
    let server = Server::new();
    let (cx, _recorder) = Context::for_tests(server.client());
    let created = cx.apply(&stateful_set(), None).await.unwrap().expect("it was not there");
    assert_eq!(created.annotations().get(APPLIED).map(String::len), Some(16));
    assert_eq!(created.metadata.managed_fields, None, "they are not kept");

    let live: StatefulSet = live(&server, "db").await;
    let mut told = Told(server.clone(), server.request_count());
    assert_eq!(cx.apply(&stateful_set(), Some(&live)).await.unwrap(), None);
    let (restarted, _recorder) = Context::for_tests(server.client());
    assert_eq!(restarted.apply(&stateful_set(), Some(&live)).await.unwrap(), None);
    assert_eq!(told.next(), [""; 0]);
    assert_eq!(diff(&stateful_set(), Some(&live)).unwrap(), Diff::Nothing);
}

#[tokio::test(start_paused = true)]
async fn hundreds_of_settled_objects_cost_nothing_after_a_restart() {
    let server = Server::new();
    let (cx, _recorder) = Context::for_tests(server.client());
    let all: Vec<ConfigMap> =
        (0..300).map(|n| config_map(&format!("c{n}"), json!({"n": n.to_string()}))).collect();
    let mut answers = Vec::new();
    for desired in &all {
        answers.push(cx.apply(desired, None).await.unwrap().unwrap());
    }
    let mut told = Told(server.clone(), server.request_count());
    let (restarted, _recorder) = Context::for_tests(server.client());
    for (desired, live) in all.iter().zip(&answers) {
        assert_eq!(restarted.apply(desired, Some(live)).await.unwrap(), None);
    }
    assert_eq!(told.next(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn without_a_cache_the_server_is_asked_first() {
    let server = Server::new();
    let (cx, _recorder) = Context::for_tests(server.client());
    let mut told = Told(server.clone(), 0);
    cx.apply(&config_map("c", json!({"a": "1"})), None).await.unwrap();
    assert_eq!(told.next(), ["get configmaps default/c", "patch configmaps default/c"]);
    assert_eq!(cx.apply(&config_map("c", json!({"a": "1"})), None).await.unwrap(), None);
    assert_eq!(told.next(), ["get configmaps default/c"]);
}

#[tokio::test(start_paused = true)]
async fn what_should_not_be_there_yet_is_left_alone_if_it_is() {
    let server = Server::new();
    let (cx, _recorder) = Context::for_tests(server.client());
    let mut told = Told(server.clone(), 0);
    let found = |live: &ConfigMap| Error::other(format!("there is one with {:?}", live.data));
    cx.apply_new(&config_map("c", json!({"a": "1"})), found).await.unwrap().expect("it was not there");
    assert_eq!(told.next(), ["get configmaps default/c", "patch configmaps default/c"]);
    let refused = cx.apply_new(&config_map("c", json!({"a": "2"})), found).await.unwrap_err();
    assert!(refused.to_string().contains(r#""a": "1""#), "{refused}");
    assert_eq!(told.next(), ["get configmaps default/c"]);
}

#[tokio::test(start_paused = true)]
async fn what_must_be_sure_of_its_content_is_refused_by_an_old_cache_and_knows_its_own_writes() {
    let server = Server::new();
    let (cx, _recorder) = Context::for_tests(server.client());
    let first = cx.apply(&config_map("c", json!({"a": "1"})), None).await.unwrap().expect("it is new");
    let (other, _recorder) = Context::for_tests(server.client());
    other.apply_exactly(&config_map("c", json!({"a": "2"})), &first).await.unwrap().expect("it differs");
    let again = other.apply_exactly(&config_map("c", json!({"a": "3"})), &first).await.unwrap();
    assert!(again.is_some(), "nobody else has written since");

    let (behind, _recorder) = Context::for_tests(server.client());
    let back = behind.apply_exactly(&config_map("c", json!({"a": "4"})), &first).await;
    assert!(matches!(back, Err(Error::Stale { .. })), "{back:?}");
    assert_eq!(live::<ConfigMap>(&server, "c").await.data.unwrap()["a"], "3");
}

#[tokio::test(start_paused = true)]
async fn what_somebody_changed_is_put_right_and_what_they_added_stays() {
    let server = Server::new();
    let (cx, _recorder) = Context::for_tests(server.client());
    cx.apply(&config_map("c", json!({"ours": "1"})), None).await.unwrap();
    let mut edited: ConfigMap = live(&server, "c").await;
    edited.data = Some([("ours".into(), "broken".into()), ("theirs".into(), "2".into())].into());
    let api = Api::<ConfigMap>::namespaced(server.client(), "default");
    let edited = api.replace("c", &PostParams::default(), &edited).await.unwrap();

    let Diff::Update(differences) = diff(&config_map("c", json!({"ours": "1"})), Some(&edited)).unwrap()
    else {
        panic!("it differs")
    };
    let differences: Vec<String> = differences.iter().map(ToString::to_string).collect();
    assert_eq!(differences, [r#"data.ours: "broken" -> "1""#]);
    let mended = cx.apply(&config_map("c", json!({"ours": "1"})), Some(&edited)).await.unwrap().unwrap();
    assert_eq!(json!(mended.data), json!({"ours": "1", "theirs": "2"}));
}

#[tokio::test(start_paused = true)]
async fn a_field_that_is_no_longer_asked_for_goes_also_after_a_restart() {
    let server = Server::new();
    let (cx, _recorder) = Context::for_tests(server.client());
    let before = cx.apply(&config_map("c", json!({"a": "1", "b": "2"})), None).await.unwrap().unwrap();
    let (restarted, _recorder) = Context::for_tests(server.client());
    let after = restarted.apply(&config_map("c", json!({"a": "1"})), Some(&before)).await.unwrap().unwrap();
    assert_eq!(json!(after.data), json!({"a": "1"}));
}

fn owner(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}})
}

#[tokio::test(start_paused = true)]
async fn somebody_elses_object_is_left_alone() {
    let server = Server::new();
    let (cx, _recorder) = Context::for_tests(server.client());
    for name in ["ours", "theirs"] {
        server.install(owner(name)).unwrap();
    }
    let (ours, theirs): (ConfigMap, ConfigMap) = (live(&server, "ours").await, live(&server, "theirs").await);
    let mut desired: Service =
        object(json!({"metadata": {"name": "db", "namespace": "default"}, "spec": {"ports": [{"port": 1}]}}));
    let mut other = desired.clone();
    own(&mut other, &theirs).unwrap();
    own(&mut desired, &ours).unwrap();
    let found = cx.apply(&other, None).await.unwrap().unwrap();
    assert!(cx.apply(&desired, None).await.is_err(), "found by asking the server");

    let mut told = Told(server.clone(), server.request_count());
    let refused = cx.apply(&desired, Some(&found)).await.unwrap_err();
    assert_eq!(told.next(), [""; 0]);
    let uid = theirs.metadata.uid.clone().unwrap();
    assert_eq!(
        refused.to_string(),
        format!(
            "Service default/db is controlled by ConfigMap theirs (uid {uid}), so it was left alone. \
             Rename ConfigMap ours or ConfigMap theirs, or delete the Service if ConfigMap theirs does not need it"
        )
    );
}

#[test]
fn an_owner_that_cannot_own_is_refused() {
    let with_uid = |namespace: &str| -> ConfigMap {
        object(json!({"metadata": {"name": "o", "namespace": namespace, "uid": "u"}}))
    };
    let mut child = config_map("c", json!({}));
    let refused = own(&mut child, &with_uid("elsewhere")).unwrap_err().to_string();
    assert_eq!(
        refused,
        "ConfigMap elsewhere/o cannot own ConfigMap default/c: owner and owned must be in the same namespace"
    );
    let refused = own(&mut child, &config_map("o", json!({}))).unwrap_err().to_string();
    assert!(refused.ends_with("the owner has no UID, so it was not read from the server"), "{refused}");
    own(&mut child, &with_uid("default")).unwrap();
    own(&mut child, &with_uid("default")).unwrap();
    assert_eq!(
        json!(child.metadata.owner_references),
        json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "u", "controller": true, "blockOwnerDeletion": true}])
    );
}

#[derive(CustomResource, Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[kube(group = "kit.test", version = "v1", kind = "Odd", namespaced)]
struct OddSpec {
    size: i32,
    /// Not in the definition that the server has: it is dropped there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    unknown: Option<String>,
}

fn odd_definition() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "odds.kit.test"},
        "spec": {
            "group": "kit.test", "scope": "Namespaced", "names": {"kind": "Odd", "plural": "odds", "singular": "odd"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object", "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}}}}}],
        },
    })
}

#[tokio::test(start_paused = true)]
async fn what_the_server_will_never_take_is_sent_once() {
    let server = Server::new();
    server.install(odd_definition()).unwrap();
    let (cx, _recorder) = Context::for_tests(server.client());
    let mut desired = Odd::new("o", OddSpec { size: 1, unknown: Some("x".into()) });
    desired.metadata.namespace = Some("default".into());
    let answer = cx.apply(&desired, None).await.unwrap().unwrap();
    assert_eq!(answer.spec.unknown, None);
    assert_eq!(
        cx.apply(&desired, Some(&answer)).await.unwrap().map(|o| o.spec),
        None,
        "it is known to stay so"
    );

    let mut drifted = answer.clone();
    drifted.spec.size = 7;
    assert!(cx.apply(&desired, Some(&drifted)).await.unwrap().is_some(), "another difference is sent");
    desired.spec.size = 2;
    let answer = cx.apply(&desired, Some(&answer)).await.unwrap().unwrap();
    assert_eq!(answer.spec.size, 2);
    assert_eq!(cx.apply(&desired, Some(&answer)).await.unwrap().map(|o| o.spec), None);
}

#[tokio::test(start_paused = true)]
async fn every_write_is_remembered_with_its_resource_version() {
    let server = Server::new();
    let (cx, _recorder) = Context::for_tests(server.client());
    let answer = cx.apply(&config_map("c", json!({})), None).await.unwrap().unwrap();
    let written = cx.writes.take();
    assert_eq!(written.len(), 1);
    assert_eq!(written[0].key, Key::new("default", "c"));
    let version = answer.metadata.resource_version.unwrap().parse().unwrap();
    assert_eq!(written[0].made, crate::context::Made::Version(version));
}

#[tokio::test(start_paused = true)]
async fn a_refusal_names_the_object_and_what_was_tried() {
    let server = Server::new();
    let (cx, _recorder) = Context::for_tests(server.client_as("nobody"));
    let live = config_map("c", json!({}));
    let refused = cx.apply(&live, Some(&live)).await.unwrap_err();
    assert_eq!(
        (refused.to_string().as_str(), refused.code()),
        ("cannot apply ConfigMap default/c", Some(403))
    );
    let nameless =
        cx.apply(&object::<ConfigMap>(json!({"metadata": {"name": "c"}})), None).await.unwrap_err();
    assert_eq!(nameless.to_string(), "ConfigMap c has no namespace: it cannot be written");
}

#[test]
fn a_difference_never_shows_what_a_secret_holds() {
    let secret = |value: &str| -> Secret {
        object(json!({"metadata": {"name": "s", "namespace": "default"}, "stringData": {"password": value}}))
    };
    let live: Secret =
        object(json!({"metadata": {"name": "s", "namespace": "default"}, "data": {"password": "b2xk"}}));
    let Diff::Update(differences) = diff(&secret("new"), Some(&live)).unwrap() else { panic!("it differs") };
    let shown: Vec<String> = differences.iter().map(ToString::to_string).collect();
    assert_eq!(shown[0], r#"data.password: "(hidden)" -> "(hidden)""#);
    assert!(shown[1].starts_with(r#"metadata.annotations: {"capstan.dev/applied":"#), "{shown:?}");
}

#[test]
fn the_recommended_labels() {
    let mut child = config_map("c", json!({}));
    Labels { name: "etcd", instance: "db", component: "member", managed_by: "etcd-operator" }
        .put_on(&mut child);
    assert_eq!(
        json!(child.metadata.labels),
        json!({
            "app.kubernetes.io/name": "etcd",
            "app.kubernetes.io/instance": "db",
            "app.kubernetes.io/component": "member",
            "app.kubernetes.io/managed-by": "etcd-operator",
        })
    );
}
