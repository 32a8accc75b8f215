//! The commands on an API server: what they ask of it, and what they make of its answers.

use std::time::Duration;

use expect_test::expect;
use kube::{
    CustomResourceExt as _, ResourceExt as _,
    api::{Patch, PatchParams},
};
use serde_json::{Value, json};

use super::{
    healthy::Patience,
    move_leader, plan,
    screen::{Frame, Screen},
    server::Server,
    view, watch,
};
use crate::look::Paint;

fn without_capstan() -> (apiserver::Server, Server) {
    let kubernetes = apiserver::Server::new();
    let server = Server { client: kubernetes.client(), namespace: "default".into() };
    (kubernetes, server)
}

fn with_capstan() -> (apiserver::Server, Server) {
    let (kubernetes, server) = without_capstan();
    kubernetes.install(serde_json::to_value(etcd_types::EtcdCluster::crd()).unwrap()).unwrap();
    (kubernetes, server)
}

fn written(spec: &Value) -> Value {
    json!({"apiVersion": "etcd.capstan.dev/v1alpha1", "kind": "EtcdCluster", "metadata": {"name": "db"}, "spec": spec})
}

#[tokio::test]
async fn a_missing_installation_is_told_apart_from_a_missing_cluster() {
    let (_kubernetes, server) = without_capstan();
    let told = server.cluster("db").await.unwrap_err().to_string();
    assert!(told.contains("install Capstan"), "{told}");
    let (_kubernetes, server) = with_capstan();
    let told = server.cluster("db").await.unwrap_err().to_string();
    assert!(told.starts_with("EtcdCluster default/db is not there"), "{told}");
    assert!(server.list(true).await.unwrap().is_empty());
}

async fn planned(server: &mut Server, spec: &Value) -> Result<String, String> {
    let cluster =
        plan::after_applying(server, None, written(spec)).await.map_err(|error| format!("{error:#}"))?;
    let now = "2026-11-16T06:00:00Z".parse().unwrap();
    let looked =
        etcd_operator::look(&server.client, &cluster, now).await.map_err(|error| error.to_string())?;
    let (picture, plan) = plan::ahead(looked.picture, now);
    Ok(view::plan(&cluster.name_any(), &picture, &plan, &looked.assumed, Paint { colours: false }).join("\n"))
}

