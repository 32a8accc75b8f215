//! The StatefulSet of a ThanosRuler.

mod arguments;

use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::{
    Container, ContainerPort, KeyToPath, PodSpec, SecretVolumeSource, Volume, VolumeMount,
};
use prometheus_types::ThanosRuler;
use prometheus_types::thanos_ruler::ThanosRulerSpec;
use rendering::Version;

pub(crate) use arguments::grpc_arguments;

use crate::WorkloadError;
use crate::alertmanager::with_memory;
use crate::arguments::Arguments;
use crate::gates::{DEFAULT_THANOS, THANOS_RULER, knows};
use crate::image::{Parts as ImageParts, or_default};
use crate::merge::merge_containers;
use crate::metadata::{
    DEFAULT_CONTAINER, INSTANCE, MANAGED_BY, MANAGER, Made, NAME, VERSION, labels, layered, owner,
};
use crate::operator::{Given, Operator};
use crate::path::{clean, url};
use crate::pod::{container, list, pod, text, variable_of_field};
use crate::reloader::{NO_SHARD, Reload, Reloader};
use crate::statefulset::{Parts, statefulset as assemble};
use crate::storage;
use crate::volume;
use crate::web_config::WebConfig;

const RULES: &str = "/etc/thanos/rules";
const DATA: &str = "/thanos/data";
const GRACE_PERIOD: i64 = 120;
const DEFAULT_BASE_IMAGE: &str = "quay.io/thanos/thanos";

/// One ThanosRuler, seen as what its pods need.
struct Instance<'a> {
    spec: &'a ThanosRulerSpec,
    prefixed_name: String,
    version: Version,
    operator: &'a Operator,
    given: &'a Given,
}

/// Volumes of the pod and mounts of the ruler's container.
#[derive(Default)]
struct Volumes {
    volumes: Vec<Volume>,
    mounts: Vec<VolumeMount>,
}

pub fn statefulset(
    ruler: &ThanosRuler,
    operator: &Operator,
    given: &Given,
) -> Result<StatefulSet, WorkloadError> {
    let (spec, fields) = (&ruler.spec, &ruler.spec.pod);
    if spec.query_config.is_none() && spec.query_endpoints.is_empty() {
        return Err(WorkloadError::NoQuery);
    }
    let name = ruler.metadata.name.as_deref().unwrap_or_default();
    let version = Version::parse(or_default(&fields.version, DEFAULT_THANOS))
        .map_err(|source| WorkloadError::Version { field: "version", source })?;
    let instance = Instance { spec, prefixed_name: format!("thanos-ruler-{name}"), version, operator, given };
    let (pod, volumes) = instance.pod()?;

    let own =
        labels([(MANAGED_BY, MANAGER), (NAME, "thanos-ruler"), (INSTANCE, name), ("thanos-ruler", name)]);
    let pod_metadata = fields.pod_metadata.clone().unwrap_or_default();
    // The labels of pods are part of the selector here, since upstream's StatefulSets have it so.
    let selector = layered([&pod_metadata.labels, &operator.labels, &own]);
    Ok(assemble(Parts {
        made: Made {
            name: instance.prefixed_name.clone(),
            resource: &ruler.metadata,
            owner: owner("monitoring.coreos.com/v1", "ThanosRuler", &ruler.metadata),
            operator,
            kind: labels([]),
            selector: &selector,
            input_hash: Some(&given.input_hash),
        },
        fields,
        replicas: fields.replicas,
        service: "thanos-ruler-operated",
        retention: None,
        pod_labels: layered([&selector, &labels([(VERSION, &instance.version.to_string())])]),
        pod_annotations: layered([&pod_metadata.annotations, &labels([(DEFAULT_CONTAINER, "thanos-ruler")])]),
        pod,
        volumes,
        data_volume: &instance.data_volume(),
    }))
}

