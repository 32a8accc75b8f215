//! Caches that are behind, and events that never came: the table in `main.rs` says which case is which.

use apiserver::{Competitor, Fault, Recorded, Verb, When};
use serde_json::{Value, json};
use simulation::{Injected, OPERATOR, Run, etcd::Made};

use crate::{
    stories::{GROWTH, REPLACED, SCALING, Story, spec},
    world::{CLUSTER, Stage, create, delete, edit, healthy, lose_pod, play},
};

/// Restarts the operator, when all is done, on a server that is stuck right before its first write that is meant, or right after it.
#[track_caller]
fn stuck(story: &Story, at: At, meant: impl Fn(&Recorded) -> bool) -> Run {
    let reference = story.reference();
    let written = reference.requests.iter().filter(|request| meant(request)).find_map(|it| it.revision);
    let revision = match at {
        At::Before => written.expect("such a write") - 1,
        At::After => written.expect("such a write"),
    };
    let run =
        story.survives(Injected::Stale { revision: usize::try_from(revision - reference.first).unwrap() });
    let changes = |run: &Run| run.etcd_calls.iter().filter(|Made { call, .. }| call.is_write()).count();
    assert_eq!(changes(&run), changes(reference), "etcd was not asked for anything");
    run
}

#[derive(Clone, Copy)]
enum At {
    Before,
    After,
}

fn wrote(verb: Verb, kind: &'static str, name: &'static str) -> impl Fn(&Recorded) -> bool {
    move |request| {
        let object = (request.resource.as_str(), request.name.as_str());
        request.verb == Some(verb) && object == (kind, name) && request.subresource.is_empty()
    }
}

/// Case 18: what it sees is being deleted, volumes and all; what is there is another cluster.
#[test]
fn the_volumes_of_a_new_cluster_of_the_same_name_are_not_touched() {
    let run = stuck(&REPLACED, At::Before, wrote(Verb::Delete, "persistentvolumeclaims", "db-1"));
    assert_eq!(run.comings_and_goings["persistentvolumeclaims default/db-1"], (2, 1), "one went with each");
    healthy(&run);
}

/// Case 19.
#[test]
fn a_cache_that_lacks_a_member_adds_none() {
    let run = stuck(&GROWTH, At::After, wrote(Verb::Patch, "statefulsets", "db-2"));
    assert_eq!(run.etcd, ["db-1 Voter, db-2 Voter, db-3 Voter"]);
}

/// Case 20.
#[test]
fn a_member_that_left_does_not_come_back() {
    let run = stuck(&SCALING, At::Before, wrote(Verb::Delete, "statefulsets", "db-3"));
    assert_eq!(run.comings_and_goings["statefulsets.apps default/db-3"], (1, 1));
}

/// Case 21: it is asked for more, and is gone before that is begun.
#[test]
fn nothing_is_made_for_a_cluster_that_is_gone() {
    let stage = Stage::default();
    let blind = stage.clone();
    let scenario = stage.scenario("gone").step("create one", |client| create(client, spec(1))).step(
        "ask for more, and delete it unseen",
        move |client| {
            let stage = blind.clone();
            async move {
                edit(client.clone(), json!({"size": 3, "networkPolicy": {}})).await?;
                stage.freeze();
                delete(client).await?;
                stage.wait().await;
                let (asked, ours) = (stage.writes().len(), stage.objects());
                stage.wait().await;
                let (later, still) = (stage.writes().split_off(asked), stage.objects());
                let made = later.iter().filter(|request| request.code.is_some_and(|code| code < 300));
                assert_eq!(made.map(Recorded::told).collect::<Vec<_>>(), Vec::<String>::new());
                assert_eq!(still, ours);
                stage.thaw();
                Ok(())
            }
        },
    );
    let run = play(&scenario);
    let ours = |place: &&String| place.contains("default/db") && !place.starts_with("events");
    let left: Vec<&String> = run.dump.objects().keys().filter(ours).collect();
    assert_eq!(left, ["persistentvolumeclaims default/db-1"], "volumes stay");
}

