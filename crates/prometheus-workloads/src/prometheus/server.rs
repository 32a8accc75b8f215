//! The StatefulSet of a Prometheus server, one per shard.

use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::{PodSpec, Volume};
use prometheus_types::Prometheus;
use prometheus_types::prometheus::PrometheusSpec;

use super::instance::{Instance, Scope};
use super::thanos_sidecar::{Compaction, ThanosSidecar, UPLOADED};
use super::volumes::{DATA, DATA_DIRECTORY, Volumes, log_mount, log_volume};
use crate::WorkloadError;
use crate::arguments::Arguments;
use crate::gates::{PROMETHEUS, knows};
use crate::image::{Parts as ImageParts, or_default};
use crate::operator::{Given, Operator};
use crate::path::{is_bare, join};
use crate::pod::variable;
use crate::storage;
use crate::volume;

const RULES: &str = "/etc/prometheus/rules";
const DEFAULT_RETENTION: &str = "24h";

/// `name` is the StatefulSet's; `shard` the one it is for.
pub fn statefulset(
    prometheus: &Prometheus,
    operator: &Operator,
    name: &str,
    shard: i32,
    given: &Given,
) -> Result<StatefulSet, WorkloadError> {
    let instance = Instance::of_server(prometheus, operator)?;
    let pod = pod(&instance, &prometheus.spec, Scope::Shard(shard), given)?;
    Ok(instance.statefulset(name, shard, given, "prometheus-operated", pod))
}

/// A server's pod, and the operator's volumes of it.
fn pod(
    instance: &Instance<'_>,
    spec: &PrometheusSpec,
    scope: Scope,
    given: &Given,
) -> Result<(PodSpec, Vec<Volume>), WorkloadError> {
    let data =
        storage::mount(instance.fields.storage.as_ref(), &instance.data_volume(), DATA, Some(DATA_DIRECTORY));
    let sidecar = ThanosSidecar::of(instance, spec, data.clone())?;

    let mut arguments = Arguments::new(&instance.version, PROMETHEUS);
    instance.common_arguments(&mut arguments);
    server_arguments(spec, &mut arguments);
    let mut volumes = instance.volumes(&given.tls_asset_secret_names, Some(data))?;
    add_logs_and_rules(instance, spec, given, &mut volumes);
    let web_config = instance.add_web_config(&mut arguments, &mut volumes, instance.common.web.is_some())?;
    compaction_arguments(spec, sidecar.compaction, &mut arguments);
    volumes.volumes.extend(sidecar.volumes);
    let mut watched = Vec::new();
    for rules in &given.rule_config_map_names {
        let path = format!("{RULES}/{rules}");
        volumes.reloader.push(volume::mount(rules, &path));
        watched.push(path);
    }

    let mut container = instance.container(image(instance, spec)?);
    container.args = Some(
        arguments
            .finish(&instance.fields.additional_args)
            .map_err(|source| WorkloadError::Arguments { field: "additionalArgs", source })?,
    );
    container.volume_mounts = Some(volumes.mounts);
    let go_gc = instance.common.runtime.as_ref().and_then(|runtime| runtime.go_gc);
    if let Some(percent) = go_gc.filter(|_| knows(PROMETHEUS, "env:GOGC", &instance.version)) {
        container.env = Some(vec![variable("GOGC", percent.to_string())]);
    }

    let reloader = instance.reloader(volumes.reloader, watched, scope);
    let beside = reloader.beside(&instance.reload(), web_config.as_deref());
    let containers = [container, beside].into_iter().chain(sidecar.container).collect();
    Ok((instance.pod(scope, vec![reloader.init()], containers)?, volumes.volumes))
}

fn image(instance: &Instance<'_>, spec: &PrometheusSpec) -> Result<String, WorkloadError> {
    let parts = ImageParts {
        image: instance.fields.image.as_deref().unwrap_or_default(),
        base: or_default(&spec.base_image, &instance.operator.prometheus_default_base_image),
        version: &format!("v{}", instance.version),
        tag: &spec.tag,
        sha: &spec.sha,
    };
    parts.compose().map_err(|source| WorkloadError::Image { field: "baseImage", source })
}

fn add_logs_and_rules(instance: &Instance<'_>, spec: &PrometheusSpec, given: &Given, all: &mut Volumes) {
    // One volume for both logs: that of failed scrapes may have brought it already.
    let query_log = is_bare(&spec.query_log_file) && instance.common.scrape_failure_log_file.is_none();
    if query_log {
        all.volumes.push(log_volume());
    }
    for rules in &given.rule_config_map_names {
        all.volumes.push(volume::rules(rules));
        all.mounts.push(volume::mount_read_only(rules, format!("{RULES}/{rules}")));
    }
    if query_log {
        all.mounts.push(log_mount());
    }
}

