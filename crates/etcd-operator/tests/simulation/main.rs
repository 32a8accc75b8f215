//! The operator on a simulated Kubernetes with simulated etcd: stories of clusters, and what is left in the end. Each of them also under
//! crashes, lost answers and stale reads: a sample in `make test`, more with `CAPSTAN_CAMPAIGN=crashes` or `full`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "tests")]
#![allow(clippy::indexing_slicing, clippy::string_slice, reason = "tests")]

mod world;

use kit::access;
use serde_json::{Value, json};
use simulation::{Campaign, Extent, Injected, Run, Scenario};

use world::{Stage, create, declared, delete, edit, give_nonsense, lose_claim, lose_pod, spoil};

/// How many runs of each scenario are in the sample.
const SAMPLE: usize = 3;

const CLUSTER: &str = "etcdclusters.etcd.capstan.dev default/db";

fn spec(size: u8) -> Value {
    json!({"size": size, "version": "3.6.16"})
}

fn scaling() -> Scenario {
    Stage::default()
        .scenario("scaling")
        .step("create one", |client| create(client, spec(1)))
        .step("grow to three", |client| edit(client, json!({"size": 3, "networkPolicy": {}})))
        .step("shrink to one", |client| edit(client, json!({"size": 1, "networkPolicy": null})))
}

fn losses() -> Scenario {
    let stage = Stage::default();
    let losing = stage.clone();
    stage
        .scenario("losses")
        .step("create three", |client| create(client, spec(3)))
        .step("lose a pod", |client| lose_pod(client, "db-1"))
        .step("lose the data of a member", move |client| {
            let stage = losing.clone();
            async move { stage.lose_data(client, "db-2").await }
        })
        .step("lose the claim of a member", |client| lose_claim(client, "db-3"))
        .step("spoil a certificate", |client| spoil(client, "db-client-tls"))
}

fn upgrade() -> Scenario {
    Stage::default()
        .scenario("upgrade")
        .step("create three of 3.5", |client| create(client, json!({"size": 3, "version": "3.5.35"})))
        .step("upgrade", |client| edit(client, json!({"version": "3.6.16"})))
        .step("change a setting", |client| edit(client, json!({"etcd": {"snapshotCount": 5000}})))
}

fn bad_upgrade() -> Scenario {
    let stage = Stage::default();
    let breaking = stage.clone();
    stage
        .scenario("bad-upgrade")
        .step("create three", move |client| {
            breaking.etcd.break_version("3.6.17");
            create(client, spec(3))
        })
        .step("upgrade to what does not start", |client| edit(client, json!({"version": "3.6.17"})))
        .step("go back", |client| edit(client, json!({"version": "3.6.16"})))
}

fn recreated() -> Scenario {
    Stage::default()
        .scenario("recreated")
        .step("create three", |client| create(client, spec(3)))
        .step("delete it, and keep the volumes", delete)
        .step("create it again", |client| create(client, spec(3)))
        .step("let the volumes go too", |client| {
            edit(client, json!({"deletionPolicy": {"volumes": "Delete"}}))
        })
        .step("delete it", delete)
}

fn given() -> Scenario {
    let secrets = json!({"peer": "mine", "server": "mine", "operator": "mine"});
    let spec = json!({"size": 1, "version": "3.6.16", "tls": {"mode": "Secrets", "secrets": secrets}});
    Stage::default()
        .scenario("given")
        .step("give nonsense", |client| give_nonsense(client, "mine"))
        .step("create one that is to use it", move |client| create(client, spec.clone()))
}

type Make = fn() -> Scenario;

const SCENARIOS: &[(&str, Make)] = &[
    ("scaling", scaling),
    ("losses", losses),
    ("upgrade", upgrade),
    ("bad-upgrade", bad_upgrade),
    ("recreated", recreated),
    ("given", given),
];

fn reference(name: &str) -> Run {
    let (_, scenario) = SCENARIOS.iter().find(|(known, _)| *known == name).expect("a scenario");
    let run =
        simulation::run(&scenario(), Injected::Nothing).unwrap_or_else(|error| panic!("{name}: {error}"));
    println!("{name}: {} requests, {} calls of etcd", run.requests.len(), run.etcd_calls.len());
    run
}

/// A field of an object that is left in the end.
fn left<'r>(run: &'r Run, place: &str, pointer: &str) -> &'r str {
    let object = run.dump.objects().get(place);
    let field = object.and_then(|object| object.pointer(pointer));
    field.and_then(Value::as_str).unwrap_or("(nothing)")
}

/// What people were told, in order: for whoever has to find out why a story ended otherwise.
fn told(run: &Run) -> String {
    let events = run.dump.objects().iter().filter(|(place, _)| place.starts_with("events"));
    let mut told: Vec<String> = events
        .map(|(_, event)| format!("{} {} {}", event["eventTime"], event["reason"], event["note"]))
        .collect();
    told.sort();
    told.join("\n")
}

#[track_caller]
fn healthy(run: &Run) {
    let status = &run.dump.objects()[CLUSTER]["status"];
    assert_eq!(left(run, CLUSTER, "/status/phase"), "Healthy", "{status:#}");
}

