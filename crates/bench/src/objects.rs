//! Synthetic pods that look like a cluster's: grown by seed from one template, `pod.json`.
//!
//! Pods of one workload share what they share in a cluster (labels, owner, image), and the rest is each pod's own. A tenth of the
//! workloads are StatefulSets, whose pods each have labels of their own: nothing to share for a cache that shares label sets.

use fastrand::Rng;
use kit::Projection;

const TEMPLATE: &str = include_str!("pod.json");
const PODS_PER_WORKLOAD: usize = 20;
const STATEFUL_EVERY: usize = 10;
const NAMESPACES: usize = 200;
const NODES: usize = 1_500;

/// The first resourceVersion. All have as many digits, as in a cluster that has been used for a while.
pub const FIRST_VERSION: u64 = 1_000_000_000;

/// Objects as the server stores them: text with one hole, for the resourceVersion.
pub struct Objects(Vec<Object>);

struct Object {
    /// From the metadata's opening brace to its resourceVersion.
    before_version: Box<str>,
    /// From there to the end of the metadata.
    metadata: Box<str>,
    /// Spec and status.
    rest: Box<str>,
}

impl Objects {
    /// The same pods for the same seed.
    pub fn generate(count: usize, seed: u64) -> Self {
        let mut rng = Rng::with_seed(seed);
        let template: String = TEMPLATE.lines().map(str::trim_start).collect();
        let (metadata, rest) = template.split_once("$rest$").unwrap_or_default();
        let (before, after) = metadata.split_once("$version$").unwrap_or_default();
        let mut workload = Workload::new(0, &mut rng);
        let objects = (0..count).map(|index| {
            if index.is_multiple_of(PODS_PER_WORKLOAD) {
                workload = Workload::new(index / PODS_PER_WORKLOAD, &mut rng);
            }
            let pod = Pod::new(&workload, index % PODS_PER_WORKLOAD, &mut rng);
            let fill = |part: &str| fill(part, |field| pod.value(&workload, field)).into_boxed_str();
            Object { before_version: fill(before), metadata: fill(after), rest: fill(rest) }
        });
        Self(objects.collect())
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Appends the JSON of one object, as somebody who asked for this view sees it.
    pub fn write(&self, index: usize, version: u64, view: Projection, json: &mut Vec<u8>) {
        let Some(object) = self.0.get(index) else { return };
        let version = version.to_string();
        let (head, tail) = match view {
            Projection::Whole => (r#"{"kind":"Pod","apiVersion":"v1","metadata":"#, &*object.rest),
            Projection::Metadata => {
                (r#"{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":"#, "")
            }
        };
        for part in [head, &object.before_version, &version, &object.metadata, tail, "}"] {
            json.extend_from_slice(part.as_bytes());
        }
    }

    /// The mean size of an object's JSON.
    pub fn mean_size(&self, view: Projection) -> usize {
        let mut json = Vec::new();
        for index in 0..self.len() {
            self.write(index, FIRST_VERSION, view, &mut json);
        }
        json.len() / self.len().max(1)
    }
}

/// Text with `$field$` in it, filled in.
fn fill<'a>(text: &str, value: impl Fn(&str) -> &'a str) -> String {
    let mut filled = String::with_capacity(text.len());
    for (index, part) in text.split('$').enumerate() {
        match index % 2 {
            0 => filled.push_str(part),
            _ => filled.push_str(value(part)),
        }
    }
    filled
}

struct Workload {
    name: String,
    app: String,
    namespace: String,
    uid: String,
    hash: String,
    checksum: String,
    minor: String,
    stateful: bool,
}

impl Workload {
    fn new(index: usize, rng: &mut Rng) -> Self {
        let app = format!("service-{index}");
        let hash = letters(rng, 10);
        let stateful = index.is_multiple_of(STATEFUL_EVERY);
        Self {
            name: if stateful { app.clone() } else { format!("{app}-{hash}") },
            app,
            namespace: format!("team-{}", rng.usize(..NAMESPACES)),
            uid: uuid(rng),
            hash,
            checksum: hex(rng, 64),
            minor: rng.u8(..30).to_string(),
            stateful,
        }
    }
}

struct Pod {
    name: String,
    identity: String,
    uid: String,
    suffix: String,
    node: String,
    ip: String,
    container: String,
    day: String,
    minute: String,
}

impl Pod {
    fn new(workload: &Workload, ordinal: usize, rng: &mut Rng) -> Self {
        let suffix = letters(rng, 5);
        let (name, identity) = if workload.stateful {
            let name = format!("{}-{ordinal}", workload.name);
            let identity = format!(
                r#""apps.kubernetes.io/pod-index":"{ordinal}","controller-revision-hash":"{}-{}","statefulset.kubernetes.io/pod-name":"{name}""#,
                workload.name, workload.hash
            );
            (name, identity)
        } else {
            let identity = format!(r#""pod-template-hash":"{}""#, workload.hash);
            (format!("{}-{suffix}", workload.name), identity)
        };
        Self {
            name,
            identity,
            uid: uuid(rng),
            suffix,
            node: format!("node-{}.eu-central-1.compute.internal", rng.usize(..NODES)),
            ip: format!("10.{}.{}.{}", rng.u8(..), rng.u8(..), rng.u8(..)),
            container: hex(rng, 64),
            day: format!("{:02}", rng.u8(1..31)),
            minute: format!("{:02}", rng.u8(..60)),
        }
    }

    /// What the template asks for.
    fn value<'a>(&'a self, workload: &'a Workload, field: &str) -> &'a str {
        match field {
            "name" => &self.name,
            "identity" => &self.identity,
            "uid" => &self.uid,
            "suffix" => &self.suffix,
            "node" => &self.node,
            "ip" => &self.ip,
            "container" => &self.container,
            "day" => &self.day,
            "minute" => &self.minute,
            "workload" => &workload.name,
            "workload-uid" => &workload.uid,
            "app" => &workload.app,
            "namespace" => &workload.namespace,
            "checksum" => &workload.checksum,
            "minor" => &workload.minor,
            "owner" if workload.stateful => "StatefulSet",
            "owner" => "ReplicaSet",
            _ => "a field that objects.rs does not know",
        }
    }
}

fn letters(rng: &mut Rng, count: usize) -> String {
    // Kubernetes leaves vowels out of generated names, so that they spell no words.
    const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    (0..count).filter_map(|_| rng.choice(LETTERS)).map(|letter| char::from(*letter)).collect()
}

fn hex(rng: &mut Rng, digits: usize) -> String {
    (0..digits).map(|_| rng.digit(16)).collect()
}

fn uuid(rng: &mut Rng) -> String {
    [8, 4, 4, 4, 12].map(|digits| hex(rng, digits)).join("-")
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Pod;
    use kube::ResourceExt as _;

    use super::*;

    fn pods(count: usize, seed: u64) -> Vec<Pod> {
        let objects = Objects::generate(count, seed);
        let pod = |index| {
            let mut json = Vec::new();
            objects.write(index, FIRST_VERSION, Projection::Whole, &mut json);
            serde_json::from_slice(&json).unwrap()
        };
        (0..count).map(pod).collect()
    }

    #[test]
    fn pods_decode_are_as_large_as_a_clusters_and_nothing_of_the_template_is_left() {
        let objects = Objects::generate(1_000, 7);
        assert!((7_000..8_000).contains(&objects.mean_size(Projection::Whole)));
        assert!((3_000..3_500).contains(&objects.mean_size(Projection::Metadata)));
        for pod in pods(1_000, 7) {
            let json = serde_json::to_string(&pod).unwrap();
            assert!(!json.contains("objects.rs") && !json.contains('$'), "{json}");
            let managed_fields = serde_json::to_string(&pod.metadata.managed_fields).unwrap();
            assert!((2_000..3_000).contains(&managed_fields.len()), "{}", managed_fields.len());
        }
    }

    #[test]
    fn the_seed_decides_and_no_two_pods_are_the_same() {
        assert_eq!(pods(100, 7), pods(100, 7));
        assert_ne!(pods(100, 7), pods(100, 8));
        let names: std::collections::BTreeSet<_> =
            pods(1_000, 7).iter().map(|pod| (pod.namespace(), pod.name_any())).collect();
        assert_eq!(names.len(), 1_000);
    }
}
