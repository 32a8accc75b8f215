//! The workloads of a PrometheusAgent: a StatefulSet per shard, or one DaemonSet.

use k8s_openapi::api::apps::v1::{DaemonSet, DaemonSetSpec, DaemonSetUpdateStrategy, StatefulSet};
use k8s_openapi::api::core::v1::{PodSpec, Volume, VolumeMount};
use prometheus_types::PrometheusAgent;

use super::instance::{Instance, Scope};
use super::volumes::{DATA, DATA_DIRECTORY};
use crate::WorkloadError;
use crate::arguments::Arguments;
use crate::gates::PROMETHEUS;
use crate::image::Parts as ImageParts;
use crate::operator::{Given, Operator};
use crate::statefulset::{selector, template};
use crate::storage;

/// `name` is the StatefulSet's; `shard` the one it is for.
pub fn statefulset(
    agent: &PrometheusAgent,
    operator: &Operator,
    name: &str,
    shard: i32,
    given: &Given,
) -> Result<StatefulSet, WorkloadError> {
    let instance = Instance::of_agent(agent, operator)?;
    let data =
        storage::mount(instance.fields.storage.as_ref(), &instance.data_volume(), DATA, Some(DATA_DIRECTORY));
    let pod = pod(&instance, Scope::Shard(shard), given, Some(data))?;
    Ok(instance.statefulset(name, shard, given, "prometheus-agent-operated", pod))
}

/// One pod per node; it keeps no data and takes no volumes of the user's.
pub fn daemonset(
    agent: &PrometheusAgent,
    operator: &Operator,
    given: &Given,
) -> Result<DaemonSet, WorkloadError> {
    let instance = Instance::of_agent(agent, operator)?;
    let scope = Scope::EveryNode;
    let (mut pod, volumes) = pod(&instance, scope, given, None)?;
    pod.volumes = Some(volumes);
    let own = instance.selector(scope);
    let (pod_labels, pod_annotations) = instance.pod_metadata(scope);
    Ok(DaemonSet {
        metadata: instance.made(instance.prefixed_name(), &own, None).metadata(),
        spec: DaemonSetSpec {
            selector: selector(&own),
            min_ready_seconds: instance.fields.min_ready_seconds.filter(|seconds| *seconds != 0),
            template: template(pod_labels, pod_annotations, pod),
            update_strategy: Some(DaemonSetUpdateStrategy::default()),
            ..Default::default()
        },
        ..Default::default()
    })
}

/// An agent's pod, and the operator's volumes of it.
fn pod(
    instance: &Instance<'_>,
    scope: Scope,
    given: &Given,
    data: Option<VolumeMount>,
) -> Result<(PodSpec, Vec<Volume>), WorkloadError> {
    let mut arguments = Arguments::new(&instance.version, PROMETHEUS);
    instance.common_arguments(&mut arguments);
    arguments.feature("agent");
    arguments.flag("agent");
    arguments.value("storage.agent.path", DATA);
    if let Some(compress) = instance.common.wal_compression {
        arguments.flag(if compress {
            "storage.agent.wal-compression"
        } else {
            "no-storage.agent.wal-compression"
        });
    }
    let mut volumes = instance.volumes(&given.tls_asset_secret_names, data)?;
    // A DaemonSet's reloader always serves as the web configuration says, a StatefulSet's only when there is one.
    let reloader_serves = instance.common.web.is_some() || matches!(scope, Scope::EveryNode);
    let web_config = instance.add_web_config(&mut arguments, &mut volumes, reloader_serves)?;

    let image = ImageParts {
        image: instance.fields.image.as_deref().unwrap_or_default(),
        base: &instance.operator.prometheus_default_base_image,
        version: &format!("v{}", instance.version),
        tag: "",
        sha: "",
    };
    let image = image.compose().map_err(|source| WorkloadError::Image { field: "image", source })?;
    let mut container = instance.container(image);
    container.args = Some(
        arguments
            .finish(&instance.fields.additional_args)
            .map_err(|source| WorkloadError::Arguments { field: "additionalArgs", source })?,
    );
    container.volume_mounts = Some(volumes.mounts);

    let reloader = instance.reloader(volumes.reloader, Vec::new(), scope);
    let beside = reloader.beside(&instance.reload(), web_config.as_deref());
    Ok((instance.pod(scope, vec![reloader.init()], vec![container, beside])?, volumes.volumes))
}