impl Instance<'_> {
    /// The pod, and the operator's volumes of it.
    fn pod(&self) -> Result<(PodSpec, Vec<Volume>), WorkloadError> {
        let (spec, fields) = (self.spec, &self.spec.pod);
        let mut volumes = Volumes::default();
        let mut arguments = Arguments::new(&self.version, THANOS_RULER);
        self.ruler_arguments(&mut arguments, &mut volumes);
        let tls_assets = volume::tls_assets(&self.given.tls_asset_secret_names);
        volumes.add(tls_assets, volume::mount_read_only("tls-assets", "/etc/thanos/certs"));
        self.server_arguments(&mut arguments);
        let arguments = arguments
            .finish(&fields.additional_args)
            .map_err(|source| WorkloadError::Arguments { field: "additionalArgs", source })?;
        let mut arguments: Vec<_> = std::iter::once("rule".to_owned()).chain(arguments).collect();
        let reloader = self.reloader(&mut arguments, &mut volumes)?;

        volumes.mounts.push(storage::mount(fields.storage.as_ref(), &self.data_volume(), DATA, None));
        for rules in &self.given.rule_config_map_names {
            volumes.add(volume::rules(rules), volume::mount_read_only(rules, format!("{RULES}/{rules}")));
        }
        volumes.mounts.extend_from_slice(&fields.volume_mounts);
        let container = Container {
            args: Some(arguments),
            env: Some(vec![variable_of_field("POD_NAME", "metadata.name")]),
            ports: Some(ports(spec)),
            volume_mounts: Some(volumes.mounts),
            resources: Some(with_memory(&fields.resources)),
            ..container("thanos-ruler", self.image()?, &fields.image_pull_policy)
        };
        let containers = std::iter::once(container).chain(reloader).collect();
        let pod = PodSpec {
            topology_spread_constraints: list(&spec.topology_spread_constraints),
            init_containers: list(&fields.init_containers),
            containers: merge_containers(containers, &fields.containers)
                .map_err(|source| WorkloadError::Containers { field: "containers", source })?,
            ..pod(fields, GRACE_PERIOD)
        };
        Ok((pod, volumes.volumes))
    }

    /// Without rules there is nothing to reload, and upstream then configures no web server either.
    fn reloader(
        &self,
        arguments: &mut Vec<String>,
        volumes: &mut Volumes,
    ) -> Result<Option<Container>, WorkloadError> {
        let rules = &self.given.rule_config_map_names;
        if rules.is_empty() {
            return Ok(None);
        }
        let secret = format!("{}-web-config", self.prefixed_name);
        let fields = self.spec.web.as_ref().map(|web| &web.file);
        let web_config = knows(THANOS_RULER, "http.config", &self.version)
            .then(|| WebConfig::new("/etc/thanos/web_config", secret, fields))
            .transpose()?;
        let mut mounts: Vec<_> =
            rules.iter().map(|rules| volume::mount(rules, format!("{RULES}/{rules}"))).collect();
        let watched = mounts.iter().map(|mount| mount.mount_path.clone()).collect();
        if let Some(web_config) = &web_config {
            let (web_volumes, web_mounts) = web_config.mounts();
            arguments.push(format!("--http.config={}", web_config.path()));
            volumes.volumes.extend(web_volumes);
            volumes.mounts.extend_from_slice(&web_mounts);
            mounts.extend(web_mounts);
        }
        let (operator, fields) = (self.operator, &self.spec.pod);
        let reloader =
            Reloader { operator, fields, pull_policy: "", mounts, config: None, watched, place: NO_SHARD };
        let path = web_config.as_ref().map(WebConfig::path);
        Ok(Some(reloader.beside(&self.reload(web_config.is_some()), path.as_deref())))
    }

    fn data_volume(&self) -> String {
        format!("{}-data", self.prefixed_name)
    }

    fn image(&self) -> Result<String, WorkloadError> {
        let parts = ImageParts {
            image: self.spec.pod.image.as_deref().unwrap_or_default(),
            base: or_default(&self.operator.thanos_default_base_image, DEFAULT_BASE_IMAGE),
            version: or_default(&self.spec.pod.version, DEFAULT_THANOS),
            tag: "",
            sha: "",
        };
        parts.compose().map_err(|source| WorkloadError::Image { field: "image", source })
    }

    fn reload(&self, knows_https: bool) -> Reload {
        let tls = self.spec.web.as_ref().is_some_and(|web| web.file.tls_config.is_some());
        let scheme = if tls && knows_https { "https" } else { "http" };
        let path = clean(&format!("{}/-/reload", self.spec.pod.route_prefix));
        Reload::Request(url(scheme, &format!("{}:10902", self.operator.local_host), &path))
    }
}

impl Volumes {
    fn add(&mut self, volume: Volume, mount: VolumeMount) {
        self.volumes.push(volume);
        self.mounts.push(mount);
    }

    /// Mounts one key of a Secret; the file's path comes back.
    fn add_key(&mut self, volume: &str, secret: &str, key: &str) -> String {
        let directory = format!("/etc/thanos/config/{volume}");
        let source = SecretVolumeSource {
            secret_name: Some(secret.to_owned()),
            items: Some(vec![KeyToPath { key: key.to_owned(), path: key.to_owned(), ..Default::default() }]),
            ..Default::default()
        };
        let path = crate::path::join(&directory, key);
        self.add(
            Volume { name: volume.to_owned(), secret: Some(source), ..Default::default() },
            volume::mount_read_only(volume, directory),
        );
        path
    }
}

fn ports(spec: &ThanosRulerSpec) -> Vec<ContainerPort> {
    let port = |name: &str, number| ContainerPort {
        name: text(name),
        container_port: number,
        protocol: Some("TCP".to_owned()),
        ..Default::default()
    };
    let mut ports = vec![port("grpc", 10901)];
    if !spec.pod.listen_local {
        ports.push(port(&spec.pod.port_name, 10902));
    }
    ports
}
