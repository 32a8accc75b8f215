//! The scheduler and the kubelet: pods get a node, start, serve or end as their [`Behaviour`] says, and stop.
//!
//! A pod that crashes again and again is started again only when a volume has changed: it would crash again otherwise, and the world
//! would never come to rest. With `OnFailure` it is tried again in time: the Job's limit is its end.

mod status;

use std::{collections::BTreeMap, sync::Arc};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt as _;
use serde_json::json;

use super::{claim, picture::Picture, pods, turn::Turn, volumes, volumes::Volumes};
use status::Told;

const NODE: &str = "node-1";
/// Seconds from the node to running, from running to serving or the end, and from the deletion to the end.
const START: i64 = 1;
const WORK: i64 = 1;
const STOP: i64 = 1;
/// Seconds until a crashed container is started again; it doubles.
const BACKOFF: i64 = 10;

/// What becomes of a pod's processes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// They run, and answer.
    Ready,
    /// They run, and do not answer.
    NotReady(String),
    /// They end with this code, and leave this message.
    Exit { code: i32, message: String },
}

/// What the containers of a pod do.
pub trait Behaviour: Send + Sync + 'static {
    /// Asked when the pod has started, and of pods that did not end again whenever a volume has changed: so a process that serves
    /// may read, and one that ends may write.
    fn run(&self, pod: &Pod, volumes: &Volumes) -> Outcome;

    /// Told when the pod of this UID has to end, or is gone: at least once.
    fn stop(&self, _uid: &str) {}
}

impl<F: Fn(&Pod, &Volumes) -> Outcome + Send + Sync + 'static> Behaviour for F {
    fn run(&self, pod: &Pod, volumes: &Volumes) -> Outcome {
        self(pod, volumes)
    }
}

/// How far a pod is; not more than what its node knows of it.
#[derive(Debug, Clone, Copy)]
enum Stage {
    Starting {
        since: Timestamp,
    },
    Working {
        since: Timestamp,
    },
    /// Asked when the volumes had changed that often.
    Asked {
        turn: u64,
    },
    Crashed {
        since: Timestamp,
    },
    Stopping {
        since: Timestamp,
    },
}

pub(super) struct Kubelet {
    behaviour: Arc<dyn Behaviour>,
    volumes: Volumes,
    /// By UID.
    stages: BTreeMap<String, Stage>,
}

impl Kubelet {
    pub(super) fn new(behaviour: Arc<dyn Behaviour>, volumes: Volumes) -> Self {
        Self { behaviour, volumes, stages: BTreeMap::new() }
    }

    pub(super) fn decide(&mut self, picture: &Picture, turn: &mut Turn) {
        let alive = |uid: &String| picture.pods.values().any(|pod| pod.metadata.uid.as_ref() == Some(uid));
        self.stages.keys().filter(|uid| !alive(uid)).for_each(|uid| self.behaviour.stop(uid));
        self.stages.retain(|uid, _| alive(uid));
        for pod in picture.pods.values() {
            if pods::is_going(pod) {
                self.stop(pod, turn);
            } else if pods::is_over(pod) {
                continue;
            } else if pod.spec.as_ref().is_none_or(|spec| spec.node_name.is_none()) {
                schedule(pod, picture, turn);
            } else {
                self.run(pod, picture, turn);
            }
        }
    }

    fn set(&mut self, pod: &Pod, stage: Stage) {
        self.stages.insert(pod.uid().unwrap_or_default(), stage);
    }

    fn stop(&mut self, pod: &Pod, turn: &mut Turn) {
        match self.stages.get(&pod.uid().unwrap_or_default()) {
            Some(Stage::Stopping { since }) => {
                // Deleted without grace, it only waits for its finalizers.
                let waits = pod.metadata.deletion_grace_period_seconds == Some(0);
                if !waits && turn.is_past(*since, STOP) {
                    turn.delete_now(pod);
                }
            }
            _ => {
                self.behaviour.stop(&pod.uid().unwrap_or_default());
                self.set(pod, Stage::Stopping { since: turn.now() });
                turn.is_past(turn.now(), STOP);
            }
        }
    }

