//! Pods that run `capstan backup`: they end well, with the words that the real ones leave. What is brought to a volume is a cluster of its own.

use etcd_api::MemberId;
use k8s_openapi::api::core::v1::{Container, Pod};
use serde_json::{Value, json};

use super::{
    Etcd,
    cluster::Cluster,
    model::Model,
    pods::disk,
    settings::Settings,
    start::{IDENTITY, Identity},
};
use crate::workloads::{Outcome, Volumes};

impl Etcd {
    /// How such a pod ends; nothing for others.
    pub(super) fn backup(&self, pod: &Pod, volumes: &Volumes) -> Option<Outcome> {
        let spec = pod.spec.as_ref()?;
        let job = pod.metadata.owner_references.iter().flatten().next().map(|owner| owner.name.clone());
        let mut words = words(spec.containers.first()?);
        // As the kubelet does with an environment variable that has the Job's name.
        words
            .iter_mut()
            .for_each(|word| *word = word.replace("$(JOB_NAME)", job.as_deref().unwrap_or_default()));
        let [program, group, command, ..] = words.as_slice() else { return None };
        if !program.ends_with("capstan") || group != "backup" {
            return None;
        }
        let told = match command.as_str() {
            "settle" => match fetched(pod, volumes) {
                Some(trouble) => return Some(trouble),
                None => self.bring(pod, volumes)?,
            },
            "take" => return Some(take(&words, &self.id(), volumes)),
            "rm" => return Some(remove(&words, volumes)),
            "replay" => match trouble(&words, volumes) {
                Some(trouble) => return Some(trouble),
                None => json!({"id": "nightly", "revision": 9, "etcdRevision": 9, "applied": 2}),
            },
            // It goes on until somebody stops it.
            "capture" => return Some(Outcome::Ready),
            _ => json!({}),
        };
        Some(Outcome::Exit { code: 0, message: told.to_string() })
    }

    /// etcd's own name for the cluster that was founded, or restored, last.
    fn id(&self) -> String {
        let newest = self.change(|model, _| model.clusters.values().last().map(|cluster| cluster.id));
        newest.map(|id| id.to_string()).unwrap_or_default()
    }

    /// `etcdutl snapshot restore`: a cluster of one, on the volume of the pod. A volume that has data keeps it.
    fn bring(&self, pod: &Pod, volumes: &Volumes) -> Option<Value> {
        let etcdutl =
            |container: &&Container| words(container).first().is_some_and(|word| word.ends_with("etcdutl"));
        let restore = pod.spec.as_ref()?.init_containers.iter().flatten().find(etcdutl)?;
        let settings = Settings::parse(restore, words(restore)).ok()?;
        let (namespace, claim) = disk(pod);
        if !volumes.read(&namespace, &claim).contains_key(IDENTITY) {
            let identity = self.change(|model, _| model.seed(&settings)).to_string();
            volumes.change(&namespace, &claim, |disk| disk.insert(IDENTITY.into(), identity));
        }
        Some(json!({"manifest": {"id": "nightly"}}))
    }
}

impl Model {
    fn seed(&mut self, settings: &Settings) -> Identity {
        let mut cluster = Cluster::founded_by(settings);
        let member = cluster.members.keys().next().copied().unwrap_or(MemberId(0));
        cluster.joined.insert(member);
        let founding = self.clusters.keys().last().map_or(1, |last| last + 1);
        self.logs.insert((founding, member), cluster.index);
        let identity = Identity { founding, cluster: cluster.id, member };
        self.clusters.insert(founding, cluster);
        identity
    }
}

/// Where stores are: outside of the cluster. Each is a volume of its URL, with a key for each backup, and [`TROUBLE`] if something is wrong.
pub const OUTSIDE: &str = "stores";
/// In a store: what it says to everybody, with the exit code before it; or `hangs`.
pub const TROUBLE: &str = "trouble";

/// What is wrong with the store of these words, if something is.
fn trouble(words: &[String], volumes: &Volumes) -> Option<Outcome> {
    let trouble = volumes.read(OUTSIDE, store(words)).remove(TROUBLE)?;
    let (code, error) = trouble.split_once(' ').unwrap_or(("", &trouble));
    Some(match code.parse() {
        Ok(code) => Outcome::Exit { code, message: json!({ "error": error }).to_string() },
        Err(_) => Outcome::NotReady(trouble),
    })
}

/// What keeps the container before the last one from fetching, if something does.
fn fetched(pod: &Pod, volumes: &Volumes) -> Option<Outcome> {
    let mut before = pod.spec.as_ref()?.init_containers.iter().flatten().map(words);
    let fetch = before.find(|words| words.get(2).is_some_and(|verb| verb == "fetch"))?;
    trouble(&fetch, volumes)
}

/// A name is taken once: a second attempt finds what the first has stored.
fn take(words: &[String], cluster: &str, volumes: &Volumes) -> Outcome {
    if let Some(trouble) = trouble(words, volumes) {
        return trouble;
    }
    let manifest = manifest(words, cluster);
    let said = |path| manifest.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (id, uid) = (said("/id"), said("/cluster/uid"));
    let kept = after(words, "--keep-last").and_then(|count| count.parse::<usize>().ok());
    let removed = volumes.change(OUTSIDE, store(words), |store| {
        store.entry(id).or_insert(uid);
        let superfluous = kept.map_or(0, |kept| store.len().saturating_sub(kept.max(1)));
        let gone: Vec<String> = store.keys().take(superfluous).cloned().collect();
        gone.iter().for_each(|id| drop(store.remove(id)));
        gone.len()
    });
    let said = json!({"manifest": manifest, "milliseconds": 5, "removed": removed});
    Outcome::Exit { code: 0, message: said.to_string() }
}

fn remove(words: &[String], volumes: &Volumes) -> Outcome {
    if let Some(trouble) = trouble(words, volumes) {
        return trouble;
    }
    let gone = volumes.change(OUTSIDE, store(words), |store| {
        let ids: Vec<String> = store.keys().filter(|id| words.contains(id)).cloned().collect();
        ids.iter().for_each(|id| drop(store.remove(id)));
        ids.len()
    });
    Outcome::Exit { code: 0, message: json!({ "objects": gone }).to_string() }
}

fn store(words: &[String]) -> &str {
    words.get(3).map(String::as_str).unwrap_or_default()
}

fn after(words: &[String], flag: &str) -> Option<String> {
    let mut words = words.iter();
    words.find(|word| *word == flag)?;
    words.next().cloned()
}

/// As much of it as anybody reads.
fn manifest(words: &[String], cluster: &str) -> Value {
    json!({
        "id": after(words, "--id").unwrap_or_else(|| "nightly".to_owned()), "etcdVersion": "3.6.16",
        "cluster": {"id": cluster, "uid": after(words, "--cluster-uid").unwrap_or_default(), "member": "db-1"},
        "revision": {"atLeast": 7, "atMost": 7}, "database": {"bytes": 20480, "sha256": "00"}, "stored": {"bytes": 4096},
    })
}

fn words(container: &Container) -> Vec<String> {
    container.command.iter().flatten().chain(container.args.iter().flatten()).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_of_another_program_is_none_of_ours() {
        let pod: Pod =
            serde_json::from_value(json!({"spec": {"containers": [{"name": "a", "command": ["etcd"]}]}}))
                .unwrap();
        assert_eq!(Etcd::default().backup(&pod, &Volumes::default()), None);
    }
}
