//! The Thanos sidecar: it serves a Prometheus' data to queriers and uploads its blocks.

use k8s_openapi::api::core::v1::{
    Container, ContainerPort, EnvVar, EnvVarSource, SecretKeySelector, Volume, VolumeMount,
};
use prometheus_types::prometheus::PrometheusSpec;
use prometheus_types::thanos::ThanosSpec;
use rendering::Version;

use super::instance::Instance;
use super::volumes::DATA;
use crate::WorkloadError;
use crate::arguments::Arguments;
use crate::gates::{DEFAULT_THANOS, PROMETHEUS, THANOS_SIDECAR, knows};
use crate::image::Parts;
use crate::path::clean;
use crate::pod::{container, list};
use crate::thanos_ruler::grpc_arguments;
use crate::volume;

/// The file in which the sidecar notes what it has uploaded.
pub(super) const UPLOADED: &str = "thanos.shipper.json";
const CLIENT: &str = "thanos-prometheus-http-client-file";
const CLIENT_DIRECTORY: &str = "/etc/thanos/config";
const CLIENT_FILE: &str = "prometheus.http-client-file.yaml";

/// When Prometheus compacts its blocks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Compaction {
    /// As it sees fit: nothing is uploaded.
    Own,
    /// Never: the sidecar uploads blocks as they were written.
    Disabled,
    /// Once they are uploaded. Both sides must know how (prometheus-operator#8266).
    AfterUpload,
}

pub(super) struct ThanosSidecar {
    pub(super) compaction: Compaction,
    pub(super) container: Option<Container>,
    pub(super) volumes: Vec<Volume>,
}

impl ThanosSidecar {
    /// `data` is Prometheus' own mount of its data.
    pub(super) fn of(
        instance: &Instance<'_>,
        spec: &PrometheusSpec,
        data: VolumeMount,
    ) -> Result<Self, WorkloadError> {
        let Some(thanos) = &spec.thanos else {
            let compaction = if spec.disable_compaction { Compaction::Disabled } else { Compaction::Own };
            return Ok(Self { compaction, container: None, volumes: Vec::new() });
        };
        let version = Version::parse(thanos.version.as_deref().unwrap_or(DEFAULT_THANOS))
            .map_err(|source| WorkloadError::Version { field: "thanos.version", source })?;
        let compaction = compaction(spec, thanos, instance, &version);
        let mut container = Container {
            resources: Some(thanos.resources.clone()),
            ports: Some(vec![port("http", 10902), port("grpc", 10901)]),
            ..container("thanos-sidecar", image(instance, thanos)?, &instance.fields.image_pull_policy)
        };
        // Only name and path of the user's mounts count, as upstream has it.
        let mut mounts: Vec<_> =
            thanos.volume_mounts.iter().map(|given| volume::mount(&given.name, &given.mount_path)).collect();
        let mut variables = Vec::new();

        let mut arguments = Arguments::new(&version, THANOS_SIDECAR);
        address_arguments(instance, thanos, &mut arguments);
        if uploads(thanos) {
            if let Some(file) = &thanos.object_storage_config_file {
                arguments.value("objstore.config-file", file);
            } else if let Some(config) = &thanos.object_storage_config {
                arguments.value("objstore.config", "$(OBJSTORE_CONFIG)");
                variables.push(variable_of_secret("OBJSTORE_CONFIG", config));
            }
            arguments.value("tsdb.path", DATA);
            mounts.push(data);
            if compaction == Compaction::AfterUpload {
                arguments.value("shipper.meta-file-name", UPLOADED);
                arguments.flag("shipper.ignore-unequal-block-size");
            }
        }
        if !thanos.tracing_config_file.is_empty() {
            arguments.value("tracing.config-file", &thanos.tracing_config_file);
        } else if let Some(config) = &thanos.tracing_config {
            arguments.value("tracing.config", "$(TRACING_CONFIG)");
            variables.push(variable_of_secret("TRACING_CONFIG", config));
        }
        let or_own =
            |own: &str, prometheus: &str| if own.is_empty() { prometheus.to_owned() } else { own.to_owned() };
        arguments.text("log.level", &or_own(&thanos.log_level, &instance.fields.log_level));
        arguments.text("log.format", &or_own(&thanos.log_format, &instance.fields.log_format));
        arguments.text("min-time", &thanos.min_time);
        arguments.text("prometheus.ready_timeout", &thanos.ready_timeout);
        arguments.text("prometheus.get_config_timeout", &thanos.get_config_timeout);
        arguments.text("prometheus.get_config_interval", &thanos.get_config_interval);

        let mut volumes = Vec::new();
        if arguments.knows("prometheus.http-client-file") {
            arguments.value("prometheus.http-client-file", format!("{CLIENT_DIRECTORY}/{CLIENT_FILE}"));
            mounts.push(volume::mount(CLIENT, CLIENT_DIRECTORY));
            volumes.push(volume::secret(CLIENT, format!("{}-{CLIENT}", instance.prefixed_name())));
        }
        let arguments = arguments
            .finish(&thanos.additional_args)
            .map_err(|source| WorkloadError::Arguments { field: "thanos.additionalArgs", source })?;
        container.args = Some(std::iter::once("sidecar".to_owned()).chain(arguments).collect());
        container.env = list(&variables);
        container.volume_mounts = list(&mounts);
        Ok(Self { compaction, container: Some(container), volumes })
    }
}