#[test]
fn a_cluster_grows_and_shrinks() {
    let run = reference("scaling");
    healthy(&run);
    assert_eq!(run.etcd, ["db-1 Voter"]);
}

#[test]
fn whatever_a_member_loses_it_is_brought_back_or_replaced() {
    let run = reference("losses");
    healthy(&run);
    assert_eq!(run.etcd, ["db-1 Voter, db-4 Voter, db-5 Voter"]);
}

#[test]
fn versions_and_settings_roll() {
    let run = reference("upgrade");
    healthy(&run);
    assert_eq!(left(&run, CLUSTER, "/status/version/current"), "3.6.16");
    assert_eq!(run.etcd, ["db-1 Voter, db-2 Voter, db-3 Voter"]);
}

#[test]
fn a_bad_version_stops_after_one_member_and_goes_back() {
    let run = reference("bad-upgrade");
    healthy(&run);
    assert_eq!(left(&run, CLUSTER, "/status/version/current"), "3.6.16");
    assert_eq!(run.etcd, ["db-1 Voter, db-2 Voter, db-3 Voter"], "{}", told(&run));
}

#[test]
fn volumes_are_taken_back_by_a_cluster_of_the_same_name_and_go_when_told_to() {
    let run = reference("recreated");
    assert_eq!(run.etcd, ["db-1 Voter, db-2 Voter, db-3 Voter"], "one founding");
    let ours = |place: &&String| place.contains("default/db") && !place.starts_with("events");
    let left: Vec<&String> = run.dump.objects().keys().filter(ours).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn nobody_is_started_with_certificates_that_cannot_be_used() {
    let run = reference("given");
    let status = &run.dump.objects()[CLUSTER]["status"];
    let conditions = status["conditions"].as_array().unwrap();
    let valid = conditions.iter().find(|condition| condition["type"] == "TLSValid").unwrap();
    assert_eq!(valid["status"], "False", "{status:#}");
    assert!(valid["message"].as_str().unwrap().contains("Secret mine: tls.crt cannot be read"), "{valid:#}");
    assert!(run.etcd.is_empty());
}

/// Every fault, or some of each kind: evenly spread, always the same.
fn chosen(campaign: &Campaign) -> Vec<Injected> {
    #[expect(clippy::disallowed_methods, reason = "not a setting of the operator")]
    let (only, extent) = (std::env::var("CAPSTAN_FAULT"), std::env::var("CAPSTAN_CAMPAIGN"));
    if let Ok(fault) = only {
        return vec![fault.parse().unwrap_or_else(|error| panic!("{error}"))];
    }
    let all = campaign.faults(Extent::Sample);
    match extent.as_deref() {
        Ok("full") => return campaign.faults(Extent::Whole),
        Ok("crashes") => return all,
        _ => {}
    }
    let step = (all.len() / SAMPLE).max(1);
    all.iter().copied().step_by(step | 1).collect()
}

fn demand_nothing(name: &str) {
    let (_, scenario) = SCENARIOS.iter().find(|(known, _)| *known == name).expect("a scenario");
    let campaign = Campaign::new(scenario()).unwrap_or_else(|error| panic!("{name}: {error}"));
    let faults = chosen(&campaign);
    let findings: Vec<String> = campaign.play(&faults).iter().map(ToString::to_string).collect();
    let all = faults.len();
    assert!(
        findings.is_empty(),
        "{name}: {} of {all} runs went wrong:\n{}",
        findings.len(),
        findings.join("\n")
    );
    println!("{name}: {all} of {all} runs ended as the run without faults");
}

#[test]
fn scaling_ends_as_without_faults() {
    demand_nothing("scaling");
}

#[test]
fn losses_end_as_without_faults() {
    demand_nothing("losses");
}

#[test]
fn an_upgrade_ends_as_without_faults() {
    demand_nothing("upgrade");
}

#[test]
fn a_bad_upgrade_ends_as_without_faults() {
    demand_nothing("bad-upgrade");
}

#[test]
fn deleting_and_creating_again_ends_as_without_faults() {
    demand_nothing("recreated");
}

#[test]
fn no_right_is_missing_and_none_is_left_unused() {
    let mut made = Vec::new();
    for (name, _) in SCENARIOS {
        let run = reference(name);
        let refused: Vec<String> =
            run.requests.iter().filter(|r| r.code == Some(403)).map(apiserver::Recorded::told).collect();
        assert!(refused.is_empty(), "{name}: {refused:#?}");
        made.extend(run.requests.iter().filter_map(request));
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let _inside = runtime.enter();
    let mut report = access::check(&made, &declared(), "default");
    // To patch Events is for those that repeat; the kinds of cert-manager and of the Prometheus operator do not exist here.
    let elsewhere = ["events", "certificates", "podmonitors", "prometheusrules"];
    report.unused.retain(|unused| !elsewhere.contains(&&*unused.access.resource));
    assert_eq!(report, access::Report::default());
}

fn request(recorded: &apiserver::Recorded) -> Option<access::Request> {
    let (method, path) = recorded.http()?;
    access::Request::parse(method, &path)
}
