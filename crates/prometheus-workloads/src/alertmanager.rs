//! The StatefulSet of an Alertmanager.

mod arguments;
mod volumes;

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::{Container, ContainerPort, PodSpec, Probe, ResourceRequirements, Volume};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use prometheus_types::Alertmanager;
use prometheus_types::alertmanager::AlertmanagerSpec;
use rendering::Version;

use crate::WorkloadError;
use crate::arguments::Arguments;
use crate::gates::{ALERTMANAGER, DEFAULT_ALERTMANAGER, knows};
use crate::image::{Parts as ImageParts, or_default};
use crate::merge::merge_containers;
use crate::metadata::{
    DEFAULT_CONTAINER, INSTANCE, MANAGED_BY, MANAGER, Made, NAME, VERSION, labels, layered, owner,
};
use crate::operator::{Given, Operator};
use crate::path::{clean, url};
use crate::pod::{WEB, container, list, on_host_network, pod, variable_of_field};
use crate::probe::get;
use crate::reloader::{NO_SHARD, Reload, Reloader};
use crate::statefulset::{Parts, statefulset as assemble};

/// The Service that governs all Alertmanagers of a namespace.
const SERVICE: &str = "alertmanager-operated";
const GRACE_PERIOD: i64 = 120;
const CONFIG: (&str, &str) =
    ("/etc/alertmanager/config/alertmanager.yaml.gz", "/etc/alertmanager/config_out/alertmanager.env.yaml");

/// One Alertmanager, seen as what its pods need.
struct Instance<'a> {
    name: &'a str,
    namespace: &'a str,
    spec: &'a AlertmanagerSpec,
    version: Version,
    operator: &'a Operator,
}

pub fn statefulset(
    alertmanager: &Alertmanager,
    operator: &Operator,
    given: &Given,
) -> Result<StatefulSet, WorkloadError> {
    let (spec, fields) = (&alertmanager.spec, &alertmanager.spec.pod);
    let version = or_default(&fields.version, DEFAULT_ALERTMANAGER);
    let image = ImageParts {
        image: fields.image.as_deref().unwrap_or_default(),
        base: or_default(&spec.base_image, &operator.alertmanager_default_base_image),
        version,
        tag: &spec.tag,
        sha: &spec.sha,
    };
    let image = image.compose().map_err(|source| WorkloadError::Image { field: "baseImage", source })?;
    let instance = Instance {
        name: alertmanager.metadata.name.as_deref().unwrap_or_default(),
        namespace: alertmanager.metadata.namespace.as_deref().unwrap_or_default(),
        spec,
        version: Version::parse(version)
            .map_err(|source| WorkloadError::Version { field: "version", source })?,
        operator,
    };
    let (pod, volumes) = instance.pod(image, given)?;
    let own = labels([
        (MANAGED_BY, MANAGER),
        (NAME, "alertmanager"),
        (INSTANCE, instance.name),
        ("alertmanager", instance.name),
    ]);
    let pod_metadata = fields.pod_metadata.clone().unwrap_or_default();
    let version = labels([(VERSION, &instance.version.to_string())]);
    Ok(assemble(Parts {
        made: Made {
            name: instance.prefixed_name(),
            resource: &alertmanager.metadata,
            owner: owner("monitoring.coreos.com/v1", "Alertmanager", &alertmanager.metadata),
            operator,
            kind: labels([]),
            selector: &layered([&own, &operator.labels]),
            input_hash: Some(&given.input_hash),
        },
        fields,
        replicas: Some(instance.replicas()),
        service: SERVICE,
        retention: spec.persistent_volume_claim_retention_policy.clone(),
        pod_labels: layered([&version, &pod_metadata.labels, &own, &operator.labels]),
        pod_annotations: layered([&pod_metadata.annotations, &labels([(DEFAULT_CONTAINER, "alertmanager")])]),
        pod,
        volumes,
        data_volume: &instance.data_volume(),
    }))
}

