//! The notes application as the simulated kubelet runs it: its data is a volume of a few keys, its bucket another one.

use std::collections::BTreeMap;

use example_app::app::versions;
use k8s_openapi::api::core::v1::Pod;
use kit::disk::Format as _;
use serde_json::json;
use simulation::workloads::{Content, Outcome, Volumes};

/// Where the buckets are: outside of the cluster.
pub(crate) const OUTSIDE: &str = "s3";
const FORMAT: &str = "FORMAT";
const KEPT: &str = "before-migration";
const CORRUPT: &str = "corrupt";

/// What `capstan example-app …` does.
pub(crate) fn behave(pod: &Pod, volumes: &Volumes) -> Outcome {
    let (namespace, claim) = mounted(pod);
    let command = Command::of(pod);
    let data = |change: &mut dyn FnMut(&mut Content) -> Outcome| volumes.change(&namespace, &claim, change);
    match command.verb.as_str() {
        "serve" => data(&mut |data| serve(data, &command)),
        "migrate" => data(&mut |data| migrate(data, &command)),
        "backup" => {
            let content = volumes.read(&namespace, &claim);
            volumes.change(OUTSIDE, command.get("--bucket"), |bucket| backup(&content, bucket, &command))
        }
        "restore" => {
            let bucket = volumes.read(OUTSIDE, command.get("--bucket"));
            data(&mut |data| restore(data, &bucket, &command))
        }
        other => failed(64, &format!("no such command: {other}")),
    }
}

/// Namespace and claim of the data.
fn mounted(pod: &Pod) -> (String, String) {
    let volumes = pod.spec.iter().flat_map(|spec| spec.volumes.iter().flatten());
    let claim = volumes.filter_map(|volume| volume.persistent_volume_claim.as_ref()).next();
    let claim = claim.map(|claim| claim.claim_name.clone()).expect("a pod of the application has a claim");
    (pod.metadata.namespace.clone().unwrap_or_default(), claim)
}

/// A verb, and options with one value each.
struct Command {
    verb: String,
    options: BTreeMap<String, String>,
}

impl Command {
    fn of(pod: &Pod) -> Self {
        let container = pod.spec.as_ref().and_then(|spec| spec.containers.first()).expect("a container");
        let mut words = container.args.iter().flatten().cloned();
        let verb = words.next().unwrap_or_default();
        let mut options = BTreeMap::new();
        while let (Some(option), Some(value)) = (words.next(), words.next()) {
            options.insert(option, value);
        }
        Self { verb, options }
    }

    fn get(&self, option: &str) -> &str {
        self.options.get(option).map_or("", String::as_str)
    }
}

fn failed(code: i32, error: &str) -> Outcome {
    Outcome::Exit { code, message: json!({ "error": error }).to_string() }
}

fn done(result: serde_json::Value) -> Outcome {
    Outcome::Exit { code: 0, message: result.to_string() }
}

fn format_of(version: &str) -> Option<String> {
    versions::find(version).ok().map(|known| known.format.number().to_string())
}

fn serve(data: &mut Content, command: &Command) -> Outcome {
    let Ok(version) = versions::find(command.get("--app-version")) else {
        return failed(64, "unknown version");
    };
    let own = version.format.number().to_string();
    let format = data.entry(FORMAT.into()).or_insert_with(|| own.clone());
    if *format != own {
        return failed(64, &format!("no way from format {format}"));
    }
    if data.contains_key(CORRUPT) {
        return failed(65, "corrupt: a checksum is wrong");
    }
    match version.broken {
        Some(why) => Outcome::NotReady(why.into()),
        None => Outcome::Ready,
    }
}

/// All or nothing, and again is no harm. What was there is kept for the way back.
fn migrate(data: &mut Content, command: &Command) -> Outcome {
    let Some(to) = format_of(command.get("--to")) else { return failed(64, "unknown version") };
    if data.contains_key(CORRUPT) {
        return failed(65, "corrupt: a checksum is wrong");
    }
    let now = data.get(FORMAT).cloned().unwrap_or_else(|| to.clone());
    if now < to {
        data.insert(KEPT.into(), now);
    } else if now > to && data.remove(KEPT).as_ref() != Some(&to) {
        return failed(64, &format!("no way from format {now}"));
    }
    data.insert(FORMAT.into(), to.clone());
    done(json!({ "format": to }))
}

fn backup(data: &Content, bucket: &mut Content, command: &Command) -> Outcome {
    if data.contains_key(CORRUPT) {
        return failed(65, "corrupt: a checksum is wrong");
    }
    let key = match (command.get("--key"), command.get("--prefix")) {
        ("", prefix) => format!("{prefix}scheduled-{}.notes", bucket.len()),
        (key, _) => key.to_owned(),
    };
    let archive = json!(data).to_string();
    let bytes = archive.len();
    bucket.insert(key.clone(), archive);
    done(json!({ "key": key, "bytes": bytes }))
}

fn restore(data: &mut Content, bucket: &Content, command: &Command) -> Outcome {
    let newest = bucket.keys().rfind(|key| key.starts_with(command.get("--prefix")));
    let key = match command.get("--key") {
        "latest" => newest.cloned().unwrap_or_default(),
        key => key.to_owned(),
    };
    let Some(archive) = bucket.get(&key) else { return failed(64, &format!("there is no backup {key}")) };
    *data = serde_json::from_str(archive).expect("what a backup wrote");
    done(json!({ "key": key, "bytes": archive.len() }))
}
