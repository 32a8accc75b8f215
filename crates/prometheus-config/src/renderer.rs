//! Rendering, piece by piece: the text of each monitor's jobs is kept, and made anew only when the monitor, what it
//! refers to, or the workload's settings have changed. One edit among ten thousand monitors costs one piece.

use std::cmp::Ordering;
use std::hash::{DefaultHasher, Hash, Hasher};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use prometheus_types::prometheus::server_and_agent::CommonPrometheusFields;
use rendering::{Assets, Map, Missing, Tree};
use serde::Serialize;

use crate::context::{Context, Options, Read, Workload};
use crate::document::{Additional, ConfigError, Frame, Selected, frame};
use crate::loadable::Loader;
use crate::validate::Rejected;

/// Renders the configuration of one workload again and again.
#[derive(Debug, Default)]
pub struct Renderer {
    judging: Judging,
    settings: Option<Settings>,
    pieces: [Pieces; 4],
}

/// What becomes of a piece that no Prometheus of the version would load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Judging {
    #[default]
    LeftOut,
    /// It is written as upstream writes it.
    Written,
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
    jobs: Result<String, Unfit>,
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

/// A monitor that was left out, and why: everything else goes on without it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind} {key}: {why}")]
pub struct LeftOut {
    pub kind: &'static str,
    pub key: String,
    pub why: Unfit,
}