fn server_arguments(spec: &PrometheusSpec, arguments: &mut Arguments<'_>) {
    arguments.value("storage.tsdb.retention", or_default(&spec.retention, DEFAULT_RETENTION));
    let unlimited = spec.retention.is_empty() && spec.retention_size.is_empty();
    arguments
        .text("storage.tsdb.retention.time", if unlimited { DEFAULT_RETENTION } else { &spec.retention });
    arguments.text("storage.tsdb.retention.size", &spec.retention_size);
    arguments.value("storage.tsdb.path", DATA);
    arguments.flag_if("web.enable-admin-api", spec.enable_admin_api);
    let alert = &spec.rules.alert;
    arguments.text("rules.alert.for-outage-tolerance", &alert.for_outage_tolerance);
    arguments.text("rules.alert.for-grace-period", &alert.for_grace_period);
    arguments.text("rules.alert.resend-delay", &alert.resend_delay);
    if let Some(query) = &spec.query {
        arguments.some("query.lookback-delta", query.lookback_delta.as_ref());
        arguments.some("query.max-samples", query.max_samples.filter(|samples| *samples > 0));
        arguments.some("query.max-concurrency", query.max_concurrency.filter(|queries| *queries > 0));
        arguments.some("query.timeout", query.timeout.as_ref());
    }
    arguments.flag_if("storage.tsdb.allow-overlapping-blocks", spec.allow_overlapping_blocks);
    if let Some(compress) = spec.common.wal_compression {
        arguments.flag(if compress {
            "storage.tsdb.wal-compression"
        } else {
            "no-storage.tsdb.wal-compression"
        });
    }
}

/// Blocks that the sidecar uploads must not be compacted before.
fn compaction_arguments(spec: &PrometheusSpec, compaction: Compaction, arguments: &mut Arguments<'_>) {
    match compaction {
        Compaction::Own => return,
        Compaction::Disabled => {
            let size = or_default(spec.thanos.as_ref().map_or("", |thanos| &thanos.block_size), "2h");
            arguments.value("storage.tsdb.max-block-duration", size);
            arguments.value("storage.tsdb.min-block-duration", size);
        }
        Compaction::AfterUpload => {
            arguments.value("storage.tsdb.delay-compact-file.path", join(DATA, UPLOADED));
        }
    }
    // Blocks that came out of order overlap, and would be compacted nevertheless (prometheus-operator#6829).
    let out_of_order = spec.common.tsdb.as_ref().is_some_and(|tsdb| tsdb.out_of_order_time_window.is_some());
    arguments.flag_if("no-storage.tsdb.allow-overlapping-compaction", out_of_order);
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn built(spec: Value, shard: i32) -> Value {
        let resource = json!({"metadata": {"name": "k8s", "namespace": "monitoring"}, "spec": spec});
        let prometheus: Prometheus = serde_json::from_value(resource).unwrap();
        let operator = Operator {
            prometheus_default_base_image: "prometheus".to_owned(),
            topology_sharding: true,
            ..Default::default()
        };
        let name = format!("prometheus-k8s-shard-{shard}");
        serde_json::to_value(statefulset(&prometheus, &operator, &name, shard, &Given::default()).unwrap())
            .unwrap()
    }

    #[test]
    fn pods_are_selected_as_those_that_already_run() {
        let expected = json!({
            "app.kubernetes.io/instance": "k8s",
            "app.kubernetes.io/managed-by": "prometheus-operator",
            "app.kubernetes.io/name": "prometheus",
            "operator.prometheus.io/name": "k8s",
            "operator.prometheus.io/shard": "2",
            "prometheus": "k8s",
        });
        let labels = json!({"prometheus": "mine", "app": "x"});
        let built = built(json!({"podMetadata": {"labels": labels}}), 2);
        assert_eq!(built["spec"]["selector"]["matchLabels"], expected);
        let pods = &built["spec"]["template"]["metadata"]["labels"];
        assert_eq!(
            (&pods["prometheus"], &pods["app"]),
            (&json!("k8s"), &json!("x")),
            "a label cannot take pods out"
        );
    }

    #[test]
    fn a_shard_belongs_to_a_zone() {
        let strategy = json!({"mode": "Topology", "topology": {"values": ["a", "b", "c"]}});
        let built = built(json!({"shards": 6, "shardingStrategy": strategy}), 4);
        let pod = &built["spec"]["template"]["spec"];
        assert_eq!(pod["nodeSelector"], json!({"topology.kubernetes.io/zone": "b"}));
        let variables = &pod["containers"][1]["env"];
        assert_eq!(variables[2], json!({"name": "TOPOLOGY_ZONE", "value": "b"}));
        assert_eq!(variables[3], json!({"name": "INZONE_SHARD", "value": "1"}));
    }

    #[test]
    fn an_argument_that_the_operator_sets_is_refused_with_its_field() {
        let spec = json!({"additionalArgs": [{"name": "config.file", "value": "/x"}]});
        let prometheus: Prometheus = serde_json::from_value(json!({"metadata": {}, "spec": spec})).unwrap();
        let operator = Operator { prometheus_default_base_image: "p".to_owned(), ..Default::default() };
        let error = statefulset(&prometheus, &operator, "p", 0, &Given::default()).unwrap_err().to_string();
        assert_eq!(
            error,
            "spec.additionalArgs: the operator sets config.file itself: leave it out, or use the field of the resource"
        );
    }
}