    fn run(&mut self, pod: &Pod, picture: &Picture, turn: &mut Turn) {
        let stage = self.stages.get(&pod.uid().unwrap_or_default()).copied();
        match stage {
            None => {
                if let Some(missing) = missing(pod, picture) {
                    return status::tell(pod, &Told::CannotStart(missing), turn);
                }
                self.set(pod, Stage::Starting { since: turn.now() });
                turn.is_past(turn.now(), START);
            }
            Some(Stage::Starting { since }) if turn.is_past(since, START) => {
                status::tell(pod, &Told::Started, turn);
                self.set(pod, Stage::Working { since: turn.now() });
                turn.is_past(turn.now(), WORK);
            }
            Some(Stage::Working { since }) if turn.is_past(since, WORK) => self.ask(pod, turn),
            Some(Stage::Asked { turn: asked }) if asked != self.volumes.turn() => self.ask(pod, turn),
            Some(Stage::Asked { .. }) if status::is_let_in(pod) => status::tell(pod, &Told::Ready, turn),
            Some(Stage::Crashed { since })
                if turn.is_past(since, BACKOFF << status::restarts(pod).min(5)) =>
            {
                status::tell(pod, &Told::Restarted, turn);
                self.set(pod, Stage::Working { since: turn.now() });
                turn.is_past(turn.now(), WORK);
            }
            Some(_) => {}
        }
    }

    fn ask(&mut self, pod: &Pod, turn: &mut Turn) {
        let outcome = self.behaviour.run(pod, &self.volumes);
        let restarts = pod.spec.as_ref().and_then(|spec| spec.restart_policy.as_deref()).unwrap_or("Always");
        let (told, stage) = match outcome {
            Outcome::Ready => (Told::Ready, Stage::Asked { turn: self.volumes.turn() }),
            Outcome::NotReady(why) => (Told::NotReady(why), Stage::Asked { turn: self.volumes.turn() }),
            Outcome::Exit { code, message } => match (restarts, code) {
                ("Always", _) => {
                    (Told::CrashLoop { code, message }, Stage::Asked { turn: self.volumes.turn() })
                }
                ("OnFailure", 1..) => {
                    turn.is_past(turn.now(), BACKOFF << status::restarts(pod).min(5));
                    (Told::Crashed { code, message }, Stage::Crashed { since: turn.now() })
                }
                _ => (Told::Over { code, message }, Stage::Asked { turn: self.volumes.turn() }),
            },
        };
        status::tell(pod, &told, turn);
        self.set(pod, stage);
    }
}

/// A pod gets its node when all its claims are bound.
fn schedule(pod: &Pod, picture: &Picture, turn: &mut Turn) {
    let namespace = pod.namespace().unwrap_or_default();
    let unbound = volumes::claims(pod).find_map(|name| {
        match picture.claims.get(&(namespace.clone(), name.to_owned())) {
            None => Some(format!("0/1 nodes are available: persistentvolumeclaim \"{name}\" not found")),
            Some(found) if found.metadata.deletion_timestamp.is_some() => {
                Some(format!("0/1 nodes are available: persistentvolumeclaim \"{name}\" is being deleted"))
            }
            Some(found) if !claim::is_bound(found) => {
                Some("0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims".into())
            }
            Some(_) => None,
        }
    });
    match unbound {
        Some(why) => status::tell(pod, &Told::Unschedulable(why), turn),
        None => turn.patch(pod, json!({"spec": {"nodeName": NODE}})),
    }
}

/// The Secret or ConfigMap that a pod needs to start and does not find.
fn missing(pod: &Pod, picture: &Picture) -> Option<String> {
    let namespace = pod.namespace().unwrap_or_default();
    needs(pod).into_iter().find_map(|(plural, kind, name)| {
        (!picture.has(plural, &namespace, &name)).then(|| format!("{kind} \"{name}\" not found"))
    })
}

type Need = (&'static str, &'static str, String);

