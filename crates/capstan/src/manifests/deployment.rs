//! The operator's own Deployment: two replicas, one of which leads; no privilege on the node.

use std::collections::BTreeMap;

use k8s_openapi::{
    api::{
        apps::v1::{Deployment, DeploymentSpec},
        core::v1::{
            Capabilities, Container, ContainerPort, EnvVar, HTTPGetAction, PodSecurityContext, PodSpec,
            PodTemplateSpec, Probe, ResourceRequirements, SeccompProfile, SecurityContext, Toleration,
            TopologySpreadConstraint,
        },
        policy::v1::{PodDisruptionBudget, PodDisruptionBudgetSpec},
    },
    apimachinery::pkg::{
        api::resource::Quantity,
        apis::meta::v1::{LabelSelector, ObjectMeta},
        util::intstr::IntOrString,
    },
};

use super::named;
use crate::operator::NAME;

/// The second one stands by with warm caches: a lost node is no pause.
const REPLICAS: i32 = 2;

/// The port that metrics are served on.
pub(super) const METRICS: &str = "metrics";

pub(super) fn selector() -> BTreeMap<String, String> {
    [("app.kubernetes.io/name".to_owned(), NAME.to_owned())].into()
}

pub(super) fn labels() -> impl Iterator<Item = (String, String)> {
    selector().into_iter().chain([("app.kubernetes.io/part-of".to_owned(), NAME.to_owned())])
}

fn matching() -> LabelSelector {
    LabelSelector { match_labels: Some(selector()), ..LabelSelector::default() }
}

pub(super) fn budget() -> PodDisruptionBudget {
    PodDisruptionBudget {
        metadata: named(NAME),
        spec: Some(PodDisruptionBudgetSpec {
            max_unavailable: Some(IntOrString::Int(1)),
            selector: Some(matching()),
            ..PodDisruptionBudgetSpec::default()
        }),
        status: None,
    }
}

pub(super) fn deployment(image: &str) -> Deployment {
    let metadata = ObjectMeta { labels: Some(labels().collect()), ..ObjectMeta::default() };
    Deployment {
        metadata: named(NAME),
        spec: DeploymentSpec {
            replicas: Some(REPLICAS),
            selector: matching(),
            template: PodTemplateSpec { metadata: Some(metadata), spec: Some(pod(image)) },
            ..DeploymentSpec::default()
        },
        status: None,
    }
}

fn pod(image: &str) -> PodSpec {
    PodSpec {
        service_account_name: Some(NAME.into()),
        security_context: Some(PodSecurityContext {
            run_as_non_root: Some(true),
            run_as_user: Some(65532),
            run_as_group: Some(65532),
            seccomp_profile: Some(SeccompProfile { type_: "RuntimeDefault".into(), localhost_profile: None }),
            ..PodSecurityContext::default()
        }),
        // Kubernetes' default is to wait for five minutes: long for something that repairs others.
        tolerations: Some(["not-ready", "unreachable"].map(leave_soon).into()),
        topology_spread_constraints: Some(vec![TopologySpreadConstraint {
            max_skew: 1,
            topology_key: "kubernetes.io/hostname".into(),
            when_unsatisfiable: "ScheduleAnyway".into(),
            label_selector: Some(matching()),
            ..TopologySpreadConstraint::default()
        }]),
        containers: vec![container(image)],
        ..PodSpec::default()
    }
}

fn leave_soon(taint: &str) -> Toleration {
    Toleration {
        key: Some(format!("node.kubernetes.io/{taint}")),
        operator: Some("Exists".into()),
        effect: Some("NoExecute".into()),
        toleration_seconds: Some(10),
        value: None,
    }
}

fn container(image: &str) -> Container {
    Container {
        name: NAME.into(),
        image: Some(image.into()),
        image_pull_policy: Some("IfNotPresent".into()),
        args: Some(vec!["operator".into()]),
        env: Some(vec![EnvVar { name: "CAPSTAN_IMAGE".into(), value: Some(image.into()), value_from: None }]),
        ports: Some(vec![port(METRICS, 8080), port("health", 8081)]),
        liveness_probe: Some(Probe {
            period_seconds: Some(10),
            failure_threshold: Some(3),
            ..get("/healthz")
        }),
        readiness_probe: Some(Probe { period_seconds: Some(2), ..get("/readyz") }),
        resources: Some(ResourceRequirements {
            requests: Some(quantities(&[("cpu", "10m"), ("memory", "32Mi")])),
            limits: Some(quantities(&[("memory", "256Mi")])),
            ..ResourceRequirements::default()
        }),
        security_context: Some(SecurityContext {
            allow_privilege_escalation: Some(false),
            read_only_root_filesystem: Some(true),
            capabilities: Some(Capabilities { drop: Some(vec!["ALL".into()]), add: None }),
            ..SecurityContext::default()
        }),
        ..Container::default()
    }
}

fn port(name: &str, number: i32) -> ContainerPort {
    ContainerPort { name: Some(name.into()), container_port: number, ..ContainerPort::default() }
}

fn get(path: &str) -> Probe {
    let port = IntOrString::String("health".into());
    Probe {
        http_get: Some(HTTPGetAction { path: Some(path.into()), port, ..HTTPGetAction::default() }),
        ..Probe::default()
    }
}

fn quantities(table: &[(&str, &str)]) -> BTreeMap<String, Quantity> {
    table.iter().map(|(name, amount)| ((*name).to_owned(), Quantity((*amount).to_owned()))).collect()
}
