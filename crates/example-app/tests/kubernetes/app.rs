//! One ExampleApp of a scenario, and what its user sees: the object, its pods, its notes.

use std::{collections::BTreeSet, time::Duration};

use example_app::{ExampleApp, ExampleAppSpec, Phase};
use http::Method;
use k8s_openapi::{
    api::core::v1::{Pod, Secret},
    apimachinery::pkg::apis::meta::v1::Condition,
};
use kube::{
    Api, ResourceExt as _,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};

use crate::{
    http::{self as web, Answer},
    patience::{Beside, LONG, PATIENCE, until, when},
    world::World,
};

/// What every scenario writes first, and must find again in the end.
pub(crate) const NOTES: [(&str, &str); 4] = [
    ("milk", "two litres"),
    ("oats", "the coarse ones"),
    ("call", "mother, before eight\n\tand be nice"),
    ("cheese", "Käse, 2 €, {\"quoted\": \"as JSON\"}"),
];

pub(crate) struct App<'w> {
    pub(crate) world: &'w World,
    pub(crate) name: String,
}

/// Apps of a scenario's world.
pub(crate) trait Apps {
    fn app(&self, name: &str) -> App<'_>;
}

impl Apps for World {
    fn app(&self, name: &str) -> App<'_> {
        App { world: self, name: name.to_owned() }
    }
}

/// Waits until an operator has looked at everything there is: one that has not leads nobody through an install.
pub(crate) async fn operator_has_looked(world: &World) {
    let app = world.app("canary");
    app.create(json!({"appVersion": "0.0.2", "deletionPolicy": "Delete"})).await;
    app.runs_within("0.0.2", LONG).await;
    app.delete().await;
}

