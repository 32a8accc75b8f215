//! A small model of the cluster for tests of `decide`: it carries plans out, plays Deployment and Job controllers when told to,
//! and knows which format the data on the volume really has.

use std::{collections::BTreeMap, sync::Arc};

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::{
    apps::v1::Deployment,
    batch::v1::{CronJob, Job},
    core::v1::{PersistentVolumeClaim, Pod, Secret},
};
use kit::{Key, Live, Row as _, Slim, Task, disk::Format as _, pods};
use kube::ResourceExt as _;
use serde_json::{Value, json};

use super::{
    decide::{News, Plan, decide},
    names::{self, KINSHIP},
    observe::{World, version_of},
};
use crate::{
    ExampleApp, Operation,
    app::{Format, versions},
};

pub(crate) struct Model {
    pub(crate) world: World,
    pub(crate) now: Timestamp,
    /// What is really on the volume; nothing before the first pod was there.
    pub(crate) data: Option<Format>,
    pub(crate) backups: BTreeMap<String, Format>,
    /// Versions that never become ready.
    pub(crate) broken: Vec<&'static str>,
}

impl Model {
    /// An ExampleApp `default/notes` with this spec, on an empty cluster.
    pub(crate) fn new(spec: Value) -> Self {
        let world = World {
            app: Arc::new(app(spec, Value::Null)),
            live: Live::new::<ExampleApp>(&KINSHIP, Key::new("default", "notes")),
            claim_name: "notes-data".to_owned(),
            load: Vec::new(),
            image: "capstan:dev".into(),
        };
        let now = "2026-11-16T03:00:00Z".parse().unwrap();
        Self { world, now, data: None, backups: BTreeMap::new(), broken: vec!["0.0.3"] }
    }

    /// One that runs `spec.appVersion`.
    pub(crate) fn running(spec: Value) -> Self {
        let mut model = Self::new(spec);
        model.settle();
        model
    }

    pub(crate) fn edit(&mut self, change: impl FnOnce(&mut crate::ExampleAppSpec)) {
        let mut app = ExampleApp::clone(&self.world.app);
        change(&mut app.spec);
        app.metadata.generation = app.metadata.generation.map(|generation| generation + 1);
        self.world.app = Arc::new(app);
    }

    pub(crate) fn pass(&mut self, seconds: i64) {
        self.now += SignedDuration::from_secs(seconds);
    }

    /// Decides and carries out.
    pub(crate) fn reconcile(&mut self) -> Plan {
        let plan = decide(&self.world, self.now);
        self.check(&plan);
        let mut app = ExampleApp::clone(&self.world.app);
        app.status = Some(plan.status.clone());
        self.world.app = Arc::new(app);
        if let Some(News::GivenUp(Operation { from: None, .. }, _)) = &plan.news {
            // Nothing was ever served from what a failed restore left in a new instance.
            self.data = None;
        }
        for task in &plan.tasks {
            self.carry_out(task);
        }
        self.check_claim();
        plan
    }

    /// What must hold of every plan, whatever happened before.
    fn check(&self, plan: &Plan) {
        let disruptive = plan.tasks.iter().filter(|task| is_disruptive(task, &self.world)).count();
        assert!(disruptive <= 1, "two disruptive tasks at once:\n{plan}");
        let known = self.world.app.status.as_ref().and_then(|status| status.operation.clone());
        let latches = plan.status.operation != known;
        let acts = plan.tasks.iter().any(|task| task.applies::<PersistentVolumeClaim>().is_none());
        assert!(!latches || !acts, "acts on a step that is not on record:\n{plan}");
        for task in &plan.tasks {
            if let Task::RunAlone(_) = task {
                assert!(!self.world.live.all().any(pods::may_write), "not alone on the volume:\n{plan}");
            }
            if let Some(it) = task.applies::<Deployment>().filter(|it| it.spec.replicas != Some(0)) {
                let version = versions::find(&version_of(it).unwrap()).unwrap();
                let fits = self.data.is_none_or(|data| data == version.format);
                assert!(fits, "{} on data of {:?}:\n{plan}", version.version, self.data);
            }
            if let Some(it) = task.applies::<PersistentVolumeClaim>() {
                assert_eq!(it.name_any(), self.world.claim_name, "a second volume");
            }
        }
    }