fn address_arguments(instance: &Instance<'_>, thanos: &ThanosSpec, arguments: &mut Arguments<'_>) {
    let host = |local: bool| if thanos.listen_local || local { "127.0.0.1" } else { "" };
    let (scheme, local_host) = (instance.scheme(), &instance.operator.local_host);
    arguments
        .value("prometheus.url", format!("{scheme}://{local_host}:9090{}", clean(instance.route_prefix())));
    arguments.value("grpc-address", format!("{}:10901", host(thanos.grpc_listen_local)));
    arguments.value("http-address", format!("{}:10902", host(thanos.http_listen_local)));
    if let Some(tls) = &thanos.grpc_server_tls_config {
        grpc_arguments(tls, arguments);
    }
}

fn uploads(thanos: &ThanosSpec) -> bool {
    thanos.object_storage_config.is_some() || thanos.object_storage_config_file.is_some()
}

fn compaction(
    spec: &PrometheusSpec,
    thanos: &ThanosSpec,
    instance: &Instance<'_>,
    version: &Version,
) -> Compaction {
    let both_can_wait = knows(PROMETHEUS, "storage.tsdb.delay-compact-file.path", &instance.version)
        && knows(THANOS_SIDECAR, "shipper.meta-file-name", version);
    match (spec.disable_compaction, uploads(thanos)) {
        (true, _) => Compaction::Disabled,
        (false, false) => Compaction::Own,
        (false, true) if both_can_wait => Compaction::AfterUpload,
        (false, true) => Compaction::Disabled,
    }
}

fn image(instance: &Instance<'_>, thanos: &ThanosSpec) -> Result<String, WorkloadError> {
    let parts = Parts {
        image: thanos.image.as_deref().unwrap_or_default(),
        base: thanos.base_image.as_deref().unwrap_or(&instance.operator.thanos_default_base_image),
        version: thanos.version.as_deref().unwrap_or(DEFAULT_THANOS),
        tag: thanos.tag.as_deref().unwrap_or_default(),
        sha: thanos.sha.as_deref().unwrap_or_default(),
    };
    parts.compose().map_err(|source| WorkloadError::Image { field: "thanos.baseImage", source })
}

fn port(name: &str, number: i32) -> ContainerPort {
    ContainerPort { name: Some(name.to_owned()), container_port: number, ..Default::default() }
}

fn variable_of_secret(name: &str, key: &SecretKeySelector) -> EnvVar {
    let value_from = EnvVarSource { secret_key_ref: Some(key.clone()), ..Default::default() };
    EnvVar { name: name.to_owned(), value_from: Some(value_from), ..Default::default() }
}