impl Instance<'_> {
    /// The pod, and the operator's volumes of it.
    fn pod(&self, image: String, given: &Given) -> Result<(PodSpec, Vec<Volume>), WorkloadError> {
        let (spec, fields) = (self.spec, &self.spec.pod);
        let mut arguments = Arguments::new(&self.version, ALERTMANAGER);
        self.arguments(&mut arguments);
        let mut volumes = self.volumes(&given.tls_asset_secret_names)?;
        let web_config = self.add_web_config(&mut arguments, &mut volumes)?;
        self.add_cluster_tls(&mut arguments, &mut volumes)?;
        let mut container = self.container(image, arguments.knows("env:POD_NAME"));
        container.args = Some(
            arguments
                .finish(&fields.additional_args)
                .map_err(|source| WorkloadError::Arguments { field: "additionalArgs", source })?,
        );
        container.volume_mounts = Some(volumes.mounts);
        let reloader = Reloader {
            operator: self.operator,
            fields,
            pull_policy: &fields.image_pull_policy,
            mounts: volumes.reloader,
            config: Some(CONFIG),
            watched: volumes.watched,
            place: NO_SHARD,
        };
        let beside = reloader.beside(&self.reload(), web_config.as_deref());
        let merge = |field, own, given: &[Container]| {
            merge_containers(own, given).map_err(|source| WorkloadError::Containers { field, source })
        };
        let mut pod = PodSpec {
            automount_service_account_token: spec.automount_service_account_token,
            topology_spread_constraints: list(&spec.topology_spread_constraints),
            init_containers: Some(merge("initContainers", vec![reloader.init()], &fields.init_containers)?),
            containers: merge("containers", vec![container, beside], &fields.containers)?,
            ..pod(fields, GRACE_PERIOD)
        };
        on_host_network(&mut pod, spec.host_network);
        Ok((pod, volumes.volumes))
    }

    fn prefixed_name(&self) -> String {
        format!("alertmanager-{}", self.name)
    }

    fn data_volume(&self) -> String {
        format!("alertmanager-{}-db", self.name)
    }

    fn replicas(&self) -> i32 {
        self.spec.pod.replicas.unwrap_or(1).max(0)
    }

    fn route_prefix(&self) -> &str {
        if self.spec.pod.route_prefix.is_empty() { "/" } else { &self.spec.pod.route_prefix }
    }

    fn is_https(&self) -> bool {
        let tls = self.spec.web.as_ref().is_some_and(|web| web.file.tls_config.is_some());
        tls && knows(ALERTMANAGER, "web.config.file", &self.version)
    }

    fn reload(&self) -> Reload {
        let scheme = if self.is_https() { "https" } else { "http" };
        let path = clean(&format!("{}/-/reload", self.route_prefix()));
        Reload::Request(url(scheme, &format!("{}:9093", self.operator.local_host), &path))
    }

    fn port_name(&self) -> &str {
        or_default(&self.spec.pod.port_name, WEB)
    }

    /// Alertmanager's own container, without arguments and mounts.
    fn container(&self, image: String, knows_its_name: bool) -> Container {
        let fields = &self.spec.pod;
        let port = |name: &str, number, protocol: &str| ContainerPort {
            name: Some(name.to_owned()),
            container_port: number,
            protocol: Some(protocol.to_owned()),
            ..Default::default()
        };
        let mut ports = vec![port("mesh-tcp", 9094, "TCP"), port("mesh-udp", 9094, "UDP")];
        let mut probes = None;
        if !fields.listen_local {
            ports.insert(0, port(self.port_name(), 9093, "TCP"));
            probes = Some((self.probe("/-/healthy"), self.probe("/-/ready")));
        }
        let (liveness, readiness) = probes.unzip();
        let mut variables = vec![variable_of_field("POD_IP", "status.podIP")];
        if knows_its_name {
            variables.push(variable_of_field("POD_NAME", "metadata.name"));
        }
        Container {
            ports: Some(ports),
            env: Some(variables),
            liveness_probe: liveness,
            readiness_probe: readiness.map(|probe| Probe {
                initial_delay_seconds: Some(3),
                period_seconds: Some(5),
                ..probe
            }),
            resources: Some(with_memory(&fields.resources)),
            ..container("alertmanager", image, &fields.image_pull_policy)
        }
    }

    fn probe(&self, path: &str) -> Probe {
        let path = clean(&format!("{}{path}", self.route_prefix()));
        let probe = get(path, IntOrString::String(self.port_name().to_owned()), self.is_https());
        Probe { timeout_seconds: Some(3), failure_threshold: Some(10), ..probe }
    }
}

/// What Alertmanager and the ruler need at least, where the resource does not say.
pub(crate) fn with_memory(given: &ResourceRequirements) -> ResourceRequirements {
    let mut resources = given.clone();
    let requests: &mut BTreeMap<_, _> = resources.requests.get_or_insert_default();
    requests.entry("memory".to_owned()).or_insert_with(|| Quantity("200Mi".to_owned()));
    resources
}
