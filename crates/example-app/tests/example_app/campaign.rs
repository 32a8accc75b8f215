//! ExampleApp's operator under every crash, every lost answer and every stale read, on simulated workloads: each run must end as the
//! one without faults. A sample in `make test`; every crash, lost answer and stale read with `CAPSTAN_CAMPAIGN=crashes`; refusals
//! and crashes in pairs too with `CAPSTAN_CAMPAIGN=full`.

mod notes;
mod world;

use k8s_openapi::api::{
    apps::v1::Deployment,
    core::v1::{PersistentVolumeClaim, Secret, Service},
};
use kit::access;
use serde_json::json;
use simulation::{Campaign, Injected, Run, Scenario};

use world::{NAME, Stage, create, declared, edit, install, lose, spec, uninstall};

const DATA: &str = "notes-data";
/// How many runs of each scenario are in the sample.
const SAMPLE: usize = 8;

fn switching() -> Scenario {
    let stage = Stage::default();
    stage
        .scenario("switching")
        .step("install", |client| install(client, spec("0.0.1")))
        .step("switch a feature", |client| edit(client, json!({"features": {"exampleFeature2": true}})))
        .step("want two pods", |client| edit(client, json!({"replicas": 2})))
        .step("want no more backups", |client| edit(client, json!({"backup": {"enabled": false}})))
}

fn upgrade() -> Scenario {
    let stage = Stage::default();
    let looking = stage.clone();
    stage
        .scenario("upgrade")
        .step("install", |client| install(client, spec("0.0.1")))
        .step("write a note", move |_| {
            stage.write(DATA, "hello");
            async { Ok(()) }
        })
        .step("upgrade", |client| edit(client, json!({"appVersion": "0.0.2"})))
        .step("look", move |client| {
            let stage = looking.clone();
            async move { stage.look(client, DATA).await }
        })
}

fn failing_upgrade() -> Scenario {
    let stage = Stage::default();
    let looking = stage.clone();
    stage
        .scenario("failing-upgrade")
        .step("install", |client| install(client, spec("0.0.1")))
        .step("upgrade to a release that was shipped broken", |client| {
            edit(client, json!({"appVersion": "0.0.3"}))
        })
        .step("look", move |client| {
            let stage = looking.clone();
            async move { stage.look(client, DATA).await }
        })
}

fn restore() -> Scenario {
    let stage = Stage::default();
    let (writing, spoiling, looking) = (stage.clone(), stage.clone(), stage.clone());
    stage
        .scenario("restore")
        .step("install", |client| install(client, spec("0.0.1")))
        .step("ask for a backup", move |client| {
            writing.write(DATA, "precious");
            edit(client, json!({"backup": {"request": "before the mistake"}}))
        })
        .step("make a mistake", move |_| {
            spoiling.write(DATA, "spoiled");
            async { Ok(()) }
        })
        .step("restore", |client| edit(client, json!({"restore": {"backup": "latest"}})))
        .step("look", move |client| {
            let stage = looking.clone();
            async move { stage.look(client, DATA).await }
        })
}

fn take_over() -> Scenario {
    let stage = Stage::default();
    let looking = stage.clone();
    stage
        .scenario("take-over")
        .step("deploy by hand", |client| async move {
            let claim = json!({"metadata": {"name": "by-hand"},
                "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}});
            let labels = json!({"app": "notes"});
            let container = json!({"name": "web", "image": "capstan:dev", "command": ["capstan", "example-app"],
                "args": ["serve", "--app-version", "0.0.1", "--data", "/data"], "volumeMounts": [{"name": "storage", "mountPath": "/data"}]});
            let deployment = json!({"metadata": {"name": NAME}, "spec": {
                "replicas": 1, "selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": {
                    "containers": [container], "volumes": [{"name": "storage", "persistentVolumeClaim": {"claimName": "by-hand"}}]}}}});
            create::<PersistentVolumeClaim>(client.clone(), claim).await?;
            create::<Deployment>(client, deployment).await
        })
        .step("take it over", |client| install(client, json!({"appVersion": "0.0.1", "takeOwnership": true})))
        .step("look", move |client| {
            let stage = looking.clone();
            async move { stage.look(client, "by-hand").await }
        })
}

fn losses() -> Scenario {
    Stage::default()
        .scenario("losses")
        .step("install", |client| install(client, spec("0.0.1")))
        .step("lose the Deployment", |client| lose::<Deployment>(client, NAME))
        .step("lose the Service", |client| lose::<Service>(client, NAME))
        .step("lose the Secret", |client| lose::<Secret>(client, "notes-auth"))
}

fn uninstalls() -> Scenario {
    Stage::default()
        .scenario("uninstalls")
        .step("install", |client| install(client, spec("0.0.1")))
        .step("uninstall, and keep the data", uninstall)
        .step("install again", |client| install(client, spec("0.0.1")))
        .step("let the data go too", |client| edit(client, json!({"deletionPolicy": "Delete"})))
        .step("uninstall", uninstall)
}

type Make = fn() -> Scenario;

const SCENARIOS: &[(&str, Make)] = &[
    ("switching", switching),
    ("upgrade", upgrade),
    ("failing-upgrade", failing_upgrade),
    ("restore", restore),
    ("take-over", take_over),
    ("losses", losses),
    ("uninstalls", uninstalls),
];

fn play(name: &str) -> Campaign {
    let (_, scenario) = SCENARIOS.iter().find(|(known, _)| *known == name).expect("a scenario");
    Campaign::new(scenario()).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn demand_nothing(name: &str, wished: impl Fn(&Run)) {
    let campaign = play(name);
    wished(campaign.reference());
    let outcome = campaign.outcome("example-app", name, SAMPLE);
    println!("{}", outcome.unwrap_or_else(|differences| panic!("{differences}")));
}

/// A field of an object that is left in the end.
fn left<'r>(run: &'r Run, place: &str, pointer: &str) -> &'r str {
    let object = run.dump.objects().get(place);
    object
        .and_then(|object| object.pointer(pointer))
        .and_then(serde_json::Value::as_str)
        .unwrap_or("(nothing)")
}

