//! Installed: a few lines of YAML, and the application runs with a password, a URL and metrics.

use std::collections::BTreeMap;

use k8s_openapi::api::{
    apps::v1::Deployment,
    core::v1::{PersistentVolumeClaim, Service},
};

use crate::{
    app::{Apps as _, condition, url_of},
    http as web, operator,
    patience::{PATIENCE, until, when},
    store::Store as _,
    world::scenario,
};

/// The whitepaper's resource, to the letter.
const WHITEPAPER: &str = r#"
apiVersion: example-app.appdelivery.cncf.io/v1alpha1
kind: ExampleApp
metadata:
  name: appdelivery-example-app
spec:
  appVersion: 0.0.1
  features:
    exampleFeature1: true
    exampleFeature2: false
  backup:
    enabled: true
    storageType: "s3"
    host: "my-backup.example.com"
    bucketName: "example-backup"
"#;

#[tokio::test]
async fn fifteen_lines_of_yaml_give_a_running_application() {
    scenario(async |world| {
        world.with_store().await;
        let said = world.kubectl("apply -f examples/notes.yaml").await.unwrap();
        assert!(said.contains("notes created"), "{said}");
        let app = world.app("notes");
        let object = app.runs("0.0.1").await;
        let status = object.status.clone().unwrap();
        assert_eq!(status.auth_secret_name.as_deref(), Some("notes-auth"));
        assert_eq!((status.replicas, status.ready_replicas), (Some(1), Some(1)));
        assert!(
            condition(&object, "Available")
                .is_some_and(|it| it.observed_generation == object.metadata.generation)
        );

        let pod = app.one_pod().await;
        let url = url_of(&pod, "notes");
        assert_eq!(web::get(&url, None).await.unwrap().status, 401, "without a password");
        assert_eq!(web::get(&url, Some("password")).await.unwrap().status, 401, "with a wrong one");
        app.write_notes().await;
        app.has_its_notes().await;
        let metrics = web::get(&url_of(&pod, "metrics"), None).await.unwrap();
        assert!(metrics.status == 200 && metrics.text.contains("\nnotes_total 4\n"), "{metrics:?}");
        assert!(metrics.text.contains(r#"version="0.0.1""#), "{metrics:?}");

        until("the operator's metrics know it", PATIENCE, async || {
            let series =
                format!(r#"exampleapp_ready_replicas{{namespace="{}",name="notes"}} 1"#, world.namespace);
            let mut seen = Vec::new();
            for operator in operator::pods(world).await {
                seen.push(web::get(&url_of(&operator, "metrics"), None).await?.text.contains(&series));
            }
            when(seen.contains(&true), seen)
        })
        .await;
        let table = world.kubectl("get exampleapp notes --no-headers").await.unwrap();
        assert_eq!(
            table.split_whitespace().take(4).collect::<Vec<_>>(),
            ["notes", "0.0.1", "Running", "1"],
            "{table}"
        );
    })
    .await;
}

#[tokio::test]
async fn the_url_in_the_status_leads_to_the_application() {
    scenario(async |world| {
        let app = world.app("notes");
        app.create(serde_json::json!({"appVersion": "0.0.2"})).await;
        let url = app.runs("0.0.2").await.status.unwrap().url.unwrap();
        let rest = url.strip_prefix("http://").unwrap_or_else(|| panic!("{url}"));
        let (host, rest) = rest.split_once('/').unwrap_or((rest, ""));
        let (host, port) = host.split_once(':').unwrap_or((host, "80"));
        assert!(host.starts_with(&format!("notes.{}.svc", world.namespace)), "{url}");
        // As a pod on that node would reach it; the name was looked at above.
        let service = world.api::<Service>().get("notes").await.unwrap().spec.unwrap();
        let node = app.one_pod().await.spec.unwrap().node_name.unwrap();
        let asked = format!("http://{}:{port}/{rest}healthz", service.cluster_ip.unwrap());
        until("the Service leads to a pod", PATIENCE, async || {
            let mut command = world.lab.in_node(&node).unwrap();
            let done = command
                .args(["curl", "--silent", "--show-error", "--max-time", "2", &asked])
                .output()
                .unwrap();
            let text = String::from_utf8_lossy(&done.stdout).into_owned();
            when(text.contains(r#""version":"0.0.2""#), (asked.clone(), text))
        })
        .await;
    })
    .await;
}

#[tokio::test]
async fn the_whitepapers_yaml_is_accepted_and_its_status_is_filled() {
    scenario(async |world| {
        world.kubectl_with("apply --validate=strict -f -", WHITEPAPER).await.unwrap();
        let app = world.app("appdelivery-example-app");
        // Its store does not exist in this world: that is no reason not to run.
        let status = app.runs("0.0.1").await.status.unwrap();
        assert_eq!(status.auth_secret_name.as_deref(), Some("appdelivery-example-app-auth"));
        assert!(status.url.is_some_and(|url| url.contains("appdelivery-example-app")));
        app.answers("search?q=x", 200).await;
        app.answers("export", 404).await;
        assert!(!app.says("NoBackupYet").await.is_empty());
    })
    .await;
}

/// What belongs to it carries the recommended labels, and goes with it because it is owned.
#[tokio::test]
async fn everything_that_belongs_to_it_is_labelled_and_owned() {
    scenario(async |world| {
        let app = world.app("notes");
        app.create(serde_json::json!({"appVersion": "0.0.1"})).await;
        let uid = app.runs("0.0.1").await.metadata.uid.unwrap();
        let labels: BTreeMap<_, _> =
            [("app.kubernetes.io/instance", "notes"), ("app.kubernetes.io/managed-by", "capstan")].into();
        let deployment = world.api::<Deployment>().get("notes").await.unwrap().metadata;
        let service = world.api::<Service>().get("notes").await.unwrap().metadata;
        let claim = world.api::<PersistentVolumeClaim>().get("notes-data").await.unwrap().metadata;
        for (object, owned) in [(deployment, true), (service, true), (claim, false)] {
            let has = object.labels.clone().unwrap_or_default();
            assert!(
                labels.iter().all(|(name, value)| has.get(*name).map(String::as_str) == Some(*value)),
                "{object:?}"
            );
            let owners = object.owner_references.clone().unwrap_or_default();
            assert_eq!(owners.iter().any(|owner| owner.uid == uid), owned, "{object:?}");
        }
    })
    .await;
}
