//! The operator on the in-process API server with simulated controllers: one life of an ExampleApp, in virtual time.

use std::time::Duration;

use apiserver::{Server, User};
use example_app::{ExampleApp, Options, Phase, add_to, crd};
use k8s_openapi::api::{
    apps::v1::Deployment,
    core::v1::{PersistentVolumeClaim, Pod, Secret},
};
use kit::{Api, Clock, Manager, Setup};
use kube::{
    ResourceExt,
    api::{ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};
use simulation::workloads::{self, Outcome, Volumes};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

struct Cluster {
    server: Server,
    operator: JoinHandle<()>,
}

/// As the application would: 0.0.3 never becomes ready, Jobs do their work.
fn behave(pod: &Pod, _: &Volumes) -> Outcome {
    let arguments = pod.spec.as_ref().unwrap().containers[0].args.clone().unwrap();
    match arguments[0].as_str() {
        "serve" if arguments.contains(&"0.0.3".to_owned()) => {
            Outcome::NotReady("it waits for an index".into())
        }
        "serve" => Outcome::Ready,
        command => Outcome::Exit { code: 0, message: format!(r#"{{"key":"made by {command}","bytes":7}}"#) },
    }
}

impl Cluster {
    fn start() -> Self {
        let server = Server::new();
        server.install(json!(crd())).unwrap();
        workloads::start(&server, behave, &Volumes::default());
        let operator = tokio::spawn(operator(&server));
        Self { server, operator }
    }

    fn api<K: kube::Resource<DynamicType = (), Scope = kube::core::NamespaceResourceScope>>(
        &self,
    ) -> kube::Api<K> {
        kube::Api::namespaced(self.server.client(), "default")
    }

    async fn create(&self, spec: Value) -> kube::Result<()> {
        let app = json!({"apiVersion": "example-app.appdelivery.cncf.io/v1alpha1", "kind": "ExampleApp",
            "metadata": {"name": "notes", "namespace": "default"}, "spec": spec});
        let kind = ApiResource::erase::<ExampleApp>(&());
        let api = kube::Api::<DynamicObject>::namespaced_with(self.server.client(), "default", &kind);
        api.create(&PostParams::default(), &serde_json::from_value(app).unwrap()).await.map(drop)
    }

    async fn edit(&self, spec: Value) {
        let patch = Patch::Merge(json!({ "spec": spec }));
        self.api::<ExampleApp>().patch("notes", &PatchParams::default(), &patch).await.unwrap();
    }

    /// Lets virtual time pass, with everything that is due meanwhile.
    async fn pass(&self, time: Duration) {
        tokio::time::timeout(time, std::future::pending::<()>()).await.unwrap_err();
    }

    async fn app(&self) -> ExampleApp {
        self.pass(Duration::from_secs(300)).await;
        self.api().get("notes").await.unwrap()
    }

    async fn phase(&self) -> (Option<Phase>, Option<String>, String) {
        let status = self.app().await.status.unwrap_or_default();
        (status.phase, status.current_version, status.message.unwrap_or_default())
    }
}

fn operator(server: &Server) -> impl Future<Output = ()> + use<> {
    let mut setup = Setup::new("example-app", Api::service(server.connection("operator", User::admin())));
    setup.clock = Clock::starting_at(server.now());
    let mut manager = Manager::new(setup).unwrap();
    add_to(&mut manager, Options::default());
    async move { manager.run(CancellationToken::new()).await.unwrap() }
}

fn with_backup(version: &str) -> Value {
    json!({"appVersion": version, "features": {"exampleFeature1": true},
        "backup": {"enabled": true, "storageType": "s3", "host": "store.example.com", "bucketName": "notes", "credentialsSecretName": "s3"}})
}

#[tokio::test(start_paused = true)]
async fn one_life_from_install_to_uninstall() {
    let mut cluster = Cluster::start();
    cluster
        .server
        .install(
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s3", "namespace": "default"}}),
        )
        .unwrap();
    cluster.create(with_backup("0.0.1")).await.unwrap();
    assert_eq!(
        cluster.phase().await,
        (Some(Phase::Running), Some("0.0.1".into()), "0.0.1 serves, pods: 1".into())
    );
    let secret: Secret = cluster.api().get("notes-auth").await.unwrap();
    assert_eq!(secret.data.unwrap()["password"].0.len(), 32);

    cluster.edit(json!({"appVersion": "0.0.2", "replicas": 2})).await;
    assert_eq!(
        cluster.phase().await,
        (Some(Phase::Running), Some("0.0.2".into()), "0.0.2 serves, pods: 2".into())
    );
    let status = cluster.app().await.status.unwrap();
    let backup = status.backup.unwrap();
    assert_eq!((backup.last_backup.as_deref(), backup.bytes), (Some("made by backup"), Some(7)));
    assert_eq!((status.replicas, status.ready_replicas), (Some(2), Some(2)));

    cluster.edit(json!({"appVersion": "0.0.3"})).await;
    let (phase, version, message) = cluster.phase().await;
    assert_eq!((phase, version.as_deref()), (Some(Phase::Running), Some("0.0.2")), "{message}");
    assert!(
        message.starts_with("the upgrade to 0.0.3 failed and was undone: 0.0.3 was not ready after 120 s"),
        "{message}"
    );
    cluster.edit(json!({"appVersion": "0.0.2"})).await;
    assert_eq!(cluster.phase().await.2, "0.0.2 serves, pods: 2");

    // Lost objects come back; a paused ExampleApp is left alone.
    cluster.api::<Deployment>().delete("notes", &DeleteParams::default()).await.unwrap();
    assert_eq!(cluster.phase().await.2, "0.0.2 serves, pods: 2");
    cluster.edit(json!({"paused": true, "replicas": 1})).await;
    assert_eq!(cluster.phase().await.0, Some(Phase::Paused));
    assert_eq!(cluster.api::<Deployment>().get("notes").await.unwrap().spec.replicas, Some(2));
    cluster.edit(json!({"paused": false})).await;
    assert_eq!(cluster.phase().await.2, "0.0.2 serves, pods: 1");

    // At rest nothing is asked, and a restart writes nothing.
    let rest = cluster.server.request_count();
    cluster.operator.abort();
    cluster.operator = tokio::spawn(operator(&cluster.server));
    cluster.pass(Duration::from_secs(600)).await;
    let wrote = cluster.server.requests().of("operator").since(rest).writes();
    let wrote: Vec<String> = wrote.iter().map(apiserver::Recorded::told).collect();
    assert!(wrote.is_empty(), "{wrote:#?}");

    // Uninstall with the operator gone: the data stays, everything else goes.
    cluster.operator.abort();
    cluster.api::<ExampleApp>().delete("notes", &DeleteParams::default()).await.unwrap();
    cluster.pass(Duration::from_secs(300)).await;
    let all = ListParams::default();
    assert_eq!(cluster.api::<Deployment>().list(&all).await.unwrap().items.len(), 0);
    assert_eq!(cluster.api::<Pod>().list(&all).await.unwrap().items.len(), 0);
    let claims = cluster.api::<PersistentVolumeClaim>().list(&all).await.unwrap().items;
    assert_eq!(claims.iter().map(ResourceExt::name_any).collect::<Vec<_>>(), ["notes-data"]);
    // Another ExampleApp of that name finds its data, and of which version it is.
    cluster.operator = tokio::spawn(operator(&cluster.server));
    cluster.create(json!({"appVersion": "0.0.1", "deletionPolicy": "Delete"})).await.unwrap();
    let (_, version, message) = cluster.phase().await;
    assert_eq!(version.as_deref(), Some("0.0.2"), "{message}");
    assert!(message.contains("0.0.1 cannot read data of format 2"), "{message}");
    cluster.api::<ExampleApp>().delete("notes", &DeleteParams::default()).await.unwrap();
    cluster.pass(Duration::from_secs(300)).await;
    assert_eq!(cluster.api::<PersistentVolumeClaim>().list(&all).await.unwrap().items.len(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_deployment_made_by_hand_is_left_alone_and_then_taken_over_with_its_volume() {
    let cluster = Cluster::start();
    let claim = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "old-claim", "namespace": "default"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}});
    let pod = json!({"containers": [{"name": "web", "image": "capstan:dev", "command": ["capstan", "example-app"],
            "args": ["serve", "--app-version", "0.0.1", "--data", "/data"], "volumeMounts": [{"name": "storage", "mountPath": "/data"}]}],
        "volumes": [{"name": "storage", "persistentVolumeClaim": {"claimName": "old-claim"}}]});
    let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "notes", "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": "by-hand"}}, "template": {"metadata": {"labels": {"app": "by-hand"}}, "spec": pod}}});
    cluster
        .api::<PersistentVolumeClaim>()
        .create(&PostParams::default(), &serde_json::from_value(claim).unwrap())
        .await
        .unwrap();
    cluster
        .api::<Deployment>()
        .create(&PostParams::default(), &serde_json::from_value(deployment).unwrap())
        .await
        .unwrap();
    let before = cluster.api::<Deployment>().get("notes").await.unwrap();
    cluster.create(json!({"appVersion": "0.0.2"})).await.unwrap();
    let (phase, _, message) = cluster.phase().await;
    assert_eq!(phase, Some(Phase::Blocked), "{message}");
    assert!(
        message.contains("Deployment notes exists and is not ours") && message.contains("spec.takeOwnership"),
        "{message}"
    );
    assert_eq!(cluster.api::<Deployment>().get("notes").await.unwrap().spec, before.spec);

    cluster.edit(json!({"takeOwnership": true})).await;
    let (phase, version, message) = cluster.phase().await;
    assert_eq!((phase, version.as_deref()), (Some(Phase::Running), Some("0.0.2")), "{message}");
    let after = cluster.api::<Deployment>().get("notes").await.unwrap();
    assert_eq!(after.spec.selector, before.spec.selector);
    let pod = after.spec.template.spec.unwrap();
    assert_eq!(pod.containers.len(), 1, "changed, not added to");
    assert_eq!(cluster.app().await.status.unwrap().claim_name.as_deref(), Some("old-claim"));
    let claims = cluster.api::<PersistentVolumeClaim>().list(&ListParams::default()).await.unwrap();
    assert_eq!(claims.items.len(), 1, "no second volume");
}

