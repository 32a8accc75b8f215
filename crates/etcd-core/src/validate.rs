//! The spec, made valid once: what can be carried out, and what is refused by name with what to do. A field that is refused never
//! touches what runs.

use std::{collections::BTreeMap, time::Duration};

use etcd_types::{
    EtcdClusterSpec, EtcdSettings, ExistingVolumes, Medium, Monitoring, NetworkPolicyOptions, PodOptions,
    Storage, Tls, TlsMode, UpdateStrategy, UpdateType, VolumePolicy,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use crate::{
    Claim, Refusal, Start, Template, Version, flags, names,
    text::{bytes, duration, members},
    version::{self, Minor, Way},
    volumes,
};

/// Where etcd's releases are.
const DEFAULT_IMAGE: &str = "quay.io/coreos/etcd";
/// Above this, etcd itself warns. Source: server/storage/quota.go.
const MAX_QUOTA: u64 = 8 << 30;
/// A time that does not come while somebody corrects the spec.
const NEVER: Duration = Duration::from_secs(365 * 24 * 3600);
/// Below this, etcd has no room for its log.
const MIN_VOLUME: u64 = 64 << 20;

/// What is in force: the spec where it can be carried out, and what runs where it cannot.
#[derive(Debug, Clone, PartialEq)]
pub struct Wanted {
    /// How many voters.
    pub size: usize,
    /// The version to come to and how; nothing when it was refused: everybody stays at what they run.
    pub version: Option<(Version, Way)>,
    /// Another image, as it was written.
    pub image: Option<String>,
    /// etcd's settings.
    pub settings: EtcdSettings,
    /// The flags that members of a minor have, where the settings were refused: they stay until the spec is corrected.
    pub kept_flags: BTreeMap<Minor, Vec<String>>,
    /// How large a database may become.
    pub quota: u64,
    /// What surrounds etcd.
    pub pod: PodOptions,
    /// How members prove who they are.
    pub tls: Tls,
    /// Where the data is.
    pub storage: Storage,
    /// Whether, and for what, somebody is asked before the last member of a roll.
    pub update: UpdateStrategy,
    /// When to mend.
    pub remediation: Remediation,
    /// What becomes of volumes that are no longer used.
    pub volumes: VolumePolicy,
    /// What to do with volumes of an earlier cluster.
    pub existing_volumes: ExistingVolumes,
    /// Objects of the Prometheus operator.
    pub monitoring: Monitoring,
    /// Who may connect.
    pub network_policy: Option<NetworkPolicyOptions>,
    /// The DNS domain of the Kubernetes cluster.
    pub cluster_domain: String,
    /// What speaks against it, though it is carried out.
    pub warnings: Vec<String>,
}

/// When to mend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remediation {
    /// After how long a pod that runs but does not serve is restarted.
    pub restart_after: Duration,
    /// After how long a member that does not come back is replaced.
    pub replace_after: Duration,
    /// How many within an hour.
    pub max_per_hour: usize,
    /// How long a volume is kept that is no longer used.
    pub keep_old_volume: Duration,
}

/// What runs already, for what a refused field falls back to.
#[derive(Debug, Clone, Default)]
pub struct Running<'a> {
    /// The versions of all members.
    pub versions: Vec<Version>,
    /// The templates of all members; those that a roll leads to come last.
    pub templates: Vec<&'a Template>,
    /// The version that an unfinished roll leads to.
    pub target: Option<Version>,
    /// Whether there is something that runs.
    pub begun: bool,
    /// How many members vote.
    pub size: usize,
    /// The claims of all members.
    pub claims: Vec<&'a Claim>,
}

impl Running<'_> {
    /// The template of some member: one that a roll leads to, if there is one.
    fn template(&self) -> Option<&Template> {
        self.templates.last().copied()
    }

    /// What the claims ask for: the most, where that differs.
    fn size_of_volumes(&self) -> Option<Quantity> {
        let asked = self.claims.iter().filter_map(|claim| claim.asked.as_ref());
        asked.max_by_key(|asked| bytes(&asked.0)).cloned()
    }
}

/// What the spec comes to.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// What is in force. Nothing when nothing runs and the spec cannot be begun with.
    pub wanted: Option<Wanted>,
    /// What is not.
    pub refusals: Vec<Refusal>,
}

