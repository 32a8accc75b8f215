//! The volumes of a lab: a directory for every claim, made when the scheduler has chosen a node, removed when the claim is gone.
//!
//! A daemon beside the control plane. A provisioner in the cluster starts a pod for each directory and looks once a second whether it
//! has ended: three seconds a volume, where this one takes hundredths.
//!
//! ```text
//! claims  ──> wish    ──> directory on the node ──> PersistentVolume, which Kubernetes binds
//! volumes ──> leftover ─> directory removed     ──> PersistentVolume deleted
//! ```
//!
//! Each watch ends after [`ROUND`] and begins anew with all that is there: what could not be done is tried again then.

use std::{fs, path::Path, time::Duration};

use serde_json::{Value, json};

use crate::{
    addresses::{hostname, node_with_hostname},
    api::Api,
    error::{At as _, Result},
    lab::Lab,
    node,
    process::{self, run},
    volume::bytes,
    wait,
};

/// As the classes in manifests/storage.yaml call it.
const NAME: &str = "lab.local/volumes";
/// How long a watch lasts, in seconds.
const ROUND: u32 = 5;

/// A storage class: where its volumes are.
struct Class {
    name: &'static str,
    place: Place,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// A directory that all nodes see.
    Shared,
    /// A directory of the node, given as the node sees it.
    Node(&'static str),
}

const CLASSES: &[Class] = &[
    Class { name: "standard", place: Place::Shared },
    Class { name: "local", place: Place::Node("/var/lib/local") },
    Class { name: "sized", place: Place::Node("/var/lib/sized") },
];

/// `$1` directory, `$2` class, `$3` size. 0777: pods that are not root write here, and the kubelet gives hostPath volumes no group.
const SETUP: &str = r#"
set -e
mkdir -m 0777 -p "$1"
if [ "$2" = sized ] && ! mountpoint -q "$1"; then mount -t tmpfs -o size="$3",mode=0777 tmpfs "$1"; fi
"#;
const TEARDOWN: &str = r#"umount "$1" 2> /dev/null; rm -rf "$1""#;

/// The directory of a volume, and the node that it is on, if it is on one.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Directory {
    pub(crate) path: String,
    pub(crate) node: Option<String>,
}

impl Directory {
    pub(crate) fn of(volume: &Value) -> Option<Self> {
        let label = "/spec/nodeAffinity/required/nodeSelectorTerms/0/matchExpressions/0/values/0";
        let text = |path: &str| volume.pointer(path).and_then(Value::as_str).map(String::from);
        let path = text("/spec/hostPath/path").or_else(|| text("/spec/local/path"))?;
        let node = text(label).as_deref().and_then(node_with_hostname).map(String::from);
        Some(Self { path, node })
    }
}

/// A claim that waits for its volume.
#[derive(Debug, PartialEq, Eq)]
struct Wish {
    class: &'static str,
    bytes: u64,
    directory: Directory,
    volume: Value,
}

/// A volume that nobody claims any more.
#[derive(Debug, PartialEq, Eq)]
struct Leftover {
    name: String,
    directory: Directory,
}

/// Starts the daemon: this program, kept in the lab's directory, so that the next build does not change it.
pub(crate) fn start(lab: &Lab) -> Result<()> {
    let (running, program) = (Path::new("/proc/self/exe"), lab.directory().join("provisioner"));
    fs::copy(running, &program).at("copy", running)?;
    let argv = [&program, Path::new("lab"), Path::new("provision"), lab.directory()];
    let argv = argv.map(|word| word.display().to_string());
    process::daemon(lab.cgroups(), &lab.addresses().control_cgroup(), &lab.log("provisioner"), &[], &argv)
}