fn needs(pod: &Pod) -> Vec<Need> {
    let secret = |name: &str, optional: Option<bool>| {
        (optional != Some(true)).then(|| ("secrets", "secret", name.to_owned()))
    };
    let config = |name: &str, optional: Option<bool>| {
        (optional != Some(true)).then(|| ("configmaps", "configmap", name.to_owned()))
    };
    let mut needs = Vec::new();
    let Some(spec) = &pod.spec else { return needs };
    for volume in spec.volumes.iter().flatten() {
        if let Some(source) = &volume.secret {
            needs.extend(source.secret_name.as_ref().and_then(|name| secret(name, source.optional)));
        }
        if let Some(source) = &volume.config_map {
            needs.extend(config(&source.name, source.optional));
        }
        for source in volume.projected.iter().flat_map(|projected| projected.sources.iter().flatten()) {
            needs.extend(source.secret.as_ref().and_then(|source| secret(&source.name, source.optional)));
            needs.extend(source.config_map.as_ref().and_then(|source| config(&source.name, source.optional)));
        }
    }
    for container in spec.init_containers.iter().flatten().chain(&spec.containers) {
        for source in container.env_from.iter().flatten() {
            needs.extend(source.secret_ref.as_ref().and_then(|source| secret(&source.name, source.optional)));
            needs.extend(
                source.config_map_ref.as_ref().and_then(|source| config(&source.name, source.optional)),
            );
        }
        for source in container.env.iter().flatten().filter_map(|variable| variable.value_from.as_ref()) {
            needs.extend(source.secret_key_ref.as_ref().and_then(|key| secret(&key.name, key.optional)));
            needs.extend(source.config_map_key_ref.as_ref().and_then(|key| config(&key.name, key.optional)));
        }
    }
    needs
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::Cluster;

    #[tokio::test(start_paused = true)]
    async fn a_pod_waits_for_its_claim_and_its_secret() {
        let cluster = Cluster::new();
        let spec = json!({"template": {"spec": {"volumes": [
            {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}, {"name": "auth", "secret": {"secretName": "auth"}}]}}});
        cluster.deployment("web", spec, "serve 1").await;
        cluster.rest().await;
        assert_eq!(
            cluster.pods().await,
            ["web-0 serve 1: 0/1 nodes are available: persistentvolumeclaim \"data\" not found"]
        );
        cluster.claim("data").await;
        cluster.rest().await;
        assert_eq!(
            cluster.pods().await,
            ["web-0 serve 1: CreateContainerConfigError secret \"auth\" not found"]
        );
        cluster.install(json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "auth"}}));
        cluster.rest().await;
        assert_eq!(cluster.pods().await, ["web-0 serve 1: ready"]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_claim_is_bound_grows_and_goes_only_when_nobody_uses_it_and_its_content_with_it() {
        let cluster = Cluster::new();
        cluster.claim("data").await;
        cluster.rest().await;
        let status = cluster.status("persistentvolumeclaims", "data");
        assert_eq!((&status["phase"], &status["capacity"]["storage"]), (&json!("Bound"), &json!("1Gi")));
        cluster
            .patch(
                "persistentvolumeclaims",
                "data",
                json!({"spec": {"resources": {"requests": {"storage": "2Gi"}}}}),
            )
            .await;
        cluster.rest().await;
        assert_eq!(cluster.status("persistentvolumeclaims", "data")["capacity"]["storage"], json!("2Gi"));

        let spec = json!({"template": {"spec": {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]}}});
        cluster.deployment("web", spec, "serve 1").await;
        cluster.volumes.change("default", "data", |content| content.insert("a".into(), "b".into()));
        cluster.rest().await;
        cluster.delete("persistentvolumeclaims", "data", "Background").await;
        cluster.rest().await;
        assert!(cluster.deleted("persistentvolumeclaims").is_empty());
        cluster.delete("deployments.apps", "web", "Background").await;
        cluster.rest().await;
        assert_eq!(cluster.deleted("persistentvolumeclaims"), ["data"]);
        assert!(cluster.volumes.read("default", "data").is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_job_changes_what_is_on_a_volume_and_the_pod_that_could_not_read_it_comes_up() {
        let cluster = Cluster::new();
        cluster.claim("data").await;
        let mount = json!({"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]});
        cluster.deployment("web", json!({"template": {"spec": mount}}), "serve-format 2").await;
        cluster.rest().await;
        assert_eq!(cluster.pods().await, ["web-0 serve-format 2: CrashLoopBackOff"]);
        cluster.job("migrate", json!({"template": {"spec": mount}}), "write-format 2").await;
        cluster.rest().await;
        assert_eq!(
            cluster.pods().await,
            ["migrate-0 write-format 2: Succeeded", "web-0 serve-format 2: ready"]
        );
    }

    #[tokio::test(start_paused = true)]
    async fn two_runs_of_a_story_are_the_same_and_at_rest_nothing_is_written() {
        let story = async || {
            let cluster = Cluster::new();
            cluster.deployment("web", json!({"replicas": 3}), "serve 1").await;
            cluster.job("once", json!({}), "exit 0 done").await;
            cluster.rest().await;
            cluster.delete_pod("web-1").await;
            cluster.rest().await;
            let before = cluster.revision();
            cluster.pass(24 * 3600).await;
            assert_eq!(cluster.revision(), before);
            cluster.dump()
        };
        assert_eq!(story().await.difference(&story().await), Vec::<String>::new());
    }
}