/// What the spec comes to, beside what runs.
pub fn judge(spec: &EtcdClusterSpec, running: &Running<'_>) -> Judged {
    let mut refusals = Vec::new();
    let mut refuse = |field, why| refusals.push(Refusal { field, why });
    let version = version(spec, running, &mut refuse);
    let size = size(spec, running, &mut refuse);
    let storage = storage(spec, running, &mut refuse);
    let mut settings_refused = false;
    let mut refuse_setting = |field, why: String| {
        settings_refused = true;
        let stays = if running.templates.is_empty() { "" } else { ". What was set before stays" };
        refuse(field, format!("{why}{stays}"));
    };
    let settings = settings(spec, version.map(|(version, _)| version), running, &mut refuse_setting);
    let quota = quota(spec, &storage, running, &mut refuse_setting);
    let kept = running.templates.iter().filter(|_| settings_refused);
    let kept_flags = kept.map(|template| (template.version.minor, template.args.clone())).collect();
    let pod = pod(spec, running, &mut refuse);
    let tls = tls(spec, running, &mut refuse);
    let remediation = remediation(spec, &mut refuse);
    let mut warnings: Vec<String> = version.map(|(version, _)| version::faults(version)).unwrap_or_default();
    if let Some((version, Way::Roll)) = version
        && running.versions.iter().any(|runs| runs.minor == version.minor && *runs > version)
    {
        warnings
            .push(format!("{version} is an older patch than what runs: faults that were fixed come back"));
    }
    if storage.medium == Medium::Memory {
        warnings.push(
            "spec.storage.medium is Memory: when most members lose their pods at the same time, all data is lost".into(),
        );
    }
    // Before there is a cluster, nothing is begun with a part of what was asked for.
    if !running.begun && !refusals.is_empty() {
        return Judged { wanted: None, refusals };
    }
    let wanted = Wanted {
        size,
        version,
        image: spec.image.clone(),
        settings,
        kept_flags,
        quota,
        pod,
        tls,
        storage,
        update: spec.update_strategy.clone(),
        remediation,
        volumes: spec.deletion_policy.volumes,
        existing_volumes: spec.bootstrap.existing_volumes,
        monitoring: spec.monitoring.clone(),
        network_policy: spec.network_policy.clone(),
        cluster_domain: spec.cluster_domain.clone(),
        warnings,
    };
    Judged { wanted: Some(wanted), refusals }
}

impl Wanted {
    /// What a member of this version is made from.
    pub fn template(&self, version: Version, start: Start) -> Template {
        let in_memory = self.storage.medium == Medium::Memory;
        Template {
            version,
            image: image(self.image.as_deref(), version),
            args: match self.kept_flags.get(&version.minor) {
                Some(kept) => kept.clone(),
                None => flags::render(&self.settings, self.quota, version),
            },
            pod: self.pod.clone(),
            tls: self.tls.clone(),
            medium: self.storage.medium,
            memory: in_memory.then(|| self.storage.size.clone()),
            start,
        }
    }

    /// Whether the user names an image with its tag or digest: it holds one version, whatever a member has.
    pub(crate) fn pins_image(&self) -> bool {
        self.image.as_deref().is_some_and(is_pinned)
    }

    /// Whether a roll to this target must stop before its last member.
    pub fn must_ask(&self, target: &str) -> bool {
        self.update.kind == UpdateType::Supervised && self.update.approve.as_deref() != Some(target)
    }
}

/// The image of a version: a reference with a tag or digest is used as it is.
pub fn image(asked: Option<&str>, version: Version) -> String {
    let asked = asked.unwrap_or(DEFAULT_IMAGE);
    if is_pinned(asked) { asked.to_owned() } else { format!("{asked}:v{version}") }
}

fn is_pinned(image: &str) -> bool {
    image.rsplit('/').next().unwrap_or(image).contains([':', '@'])
}