    /// The ExampleApp may be deleted at any moment: who finds its claim must find the truth on it.
    fn check_claim(&self) {
        let served = self.world.status().current_version;
        let told = self.world.on_claim().map(|it| versions::find(it).unwrap().format);
        if self.world.claim().is_none() || told.is_none() && served.is_none() {
            return;
        }
        let settled = self.world.status().operation.is_none();
        assert!(
            !settled || self.data.is_none() || told == self.data,
            "{told:?} on the claim, {:?} on the volume",
            self.data
        );
    }

    fn carry_out(&mut self, task: &Task) {
        match task {
            Task::Apply(wish) => match wish.of::<Deployment>() {
                Some(it) => self.apply(it.clone()),
                None => wish.put_into(&mut self.world.live),
            },
            Task::Password(it) => {
                let seen = serde_json::to_vec(&**it).unwrap();
                self.world.live.put(Slim::<Secret>::decode(&seen).unwrap());
            }
            Task::Delete(it) => {
                assert!(it.of::<CronJob>().is_some(), "only a CronJob is ever deleted");
                self.world.live.remove::<CronJob>(&it.name());
            }
            Task::Run(it) | Task::RunAlone(it) => {
                let mut job = (**it).clone();
                job.metadata.uid = Some(it.name_any());
                self.world.live.put(job);
            }
        }
    }

    fn apply(&mut self, mut next: Deployment) {
        let old = self.world.deployment();
        next.status = old.and_then(|old| old.status.clone());
        let generation = |object: &Deployment| object.metadata.generation.unwrap_or(0);
        let changed = old.is_none_or(|old| old.spec != next.spec);
        next.metadata.generation = Some(old.map_or(0, generation) + i64::from(changed));
        self.world.live.put(next);
    }

    fn pods(&self) -> Vec<Pod> {
        self.world.serving().cloned().collect()
    }

    fn set_pods(&mut self, pods: Vec<Pod>) {
        for pod in self.pods() {
            self.world.live.remove::<Pod>(&pod.name_any());
        }
        pods.into_iter().for_each(|pod| self.world.live.put(pod));
    }

    /// The Deployment controller and the kubelet catch up.
    pub(crate) fn pods_follow(&mut self) {
        let Some(deployment) = self.world.deployment().cloned() else { return };
        let deployment = &deployment;
        let version = version_of(deployment).unwrap();
        let wanted = deployment.spec.replicas.unwrap_or(1);
        let known = versions::find(&version).unwrap();
        if wanted > 0 {
            let data = *self.data.get_or_insert(known.format);
            assert_eq!(data, known.format, "{version} was started on other data");
        }
        let ready = if self.broken.contains(&known.version) { 0 } else { wanted };
        let mut next = deployment.clone();
        next.status = serde_json::from_value(json!({
            "observedGeneration": next.metadata.generation, "replicas": wanted, "updatedReplicas": wanted, "readyReplicas": ready, "availableReplicas": ready
        })).unwrap();
        let labels = KINSHIP.labels(&self.world.app.name_any(), names::APP);
        let pod = |number: i32| -> Pod {
            serde_json::from_value(json!({
                "metadata": {"name": format!("notes-{number}"), "namespace": "default", "labels": labels},
                "spec": next.spec.template.spec,
                "status": {"phase": "Running", "podIP": format!("10.0.0.{number}"),
                    "conditions": [{"type": "Ready", "status": if ready > 0 { "True" } else { "False" }}]},
            }))
            .unwrap()
        };
        self.set_pods((0..wanted).map(pod).collect());
        self.world.live.put(next);
    }

    /// The serving pods find their data corrupt.
    pub(crate) fn corrupt(&mut self) {
        let mut pods = self.pods();
        for broken in &mut pods {
            broken.status = serde_json::from_value(json!({
                "phase": "Running", "conditions": [{"type": "Ready", "status": "False"}],
                "containerStatuses": [{"name": "app", "image": "", "imageID": "", "ready": false, "restartCount": 1,
                    "lastState": {"terminated": {"exitCode": 65, "message": "corrupt: note a"}}}]
            })).unwrap();
        }
        self.set_pods(pods);
    }

