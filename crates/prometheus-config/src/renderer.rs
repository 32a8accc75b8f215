//! Rendering, piece by piece: the text of each monitor's jobs is kept, and made anew only when the monitor, what it
//! refers to, or the workload's settings have changed. One edit among ten thousand monitors costs one piece.

use std::cmp::Ordering;
use std::hash::{DefaultHasher, Hash, Hasher};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use prometheus_types::prometheus::server_and_agent::CommonPrometheusFields;
use rendering::{Assets, Map, Missing, Tree};
use serde::Serialize;

use crate::context::{Context, Options, Read, Workload};
use crate::document::{Additional, ConfigError, Selected, frame};

/// Renders the configuration of one workload again and again.
#[derive(Debug, Default)]
pub struct Renderer {
    settings: Option<Settings>,
    pieces: [Pieces; 4],
}

/// What all pieces depend on.
#[derive(Clone, Debug, PartialEq)]
struct Settings {
    common: CommonPrometheusFields,
    options: Options,
}

/// The pieces of one kind, in the order of `namespace/name`, which is also their order in the document.
type Pieces = Vec<Piece>;

#[derive(Debug)]
struct Piece {
    /// `namespace/name`.
    key: String,
    stamp: Stamp,
    reads: Vec<Read>,
    read_hash: u64,
    jobs: Result<String, Missing>,
}

/// Which state of an object a piece was made from.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Stamp {
    /// The API server gives every state of every object a version.
    Stored { uid: String, version: String },
    /// An object that was never stored is told by its content.
    Content(u64),
}

/// A rendered configuration.
#[derive(Debug)]
pub struct Document<'a> {
    head: String,
    jobs: [&'a Pieces; 4],
    additional: String,
    additional_at: usize,
    tail: String,
}

/// A monitor that was left out, because a Secret that it needs is missing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind} {key}: {missing}")]
pub struct LeftOut {
    pub kind: &'static str,
    pub key: String,
    pub missing: Missing,
}

const KINDS: [&str; 4] = ["ServiceMonitor", "PodMonitor", "Probe", "ScrapeConfig"];

impl Renderer {
    pub fn new() -> Self {
        Self::default()
    }

    /// Renders what has changed since the last call, and puts the document together.
    pub fn render(
        &mut self,
        workload: Workload<'_>,
        options: Options,
        selected: &Selected<'_>,
        assets: &Assets,
        additional: &Additional<'_>,
    ) -> Result<Document<'_>, ConfigError> {
        let context = Context::new(workload, options, assets)?;
        let frame = frame(&context, workload, additional)?;
        let mut extra = String::new();
        for job in context.additional_jobs(additional.scrape_configs)? {
            job.write_yaml_item(&mut extra);
        }
        self.keep_settings(workload.common(), options);

        let [services, pods, probes, configs] = &mut self.pieces;
        // A DaemonSet's pods scrape the pods of their node, nothing else.
        let only_pods = options.daemon_set;
        let none = Selected::default();
        let others = if only_pods { &none } else { selected };
        update(services, &context, others.service_monitors.iter().map(|m| (&m.metadata, *m)), |monitor| {
            Ok(write(context.service_monitor_jobs(monitor)))
        });
        update(pods, &context, selected.pod_monitors.iter().map(|m| (&m.metadata, *m)), |monitor| {
            Ok(write(context.pod_monitor_jobs(monitor)))
        });
        update(probes, &context, others.probes.iter().map(|m| (&m.metadata, *m)), |probe| {
            Ok(write([context.probe_job(probe)]))
        });
        update(configs, &context, others.scrape_configs.iter().map(|m| (&m.metadata, *m)), |config| {
            context.scrape_config_job(config).map(|job| write([job]))
        });

        let [services, pods, probes, configs] = &self.pieces;
        // Upstream's order differs between the two, and Prometheus shows jobs in the order of its configuration.
        let (jobs, additional_at) = match workload {
            Workload::Server(_) => ([services, pods, probes, configs], 4),
            Workload::Agent(_) => ([pods, services, probes, configs], 1),
        };
        Ok(Document { head: frame.head, jobs, additional: extra, additional_at, tail: frame.tail })
    }

    /// The monitors that the last document leaves out.
    pub fn left_out(&self) -> impl Iterator<Item = LeftOut> + '_ {
        KINDS.iter().zip(&self.pieces).flat_map(|(kind, pieces)| {
            pieces.iter().filter_map(|piece| {
                let missing = piece.jobs.as_ref().err()?.clone();
                Some(LeftOut { kind, key: piece.key.clone(), missing })
            })
        })
    }

    fn keep_settings(&mut self, common: &CommonPrometheusFields, options: Options) {
        let same = self
            .settings
            .as_ref()
            .is_some_and(|settings| settings.options == options && settings.common == *common);
        if !same {
            self.pieces = Default::default();
            self.settings = Some(Settings { common: common.clone(), options });
        }
    }
}