#[tokio::test(start_paused = true)]
async fn what_the_schema_can_refuse_it_refuses_by_name() {
    let cluster = Cluster::start();
    for (spec, names) in [
        (json!({"appVersion": "latest"}), "spec.appVersion is a version such as 0.0.1"),
        (
            json!({"appVersion": "0.0.1", "backup": {"enabled": true}}),
            "spec.backup.enabled needs spec.backup.host",
        ),
        (json!({"appVersion": "0.0.1", "backup": {"storageType": "ftp"}}), "storageType"),
        (
            json!({"appVersion": "0.0.1", "replicas": 2, "autoscaling": {"maxReplicas": 3, "requestsPerSecond": 5}}),
            "exclude each other",
        ),
        (
            json!({"appVersion": "0.0.1", "autoscaling": {"minReplicas": 4, "maxReplicas": 3, "requestsPerSecond": 5}}),
            "must not be above",
        ),
        (
            json!({"appVersion": "0.0.1", "restore": {"backup": "latest"}}),
            "spec.restore needs spec.backup.host",
        ),
    ] {
        let refused = cluster.create(spec.clone()).await.unwrap_err().to_string();
        assert!(refused.contains(names), "{spec}: {refused}");
    }
    cluster
        .create(json!({"appVersion": "0.0.1", "autoscaling": {"maxReplicas": 3, "requestsPerSecond": 5}}))
        .await
        .unwrap();
}
