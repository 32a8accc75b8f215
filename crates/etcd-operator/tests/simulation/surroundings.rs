//! What surrounds a cluster: kinds of others that are not there, certificates that somebody deletes or replaces, labels that somebody
//! changes, and a deletion while everything is to be left alone.

use std::{fmt::Debug, sync::Arc, time::Duration};

use apiserver::{Fault, Verb, When};
use etcd_types::EtcdCluster;
use k8s_openapi::{
    NamespaceResourceScope,
    api::{
        apps::v1::StatefulSet,
        core::v1::{ConfigMap, PersistentVolumeClaim, Pod, Secret, Service},
    },
};
use kube::{
    Api, Resource, ResourceExt as _,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use simulation::{OPERATOR, Run};

use crate::{
    stories::spec,
    world::{
        CLUSTER, NAME, NAMESPACE, Stage, clusters, create, delete, edit, healthy, left, lose_claim, play,
    },
};

const MONITOR: &str = "podmonitors.monitoring.coreos.com default/db";
const OF_CLUSTER: &str = "etcd.capstan.dev/cluster=db";

/// A condition of the cluster, as it is now.
pub(crate) async fn condition(client: &kube::Client, kind: &str) -> kube::Result<(String, String)> {
    let status = clusters(client.clone()).get(NAME).await?.status.unwrap_or_default();
    let found = status.conditions.into_iter().flatten().find(|condition| condition.type_ == kind);
    Ok(found.map(|condition| (condition.status, condition.message)).unwrap_or_default())
}

/// Whether all was carried out in the end.
fn reconciled(run: &Run) -> Value {
    let conditions = run.dump.objects()[CLUSTER]["status"]["conditions"].as_array().cloned();
    let found = conditions.into_iter().flatten().find(|condition| condition["type"] == "Reconciled");
    found.map(|condition| condition["status"].clone()).unwrap_or_default()
}

/// The definition of somebody else's kind.
fn definition(kind: &str, plural: &str) -> Value {
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let version =
        json!({"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}});
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.monitoring.coreos.com")},
        "spec": {"group": "monitoring.coreos.com", "scope": "Namespaced", "versions": [version],
            "names": {"kind": kind, "plural": plural, "singular": kind.to_lowercase()}}})
}

#[test]
fn a_cluster_is_founded_and_mended_where_the_kind_of_its_monitor_does_not_exist() {
    let stage = Stage::default();
    let lacking = stage.clone();
    let spec =
        json!({"size": 3, "version": "3.6.16", "monitoring": {"podMonitor": true, "prometheusRule": true}});
    let scenario = stage.scenario("no-monitors").step("create three, and lose one", move |client| {
        let (stage, spec) = (lacking.clone(), spec.clone());
        async move {
            create(client.clone(), spec).await?;
            stage.wait().await;
            let status = clusters(client.clone()).get(NAME).await?.status.unwrap();
            assert!(status.cluster_id.is_some() && status.ready_members == Some(3), "{status:#?}");
            let told = "spec.monitoring.podMonitor: there is no kind PodMonitor here; \
                        install the Prometheus operator, or set it to false";
            assert_eq!(condition(&client, "Reconciled").await?, ("False".into(), told.into()));
            lose_claim(client.clone(), "db-2").await?;
            stage.wait().await;
            let status = clusters(client.clone()).get(NAME).await?.status.unwrap();
            let names: Vec<String> = status.members.into_iter().flatten().map(|member| member.name).collect();
            assert_eq!(names, ["db-1", "db-3", "db-4"], "it is replaced");
            stage.server().install(definition("PodMonitor", "podmonitors")).unwrap();
            stage.wait().await;
            let (truth, told) = condition(&client, "Reconciled").await?;
            assert_eq!(truth, "False");
            assert!(
                told.starts_with("spec.monitoring.prometheusRule: there is no kind PrometheusRule"),
                "{told}"
            );
            stage.server().install(definition("PrometheusRule", "prometheusrules")).unwrap();
            Ok(())
        }
    });
    let run = play(&scenario);
    healthy(&run);
    assert_eq!(reconciled(&run), "True");
    assert!(run.dump.objects().contains_key(MONITOR));
}

#[test]
fn a_monitor_that_is_not_wanted_any_more_is_deleted_however_often_that_fails() {
    let stage = Stage::default();
    let (preparing, refusing) = (stage.clone(), stage.clone());
    let spec = json!({"size": 1, "version": "3.6.16", "monitoring": {"podMonitor": true}});
    let scenario = stage
        .scenario("unmonitored")
        .step("create one that is monitored", move |client| {
            preparing.server().install(definition("PodMonitor", "podmonitors")).unwrap();
            create(client, spec.clone())
        })
        .step("no longer, and the webhook of the kind is down for a while", move |client| {
            let stage = refusing.clone();
            async move {
                assert!(stage.objects().contains(MONITOR));
                let deletes = When::verb(Verb::Delete).client(OPERATOR).resource("podmonitors");
                stage.server().faults().add(deletes.times(30), Fault::internal_error());
                edit(client.clone(), json!({"monitoring": {"podMonitor": false}})).await?;
                simulation::pass(Duration::from_secs(20)).await;
                let cluster = clusters(client.clone()).get(NAME).await?;
                assert_eq!(cluster.status.unwrap().observed_generation, cluster.metadata.generation);
                let (truth, told) = condition(&client, "Reconciled").await?;
                assert_eq!(truth, "False");
                assert!(
                    told.starts_with("spec.monitoring.podMonitor: cannot delete PodMonitor default/db"),
                    "{told}"
                );
                Ok(())
            }
        });
    let run = play(&scenario);
    healthy(&run);
    assert!(!run.dump.objects().contains_key(MONITOR));
    assert_eq!(reconciled(&run), "True", "and nobody is asked about it any more");
}

fn secrets(client: &kube::Client) -> Api<Secret> {
    Api::namespaced(client.clone(), NAMESPACE)
}

async fn delete_all<K>(client: &kube::Client) -> kube::Result<()>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + DeserializeOwned,
{
    let api: Api<K> = Api::namespaced(client.clone(), NAMESPACE);
    for object in api.list(&ListParams::default().labels(OF_CLUSTER)).await? {
        api.delete(&object.name_any(), &DeleteParams::background()).await?;
    }
    Ok(())
}

/// As it comes from a backup: without what the server gave it.
fn from_backup(mut secret: Secret) -> Secret {
    let metadata = &mut secret.metadata;
    (metadata.uid, metadata.resource_version, metadata.creation_timestamp) = (None, None, None);
    metadata.managed_fields = None;
    secret
}

fn certificate(secret: &Secret) -> String {
    String::from_utf8(secret.data.as_ref().unwrap()["ca.crt"].0.clone()).unwrap()
}

/// Nobody was founded, restarted or replaced.
#[track_caller]
fn untouched(run: &Run) {
    healthy(run);
    assert_eq!(run.etcd, ["db-1 Voter, db-2 Voter, db-3 Voter"], "one founding");
    for member in ["db-1", "db-2", "db-3"] {
        assert_eq!(run.comings_and_goings[&format!("pods default/{member}-0")], (1, 0));
        assert_eq!(run.comings_and_goings[&format!("statefulsets.apps default/{member}")], (1, 0));
    }
}

#[test]
fn no_second_ca_is_made_for_members_that_trust_the_first() {
    let stage = Stage::default();
    let losing = stage.clone();
    let scenario = stage
        .scenario("secrets-gone")
        .step("create three", |client| create(client, spec(3)))
        .step("delete all Secrets, and put the CA back", move |client| {
            let stage = losing.clone();
            async move {
                let ca = secrets(&client).get("db-ca").await?;
                delete_all::<Secret>(&client).await?;
                stage.wait().await;
                assert!(
                    secrets(&client).list(&ListParams::default().labels(OF_CLUSTER)).await?.items.is_empty()
                );
                let (truth, told) = condition(&client, "TLSValid").await?;
                assert_eq!(truth, "False");
                assert!(told.starts_with("all certificates of db are gone"), "{told}");
                secrets(&client).create(&PostParams::default(), &from_backup(ca.clone())).await?;
                stage.wait().await;
                let server = secrets(&client).get("db-server-tls").await?;
                assert_eq!(certificate(&server), certificate(&ca), "signed by the CA that they trust");
                Ok(())
            }
        });
    untouched(&play(&scenario));
}

/// Whoever has no backup of the CA does what the message says.
#[test]
fn a_new_ca_is_made_when_all_members_are_stopped_for_it() {
    let stage = Stage::default();
    let losing = stage.clone();
    let scenario = stage.scenario("new-ca").step("create three", |client| create(client, spec(3))).step(
        "delete all Secrets, then all that trusts them",
        move |client| {
            let stage = losing.clone();
            async move {
                let before = secrets(&client).get("db-ca").await?;
                delete_all::<Secret>(&client).await?;
                stage.wait().await;
                edit(client.clone(), json!({"paused": true})).await?;
                delete_all::<StatefulSet>(&client).await?;
                delete_all::<Secret>(&client).await?;
                // At once, with pods that are not gone yet.
                edit(client.clone(), json!({"paused": false})).await?;
                stage.wait().await;
                let ca = secrets(&client).get("db-ca").await?;
                assert_ne!(certificate(&ca), certificate(&before));
                let pods: Api<Pod> = Api::namespaced(client.clone(), NAMESPACE);
                for pod in pods.list(&ListParams::default().labels(OF_CLUSTER)).await? {
                    assert!(pod.creation_timestamp() >= ca.creation_timestamp(), "all start with it");
                }
                Ok(())
            }
        },
    );
    let run = play(&scenario);
    healthy(&run);
    assert_eq!(run.etcd, ["db-1 Voter, db-2 Voter, db-3 Voter"], "one founding");
    assert_eq!(run.comings_and_goings["secrets default/db-ca"], (2, 1));
    assert_eq!(run.comings_and_goings["persistentvolumeclaims default/db-1"], (1, 0), "volumes stay");
}

#[test]
fn a_ca_that_somebody_replaced_signs_nothing_for_members_that_trust_the_former() {
    let stage = Stage::default();
    let replacing = stage.clone();
    let scenario = stage.scenario("ca-replaced").step("create three, and another one", |client| async move {
        create(client.clone(), spec(3)).await?;
        let other = json!({"apiVersion": "etcd.capstan.dev/v1alpha1", "kind": "EtcdCluster",
            "metadata": {"name": "other"}, "spec": spec(1)});
        let other: EtcdCluster = serde_json::from_value(other).unwrap();
        clusters(client).create(&PostParams::default(), &other).await.map(drop)
    });
    let scenario = scenario
        .step("replace the CA, and delete a leaf", move |client| {
            let stage = replacing.clone();
            async move {
                let (ca, other) =
                    (secrets(&client).get("db-ca").await?, secrets(&client).get("other-ca").await?);
                let data = |secret: &Secret| Patch::Merge(json!({ "data": secret.data }));
                secrets(&client).patch("db-ca", &PatchParams::default(), &data(&other)).await?;
                secrets(&client).delete("db-client-tls", &DeleteParams::default()).await?;
                stage.wait().await;
                assert_eq!(certificate(&secrets(&client).get("db-peer-tls").await?), certificate(&ca));
                assert!(secrets(&client).get_opt("db-client-tls").await?.is_none(), "nothing is signed");
                let (truth, told) = condition(&client, "TLSValid").await?;
                assert_eq!(truth, "False");
                assert!(told.starts_with("Secret db-ca holds another CA"), "{told}");
                secrets(&client).patch("db-ca", &PatchParams::default(), &data(&ca)).await?;
                stage.wait().await;
                assert_eq!(certificate(&secrets(&client).get("db-client-tls").await?), certificate(&ca));
                Ok(())
            }
        })
        .step("delete the other", |client| async move {
            clusters(client).delete("other", &DeleteParams::background()).await.map(drop)
        });
    let run = play(&scenario);
    healthy(&run);
    for member in ["db-1", "db-2", "db-3"] {
        assert_eq!(run.comings_and_goings[&format!("pods default/{member}-0")], (1, 0));
    }
}

/// What somebody does to the labels of an object.
async fn relabel<K>(client: &kube::Client, name: &str, labels: &Value) -> kube::Result<()>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Clone
        + Debug
        + DeserializeOwned
        + Serialize,
{
    let api: Api<K> = Api::namespaced(client.clone(), NAMESPACE);
    let patch = Patch::Merge(json!({"metadata": {"labels": labels}}));
    api.patch(name, &PatchParams::default(), &patch).await.map(drop)
}

#[track_caller]
fn relabelled(labels: Value) -> Run {
    let labels = Arc::new(labels);
    let scenario = Stage::default()
        .scenario("relabelled")
        .step("create three", |client| create(client, spec(3)))
        .step("change the labels of everything but pods", move |client| {
            let labels = labels.clone();
            async move {
                relabel::<ConfigMap>(&client, "db-identity", &labels).await?;
                relabel::<StatefulSet>(&client, "db-1", &labels).await?;
                relabel::<StatefulSet>(&client, "db-2", &labels).await?;
                relabel::<PersistentVolumeClaim>(&client, "db-3", &labels).await?;
                relabel::<Service>(&client, "db-client", &labels).await?;
                relabel::<Secret>(&client, "db-ca", &labels).await?;
                relabel::<Secret>(&client, "db-server-tls", &labels).await
            }
        })
        .step("change a setting", |client| edit(client, json!({"etcd": {"snapshotCount": 5000}})));
    let run = play(&scenario);
    healthy(&run);
    assert_eq!(run.etcd, ["db-1 Voter, db-2 Voter, db-3 Voter"]);
    for place in [
        "configmaps default/db-identity",
        "statefulsets.apps default/db-1",
        "statefulsets.apps default/db-2",
        "persistentvolumeclaims default/db-3",
        "services default/db-client",
        "secrets default/db-ca",
        "secrets default/db-server-tls",
    ] {
        assert_eq!(left(&run, place, "/metadata/labels/etcd.capstan.dev~1cluster"), "db", "{place}");
        assert_eq!(left(&run, place, "/metadata/labels/app.kubernetes.io~1managed-by"), "capstan", "{place}");
        assert_eq!(run.comings_and_goings[place], (1, 0), "{place}");
    }
    run
}

#[test]
fn labels_that_a_tool_has_changed_are_put_back() {
    relabelled(json!({"app.kubernetes.io/managed-by": "Helm", "app.kubernetes.io/name": "my-etcd"}));
}

#[test]
fn labels_without_which_an_object_is_not_seen_are_put_back() {
    relabelled(json!({"app.kubernetes.io/managed-by": "Helm", "etcd.capstan.dev/cluster": null}));
}

/// It is seen by our own label, and nobody takes its member for dead.
#[test]
fn a_pod_that_is_managed_by_somebody_else_is_still_a_member() {
    let scenario = Stage::default()
        .scenario("pod-relabelled")
        .step("create three", |client| create(client, spec(3)))
        .step("change a label of a pod", |client| async move {
            relabel::<Pod>(&client, "db-1-0", &json!({"app.kubernetes.io/managed-by": "Helm"})).await
        });
    untouched(&play(&scenario));
}

#[test]
fn a_cluster_that_is_deleted_while_it_is_paused_goes() {
    let spec = json!({"size": 1, "version": "3.6.16", "deletionPolicy": {"volumes": "Delete"}});
    let scenario = Stage::default()
        .scenario("deleted-paused")
        .step("create one whose volumes go with it", move |client| create(client, spec.clone()))
        .step("pause it", |client| edit(client, json!({"paused": true})))
        .step("delete it", delete);
    let run = play(&scenario);
    let ours = |place: &&String| place.contains("default/db") && !place.starts_with("events");
    assert_eq!(run.dump.objects().keys().filter(ours).collect::<Vec<_>>(), Vec::<&String>::new());
}

/// Protection is a wish that was said before: it is not given up because of the pause.
#[test]
fn a_protected_cluster_that_is_deleted_while_it_is_paused_stays() {
    let spec = json!({"size": 1, "version": "3.6.16", "deletionPolicy": {"protection": true}});
    let scenario = Stage::default()
        .scenario("protected-paused")
        .step("create one that is protected", move |client| create(client, spec.clone()))
        .step("pause it", |client| edit(client, json!({"paused": true})))
        .step("delete it", delete);
    let run = play(&scenario);
    assert!(run.dump.objects().contains_key(CLUSTER));
    assert_eq!(run.comings_and_goings["pods default/db-1-0"], (1, 0));
}
