//! The config-reloader: the container that fills in variables, watches files and tells the operand to read them again.
//!
//! It runs twice: once before the operand starts (`--watch-interval=0`), then beside it.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Container, ContainerPort, Probe, ResourceRequirements, VolumeMount};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use prometheus_types::pod::PodFields;

use crate::operator::{Operator, ReloaderConfig};
use crate::pod::{container, list, variable, variable_of_field};
use crate::probe::{ask_itself, get};

const PORT: i32 = 8080;
/// Its own, so that the two containers of a pod do not seem to compete for one.
const INIT_PORT: i32 = 8081;

/// How the operand is told to read its configuration again.
pub(crate) enum Reload {
    Request(String),
    /// A signal; the URL tells whether it was taken.
    Signal(String),
}

/// The variables that the configuration may refer to beside the pod's name.
pub(crate) enum Place {
    /// `SHARD`, and where shards belong to zones `TOPOLOGY_ZONE` and `INZONE_SHARD`.
    Shard {
        number: i32,
        zone: Option<Zone>,
    },
    Node,
}

pub(crate) struct Zone {
    pub(crate) name: String,
    pub(crate) shard_in_zone: i32,
}

/// The workloads that have no shards say so.
pub(crate) const NO_SHARD: Place = Place::Shard { number: -1, zone: None };

/// What both containers have in common.
pub(crate) struct Reloader<'a> {
    pub(crate) operator: &'a Operator,
    pub(crate) fields: &'a PodFields,
    pub(crate) pull_policy: &'a str,
    pub(crate) mounts: Vec<VolumeMount>,
    /// The configuration as it is mounted, and where it goes with its variables filled in.
    pub(crate) config: Option<(&'a str, &'a str)>,
    pub(crate) watched: Vec<String>,
    pub(crate) place: Place,
}

impl Reloader<'_> {
    /// Fills in the configuration once and ends.
    pub(crate) fn init(&self) -> Container {
        let mut arguments = vec!["--watch-interval=0".to_owned(), format!("--listen-address=:{INIT_PORT}")];
        self.files(&mut arguments);
        self.container("init-config-reloader", arguments, Some(port("reloader-init", INIT_PORT)))
    }

    /// Runs beside the operand.
    pub(crate) fn beside(&self, reload: &Reload, web_config: Option<&str>) -> Container {
        // A signal needs no request, but then the operand's own listening matters as little as the reloader's.
        let local = self.fields.listen_local && matches!(reload, Reload::Request(_));
        let host = if local { self.operator.local_host.as_str() } else { "" };
        let mut arguments = vec![format!("--listen-address={host}:{PORT}")];
        arguments.extend(web_config.map(|file| format!("--web-config-file={file}")));
        match reload {
            Reload::Request(url) => arguments.push(format!("--reload-url={url}")),
            Reload::Signal(url) => {
                arguments.push("--reload-method=signal".to_owned());
                arguments.push(format!("--runtimeinfo-url={url}"));
            }
        }
        self.files(&mut arguments);
        let mut container =
            self.container("config-reloader", arguments, (!local).then(|| port("reloader-web", PORT)));
        if self.operator.reloader.enable_probes {
            let probe = probe(local);
            container.liveness_probe = Some(probe.clone());
            container.readiness_probe = Some(probe.clone());
            container.startup_probe = Some(probe);
        }
        container
    }

    fn files(&self, arguments: &mut Vec<String>) {
        let mut watched = self.watched.clone();
        if let Some((source, target)) = self.config {
            arguments.push(format!("--config-file={source}"));
            arguments.push(format!("--config-envsubst-file={target}"));
            // The kubelet replaces files as a whole, which only shows in their directory.
            let directory = source.rsplit_once('/').map_or("", |(directory, _)| directory);
            if !watched.iter().any(|known| known == directory) {
                watched.push(directory.to_owned());
            }
        }
        arguments.extend(watched.iter().map(|directory| format!("--watched-dir={directory}")));
        for (name, value, default) in [
            ("log-level", &*self.fields.log_level, "info"),
            ("log-format", &*self.fields.log_format, "logfmt"),
        ] {
            if !value.is_empty() && value != default {
                arguments.push(format!("--{name}={value}"));
            }
        }
    }

    fn container(&self, name: &str, arguments: Vec<String>, port: Option<ContainerPort>) -> Container {
        let config = &self.operator.reloader;
        let mut variables = vec![variable_of_field("POD_NAME", "metadata.name")];
        match &self.place {
            Place::Node => {
                variables.push(variable_of_field("NODE_NAME", "spec.nodeName"));
                // Without meaning here, but upstream's pods have it.
                variables.push(variable("SHARD", "0"));
            }
            Place::Shard { number, zone } => {
                variables.push(variable("SHARD", number.to_string()));
                if let Some(zone) = zone {
                    variables.push(variable("TOPOLOGY_ZONE", &zone.name));
                    variables.push(variable("INZONE_SHARD", zone.shard_in_zone.to_string()));
                }
            }
        }
        Container {
            command: Some(vec!["/bin/prometheus-config-reloader".to_owned()]),
            args: Some(arguments),
            env: Some(variables),
            ports: port.map(|port| vec![port]),
            volume_mounts: list(&self.mounts),
            resources: Some(resources(config)),
            ..container(name, config.image.clone(), self.pull_policy)
        }
    }
}

fn port(name: &str, number: i32) -> ContainerPort {
    ContainerPort {
        name: Some(name.to_owned()),
        container_port: number,
        protocol: Some("TCP".to_owned()),
        ..Default::default()
    }
}

fn probe(local: bool) -> Probe {
    if local {
        ask_itself(&format!("http://localhost:{PORT}/healthz"))
    } else {
        get("/healthz".to_owned(), IntOrString::Int(PORT), false)
    }
}

fn resources(config: &ReloaderConfig) -> ResourceRequirements {
    let amounts = |cpu: &Option<Quantity>, memory: &Option<Quantity>| {
        let amounts: BTreeMap<_, _> = [("cpu", cpu), ("memory", memory)]
            .into_iter()
            .filter_map(|(name, amount)| {
                Some((name.to_owned(), amount.clone().filter(|amount| !is_zero(amount))?))
            })
            .collect();
        (!amounts.is_empty()).then_some(amounts)
    };
    ResourceRequirements {
        limits: amounts(&config.cpu_limit, &config.memory_limit),
        requests: amounts(&config.cpu_request, &config.memory_request),
        ..Default::default()
    }
}

/// `0`, `0.0`, `0Gi`, and what was not given.
fn is_zero(quantity: &Quantity) -> bool {
    let digits = quantity.0.trim_start_matches(['+', '-']);
    let end = digits.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(digits.len());
    digits.chars().take(end).all(|c| c == '0' || c == '.')
}