impl Lab {
    /// Makes and removes the volumes of the lab in `directory`, until it is killed.
    pub fn provision(directory: &Path, log: impl Fn(&str) + Sync) -> Result<()> {
        let lab = Self::in_directory(directory)?;
        let shared = lab.shared_volumes().display().to_string();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                lab.follow("persistentvolumeclaims", &log, |claim| {
                    let Some(wish) = wish(claim, &shared) else { return Ok(None) };
                    lab.make(&wish)?;
                    Ok(Some(format!("made {}", wish.directory.path)))
                });
            });
            lab.follow("persistentvolumes", &log, |volume| {
                let Some(leftover) = leftover(volume) else { return Ok(None) };
                lab.remove(&leftover)?;
                Ok(Some(format!("removed {}", leftover.directory.path)))
            });
        });
        Ok(())
    }

    /// Shows `handle` every object of a kind, and each of its changes, for ever.
    fn follow(&self, kind: &str, log: impl Fn(&str), handle: impl Fn(&Value) -> Result<Option<String>>) {
        loop {
            let watched =
                Api::of(self).watch(&format!("/api/v1/{kind}"), ROUND, |object| match handle(object) {
                    Ok(None) => {}
                    Ok(Some(done)) => log(&done),
                    Err(error) => log(&format!("{error}; once more in {ROUND} s")),
                });
            if let Err(error) = watched {
                log(&error.to_string());
            }
            // The API server may be gone for a while.
            wait::pause(Duration::from_millis(50));
        }
    }

    fn make(&self, wish: &Wish) -> Result<()> {
        self.at(&wish.directory, SETUP, &[wish.class, &wish.bytes.to_string()])?;
        Api::of(self).create("/api/v1/persistentvolumes", &wish.volume)
    }

    fn remove(&self, leftover: &Leftover) -> Result<()> {
        self.at(&leftover.directory, TEARDOWN, &[])?;
        Api::of(self).delete(&format!("/api/v1/persistentvolumes/{}", leftover.name))
    }

    /// Runs a script where the directory is. Never in the node's cgroup: the node may be frozen.
    fn at(&self, directory: &Directory, script: &str, arguments: &[&str]) -> Result<()> {
        let enter = match &directory.node {
            Some(name) => node::enter(self, &self.node(name)?)?,
            None => Vec::new(),
        };
        let mut words =
            enter.iter().map(String::as_str).chain(["sh", "-c", script, "volume", &directory.path]);
        let first = words.next().unwrap_or_default();
        let mut command = process::command(self.cgroups(), &self.addresses().control_cgroup(), first);
        run(command.args(words).args(arguments)).map(drop)
    }
}