#[tokio::test]
async fn a_file_is_planned_and_not_applied() {
    let (_kubernetes, mut server) = with_capstan();
    expect![[r#"
        db
        ├─ Bootstrapping: db-1 is being made; db-2 is being made; db-3 is being made
        ├─ Found 3 members: Starting
        ├─ make the objects of member 1: 3.6.16 new db-1,db-2,db-3
        ├─ make the objects of member 2: 3.6.16 new db-1,db-2,db-3
        ├─ make the objects of member 3: 3.6.16 new db-1,db-2,db-3
        └─ looks again in 1 s at the latest: whether the members found each other"#]]
    .assert_eq(&planned(&mut server, &json!({"size": 3, "version": "3.6.16"})).await.unwrap());
    // What is refused, and how, is etcd-core's to say.
    let refused = planned(&mut server, &json!({"size": 3, "version": "9.9.9"})).await.unwrap();
    assert!(refused.starts_with("db\n├─ refused: spec.version: etcd 9.9.9 is not known"), "{refused}");
    assert!(refused.ends_with("└─ nothing is changed"), "{refused}");
    let refused = planned(&mut server, &json!({"size": 2, "version": "3.6.16"})).await.unwrap_err();
    assert!(refused.contains("spec.size is 1, 3, 5 or 7"), "{refused}");
    assert!(server.list(true).await.unwrap().is_empty(), "nothing was applied");
}

#[tokio::test]
async fn an_edit_is_planned_on_what_is_there_and_what_the_file_no_longer_says_is_gone() {
    let (_kubernetes, mut server) = with_capstan();
    let spec = json!({"size": 3, "version": "3.6.16", "etcd": {"snapshotCount": 5000}});
    let cluster = serde_json::from_value(written(&spec)).unwrap();
    server.clusters().create(&Default::default(), &cluster).await.unwrap();
    let edited =
        plan::after_applying(&mut server, Some("default"), written(&json!({"size": 1, "version": "3.6.16"})))
            .await;
    let edited = edited.unwrap().spec;
    assert_eq!((edited.size, edited.etcd.snapshot_count), (1, None));
    assert_eq!(server.cluster("db").await.unwrap().spec.size, 3, "nothing was applied");
    let mut elsewhere = written(&json!({"version": "3.6.16"}));
    elsewhere["metadata"]["namespace"] = json!("shop");
    let told = plan::after_applying(&mut server, Some("default"), elsewhere).await.unwrap_err().to_string();
    assert_eq!(told, "it is of namespace shop, and default was asked for");
}

#[tokio::test(start_paused = true)]
async fn a_change_is_seen_by_a_watch_and_patience_ends() {
    let (_kubernetes, server) = with_capstan();
    let cluster = serde_json::from_value(written(&json!({"version": "3.6.16"}))).unwrap();
    server.clusters().create(&Default::default(), &cluster).await.unwrap();
    let message = |cluster: &etcd_types::EtcdCluster| cluster.status.as_ref()?.message.clone();
    let patience = Duration::from_secs(30);
    assert_eq!(watch::until(&server, "db", patience, message).await.unwrap(), None, "nobody says anything");
    let api = server.clusters();
    let telling = async {
        let patch = Patch::Merge(json!({"status": {"message": "3 members serve"}}));
        api.patch_status("db", &PatchParams::default(), &patch).await.unwrap();
    };
    let (heard, ()) = tokio::join!(watch::until(&server, "db", patience, message), telling);
    assert_eq!(heard.unwrap().as_deref(), Some("3 members serve"));
}

/// Waits for it as `status --until-healthy` does, without showing anything.
async fn healthy(server: &Server, timeout: Option<Duration>) -> Result<(), String> {
    let screen = Screen::pipe();
    let waited =
        watch::one(server, "db", |_, _, _| Frame::default(), Some(Patience::new(timeout)), screen).await;
    waited.map_err(|error| error.to_string())
}

#[tokio::test(start_paused = true)]
async fn waiting_ends_when_it_is_healthy_or_needs_somebody() {
    let (_kubernetes, server) = with_capstan();
    let cluster = serde_json::from_value(written(&json!({"version": "3.6.16"}))).unwrap();
    server.clusters().create(&Default::default(), &cluster).await.unwrap();
    let told = healthy(&server, Some(Duration::from_secs(60))).await.unwrap_err();
    assert!(told.contains("not healthy in time: the operator has not looked at it yet"), "{told}");

    let tell = async |status: Value| {
        let patch = Patch::Merge(json!({ "status": status }));
        server.clusters().patch_status("db", &PatchParams::default(), &patch).await.unwrap();
    };
    tell(json!({"phase": "WaitingForUser", "message": "set approve to 3.7.3", "observedGeneration": 1}))
        .await;
    assert_eq!(
        healthy(&server, None).await.unwrap_err(),
        "EtcdCluster default/db: set approve to 3.7.3",
        "without a timeout"
    );
    let (waited, ()) = tokio::join!(healthy(&server, None), tell(json!({"phase": "Healthy"})));
    assert_eq!(waited, Ok(()), "the user has just done it");
}

#[tokio::test(start_paused = true)]
async fn a_request_to_move_the_leader_is_answered_by_the_operator_or_not_at_all() {
    let (_kubernetes, server) = with_capstan();
    let mut cluster = view::samples::healthy();
    cluster.metadata = kube::core::ObjectMeta { name: Some("db".into()), ..Default::default() };
    let status = cluster.status.take();
    server.clusters().create(&Default::default(), &cluster).await.unwrap();
    let tell = async |status: Value| {
        let patch = Patch::Merge(json!({ "status": status }));
        server.clusters().patch_status("db", &PatchParams::default(), &patch).await.unwrap()
    };
    tell(serde_json::to_value(status).unwrap()).await;
    let patience = Duration::from_secs(30);
    let silence = move_leader::ask(&server, "db", "db-2 first", patience).await.unwrap_err().to_string();
    assert!(silence.contains("has not answered within 30 s, and the request is withdrawn"), "{silence}");
    let request = async || {
        let cluster = server.cluster("db").await.unwrap();
        cluster.annotations().get(etcd_core::MOVE_LEADER).cloned()
    };
    assert_eq!(request().await, None, "no leader moves behind anybody's back");

    let another = async {
        let asked = |cluster: &etcd_types::EtcdCluster| {
            cluster.annotations().get(etcd_core::MOVE_LEADER).filter(|it| it.ends_with("mine")).cloned()
        };
        watch::until(&server, "db", patience, asked).await.unwrap();
        let patch = json!({"metadata": {"annotations": {etcd_core::MOVE_LEADER: "db-3 somebody else's"}}});
        server.clusters().patch("db", &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    };
    let (mine, ()) = tokio::join!(move_leader::ask(&server, "db", "db-2 mine", patience), another);
    assert!(mine.unwrap_err().to_string().contains("has not answered"));
    assert_eq!(request().await.as_deref(), Some("db-3 somebody else's"), "that is not ours to withdraw");

    let operator = async {
        let asked = |cluster: &etcd_types::EtcdCluster| {
            cluster.annotations().get(etcd_core::MOVE_LEADER).filter(|it| it.ends_with("second")).cloned()
        };
        let request = watch::until(&server, "db", patience, asked).await.unwrap().unwrap();
        tell(json!({"moveLeader": {"request": request, "done": true, "message": "db-2 leads"}})).await;
    };
    let (answer, ()) = tokio::join!(move_leader::ask(&server, "db", "db-2 second", patience), operator);
    assert_eq!(answer.unwrap(), "db-2 leads");
}