impl App<'_> {
    pub(crate) fn api(&self) -> Api<ExampleApp> {
        self.world.api()
    }

    fn manifest(&self, spec: Value) -> ExampleApp {
        serde_json::from_value(json!({
            "apiVersion": "example-app.appdelivery.cncf.io/v1alpha1", "kind": "ExampleApp",
            "metadata": {"name": self.name}, "spec": spec,
        }))
        .unwrap()
    }

    pub(crate) async fn create(&self, spec: Value) {
        self.api().create(&PostParams::default(), &self.manifest(spec)).await.unwrap();
    }

    /// Merges into spec; `Err` with the server's words when it refuses.
    pub(crate) async fn try_patch(&self, spec: Value) -> Result<ExampleApp, String> {
        let patch = Patch::Merge(json!({"spec": spec}));
        let done = self.api().patch(&self.name, &PatchParams::default(), &patch).await;
        done.map_err(|error| error.to_string())
    }

    pub(crate) async fn patch(&self, spec: Value) {
        self.try_patch(spec).await.unwrap();
    }

    /// Sets all of spec.
    pub(crate) async fn set(&self, spec: Value) {
        let spec: ExampleAppSpec = serde_json::from_value(spec).unwrap();
        let mut object = self.object().await;
        until("the spec is set", PATIENCE, async || {
            object.spec = spec.clone();
            match self.api().replace(&self.name, &PostParams::default(), &object).await {
                Ok(_) => Ok(()),
                // The operator wrote the status in between.
                Err(error) => {
                    object = self.object().await;
                    Err(error.to_string())
                }
            }
        })
        .await;
    }

    pub(crate) async fn delete(&self) {
        self.api().delete(&self.name, &DeleteParams::default()).await.unwrap();
    }

    pub(crate) async fn is_gone(&self) {
        until("the ExampleApp is gone", PATIENCE, async || {
            let there = self.api().get_opt(&self.name).await.unwrap();
            when(there.is_none(), there.map(|app| app.metadata))
        })
        .await;
    }

    pub(crate) async fn object(&self) -> ExampleApp {
        self.api().get(&self.name).await.unwrap()
    }

    /// Waits until the object is as wished, and gives it.
    pub(crate) async fn until(
        &self,
        what: &str,
        limit: Duration,
        is: impl Fn(&ExampleApp) -> bool,
    ) -> ExampleApp {
        until(&format!("{}: {what}", self.name), limit, async || {
            // The API server may be away for a moment, too.
            let app = self.api().get(&self.name).await.map_err(|error| error.to_string())?;
            if is(&app) { Ok(app) } else { Err(json!(app.status).to_string()) }
        })
        .await
    }

    /// Waits until this version serves, nothing is under way, and the status is about the present spec.
    pub(crate) async fn runs(&self, version: &str) -> ExampleApp {
        self.runs_within(version, PATIENCE).await
    }

    pub(crate) async fn runs_within(&self, version: &str, limit: Duration) -> ExampleApp {
        self.until(&format!("{version} runs"), limit, |app| {
            let status = app.status.clone().unwrap_or_default();
            is_current(app)
                && status.phase == Some(Phase::Running)
                && status.current_version.as_deref() == Some(version)
                && status.operation.is_none()
                && condition(app, "Available").is_some_and(|it| it.status == "True")
        })
        .await
    }

    /// Waits for a condition with this reason that is about the present spec; gives its message.
    pub(crate) async fn says(&self, reason: &str) -> String {
        self.says_within(reason, PATIENCE).await
    }

    pub(crate) async fn says_within(&self, reason: &str, limit: Duration) -> String {
        let app = self
            .until(&format!("says {reason}"), limit, |app| {
                is_current(app) && with_reason(app, reason).is_some()
            })
            .await;
        with_reason(&app, reason).unwrap().message
    }

    /// Waits until a backup was made for this request; gives its key.
    pub(crate) async fn has_saved(&self, request: &str) -> String {
        let done = self
            .until(&format!("the backup {request} is made"), LONG, |app| {
                let status = app.status.as_ref().unwrap();
                let made = status
                    .backup
                    .as_ref()
                    .is_some_and(|it| it.request.as_deref() == Some(request) && it.last_backup.is_some());
                status.operation.is_none() && made
            })
            .await;
        done.status.unwrap().backup.unwrap().last_backup.unwrap()
    }

    /// Waits until an event of this reason was told.
    pub(crate) async fn told(&self, reason: &str) -> String {
        until(&format!("event {reason}"), PATIENCE, async || {
            let events = self.world.events_about("ExampleApp", &self.name).await;
            let found = events.iter().find(|event| event.starts_with(&format!("{reason}: "))).cloned();
            when(found.is_some(), events).map(|_| found.unwrap())
        })
        .await
    }

    /// Its pods that are not on their way out.
    pub(crate) async fn pods(&self) -> Vec<Pod> {
        let labels = format!("app.kubernetes.io/instance={},app.kubernetes.io/component=app", self.name);
        let pods = self.world.list::<Pod>(&labels).await;
        pods.into_iter().filter(|pod| pod.metadata.deletion_timestamp.is_none()).collect()
    }

    /// Who they are and how often their containers were started: equal when no pod was touched.
    pub(crate) async fn incarnations(&self) -> BTreeSet<(String, i32)> {
        let restarts = |pod: &Pod| {
            let status = pod.status.as_ref().and_then(|status| status.container_statuses.as_ref()?.first());
            status.map_or(0, |status| status.restart_count)
        };
        self.pods().await.iter().map(|pod| (pod.uid().unwrap(), restarts(pod))).collect()
    }

    /// Waits until so many pods are ready; gives them.
    pub(crate) async fn ready(&self, count: usize) -> Vec<Pod> {
        until(&format!("{}: {count} ready pods", self.name), PATIENCE, async || {
            let all = self.pods().await;
            let ready: Vec<Pod> = all.iter().filter(|pod| kit::readiness::is_ready(*pod)).cloned().collect();
            when((ready.len(), all.len()) == (count, count), (ready.len(), all.len())).map(|_| ready)
        })
        .await
    }

    pub(crate) async fn one_pod(&self) -> Pod {
        self.ready(1).await.remove(0)
    }

    pub(crate) async fn password(&self) -> Option<String> {
        let secret = self.world.api::<Secret>().get_opt(&format!("{}-auth", self.name)).await.unwrap()?;
        String::from_utf8(secret.data?.get("password")?.0.clone()).ok()
    }

    /// One request to any pod that answers; `Err` when none does.
    pub(crate) async fn ask(&self, method: Method, path: &str, body: &str) -> Result<Answer, String> {
        let password = self.password().await.ok_or("no Secret")?;
        let pods = self.pods().await;
        let pod = pods.iter().find(|pod| kit::readiness::is_ready(*pod)).ok_or("no pod is ready")?;
        web::ask(method, &url_of(pod, path), Some(&password), body).await
    }

    /// Waits until a request is answered with this status; gives the text.
    pub(crate) async fn answers(&self, path: &str, status: u16) -> String {
        until(&format!("{}: /{path} answers {status}", self.name), PATIENCE, async || {
            let answer = self.ask(Method::GET, path, "").await?;
            when(answer.status == status, answer).map(|answer| answer.text)
        })
        .await
    }

    pub(crate) async fn write(&self, key: &str, text: &str) {
        until(&format!("{}: {key} is written", self.name), PATIENCE, async || {
            let answer = self.ask(Method::PUT, &format!("notes/{key}"), text).await?;
            when(answer.status == 201 || answer.status == 204, answer)
        })
        .await;
    }

    pub(crate) async fn write_notes(&self) {
        for (key, text) in NOTES {
            self.write(key, text).await;
        }
    }

    /// Writes ever greater numbers into one note until the application stops; the last one that it has acknowledged.
    pub(crate) async fn counts_until_it_stops(&self, key: &str) -> u32 {
        let mut number = 0;
        loop {
            let next = number + 1;
            match self.ask(Method::PUT, &format!("notes/{key}"), &next.to_string()).await {
                Ok(answer) if answer.status == 201 || answer.status == 204 => number = next,
                _ => return number,
            }
        }
    }

    /// All notes are there, to the letter. One that is missing or different is lost: only silence is waited out.
    pub(crate) async fn has_its_notes(&self) {
        for (key, text) in NOTES {
            assert_eq!(self.note(key).await.as_deref(), Some(text), "{}: {key}", self.name);
        }
    }

    pub(crate) async fn note(&self, key: &str) -> Option<String> {
        until(&format!("{}: {key} can be asked for", self.name), PATIENCE, async || {
            let answer = self.ask(Method::GET, &format!("notes/{key}"), "").await?;
            match answer.status {
                200 => Ok(Some(answer.text)),
                404 => Ok(None),
                _ => Err(format!("{answer:?}")),
            }
        })
        .await
    }

    /// Asks one pod for a note all the time; stopped, it gives what went wrong.
    pub(crate) async fn watched(&self, pod: &Pod) -> Beside<String> {
        let (password, url) = (self.password().await.unwrap(), url_of(pod, "notes/milk"));
        Beside::every(Duration::from_millis(200), move || {
            let (password, url) = (password.clone(), url.clone());
            async move {
                match web::get(&url, Some(&password)).await {
                    Ok(answer) if answer.status == 200 && answer.text == NOTES[0].1 => None,
                    other => Some(format!("{other:?}")),
                }
            }
        })
    }
}

pub(crate) fn url_of(pod: &Pod, path: &str) -> String {
    let address = pod.status.as_ref().and_then(|status| status.pod_ip.clone()).unwrap_or_default();
    format!("http://{address}:8080/{path}")
}

/// The arguments of a pod's process.
pub(crate) fn arguments(pod: &Pod) -> Vec<String> {
    pod.spec.as_ref().unwrap().containers[0].args.clone().unwrap_or_default()
}

pub(crate) fn is_current(app: &ExampleApp) -> bool {
    app.status.as_ref().and_then(|status| status.observed_generation) == app.metadata.generation
}

pub(crate) fn conditions(app: &ExampleApp) -> Vec<Condition> {
    app.status.as_ref().and_then(|status| status.conditions.clone()).unwrap_or_default()
}

pub(crate) fn condition(app: &ExampleApp, kind: &str) -> Option<Condition> {
    conditions(app).into_iter().find(|it| it.type_ == kind)
}

fn with_reason(app: &ExampleApp, reason: &str) -> Option<Condition> {
    conditions(app).into_iter().find(|it| it.reason == reason)
}