const APP: &str = "exampleapps.example-app.appdelivery.cncf.io default/notes";
const SEEN: &str = "configmaps default/seen";

#[test]
fn switching_a_feature_and_scaling_end_as_without_faults() {
    demand_nothing("switching", |run| {
        assert_eq!(left(run, APP, "/status/phase"), "Running");
        assert_eq!(run.dump.objects()[APP]["status"]["readyReplicas"], json!(2));
    });
}

#[test]
fn an_upgrade_with_migration_ends_as_without_faults() {
    demand_nothing("upgrade", |run| {
        assert_eq!(left(run, APP, "/status/currentVersion"), "0.0.2");
        let data = left(run, SEEN, "/data/data");
        assert!(data.contains(r#""FORMAT":"2""#) && data.contains("hello"), "{data}");
    });
}

#[test]
fn an_upgrade_that_fails_and_goes_back_ends_as_without_faults() {
    demand_nothing("failing-upgrade", |run| {
        assert_eq!(left(run, APP, "/status/currentVersion"), "0.0.1");
        assert_eq!(left(run, APP, "/status/failedUpgrade/what"), "0.0.3");
        assert!(left(run, SEEN, "/data/data").contains(r#""FORMAT":"1""#));
    });
}

#[test]
fn a_restore_in_place_ends_as_without_faults() {
    demand_nothing("restore", |run| {
        assert_eq!(left(run, APP, "/status/phase"), "Running");
        assert!(left(run, SEEN, "/data/data").contains("precious"));
    });
}

#[test]
fn taking_over_what_was_made_by_hand_ends_as_without_faults() {
    demand_nothing("take-over", |run| {
        assert_eq!(left(run, APP, "/status/claimName"), "by-hand");
        assert_eq!(
            left(run, "deployments.apps default/notes", "/metadata/ownerReferences/0/kind"),
            "ExampleApp"
        );
    });
}

#[test]
fn lost_objects_come_back_as_without_faults() {
    demand_nothing("losses", |run| {
        assert_eq!(left(run, APP, "/status/phase"), "Running");
        assert_eq!(left(run, "secrets default/notes-auth", "/kind"), "Secret");
    });
}

#[test]
fn uninstalling_with_and_without_the_data_ends_as_without_faults() {
    demand_nothing("uninstalls", |run| {
        let counts = run.comings_and_goings.get("persistentvolumeclaims default/notes-data");
        assert_eq!(counts, Some(&(1, 1)), "it outlived the first, and went with the second");
        let is_ours = |place: &&String| place.contains("default/notes") && !place.starts_with("events");
        assert_eq!(run.dump.objects().keys().filter(is_ours).count(), 0);
    });
}

#[test]
fn no_right_is_missing_and_none_is_left_unused() {
    let runs: Vec<Run> = SCENARIOS
        .iter()
        .map(|(name, scenario)| {
            simulation::run(&scenario(), Injected::Nothing).unwrap_or_else(|error| panic!("{name}: {error}"))
        })
        .collect();
    let made = simulation::asked(&runs, access::Request::parse).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let _inside = runtime.enter();
    let mut report = access::check(&made, &declared(), "default");
    // To patch Events is for those that repeat; no event of these stories does.
    report.unused.retain(|unused| unused.access.resource != "events");
    assert_eq!(report, access::Report::default());
}