impl Document<'_> {
    /// The document as one text.
    pub fn text(&self) -> String {
        let mut out = String::with_capacity(self.length());
        self.parts().for_each(|part| out.push_str(part));
        out
    }

    /// The document as the texts it is made of, for writers that need not have it in one piece.
    pub fn parts(&self) -> impl Iterator<Item = &str> {
        let before = self.jobs.iter().take(self.additional_at);
        let after = self.jobs.iter().skip(self.additional_at);
        let title = if self.job_count() == 0 && self.additional.is_empty() {
            "scrape_configs: []\n"
        } else {
            "scrape_configs:\n"
        };
        [self.head.as_str(), title]
            .into_iter()
            .chain(before.flat_map(|pieces| texts(pieces)))
            .chain([self.additional.as_str()])
            .chain(after.flat_map(|pieces| texts(pieces)))
            .chain([self.tail.as_str()])
    }

    /// Its length in bytes.
    pub fn length(&self) -> usize {
        self.parts().map(str::len).sum()
    }

    fn job_count(&self) -> usize {
        self.jobs.iter().flat_map(|pieces| texts(pieces)).filter(|text| !text.is_empty()).count()
    }
}

fn texts(pieces: &Pieces) -> impl Iterator<Item = &str> {
    pieces.iter().filter_map(|piece| piece.jobs.as_deref().ok())
}

fn write(jobs: impl IntoIterator<Item = Map>) -> String {
    let mut out = String::with_capacity(2048);
    for job in jobs {
        Tree::Map(job).write_yaml_item(&mut out);
    }
    out.shrink_to_fit();
    out
}

/// Walks the old pieces and the monitors side by side, both in order: what is unchanged is kept, all else made anew or dropped.
fn update<'m, T: Serialize + 'm>(
    pieces: &mut Pieces,
    context: &Context<'_>,
    monitors: impl Iterator<Item = (&'m ObjectMeta, &'m T)>,
    render: impl Fn(&T) -> Result<String, Missing>,
) {
    let mut monitors: Vec<(&ObjectMeta, &T)> = monitors.collect();
    monitors.sort_by(|(a, _), (b, _)| key(a).cmp(key(b)));
    monitors.dedup_by(|(a, _), (b, _)| key(a).eq(key(b)));
    let mut old = std::mem::replace(pieces, Vec::with_capacity(monitors.len())).into_iter().peekable();
    for (metadata, monitor) in monitors {
        while old.next_if(|piece| piece.order(metadata) == Ordering::Less).is_some() {}
        let kept = old.next_if(|piece| piece.order(metadata) == Ordering::Equal);
        let kept = kept.filter(|piece| piece.is_of(metadata, monitor, context.assets));
        pieces.push(kept.unwrap_or_else(|| {
            context.take_reads();
            let jobs = render(monitor);
            let reads = context.take_reads();
            let read_hash = hash_reads(&reads, context.assets);
            let key = String::from_utf8_lossy(&key(metadata).collect::<Vec<u8>>()).into_owned();
            Piece { key, stamp: Stamp::of(metadata, monitor), reads, read_hash, jobs }
        }));
    }
}

/// The bytes of `namespace/name`.
fn key(metadata: &ObjectMeta) -> impl Iterator<Item = u8> + '_ {
    let namespace = metadata.namespace.as_deref().unwrap_or_default();
    let name = metadata.name.as_deref().unwrap_or_default();
    namespace.bytes().chain([b'/']).chain(name.bytes())
}

impl Piece {
    fn order(&self, metadata: &ObjectMeta) -> Ordering {
        self.key.bytes().cmp(key(metadata))
    }

    fn is_of<T: Serialize>(&self, metadata: &ObjectMeta, monitor: &T, assets: &Assets) -> bool {
        self.stamp.is_of(metadata, monitor) && self.read_hash == hash_reads(&self.reads, assets)
    }
}

impl Stamp {
    fn of<T: Serialize>(metadata: &ObjectMeta, monitor: &T) -> Self {
        match (&metadata.uid, &metadata.resource_version) {
            (Some(uid), Some(version)) => Self::Stored { uid: uid.clone(), version: version.clone() },
            _ => Self::Content(hash_content(monitor)),
        }
    }

    fn is_of<T: Serialize>(&self, metadata: &ObjectMeta, monitor: &T) -> bool {
        match (self, &metadata.uid, &metadata.resource_version) {
            (Self::Stored { uid, version }, Some(now_uid), Some(now)) => uid == now_uid && version == now,
            (Self::Content(hash), None, _) | (Self::Content(hash), _, None) => *hash == hash_content(monitor),
            _ => false,
        }
    }
}

fn hash_content<T: Serialize>(monitor: &T) -> u64 {
    let mut hasher = DefaultHasher::new();
    // A monitor that cannot be serialized has one hash with all others of its kind, and is rendered by its name at least.
    serde_json::to_vec(monitor).unwrap_or_default().hash(&mut hasher);
    hasher.finish()
}

fn hash_reads(reads: &[Read], assets: &Assets) -> u64 {
    if reads.is_empty() {
        return 0;
    }
    let mut hasher = DefaultHasher::new();
    for read in reads {
        let found = if read.secret {
            assets.secret(&read.namespace, &read.name, &read.key)
        } else {
            assets.config_map(&read.namespace, &read.name, &read.key)
        };
        found.ok().hash(&mut hasher);
    }
    hasher.finish()
}