    /// Every Job that has not ended does so: as the data and the store would have it, or with this exit code.
    pub(crate) fn jobs_end(&mut self, code: Option<i32>) {
        let running: Vec<Job> =
            self.world.live.all::<Job>().filter(|job| job.status.is_none()).cloned().collect();
        for job in running {
            let arguments = job
                .spec
                .as_ref()
                .and_then(|spec| spec.template.spec.as_ref()?.containers.first()?.args.clone())
                .unwrap();
            let code = code.unwrap_or_else(|| self.work(&arguments));
            let end = if code == 0 { "Complete" } else { "Failed" };
            let mut ended = job.clone();
            ended.status = serde_json::from_value(json!({
                "completionTime": self.now.to_string(), "conditions": [{"type": end, "status": "True", "reason": format!("Exit{code}")}]
            })).unwrap();
            self.world.live.put(ended);
            if code == 0 {
                self.says(&job.name_any());
            }
        }
    }

    /// The pod of a Job that is done has said which format the data has now.
    fn says(&mut self, job: &str) {
        let said = json!({"format": self.data.map(Format::number)}).to_string();
        let owner =
            json!({"apiVersion": "batch/v1", "kind": "Job", "name": job, "uid": job, "controller": true});
        let container = json!({"name": "a", "image": "", "imageID": "", "ready": false, "restartCount": 0,
            "state": {"terminated": {"exitCode": 0, "message": said}}});
        let pod = json!({"metadata": {"name": job, "namespace": "default", "ownerReferences": [owner]},
            "status": {"phase": "Succeeded", "containerStatuses": [container]}});
        self.world.live.put::<Pod>(serde_json::from_value(pod).unwrap());
    }

    /// What the application's commands do to the data; the exit code.
    fn work(&mut self, arguments: &[String]) -> i32 {
        let value = |flag: &str| {
            let at = arguments.iter().position(|argument| argument == flag)?;
            arguments.get(at + 1).cloned()
        };
        match (arguments.first().map(String::as_str), self.data) {
            (Some("backup"), Some(data)) => {
                self.backups.insert(value("--key").unwrap(), data);
                0
            }
            (Some("restore"), _) => {
                let (key, prefix) = (value("--key").unwrap(), value("--prefix").unwrap());
                let latest =
                    || self.backups.iter().rfind(|(key, _)| key.starts_with(&prefix)).map(|(_, data)| *data);
                let found = if key == "latest" { latest() } else { self.backups.get(&key).copied() };
                self.data = found.or(self.data);
                if found.is_some() { 0 } else { 64 }
            }
            (Some("migrate"), data) => {
                let to = versions::find(&value("--to").unwrap()).unwrap();
                // The tree of the migration before is kept: going back to it is possible.
                let back = data.is_some_and(|data| data > to.format);
                if back || data.is_none_or(|data| to.way_from(data).is_ok()) {
                    self.data = Some(to.format);
                    0
                } else {
                    64
                }
            }
            _ => 64,
        }
    }

    /// A kind world, until nothing changes any more. Returns whether it came to rest.
    pub(crate) fn settle(&mut self) -> bool {
        for _ in 0..60 {
            let before = format!("{:?} {:?}", self.world.app.status, self.world.deployment());
            let plan = self.reconcile();
            self.pods_follow();
            self.jobs_end(None);
            if plan.status.operation.is_some() {
                self.pass(30);
            } else if before == format!("{:?} {:?}", self.world.app.status, self.world.deployment()) {
                return true;
            }
        }
        false
    }
}

/// Whether a task stops pods that serve, or changes data.
fn is_disruptive(task: &Task, world: &World) -> bool {
    let (Some(wanted), Some(live)) = (task.applies::<Deployment>(), world.deployment()) else {
        return matches!(task, Task::RunAlone(_));
    };
    let stops = wanted.spec.replicas == Some(0);
    live.spec.replicas != Some(0) && (stops || version_of(wanted) != version_of(live))
}

/// Any upgrade.
pub(crate) fn upgrade() -> Operation {
    serde_json::from_value(
        json!({"kind": "Upgrade", "step": "Start", "from": "0.0.1", "to": "0.0.2", "id": 1,
        "startedAt": "2026-11-16T03:00:00Z", "stepStartedAt": "2026-11-16T03:00:00Z"}),
    )
    .unwrap()
}

pub(crate) fn app(spec: Value, status: Value) -> ExampleApp {
    let metadata = json!({"name": "notes", "namespace": "default", "uid": "u-1", "generation": 1, "resourceVersion": "1"});
    let object = json!({
        "apiVersion": "example-app.appdelivery.cncf.io/v1alpha1", "kind": "ExampleApp",
        "metadata": metadata, "spec": spec, "status": status
    });
    serde_json::from_value(object).unwrap()
}