fn version(
    spec: &EtcdClusterSpec,
    running: &Running<'_>,
    refuse: &mut impl FnMut(&'static str, String),
) -> Option<(Version, Way)> {
    let asked = match spec.version.parse::<Version>() {
        Ok(asked) => {
            version::way(&running.versions, asked).map(|way| (asked, way)).map_err(|no| no.to_string())
        }
        Err(no) => Err(no.to_string()),
    };
    match asked {
        Ok(asked) => Some(asked),
        Err(why) => {
            let stays = match (running.target, running.versions.iter().min()) {
                // What has begun is brought to its end, whatever is asked for meanwhile.
                (Some(target), _) => format!("; it goes on to {target}"),
                (None, Some(lowest)) => format!("; the cluster stays at {lowest}"),
                (None, None) => String::new(),
            };
            refuse("spec.version", format!("{why}{stays}"));
            let target = running.target?;
            version::way(&running.versions, target).ok().map(|way| (target, way))
        }
    }
}

fn size(
    spec: &EtcdClusterSpec,
    running: &Running<'_>,
    refuse: &mut impl FnMut(&'static str, String),
) -> usize {
    if let Ok(size @ (1 | 3 | 5 | 7)) = usize::try_from(spec.size) {
        return size;
    }
    let stays = if running.begun {
        format!("; there are {} meanwhile", members(running.size))
    } else {
        String::new()
    };
    refuse("spec.size", format!("{} is not 1, 3, 5 or 7{stays}. Set one of these", spec.size));
    running.size.max(1)
}

fn storage(
    spec: &EtcdClusterSpec,
    running: &Running<'_>,
    refuse: &mut impl FnMut(&'static str, String),
) -> Storage {
    let mut storage = spec.storage.clone();
    let wrong = match bytes(&storage.size.0) {
        Some(size) if size >= MIN_VOLUME => None,
        Some(_) => Some(format!("{} is too small: set 64Mi or more", storage.size.0)),
        None => Some(format!("{:?} is no size: set one such as 8Gi", storage.size.0)),
    };
    if let Some(wrong) = wrong {
        let kept = running.size_of_volumes();
        let stays = kept.as_ref().map_or_else(String::new, |kept| format!("; members keep {}", kept.0));
        refuse("spec.storage.size", format!("{wrong}{stays}"));
        storage.size = kept.unwrap_or_else(|| Storage::default().size);
    }
    if let Some(live) = running.template()
        && live.medium != storage.medium
    {
        let why = format!("the medium cannot change to {:?}, it stays {:?}", storage.medium, live.medium);
        refuse("spec.storage.medium", format!("{why}. Create another EtcdCluster"));
        storage.medium = live.medium;
    }
    volumes::judge(&mut storage, &running.claims, refuse);
    storage
}

fn settings(
    spec: &EtcdClusterSpec,
    version: Option<Version>,
    running: &Running<'_>,
    refuse: &mut impl FnMut(&'static str, String),
) -> EtcdSettings {
    let mut settings = spec.etcd.clone();
    if let Some(version) = version.or_else(|| running.versions.iter().min().copied()) {
        for (field, why) in flags::refused(&settings, version) {
            refuse(field, why);
        }
        settings.extra_args.retain(|flag, _| flags::allows_flag(flag, version));
        settings.feature_gates.retain(|gate, _| flags::allows_gate(gate, version));
    }
    let heartbeat = settings.heartbeat_interval_milliseconds.unwrap_or(100);
    let election = settings.election_timeout_milliseconds.unwrap_or(1000);
    if election < heartbeat.saturating_mul(5) || heartbeat < 1 || election > 50_000 {
        let why = format!(
            "{election} ms must be five times the heartbeat of {heartbeat} ms or more, and 50000 at most; etcd's own are 100 and 1000"
        );
        refuse("spec.etcd.electionTimeoutMilliseconds", why);
        (settings.heartbeat_interval_milliseconds, settings.election_timeout_milliseconds) = (None, None);
    }
    let periodic = settings.corruption_checks.periodic.as_deref();
    if periodic.is_some_and(|time| duration(time).is_none()) {
        let why = format!("{:?} is no time: set one such as 4h", periodic.unwrap_or_default());
        refuse("spec.etcd.corruptionChecks.periodic", why);
        settings.corruption_checks.periodic = None;
    }
    settings
}

fn quota(
    spec: &EtcdClusterSpec,
    storage: &Storage,
    running: &Running<'_>,
    refuse: &mut impl FnMut(&'static str, String),
) -> u64 {
    // A database may grow when all volumes have.
    let asked = bytes(&storage.size.0).unwrap_or(MAX_QUOTA);
    let volume = volumes::smallest(&running.claims).map_or(asked, |smallest| smallest.min(asked));
    let usual = (volume / 5 * 4).min(MAX_QUOTA);
    let Some(asked) = &spec.etcd.quota_backend_bytes else { return usual };
    let why = match bytes(&asked.0) {
        Some(quota) if quota > 0 && quota <= volume => return quota,
        Some(quota) if quota > 0 => {
            format!("{} does not fit on a volume of {volume} bytes: set {usual} or less", asked.0)
        }
        _ => format!("{:?} is no size: set one such as 4Gi", asked.0),
    };
    refuse("spec.etcd.quotaBackendBytes", why);
    usual
}

fn pod(
    spec: &EtcdClusterSpec,
    running: &Running<'_>,
    refuse: &mut impl FnMut(&'static str, String),
) -> PodOptions {
    let mut wrongs: Vec<(&'static str, String)> = Vec::new();
    let pod = &spec.pod;
    if let Some(wrong) = pod.env.iter().find(|variable| variable.name.starts_with("ETCD_")) {
        let why = format!("{}: etcd would read it as a flag. Set spec.etcd instead", wrong.name);
        wrongs.push(("spec.pod.env", why));
    }
    if let Some(wrong) = pod.labels.keys().find(|key| is_owned(key)) {
        wrongs.push(("spec.pod.labels", format!("{wrong} is the operator's. Remove it")));
    }
    if let Some(wrong) = pod.annotations.keys().find(|key| key.starts_with(names::OWN)) {
        wrongs.push(("spec.pod.annotations", format!("{wrong} is the operator's. Remove it")));
    }
    let quantities = pod.resources.iter().flat_map(|all| all.limits.iter().chain(&all.requests)).flatten();
    if let Some((name, wrong)) = quantities.clone().find(|(_, value)| !is_quantity(&value.0)) {
        let why = format!("{name}: {:?} is no quantity. Set one such as 500m or 2Gi", wrong.0);
        wrongs.push(("spec.pod.resources", why));
    }
    let kept = running.template().filter(|_| !wrongs.is_empty());
    let stays = if kept.is_some() { ". What was set before stays" } else { "" };
    wrongs.into_iter().for_each(|(field, why)| refuse(field, format!("{why}{stays}")));
    kept.map_or_else(|| allowed(pod), |kept| kept.pod.clone())
}

/// It, without what is refused: where volumes are taken back there is nobody yet whose pod could stay as it is.
fn allowed(asked: &PodOptions) -> PodOptions {
    let mut pod = asked.clone();
    pod.env.retain(|variable| !variable.name.starts_with("ETCD_"));
    pod.labels.retain(|key, _| !is_owned(key));
    pod.annotations.retain(|key, _| !key.starts_with(names::OWN));
    let quantities = pod.resources.iter().flat_map(|all| all.limits.iter().chain(&all.requests)).flatten();
    if quantities.clone().any(|(_, value)| !is_quantity(&value.0)) {
        pod.resources = None;
    }
    pod
}

/// Labels that the operator gives.
fn is_owned(label: &str) -> bool {
    label.starts_with(names::OWN) || label.starts_with("app.kubernetes.io/")
}

/// A number that is not negative, with an optional suffix of letters.
fn is_quantity(text: &str) -> bool {
    let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let suffix = text.get(number.len()..).unwrap_or_default();
    let known = ["", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
    number.parse::<f64>().is_ok_and(|number| number >= 0.0 && number.is_finite()) && known.contains(&suffix)
}

fn tls(spec: &EtcdClusterSpec, running: &Running<'_>, refuse: &mut impl FnMut(&'static str, String)) -> Tls {
    let asked = &spec.tls;
    let wrong = match asked.mode {
        TlsMode::Secrets if asked.secrets.is_none() => Some("mode Secrets needs spec.tls.secrets"),
        TlsMode::CertManager if asked.cert_manager.is_none() => {
            Some("mode CertManager needs spec.tls.certManager")
        }
        TlsMode::SelfManaged | TlsMode::Secrets | TlsMode::CertManager | TlsMode::Off => None,
    };
    match (wrong, running.template()) {
        (Some(wrong), Some(live)) => {
            refuse("spec.tls", format!("{wrong}; what was set before stays"));
            live.tls.clone()
        }
        (Some(wrong), None) => {
            refuse("spec.tls", wrong.to_owned());
            asked.clone()
        }
        (None, Some(live)) if live.tls.mode != asked.mode => {
            let why = format!(
                "it cannot change from {:?} to {:?}: members know each other by URL and CA",
                live.tls.mode, asked.mode
            );
            refuse(
                "spec.tls.mode",
                format!("{why}. Create another EtcdCluster; this one stays {:?}", live.tls.mode),
            );
            live.tls.clone()
        }
        (None, _) => asked.clone(),
    }
}

/// What nobody can read is not done: no volume is deleted, and nobody is replaced, for a time that was meant otherwise.
fn remediation(spec: &EtcdClusterSpec, refuse: &mut impl FnMut(&'static str, String)) -> Remediation {
    let asked = &spec.remediation;
    let mut time = |field, asked: &str, what: &str| {
        duration(asked).unwrap_or_else(|| {
            refuse(field, format!("{asked:?} is no time: set one such as 5m or 48h. {what} meanwhile"));
            NEVER
        })
    };
    Remediation {
        restart_after: time("spec.remediation.restartAfter", &asked.restart_after, "Nobody is restarted"),
        replace_after: time("spec.remediation.replaceAfter", &asked.replace_after, "Nobody is replaced"),
        keep_old_volume: time(
            "spec.remediation.keepOldVolume",
            &asked.keep_old_volume,
            "No volume is deleted",
        ),
        max_per_hour: usize::try_from(asked.max_replacements_per_hour).unwrap_or(0),
    }
}
