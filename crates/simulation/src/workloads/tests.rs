//! A cluster to test the controllers on: containers do what their command says.

use std::time::Duration;

use apiserver::{Change, Dump, ObjectId, Scope, Server};
use k8s_openapi::api::core::v1::Pod;
use kube::{
    Api, ResourceExt as _,
    api::{ApiResource, DeleteParams, DynamicObject, Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};

use super::{Outcome, Volumes, start, volumes};

pub(super) struct Cluster {
    server: Server,
    pub(super) volumes: Volumes,
}

/// What a container does is the text of its only argument.
fn behave(pod: &Pod, volumes: &Volumes) -> Outcome {
    let does = does(pod);
    let words: Vec<&str> = does.splitn(3, ' ').collect();
    let claim = volumes::claims(pod).next().unwrap_or_default();
    match words.as_slice() {
        ["serve", _] => Outcome::Ready,
        ["serve-format", wanted] => match volumes.read("default", claim).get("format") {
            Some(format) if format == wanted => Outcome::Ready,
            _ => Outcome::Exit { code: 65, message: "wrong format".into() },
        },
        ["write-format", format] => {
            volumes.change("default", claim, |content| content.insert("format".into(), (*format).into()));
            Outcome::Exit { code: 0, message: String::new() }
        }
        ["exit", code, message] => Outcome::Exit { code: code.parse().unwrap(), message: (*message).into() },
        _ => Outcome::Exit { code: 1, message: "crashed".into() },
    }
}

fn does(pod: &Pod) -> String {
    pod.spec.as_ref().unwrap().containers[0].args.clone().unwrap_or_default().join(" ")
}

pub(super) fn template(does: &str) -> Value {
    json!({"metadata": {"labels": {"app": "test"}}, "spec": {"containers": [{"name": "main", "image": "test:1", "args": [does]}]}})
}

fn resource(of: &str) -> ApiResource {
    let (group, version, kind, plural) = match of {
        "deployments.apps" => ("apps", "v1", "Deployment", "deployments"),
        "statefulsets.apps" => ("apps", "v1", "StatefulSet", "statefulsets"),
        "jobs.batch" => ("batch", "v1", "Job", "jobs"),
        "cronjobs.batch" => ("batch", "v1", "CronJob", "cronjobs"),
        "pods" => ("", "v1", "Pod", "pods"),
        "persistentvolumeclaims" => ("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims"),
        other => panic!("which kind is {other}?"),
    };
    let api_version = if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
    ApiResource {
        group: group.into(),
        version: version.into(),
        api_version,
        kind: kind.into(),
        plural: plural.into(),
    }
}

impl Cluster {
    pub(super) fn new() -> Self {
        let (server, volumes) = (Server::new(), Volumes::default());
        start(&server, behave, &volumes);
        Self { server, volumes }
    }

    fn api(&self, of: &str) -> Api<DynamicObject> {
        Api::namespaced_with(self.server.client(), "default", &resource(of))
    }

    pub(super) fn install(&self, object: Value) {
        self.server.install(object).unwrap();
    }

    async fn create(&self, of: &str, name: &str, spec: Value) {
        let resource = resource(of);
        let object = json!({"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": name}, "spec": spec});
        self.api(of).create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap();
    }

    pub(super) async fn deployment(&self, name: &str, more: Value, does: &str) {
        let base = json!({"selector": {"matchLabels": {"app": "test"}}, "template": template(does)});
        self.create("deployments.apps", name, merged(base, &more)).await;
    }

    pub(super) async fn stateful_set(&self, name: &str, more: Value, does: &str) {
        let base = json!({"serviceName": name, "selector": {"matchLabels": {"app": "test"}}, "template": template(does)});
        self.create("statefulsets.apps", name, merged(base, &more)).await;
    }

    pub(super) async fn job(&self, name: &str, more: Value, does: &str) {
        let base = merged(
            json!({"template": template(does)}),
            &json!({"template": {"spec": {"restartPolicy": "Never"}}}),
        );
        self.create("jobs.batch", name, merged(base, &more)).await;
    }

    pub(super) async fn job_restarting(&self, name: &str, more: Value, does: &str) {
        self.job(name, merged(json!({"template": {"spec": {"restartPolicy": "OnFailure"}}}), &more), does)
            .await;
    }

    pub(super) async fn cron_job(&self, name: &str, more: Value, does: &str) {
        let job = json!({"template": template(does)});
        let base = json!({"jobTemplate": {"spec": merged(job, &json!({"template": {"spec": {"restartPolicy": "Never"}}}))}});
        self.create("cronjobs.batch", name, merged(base, &more)).await;
    }

    pub(super) async fn claim(&self, name: &str) {
        let spec = json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}});
        self.create("persistentvolumeclaims", name, spec).await;
    }

    pub(super) async fn patch(&self, of: &str, name: &str, patch: Value) {
        self.api(of).patch(name, &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    }

    pub(super) async fn delete(&self, of: &str, name: &str, policy: &str) {
        let params = match policy {
            "Orphan" => DeleteParams::orphan(),
            _ => DeleteParams::background(),
        };
        self.api(of).delete(name, &params).await.unwrap();
    }

    /// By the name that [`Cluster::pods`] shows.
    pub(super) async fn delete_pod(&self, shown: &str) {
        let pods = self.all_pods().await;
        let pod = pods.iter().find(|pod| short_name(pod) == shown).unwrap();
        self.delete("pods", &pod.name_any(), "Background").await;
    }

    async fn all_pods(&self) -> Vec<Pod> {
        let pods: Api<Pod> = Api::namespaced(self.server.client(), "default");
        pods.list(&Default::default()).await.unwrap().items
    }

    /// One line per pod: its name without the template's hash, what it does, how it does.
    pub(super) async fn pods(&self) -> Vec<String> {
        let pods = self.all_pods().await;
        let mut lines: Vec<String> =
            pods.iter().map(|pod| format!("{} {}: {}", short_name(pod), does(pod), state(pod))).collect();
        lines.sort();
        lines
    }

    pub(super) async fn pod_names(&self, prefix: &str) -> Vec<String> {
        let pods = self.all_pods().await;
        pods.iter().map(kube::ResourceExt::name_any).filter(|name| name.starts_with(prefix)).collect()
    }

    fn value(&self, of: &str, name: &str) -> Value {
        let (plural, group) = of.split_once('.').unwrap_or((of, ""));
        let id = ObjectId::new(group, plural, "default", name);
        self.server.store().get(&id).unwrap_or_else(|| panic!("no {of} {name}")).value().clone()
    }

    pub(super) fn uid(&self, of: &str, name: &str) -> String {
        self.value(of, name)["metadata"]["uid"].as_str().unwrap().to_owned()
    }

    pub(super) fn status(&self, of: &str, name: &str) -> Value {
        self.value(of, name)["status"].clone()
    }

    pub(super) fn conditions(&self, of: &str, name: &str) -> Vec<String> {
        conditions(&self.value(of, name))
    }

    /// Every list of conditions that it ever had.
    pub(super) fn seen_conditions(&self, of: &str, name: &str) -> Vec<Vec<String>> {
        let plural = of.split('.').next().unwrap();
        let events = self.server.store().events_since(self.server.store().compacted(), usize::MAX).unwrap();
        let its = events.iter().filter(|event| &*event.id.plural == plural && &*event.id.name == name);
        its.map(|event| conditions(event.object.value())).collect()
    }

    fn names(&self, plural: &str, change: Change) -> Vec<String> {
        let events = self.server.store().events_since(self.server.store().compacted(), usize::MAX).unwrap();
        let its = events.iter().filter(|event| &*event.id.plural == plural && event.change == change);
        its.map(|event| event.id.name.to_string()).collect()
    }

    pub(super) fn created(&self, plural: &str) -> Vec<String> {
        self.names(plural, Change::Added)
    }

    pub(super) fn deleted(&self, plural: &str) -> Vec<String> {
        self.names(plural, Change::Deleted)
    }

    /// How many pods were ready and staying at every revision since: the fewest and the most.
    pub(super) fn serving_since(&self, first: u64) -> (usize, usize) {
        let serving = |revision| {
            let pods = self.server.store().list_at(&Scope::all("", "pods"), revision).unwrap();
            let ready = |pod: &Value| {
                let all = pod["status"]["conditions"].as_array();
                all.into_iter().flatten().any(|c| c["type"] == "Ready" && c["status"] == "True")
            };
            pods.iter()
                .filter(|pod| ready(pod.value()) && pod.value()["metadata"]["deletionTimestamp"].is_null())
                .count()
        };
        let counts: Vec<usize> = (first..=self.revision()).map(serving).collect();
        (*counts.iter().min().unwrap(), *counts.iter().max().unwrap())
    }

    pub(super) fn revision(&self) -> u64 {
        self.server.revision()
    }

    pub(super) fn dump(&self) -> Dump {
        self.server.dump()
    }

    pub(super) async fn pass(&self, seconds: u64) {
        let never = std::future::pending::<()>();
        tokio::time::timeout(Duration::from_secs(seconds), never).await.unwrap_err();
    }

    /// Until nothing was written for ten minutes.
    pub(super) async fn rest(&self) {
        let mut before = 0;
        while before != self.revision() {
            before = self.revision();
            self.pass(600).await;
        }
    }
}