/// Case 21, of kinds that are not watched: others may make something of them that nobody removes, such as Secrets of Certificates.
#[test]
fn nothing_of_others_kinds_is_made_for_a_cluster_that_is_gone() {
    let stage = Stage::default();
    let blind = stage.clone();
    let scenario = stage
        .scenario("gone-unwatched")
        .step("create one", |client| create(client, spec(1)))
        .step("ask for a monitor, and delete it unseen", move |client| {
            let stage = blind.clone();
            async move {
                stage.server().install(pod_monitors()).unwrap();
                stage.freeze();
                edit(client.clone(), json!({"monitoring": {"podMonitor": true}})).await?;
                let edited = stage.server().revision();
                delete(client).await?;
                // It sees the wish, and not that the cluster is gone.
                stage.server().faults().freeze(OPERATOR, edited);
                stage.wait().await;
                let asked = stage.writes().into_iter().filter(|it| it.resource == "podmonitors");
                assert_eq!(asked.map(|request| request.told()).collect::<Vec<_>>(), Vec::<String>::new());
                stage.thaw();
                Ok(())
            }
        });
    play(&scenario);
}

/// The definition of somebody else's kind.
fn pod_monitors() -> Value {
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let version =
        json!({"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}});
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "podmonitors.monitoring.coreos.com"},
        "spec": {"group": "monitoring.coreos.com", "scope": "Namespaced", "versions": [version],
            "names": {"kind": "PodMonitor", "plural": "podmonitors", "singular": "podmonitor"}}})
}

/// Case 22: it decided about one pod, and finds another in its place.
#[test]
fn a_pod_of_the_same_name_is_not_taken_for_the_one_before() {
    let stage = Stage::default();
    let racing = stage.clone();
    let scenario = stage.scenario("raced").step("create one", |client| create(client, spec(1))).step(
        "change a setting, and be faster",
        move |client| {
            let delete = When::verb(Verb::Delete).client(OPERATOR).resource("pods");
            racing.server().faults().add(delete, Fault::Compete(Competitor::Recreate));
            edit(client, json!({"etcd": {"snapshotCount": 5000}}))
        },
    );
    let run = play(&scenario);
    healthy(&run);
    let deleted = run.requests.iter().filter(|it| it.verb == Some(Verb::Delete) && it.resource == "pods");
    let answers: Vec<Option<u16>> = deleted.map(|request| request.code).collect();
    assert_eq!(answers, [Some(409), Some(200)], "not that one; then the one that is there");
}

/// Case 22: the pod went and came while nobody listened, and all that is seen is another UID.
#[test]
fn a_pod_that_was_replaced_unseen_is_noticed() {
    let stage = Stage::default();
    let blind = stage.clone();
    let scenario = stage
        .scenario("replaced-unseen")
        .step("create one", |client| create(client, spec(1)))
        .step("lose a pod unseen", move |client| {
            let stage = blind.clone();
            async move {
                stage.freeze();
                lose_pod(client, "db-1").await?;
                stage.wait().await;
                // The events in between are gone: it has to list anew.
                stage.server().compact();
                stage.thaw();
                Ok(())
            }
        })
        // To restart the pod, it must be known.
        .step("change a setting", |client| edit(client, json!({"etcd": {"snapshotCount": 5000}})));
    let run = play(&scenario);
    healthy(&run);
    let deleted = run.requests.iter().filter(|it| it.verb == Some(Verb::Delete) && it.resource == "pods");
    assert_eq!(deleted.map(|request| request.code).collect::<Vec<_>>(), [Some(200)]);
    let updated = run.dump.objects()[CLUSTER].pointer("/status/members/0/updated").cloned();
    assert_eq!(updated, Some(json!(true)));
}

/// Case 23.
#[test]
fn a_deletion_that_was_missed_waits_for_us() {
    let stage = Stage::default();
    let blind = stage.clone();
    let spec = json!({"size": 1, "version": "3.6.16", "deletionPolicy": {"volumes": "Delete"}});
    let scenario = stage
        .scenario("deleted-unseen")
        .step("create one whose volumes go with it", move |client| create(client, spec.clone()))
        .step("delete it unseen", move |client| {
            let stage = blind.clone();
            async move {
                stage.freeze();
                delete(client).await?;
                stage.wait().await;
                let held =
                    ["etcdclusters.etcd.capstan.dev default/db", "persistentvolumeclaims default/db-1"];
                assert!(held.iter().all(|place| stage.objects().contains(*place)), "{:?}", stage.objects());
                stage.server().compact();
                stage.thaw();
                Ok(())
            }
        });
    let run = play(&scenario);
    let ours = |place: &&String| place.contains("default/db") && !place.starts_with("events");
    assert_eq!(run.dump.objects().keys().filter(ours).collect::<Vec<_>>(), Vec::<&String>::new());
}
