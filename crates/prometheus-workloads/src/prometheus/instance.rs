//! One Prometheus or PrometheusAgent, seen as what its pods need.

use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::{
    Container, ContainerPort, PodSpec, Probe, TopologySpreadConstraint, Volume, VolumeMount,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use prometheus_types::pod::PodFields;
use prometheus_types::prometheus::server_and_agent::CommonPrometheusFields;
use prometheus_types::tls::WebTlsConfig;
use prometheus_types::{Prometheus, PrometheusAgent};
use rendering::Version;

use crate::WorkloadError;
use crate::gates::DEFAULT_PROMETHEUS;
use crate::image::or_default;
use crate::merge::merge_containers;
use crate::metadata::{
    DEFAULT_CONTAINER, INSTANCE, Labels, MANAGED_BY, MANAGER, Made, NAME, VERSION, labels, layered, owner,
};
use crate::operator::{Given, Operator};
use crate::path::{clean, url};
use crate::pod::{WEB, container, list, on_host_network, pod};
use crate::probe::{ask_itself, get};
use crate::reloader::{Place, Reload, Reloader, Zone};
use crate::statefulset::{Parts, statefulset};

pub(super) const SHARD: &str = "operator.prometheus.io/shard";
const RESOURCE: &str = "operator.prometheus.io/name";
const MODE: &str = "operator.prometheus.io/mode";

const CONFIG: (&str, &str) =
    ("/etc/prometheus/config/prometheus.yaml.gz", "/etc/prometheus/config_out/prometheus.env.yaml");
/// Prometheus writes its last checkpoint when it ends.
const GRACE_PERIOD: i64 = 600;
const ZONE: &str = "topology.kubernetes.io/zone";

pub(super) struct Instance<'a> {
    pub(super) metadata: &'a ObjectMeta,
    pub(super) name: &'a str,
    pub(super) common: &'a CommonPrometheusFields,
    pub(super) fields: &'a PodFields,
    pub(super) version: Version,
    pub(super) operator: &'a Operator,
    pub(super) mode: Mode,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Server,
    Agent,
}

/// Which pods a workload is for.
#[derive(Clone, Copy)]
pub(super) enum Scope {
    Shard(i32),
    EveryNode,
}

impl<'a> Instance<'a> {
    pub(super) fn of_server(
        prometheus: &'a Prometheus,
        operator: &'a Operator,
    ) -> Result<Self, WorkloadError> {
        Self::new(&prometheus.metadata, &prometheus.spec.common, operator, Mode::Server)
    }

    pub(super) fn of_agent(
        agent: &'a PrometheusAgent,
        operator: &'a Operator,
    ) -> Result<Self, WorkloadError> {
        Self::new(&agent.metadata, &agent.spec.common, operator, Mode::Agent)
    }

    fn new(
        metadata: &'a ObjectMeta,
        common: &'a CommonPrometheusFields,
        operator: &'a Operator,
        mode: Mode,
    ) -> Result<Self, WorkloadError> {
        let fields = &common.pod;
        let version = Version::parse(or_default(&fields.version, DEFAULT_PROMETHEUS))
            .map_err(|source| WorkloadError::Version { field: "version", source })?;
        if !matches!(version.major(), 2 | 3) {
            return Err(WorkloadError::Major(version));
        }
        let name = metadata.name.as_deref().unwrap_or_default();
        Ok(Self { metadata, name, common, fields, version, operator, mode })
    }

    /// What every object's name begins with.
    pub(super) fn prefixed_name(&self) -> String {
        match self.mode {
            Mode::Server => format!("prometheus-{}", self.name),
            Mode::Agent => format!("prom-agent-{}", self.name),
        }
    }

    pub(super) fn data_volume(&self) -> String {
        format!("{}-db", self.prefixed_name())
    }

    /// What pods are selected by; it can never change.
    pub(super) fn selector(&self, scope: Scope) -> Labels {
        layered([&self.own_labels(scope), &self.operator.labels])
    }

    fn own_labels(&self, scope: Scope) -> Labels {
        let application = if self.mode == Mode::Server { "prometheus" } else { "prometheus-agent" };
        let mut own = labels([
            (MANAGED_BY, MANAGER),
            (NAME, application),
            (INSTANCE, self.name),
            (RESOURCE, self.name),
        ]);
        if self.mode == Mode::Server {
            own.insert("prometheus".to_owned(), self.name.to_owned());
        }
        if let Scope::Shard(shard) = scope {
            own.insert(SHARD.to_owned(), shard.to_string());
        }
        own
    }

