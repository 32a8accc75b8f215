//! Bad input: refused by the API server, or told in a condition; always by the name of the field, and what runs is untouched.

use example_app::ExampleApp;
use serde_json::{Value, json};

use crate::{
    app::{Apps as _, conditions, is_current},
    patience::PATIENCE,
    world::scenario,
};

/// What is wrong with it, the patch of spec, and what the answer must name.
fn table() -> Vec<(&'static str, Value, &'static str)> {
    vec![
        ("no version at all", json!({"appVersion": null}), "spec.appVersion"),
        ("not a version", json!({"appVersion": "latest"}), "spec.appVersion"),
        ("an unknown version", json!({"appVersion": "9.9.9"}), "spec.appVersion"),
        ("fewer than no pods", json!({"replicas": -1}), "spec.replicas"),
        ("more pods than there may be", json!({"replicas": 101}), "spec.replicas"),
        (
            "minimum above maximum",
            json!({"autoscaling": {"minReplicas": 3, "maxReplicas": 2, "requestsPerSecond": 1}}),
            "spec.autoscaling",
        ),
        (
            "no load per pod",
            json!({"autoscaling": {"maxReplicas": 2, "requestsPerSecond": 0}}),
            "spec.autoscaling.requestsPerSecond",
        ),
        (
            "both replicas and autoscaling",
            json!({"replicas": 2, "autoscaling": {"maxReplicas": 2, "requestsPerSecond": 1}}),
            "spec.replicas",
        ),
        ("backups to nowhere", json!({"backup": {"enabled": true}}), "spec.backup.host"),
        ("another kind of store", json!({"backup": {"storageType": "ftp"}}), "spec.backup.storageType"),
        ("a time in words", json!({"backup": {"schedule": "every day"}}), "spec.backup.schedule"),
        (
            "a minute that does not exist",
            json!({"backup": {"enabled": true, "host": "h", "bucketName": "b", "schedule": "61 * * * *"}}),
            "spec.backup.schedule",
        ),
        ("a restore from nowhere", json!({"restore": {"backup": "latest"}}), "spec.restore"),
        (
            "a restore from nobody",
            json!({"backup": {"host": "h", "bucketName": "b"}, "restore": {"backup": "latest", "from": "Somebody"}}),
            "spec.restore.from",
        ),
        ("a smaller volume", json!({"storage": {"size": "100Mi"}}), "spec.storage.size"),
        ("a size in words", json!({"storage": {"size": "large"}}), "spec.storage.size"),
        ("another class", json!({"storage": {"className": "local"}}), "spec.storage.className"),
        ("a limit in words", json!({"resources": {"limits": {"memory": "much"}}}), "spec.resources"),
        ("an unknown type of Service", json!({"service": {"type": "Carrier"}}), "spec.service.type"),
        ("an unknown end", json!({"deletionPolicy": "Maybe"}), "spec.deletionPolicy"),
    ]
}

#[tokio::test]
async fn bad_input_is_refused_by_the_name_of_its_field_and_what_runs_is_untouched() {
    scenario(async |world| {
        let app = world.app("notes");
        let good = json!({"appVersion": "0.0.2", "storage": {"size": "1Gi"}});
        app.create(good.clone()).await;
        app.runs("0.0.2").await;
        app.write_notes().await;
        let pods = app.incarnations().await;
        let mut wrong = Vec::new();
        for (what, patch, field) in table() {
            match app.try_patch(patch).await {
                Err(refused) if refused.contains(field) => {}
                Err(refused) => wrong.push(format!("{what}: refused without naming {field}: {refused}")),
                Ok(_) => {
                    let names = |app: &ExampleApp| {
                        let bad = conditions(app).into_iter().find(|it| it.message.contains(field));
                        let shown =
                            app.status.as_ref().and_then(|status| status.message.clone()).unwrap_or_default();
                        bad.is_some() && shown.contains(field)
                    };
                    app.until(
                        &format!("{what}: a condition and the message name {field}"),
                        PATIENCE,
                        |app| is_current(app) && names(app),
                    )
                    .await;
                    app.set(good.clone()).await;
                    app.runs("0.0.2").await;
                }
            }
            assert_eq!(app.incarnations().await, pods, "{what}: a pod was touched");
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        app.has_its_notes().await;
    })
    .await;
}

#[tokio::test]
async fn a_misspelt_field_and_a_name_that_is_too_long_are_refused_when_created() {
    scenario(async |world| {
        let manifest = |name: &str, spec: &str| {
            format!("apiVersion: example-app.appdelivery.cncf.io/v1alpha1\nkind: ExampleApp\nmetadata: {{name: {name}}}\nspec: {spec}\n")
        };
        let misspelt = manifest("notes", "{appVersion: 0.0.1, replica: 3}");
        let said = world.kubectl_with("create -f -", &misspelt).await.unwrap_err();
        assert!(said.contains("spec.replica"), "{said}");
        let long = manifest(&"n".repeat(41), "{appVersion: 0.0.1}");
        let said = world.kubectl_with("create -f -", &long).await.unwrap_err();
        assert!(said.contains("40 characters"), "{said}");
        // A new one with a version that is not known waits for a better one, and says so.
        let app = world.app("notes");
        app.create(json!({"appVersion": "0.7.0"})).await;
        let said = app.says("Refused").await;
        assert!(said.contains("spec.appVersion") && said.contains("0.1.0"), "names those there are: {said}");
        assert!(app.pods().await.is_empty());
        app.patch(json!({"appVersion": "0.1.0"})).await;
        app.runs("0.1.0").await;
    })
    .await;
}
