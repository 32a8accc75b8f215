//! What an etcd process is told: the arguments of its container, and the version in the tag of its image.

use std::{fmt, str::FromStr};

use k8s_openapi::api::core::v1::{Container, Pod};

const DEFAULT_QUOTA: i64 = 2 << 30;

/// etcd's version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Version {
    pub(super) major: u32,
    pub(super) minor: u32,
    pub(super) patch: u32,
}

impl Version {
    /// Without its patch: what clusters agree on.
    pub(super) fn of_cluster(self) -> Self {
        Self { patch: 0, ..self }
    }

    /// The minor before.
    pub(super) fn before(self) -> Self {
        Self { minor: self.minor.saturating_sub(1), patch: 0, ..self }
    }

    pub(super) fn is_at_least(self, major: u32, minor: u32) -> bool {
        (self.major, self.minor) >= (major, minor)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

impl FromStr for Version {
    type Err = ();

    /// `3.6.16`, `v3.6.16`, `3.6`.
    fn from_str(text: &str) -> Result<Self, ()> {
        let numbers: Result<Vec<u32>, _> =
            text.strip_prefix('v').unwrap_or(text).split('.').map(str::parse).collect();
        match numbers.map_err(drop)?.as_slice() {
            [major, minor, patch] => Ok(Self { major: *major, minor: *minor, patch: *patch }),
            [major, minor] => Ok(Self { major: *major, minor: *minor, patch: 0 }),
            _ => Err(()),
        }
    }
}

/// Does a member with an empty disk found its cluster, or join it?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InitialState {
    New,
    Existing,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Settings {
    pub(super) name: String,
    pub(super) version: Version,
    pub(super) peer_urls: Vec<String>,
    pub(super) client_urls: Vec<String>,
    /// Names and peer URLs.
    pub(super) initial_cluster: Vec<(String, String)>,
    pub(super) initial_state: InitialState,
    pub(super) token: String,
    pub(super) quota: i64,
    pub(super) serves_tls: bool,
    pub(super) strict: bool,
    /// Whether it compares its data with the others' before it serves.
    pub(super) checks_data: bool,
    arguments: Vec<String>,
}

impl Settings {
    /// Of the first container that runs etcd.
    pub(super) fn of(pod: &Pod) -> Option<Result<Self, String>> {
        let containers = &pod.spec.as_ref()?.containers;
        containers.iter().find_map(|container| arguments(container).map(|args| Self::parse(container, args)))
    }

    pub(super) fn parse(container: &Container, arguments: Vec<String>) -> Result<Self, String> {
        let flag = |name: &str| flag(&arguments, name);
        let list = |name: &str| -> Vec<String> {
            flag(name).iter().flat_map(|urls| urls.split(',')).map(str::to_owned).collect()
        };
        let image = container.image.as_deref().unwrap_or_default();
        let tag = image.rsplit_once(':').map(|(_, tag)| tag).unwrap_or_default();
        let initial = flag("initial-cluster").unwrap_or_default();
        let pairs = initial.split(',').filter_map(|pair| pair.split_once('='));
        Ok(Self {
            name: flag("name").unwrap_or_else(|| "default".to_owned()),
            version: tag.parse().map_err(|()| format!("exec: no etcd in image \"{image}\""))?,
            peer_urls: list("initial-advertise-peer-urls"),
            client_urls: list("advertise-client-urls"),
            initial_cluster: pairs.map(|(name, url)| (name.to_owned(), url.to_owned())).collect(),
            initial_state: match flag("initial-cluster-state").as_deref() {
                None | Some("new") => InitialState::New,
                Some("existing") => InitialState::Existing,
                Some(other) => {
                    return Err(format!("invalid value \"{other}\" for flag -initial-cluster-state"));
                }
            },
            token: flag("initial-cluster-token").unwrap_or_else(|| "etcd-cluster".to_owned()),
            quota: flag("quota-backend-bytes")
                .and_then(|bytes| bytes.parse().ok())
                .filter(|bytes| *bytes > 0)
                .unwrap_or(DEFAULT_QUOTA),
            serves_tls: flag("cert-file").is_some(),
            checks_data: flag("experimental-initial-corrupt-check").as_deref() == Some("true")
                || flag("feature-gates").is_some_and(|gates| gates.contains("InitialCorruptCheck=true")),
            strict: flag("strict-reconfig-check").as_deref() != Some("false"),
            arguments,
        })
    }

    /// The flag that this version does not know any more.
    pub(super) fn unknown_flag(&self) -> Option<&str> {
        let experimental = |argument: &&String| argument.starts_with("--experimental-");
        let found = self.arguments.iter().find(experimental).filter(|_| self.version.is_at_least(3, 7))?;
        Some(found.split('=').next().unwrap_or(found).trim_start_matches('-'))
    }
}

/// The arguments of a container that runs etcd.
fn arguments(container: &Container) -> Option<Vec<String>> {
    let mut words = container.command.iter().flatten().chain(container.args.iter().flatten()).cloned();
    let is_etcd = |program: &str| program.rsplit('/').next() == Some("etcd");
    words.next().filter(|program| is_etcd(program)).map(|_| words.collect())
}

/// `--name=value` or `--name value`.
fn flag(arguments: &[String], name: &str) -> Option<String> {
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let Some(rest) = argument.strip_prefix("--").and_then(|argument| argument.strip_prefix(name)) else {
            continue;
        };
        match rest.strip_prefix('=') {
            Some(value) => return Some(value.to_owned()),
            None if rest.is_empty() => return arguments.next().cloned(),
            None => {}
        }
    }
    None
}
