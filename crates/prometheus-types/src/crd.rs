//! The CustomResourceDefinitions of all kinds, made from the types.

mod v1beta1;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceColumnDefinition, CustomResourceDefinition, CustomResourceDefinitionVersion,
    CustomResourceValidation,
};
use kube_core::CustomResourceExt;
use schemars::JsonSchema;
use serde_json::{Value, json};

use crate::alertmanager::{Alertmanager, AlertmanagerSpec, AlertmanagerStatus};
use crate::alertmanager_config::{AlertmanagerConfig, AlertmanagerConfigSpec};
use crate::pod_monitor::{PodMonitor, PodMonitorSpec};
use crate::probe::{Probe, ProbeSpec};
use crate::prometheus::{Prometheus, PrometheusSpec};
use crate::prometheus_agent::{PrometheusAgent, PrometheusAgentSpec};
use crate::prometheus_rule::{PrometheusRule, PrometheusRuleSpec};
use crate::schema::{drop_descriptions, structural};
use crate::scrape_config::{ScrapeConfig, ScrapeConfigSpec};
use crate::service_monitor::{ServiceMonitor, ServiceMonitorSpec};
use crate::status::{ConfigResourceStatus, PrometheusStatus};
use crate::thanos_ruler::{ThanosRuler, ThanosRulerSpec, ThanosRulerStatus};

/// Whether a CRD explains its fields (`kubectl explain`) or is as small as can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Descriptions {
    Full,
    Slim,
}

/// Which versions of AlertmanagerConfig are served: v1beta1 needs a conversion webhook, so it is not there by default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Versions {
    Default,
    All,
}

/// All ten CRDs, sorted by kind.
///
/// # Errors
/// When a generated schema is not one that Kubernetes' own type can hold, which would be a mistake in this crate.
pub fn crds(
    descriptions: Descriptions,
    versions: Versions,
) -> serde_json::Result<Vec<CustomResourceDefinition>> {
    let mut crds = vec![
        workload::<Alertmanager, AlertmanagerSpec, AlertmanagerStatus>("Replicas")?,
        alertmanager_config(versions)?,
        definition::<PodMonitor, PodMonitorSpec, ConfigResourceStatus>()?,
        definition::<Probe, ProbeSpec, ConfigResourceStatus>()?,
        workload::<Prometheus, PrometheusSpec, PrometheusStatus>("Desired")?,
        workload::<PrometheusAgent, PrometheusAgentSpec, PrometheusStatus>("Desired")?,
        definition::<PrometheusRule, PrometheusRuleSpec, ConfigResourceStatus>()?,
        definition::<ScrapeConfig, ScrapeConfigSpec, ConfigResourceStatus>()?,
        definition::<ServiceMonitor, ServiceMonitorSpec, ConfigResourceStatus>()?,
        workload::<ThanosRuler, ThanosRulerSpec, ThanosRulerStatus>("Replicas")?,
    ];
    if descriptions == Descriptions::Slim {
        for version in crds.iter_mut().flat_map(|crd| &mut crd.spec.versions) {
            edit(version, drop_descriptions)?;
        }
    }
    Ok(crds)
}

/// What `kubectl get` shows of a workload: name, type, path, priority, text. The wanted number of pods has two names.
type Column = (&'static str, &'static str, &'static str, Option<i32>, &'static str);
const COLUMNS: &[Column] = &[
    ("Version", "string", ".spec.version", None, "Version asked for"),
    (PODS, "integer", ".spec.replicas", None, "Pods asked for"),
    ("Ready", "integer", ".status.availableReplicas", None, "Pods that are ready"),
    (
        "Reconciled",
        "string",
        ".status.conditions[?(@.type == 'Reconciled')].status",
        None,
        "Whether it is as asked for",
    ),
    ("Available", "string", ".status.conditions[?(@.type == 'Available')].status", None, "Whether it serves"),
    ("Age", "date", ".metadata.creationTimestamp", None, "Time since it was made"),
    ("Paused", "boolean", ".status.paused", Some(1), "Whether the operator leaves it alone"),
];
const PODS: &str = "Desired";

fn workload<Kind, Spec, Status>(pods: &str) -> serde_json::Result<CustomResourceDefinition>
where
    Kind: CustomResourceExt,
    Spec: JsonSchema,
    Status: JsonSchema,
{
    let mut crd = definition::<Kind, Spec, Status>()?;
    let column = |&(name, type_, json_path, priority, description): &Column| CustomResourceColumnDefinition {
        name: if name == PODS { pods.to_owned() } else { name.to_owned() },
        type_: type_.to_owned(),
        json_path: json_path.to_owned(),
        priority,
        description: Some(description.to_owned()),
        format: None,
    };
    for version in &mut crd.spec.versions {
        version.additional_printer_columns = Some(COLUMNS.iter().map(column).collect());
    }
    Ok(crd)
}

fn alertmanager_config(versions: Versions) -> serde_json::Result<CustomResourceDefinition> {
    let mut crd = definition::<AlertmanagerConfig, AlertmanagerConfigSpec, ConfigResourceStatus>()?;
    if versions == Versions::All {
        crd.spec.versions.extend(v1beta1::version()?);
        // Every receiver has an HTTP client: explained in each of two versions, they would be too much for one object.
        for version in &mut crd.spec.versions {
            edit(version, v1beta1::drop_descriptions_of_http_clients)?;
        }
    }
    Ok(crd)
}

fn definition<Kind, Spec, Status>() -> serde_json::Result<CustomResourceDefinition>
where
    Kind: CustomResourceExt,
    Spec: JsonSchema,
    Status: JsonSchema,
{
    let mut crd = Kind::crd();
    crd.spec.names.list_kind = Some(format!("{}List", crd.spec.names.kind));
    let schema = root(structural::<Spec>(), structural::<Status>());
    for version in &mut crd.spec.versions {
        version.schema = Some(validation(schema.clone())?);
    }
    Ok(crd)
}

/// The schema of a whole object.
fn root(spec: Value, status: Value) -> Value {
    let description = spec.get("description").cloned().unwrap_or_default();
    json!({
        "type": "object",
        "description": description,
        "required": ["spec"],
        "properties": {
            "apiVersion": {"type": "string", "description": "Version of the object's form."},
            "kind": {"type": "string", "description": "Kind of the object."},
            "metadata": {"type": "object"},
            "spec": spec,
            "status": status,
        },
    })
}

fn validation(schema: Value) -> serde_json::Result<CustomResourceValidation> {
    Ok(CustomResourceValidation { open_api_v3_schema: Some(serde_json::from_value(schema)?) })
}

fn edit(
    version: &mut CustomResourceDefinitionVersion,
    change: impl FnOnce(&mut Value),
) -> serde_json::Result<()> {
    let mut schema =
        serde_json::to_value(version.schema.take().and_then(|schema| schema.open_api_v3_schema))?;
    change(&mut schema);
    version.schema = Some(validation(schema)?);
    Ok(())
}