fn conditions(object: &Value) -> Vec<String> {
    let all = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
    all.iter().map(|c| format!("{}={}", c["type"].as_str().unwrap(), c["status"].as_str().unwrap())).collect()
}

fn short_name(pod: &Pod) -> String {
    match pod.labels().get("pod-template-hash") {
        Some(hash) => pod.name_any().replace(&format!("-{hash}"), ""),
        None => pod.name_any(),
    }
}

fn state(pod: &Pod) -> String {
    let status = json!(pod.status);
    let has = |kind: &str, value: &str| {
        let mut all = status["conditions"].as_array().into_iter().flatten();
        all.find(|c| c["type"] == kind && c["status"] == value)
    };
    if has("Ready", "True").is_some() {
        return "ready".into();
    }
    if let Some(unschedulable) = has("PodScheduled", "False") {
        return unschedulable["message"].as_str().unwrap().into();
    }
    let container = &status["containerStatuses"][0]["state"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let said = match text(&container["waiting"]["reason"]).as_str() {
        "" => format!("{} {}", text(&status["phase"]), text(&container["terminated"]["message"])),
        "CrashLoopBackOff" => "CrashLoopBackOff".into(),
        reason => format!("{reason} {}", text(&container["waiting"]["message"])),
    };
    said.trim().to_owned()
}

/// `more` over `base`, maps field by field.
fn merged(mut base: Value, more: &Value) -> Value {
    match (&mut base, more) {
        (Value::Object(base), Value::Object(more)) => {
            for (key, value) in more {
                let before = base.remove(key).unwrap_or(Value::Null);
                base.insert(key.clone(), merged(before, value));
            }
        }
        (base, more) => *base = more.clone(),
    }
    base
}