/// Why a monitor has no part in the configuration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    #[error(transparent)]
    Missing(#[from] Missing),
    /// Prometheus would refuse it, and with it the whole configuration.
    #[error("spec.{0}")]
    Unloadable(#[from] Rejected),
}

const KINDS: [&str; 4] = ["ServiceMonitor", "PodMonitor", "Probe", "ScrapeConfig"];

impl Renderer {
    pub fn new() -> Self {
        Self::default()
    }

    /// Writes also what no Prometheus would load, byte by byte as upstream does: for comparisons with it.
    pub fn unjudged() -> Self {
        Self { judging: Judging::Written, ..Self::default() }
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
        let extra = context.additional_jobs(additional.scrape_configs)?;
        self.keep_settings(workload.common(), options);
        let none = Map::new();
        let global = frame.head.get("global").and_then(Tree::as_map).unwrap_or(&none);
        let loader = (self.judging == Judging::LeftOut).then(|| Loader::new(&context.version, global));
        if let Some(loader) = &loader {
            judge_workload(loader, &context, &frame, workload, selected, &extra)?;
        }

        let [services, pods, probes, configs] = &mut self.pieces;
        // A DaemonSet's pods scrape the pods of their node, nothing else.
        let only_pods = options.daemon_set;
        let none = Selected::default();
        let others = if only_pods { &none } else { selected };
        let loader = loader.as_ref();
        update(services, &context, others.service_monitors.iter().map(|m| (&m.metadata, *m)), |monitor| {
            write(loader, context.service_monitor_jobs(monitor), of_endpoint("endpoints"))
        });
        update(pods, &context, selected.pod_monitors.iter().map(|m| (&m.metadata, *m)), |monitor| {
            write(loader, context.pod_monitor_jobs(monitor), of_endpoint("podMetricsEndpoints"))
        });
        update(probes, &context, others.probes.iter().map(|m| (&m.metadata, *m)), |probe| {
            write(loader, [context.probe_job(probe)], of_probe)
        });
        update(configs, &context, others.scrape_configs.iter().map(|m| (&m.metadata, *m)), |config| {
            write(loader, [context.scrape_config_job(config)?], |field, _| field)
        });

        let [services, pods, probes, configs] = &self.pieces;
        // Upstream's order differs between the two, and Prometheus shows jobs in the order of its configuration.
        let (jobs, additional_at) = match workload {
            Workload::Server(_) => ([services, pods, probes, configs], 4),
            Workload::Agent(_) => ([pods, services, probes, configs], 1),
        };
        let mut additional = String::new();
        extra.iter().for_each(|job| job.write_yaml_item(&mut additional));
        Ok(Document {
            head: frame.head.to_yaml(),
            jobs,
            additional,
            additional_at,
            tail: frame.tail.to_yaml(),
        })
    }

    /// The monitors that the last document leaves out.
    pub fn left_out(&self) -> impl Iterator<Item = LeftOut> + '_ {
        KINDS.iter().zip(&self.pieces).flat_map(|(kind, pieces)| {
            pieces.iter().filter_map(|piece| {
                let why = piece.jobs.as_ref().err()?.clone();
                Some(LeftOut { kind, key: piece.key.clone(), why })
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

/// Writes the jobs of a monitor, all of them or none. `place` says where a field of a job stands in the monitor.
fn write(
    loader: Option<&Loader<'_>>,
    jobs: impl IntoIterator<Item = Map>,
    place: impl Fn(String, usize) -> String,
) -> Result<String, Unfit> {
    let mut out = String::with_capacity(2048);
    for (at, job) in jobs.into_iter().enumerate() {
        if let Some(loader) = loader {
            let place = |rejected: Rejected| Rejected { field: place(rejected.field, at), ..rejected };
            loader.monitor_job(&job).map_err(place)?;
        }
        Tree::Map(job).write_yaml_item(&mut out);
    }
    out.shrink_to_fit();
    Ok(out)
}

/// Fields that all endpoints of a monitor have in common.
const SHARED: &[&str] = &[
    "scrapeProtocols",
    "fallbackScrapeProtocol",
    "sampleLimit",
    "targetLimit",
    "labelLimit",
    "labelNameLengthLimit",
    "labelValueLengthLimit",
    "keepDroppedTargets",
    "nativeHistogramBucketLimit",
    "bodySizeLimit",
    "kubernetesSDConfigs",
];

/// An endpoint makes a job, so that the job's number is the endpoint's.
fn of_endpoint(list: &'static str) -> impl Fn(String, usize) -> String {
    move |field, at| match field.as_str() {
        "scrapeInterval" => format!("{list}[{at}].interval"),
        field if field.starts_with("kubernetesSDConfigs") => "selectorMechanism".to_owned(),
        shared if SHARED.contains(&shared) => shared.to_owned(),
        field => format!("{list}[{at}].{field}"),
    }
}

fn of_probe(field: String, _: usize) -> String {
    match field.as_str() {
        "scrapeInterval" => "interval".to_owned(),
        "relabelings" => "targets".to_owned(),
        field if field.starts_with("staticConfigs") => "targets.staticConfig".to_owned(),
        field if field.starts_with("kubernetesSDConfigs") => "targets.ingress".to_owned(),
        field if field.starts_with("proxy") || field == "noProxy" => format!("prober.{field}"),
        _ => field,
    }
}

/// What is wrong with the workload itself is no monitor's fault: none is left out for it, the configuration stays as it was.
fn judge_workload(
    loader: &Loader<'_>,
    context: &Context<'_>,
    frame: &Frame,
    workload: Workload<'_>,
    selected: &Selected<'_>,
    additional: &[Tree],
) -> Result<(), ConfigError> {
    let alertmanagers = match workload {
        Workload::Server(prometheus) => {
            prometheus.spec.alerting.as_ref().map_or(0, |to| to.alertmanagers.len())
        }
        Workload::Agent(_) => 0,
    };
    let monitors = selected.service_monitors.len() + selected.pod_monitors.len() + selected.probes.len();
    if monitors + alertmanagers > 0 {
        loader.api_server(context.api_server())?;
    }
    loader.sections(&frame.head, &frame.tail, alertmanagers)?;
    loader.additional_jobs(additional).map_err(|Rejected { field, why }| ConfigError::Additional {
        field: "additionalScrapeConfigs",
        why: format!("{field}: {why}"),
    })?;
    if monitors > 0 {
        loader.inherited()?;
    }
    Ok(())
}

/// Walks the old pieces and the monitors side by side, both in order: what is unchanged is kept, all else made anew or dropped.
fn update<'m, T: Serialize + 'm>(
    pieces: &mut Pieces,
    context: &Context<'_>,
    monitors: impl Iterator<Item = (&'m ObjectMeta, &'m T)>,
    render: impl Fn(&T) -> Result<String, Unfit>,
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