    /// Labels and annotations of the pods: the user's, below what pods are selected by.
    pub(super) fn pod_metadata(&self, scope: Scope) -> (Labels, Labels) {
        let given = self.fields.pod_metadata.clone().unwrap_or_default();
        let version = labels([(VERSION, &self.version.to_string())]);
        let pod_labels = layered([&version, &given.labels, &self.own_labels(scope), &self.operator.labels]);
        (pod_labels, layered([&labels([(DEFAULT_CONTAINER, "prometheus")]), &given.annotations]))
    }

    pub(super) fn web_tls(&self) -> Option<&'a WebTlsConfig> {
        self.common.web.as_ref().and_then(|web| web.file.tls_config.as_ref())
    }

    pub(super) fn scheme(&self) -> &'static str {
        if self.web_tls().is_some() { "https" } else { "http" }
    }

    pub(super) fn route_prefix(&self) -> &'a str {
        if self.fields.route_prefix.is_empty() { "/" } else { &self.fields.route_prefix }
    }

    /// Prometheus' own container, without arguments and mounts.
    pub(super) fn container(&self, image: String) -> Container {
        let startup = startup(self.common.maximum_startup_duration_seconds);
        Container {
            ports: (!self.fields.listen_local).then(|| vec![self.port()]),
            startup_probe: Some(Probe { timeout_seconds: Some(3), ..startup.on(self.probe("/-/ready")) }),
            readiness_probe: Some(probe(self.probe("/-/ready"), 3)),
            liveness_probe: Some(probe(self.probe("/-/healthy"), 6)),
            resources: Some(self.fields.resources.clone()),
            ..container("prometheus", image, &self.fields.image_pull_policy)
        }
    }

    fn port(&self) -> ContainerPort {
        ContainerPort {
            name: Some(self.port_name()),
            container_port: 9090,
            protocol: Some("TCP".to_owned()),
            ..Default::default()
        }
    }

    fn port_name(&self) -> String {
        or_default(&self.fields.port_name, WEB).to_owned()
    }

    fn probe(&self, path: &str) -> Probe {
        let path = clean(&format!("{}{path}", self.route_prefix()));
        if self.fields.listen_local {
            ask_itself(&url("http", "localhost:9090", &path))
        } else {
            get(path, IntOrString::String(self.port_name()), self.web_tls().is_some())
        }
    }

    pub(super) fn reloader(
        &self,
        mounts: Vec<VolumeMount>,
        watched: Vec<String>,
        scope: Scope,
    ) -> Reloader<'a> {
        Reloader {
            operator: self.operator,
            fields: self.fields,
            pull_policy: &self.fields.image_pull_policy,
            mounts,
            config: Some(CONFIG),
            watched,
            place: match scope {
                Scope::EveryNode => Place::Node,
                Scope::Shard(number) => Place::Shard { number, zone: self.zone(number) },
            },
        }
    }

    pub(super) fn reload(&self) -> Reload {
        let url = |path: &str| {
            let host = format!("{}:9090", self.operator.local_host);
            url(self.scheme(), &host, &clean(&format!("{}{path}", self.route_prefix())))
        };
        if self.reloads_by_signal() {
            Reload::Signal(url("/api/v1/status/runtimeinfo"))
        } else {
            Reload::Request(url("/-/reload"))
        }
    }

    pub(super) fn reloads_by_signal(&self) -> bool {
        self.common.reload_strategy.as_ref().is_some_and(|strategy| *strategy == "ProcessSignal")
    }

    /// The zone that a shard serves, when shards are divided among zones.
    fn zone(&self, shard: i32) -> Option<Zone> {
        let strategy = self.common.sharding_strategy.as_ref().filter(|_| self.operator.topology_sharding)?;
        let topology = strategy
            .topology
            .as_ref()
            .filter(|_| strategy.mode.as_ref().is_some_and(|mode| *mode == "Topology"))?;
        let zones = i32::try_from(topology.values.len()).ok()?;
        let name = topology.values.get(usize::try_from(shard.checked_rem(zones)?).ok()?)?.clone();
        Some(Zone { name, shard_in_zone: shard / zones })
    }

    /// The pod around the operator's containers, the user's merged into them.
    pub(super) fn pod(
        &self,
        scope: Scope,
        init: Vec<Container>,
        containers: Vec<Container>,
    ) -> Result<PodSpec, WorkloadError> {
        let merge = |field, own, given: &[Container]| {
            merge_containers(own, given).map_err(|source| WorkloadError::Containers { field, source })
        };
        let mut pod = PodSpec {
            automount_service_account_token: Some(
                self.common.automount_service_account_token.unwrap_or(true),
            ),
            // A signal needs to see the process it is for.
            share_process_namespace: Some(self.reloads_by_signal()),
            topology_spread_constraints: list(&self.spread(&self.selector(scope))),
            init_containers: Some(merge("initContainers", init, &self.fields.init_containers)?),
            containers: merge("containers", containers, &self.fields.containers)?,
            ..pod(self.fields, GRACE_PERIOD)
        };
        if let Scope::Shard(shard) = scope
            && let Some(zone) = self.zone(shard)
        {
            pod.node_selector.get_or_insert_default().insert(ZONE.to_owned(), zone.name);
        }
        on_host_network(&mut pod, self.common.host_network);
        Ok(pod)
    }

    /// The StatefulSet of a shard around its pod.
    pub(super) fn statefulset(
        &self,
        name: &str,
        shard: i32,
        given: &Given,
        service: &str,
        (pod, volumes): (PodSpec, Vec<Volume>),
    ) -> StatefulSet {
        let scope = Scope::Shard(shard);
        let (pod_labels, pod_annotations) = self.pod_metadata(scope);
        statefulset(Parts {
            made: self.made(name.to_owned(), &self.selector(scope), Some(&given.input_hash)),
            fields: self.fields,
            replicas: Some(self.fields.replicas.filter(|replicas| *replicas >= 0).unwrap_or(1)),
            service,
            retention: self.common.persistent_volume_claim_retention_policy.clone(),
            pod_labels,
            pod_annotations,
            pod,
            volumes,
            data_volume: &self.data_volume(),
        })
    }

    pub(super) fn made<'b>(
        &'b self,
        name: String,
        selector: &'b Labels,
        input_hash: Option<&'b str>,
    ) -> Made<'b> {
        let (api_version, kind, mode) = match self.mode {
            Mode::Server => ("monitoring.coreos.com/v1", "Prometheus", "server"),
            Mode::Agent => ("monitoring.coreos.com/v1alpha1", "PrometheusAgent", "agent"),
        };
        Made {
            name,
            resource: self.metadata,
            owner: owner(api_version, kind, self.metadata),
            operator: self.operator,
            kind: labels([(MODE, mode)]),
            selector,
            input_hash,
        }
    }

    /// Constraints that the user left to select the pods of this resource, or of this shard.
    fn spread(&self, selector: &Labels) -> Vec<TopologySpreadConstraint> {
        let constraints = self.common.topology_spread_constraints.iter();
        constraints
            .map(|given| {
                let mut constraint = given.constraint.clone();
                if let Some(which) = &given.additional_label_selectors {
                    let own = selector.iter().filter(|(key, _)| *which != "OnResource" || *key != SHARD);
                    let labels = constraint
                        .label_selector
                        .get_or_insert_default()
                        .match_labels
                        .get_or_insert_default();
                    labels.extend(own.map(|(key, value)| (key.clone(), value.clone())));
                }
                constraint
            })
            .collect()
    }
}

struct Startup {
    period: i32,
    failures: i32,
}

impl Startup {
    fn on(&self, probe: Probe) -> Probe {
        Probe { period_seconds: Some(self.period), failure_threshold: Some(self.failures), ..probe }
    }
}

/// A quarter of an hour, or about as long as the resource allows, asked for about once a minute.
fn startup(longest: Option<i32>) -> Startup {
    match longest {
        Some(seconds) if seconds >= 60 => {
            let failures = (seconds - 1) / 60 + 1;
            Startup { period: (seconds - 1) / failures + 1, failures }
        }
        _ => Startup { period: 15, failures: 60 },
    }
}

fn probe(probe: Probe, failures: i32) -> Probe {
    Probe { timeout_seconds: Some(3), period_seconds: Some(5), failure_threshold: Some(failures), ..probe }
}