/// What a claim wants of us, once the scheduler has chosen a node for it.
fn wish(claim: &Value, shared: &str) -> Option<Wish> {
    let text = |path: &str| claim.pointer(path)?.as_str();
    let ours = text("/metadata/annotations/volume.kubernetes.io~1storage-provisioner") == Some(NAME);
    let done = text("/spec/volumeName").is_some() || text("/metadata/deletionTimestamp").is_some();
    if !ours || done {
        return None;
    }
    let node = text("/metadata/annotations/volume.kubernetes.io~1selected-node")?;
    let class = CLASSES.iter().find(|class| Some(class.name) == text("/spec/storageClassName"))?;
    let [namespace, name, uid] = ["namespace", "name", "uid"].map(|key| text(&format!("/metadata/{key}")));
    let (namespace, name, uid) = (namespace?, name?, uid?);
    let size = text("/spec/resources/requests/storage")?;

    let (parent, node) = match class.place {
        Place::Shared => (shared, None),
        Place::Node(parent) => (parent, Some(node.to_owned())),
    };
    let path = format!("{parent}/pvc-{uid}_{namespace}_{name}");
    let mut volume = json!({
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": format!("pvc-{uid}"), "annotations": {"pv.kubernetes.io/provisioned-by": NAME}},
        "spec": {
            "storageClassName": class.name,
            "capacity": {"storage": size},
            "accessModes": claim.pointer("/spec/accessModes"),
            "persistentVolumeReclaimPolicy": "Delete",
            "claimRef": {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": namespace, "name": name, "uid": uid},
        },
    });
    let spec = volume.get_mut("spec")?.as_object_mut()?;
    match &node {
        None => spec.insert("hostPath".into(), json!({"path": path, "type": "DirectoryOrCreate"})),
        Some(node) => {
            // As local-path-provisioner does: the value of the node's label, not its name.
            let here = json!({"key": "kubernetes.io/hostname", "operator": "In", "values": [hostname(node)]});
            spec.insert(
                "nodeAffinity".into(),
                json!({"required": {"nodeSelectorTerms": [{"matchExpressions": [here]}]}}),
            );
            spec.insert("local".into(), json!({"path": path}))
        }
    };
    Some(Wish { class: class.name, bytes: bytes(size)?, directory: Directory { path, node }, volume })
}

/// What is left of a volume whose claim is gone.
fn leftover(volume: &Value) -> Option<Leftover> {
    let text = |path: &str| volume.pointer(path)?.as_str();
    let ours = text("/metadata/annotations/pv.kubernetes.io~1provisioned-by") == Some(NAME);
    let free = text("/status/phase") == Some("Released") && text("/metadata/deletionTimestamp").is_none();
    if !ours || !free || text("/spec/persistentVolumeReclaimPolicy") != Some("Delete") {
        return None;
    }
    Some(Leftover { name: text("/metadata/name")?.into(), directory: Directory::of(volume)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(class: &str) -> Value {
        json!({
            "metadata": {
                "namespace": "db", "name": "data-0", "uid": "u-1",
                "annotations": {
                    "volume.kubernetes.io/storage-provisioner": NAME,
                    "volume.kubernetes.io/selected-node": "node2",
                },
            },
            "spec": {
                "storageClassName": class, "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "16Mi"}},
            },
        })
    }

    #[test]
    fn a_claim_gets_its_directory_where_its_class_says() {
        for (class, path, node) in [
            ("standard", "/lab/volumes/pvc-u-1_db_data-0", None),
            ("local", "/var/lib/local/pvc-u-1_db_data-0", Some("node2")),
            ("sized", "/var/lib/sized/pvc-u-1_db_data-0", Some("node2")),
        ] {
            let wish = wish(&claim(class), "/lab/volumes").unwrap();
            let directory = Directory { path: path.into(), node: node.map(String::from) };
            assert_eq!((wish.class, wish.bytes), (class, 16 << 20));
            assert_eq!(
                Directory::of(&wish.volume).as_ref(),
                Some(&directory),
                "what is written can be read back"
            );
            assert_eq!(wish.directory, directory);
        }
    }

    #[test]
    fn volume_is_bound_to_hostname_label_of_its_node() {
        let volume = wish(&claim("local"), "/lab/volumes").unwrap().volume;
        let term = &volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"][0]["matchExpressions"][0];
        assert_eq!(term["key"], "kubernetes.io/hostname");
        assert_eq!(term["values"], json!(["node2.lab.internal"]));
    }

    #[test]
    fn only_claims_of_ours_that_wait_on_a_chosen_node_get_one() {
        let not = |path: &str, value: Value| {
            let mut claim = claim("standard");
            let (parent, key) = path.rsplit_once('/').unwrap();
            claim.pointer_mut(parent).unwrap()[key.replace("~1", "/")] = value;
            wish(&claim, "/lab/volumes")
        };
        for (path, value) in [
            ("/spec/volumeName", json!("pvc-u-1")),
            ("/spec/storageClassName", json!("another")),
            ("/metadata/deletionTimestamp", json!("2026-11-17T00:00:00Z")),
            ("/metadata/annotations/volume.kubernetes.io~1selected-node", json!(null)),
            ("/metadata/annotations/volume.kubernetes.io~1storage-provisioner", json!("another")),
        ] {
            assert_eq!(not(path, value), None, "{path}");
        }
    }

    #[test]
    fn only_a_volume_of_ours_that_was_released_goes() {
        let volume = |phase: &str, policy: &str| {
            let mut volume = wish(&claim("local"), "/lab/volumes").unwrap().volume;
            volume["status"] = json!({"phase": phase});
            volume["spec"]["persistentVolumeReclaimPolicy"] = json!(policy);
            volume
        };
        assert_eq!(leftover(&volume("Released", "Delete")).unwrap().name, "pvc-u-1");
        for (phase, policy) in [("Bound", "Delete"), ("Available", "Delete"), ("Released", "Retain")] {
            assert_eq!(leftover(&volume(phase, policy)), None, "{phase} {policy}");
        }
    }
}
