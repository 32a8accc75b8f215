//! The parts that the objects of every operator are made of, without what they leave unsaid.

use std::collections::BTreeMap;

use k8s_openapi::{
    api::{
        apps::v1::{Deployment, DeploymentSpec, DeploymentStrategy},
        core::v1::{
            Affinity, ContainerPort, EnvVar, EnvVarSource, HTTPGetAction, PersistentVolumeClaim,
            PersistentVolumeClaimSpec, PersistentVolumeClaimVolumeSource, PodAffinity, PodAffinityTerm,
            PodSpec, PodTemplateSpec, Probe, SecretKeySelector, SecretVolumeSource, Service, ServiceAccount,
            ServicePort, ServiceSpec, Volume, VolumeMount, VolumeResourceRequirements,
            WeightedPodAffinityTerm,
        },
    },
    apimachinery::pkg::{
        api::resource::Quantity,
        apis::meta::v1::{LabelSelector, ObjectMeta},
        util::intstr::IntOrString,
    },
};
use kube::ResourceExt as _;

use crate::choices::ServiceType;

/// An identity without a token: for applications that never talk to Kubernetes.
pub fn account(metadata: ObjectMeta) -> ServiceAccount {
    ServiceAccount { metadata, automount_service_account_token: Some(false), ..ServiceAccount::default() }
}

/// A claim for a volume of this size.
pub fn claim(
    metadata: ObjectMeta,
    access_modes: Vec<String>,
    class: Option<String>,
    size: Quantity,
) -> PersistentVolumeClaim {
    let requests = Some([("storage".to_owned(), size)].into());
    let spec = PersistentVolumeClaimSpec {
        access_modes: Some(access_modes),
        storage_class_name: class,
        resources: Some(VolumeResourceRequirements { requests, limits: None }),
        ..PersistentVolumeClaimSpec::default()
    };
    PersistentVolumeClaim { metadata, spec: Some(spec), status: None }
}

/// A Service of this type, for the pods with these labels.
pub fn service(
    metadata: ObjectMeta,
    kind: ServiceType,
    labels: Option<BTreeMap<String, String>>,
    ports: Vec<ServicePort>,
) -> Service {
    let spec = ServiceSpec {
        type_: Some(format!("{kind:?}")),
        selector: labels,
        ports: Some(ports),
        ..ServiceSpec::default()
    };
    Service { metadata, spec: Some(spec), status: None }
}

/// A Deployment of pods that `selector` selects. `strategy` is how new ones come in place of old ones: `RollingUpdate` or `Recreate`.
pub fn deployment(
    metadata: ObjectMeta,
    replicas: i32,
    strategy: &str,
    selector: LabelSelector,
    template: PodTemplateSpec,
) -> Deployment {
    let spec = DeploymentSpec {
        replicas: Some(replicas),
        strategy: Some(DeploymentStrategy { type_: Some(strategy.to_owned()), rolling_update: None }),
        revision_history_limit: Some(2),
        selector,
        template,
        ..DeploymentSpec::default()
    };
    Deployment { metadata, spec, status: None }
}

/// Pods with these labels.
pub fn template(labels: BTreeMap<String, String>, pod: PodSpec) -> PodTemplateSpec {
    let metadata = ObjectMeta { labels: Some(labels), ..ObjectMeta::default() };
    PodTemplateSpec { metadata: Some(metadata), spec: Some(pod) }
}

/// What carries these labels.
pub fn matching(labels: BTreeMap<String, String>) -> LabelSelector {
    LabelSelector { match_labels: Some(labels), match_expressions: None }
}

/// The same as text, as the API takes it.
pub fn selector<'a>(labels: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let labels: Vec<String> = labels.into_iter().map(|(label, value)| format!("{label}={value}")).collect();
    labels.join(",")
}

/// The labels of `selector` as text, as the scale subresource has them.
pub fn selector_text(selector: &LabelSelector) -> String {
    let labels = selector.match_labels.iter().flatten();
    self::selector(labels.map(|(label, value)| (&**label, &**value)))
}

/// A strong preference about where pods with these labels are: for pod affinity, or anti-affinity.
pub fn preferred(labels: BTreeMap<String, String>, topology_key: &str) -> WeightedPodAffinityTerm {
    let pod_affinity_term = PodAffinityTerm {
        label_selector: Some(matching(labels)),
        topology_key: topology_key.to_owned(),
        ..PodAffinityTerm::default()
    };
    WeightedPodAffinityTerm { weight: 100, pod_affinity_term }
}

/// Pods on the node that has others with these labels, as far as possible: what a volume that is bound to one node wants. Only a
/// preference: after the loss of a node, pods of which Kubernetes does not yet know that they are dead must not hold their
/// successors back.
pub fn together(labels: BTreeMap<String, String>) -> Affinity {
    let preferred = vec![preferred(labels, "kubernetes.io/hostname")];
    let together = PodAffinity {
        preferred_during_scheduling_ignored_during_execution: Some(preferred),
        ..PodAffinity::default()
    };
    Affinity { pod_affinity: Some(together), ..Affinity::default() }
}

/// The host name of a Service: that of its load balancer once there is one, and that within the cluster otherwise.
pub fn host(service: &Service) -> String {
    let balancer = service.status.as_ref().and_then(|status| {
        let first = status.load_balancer.as_ref()?.ingress.as_ref()?.first()?;
        first.hostname.clone().or_else(|| first.ip.clone())
    });
    let inside = || format!("{}.{}.svc", service.name_any(), service.namespace().unwrap_or_default());
    balancer.unwrap_or_else(inside)
}

/// A volume that is a claim.
pub fn claim_volume(name: &str, claim: &str) -> Volume {
    let claim = PersistentVolumeClaimVolumeSource { claim_name: claim.to_owned(), read_only: None };
    Volume { name: name.to_owned(), persistent_volume_claim: Some(claim), ..Volume::default() }
}

/// A volume that is a Secret.
pub fn secret_volume(name: &str, secret: String) -> Volume {
    let secret = SecretVolumeSource { secret_name: Some(secret), ..SecretVolumeSource::default() };
    Volume { name: name.to_owned(), secret: Some(secret), ..Volume::default() }
}

/// Where a container has a volume.
pub fn mount(name: &str, path: &str) -> VolumeMount {
    VolumeMount { name: name.to_owned(), mount_path: path.to_owned(), ..VolumeMount::default() }
}

/// Where a container may only read a volume.
pub fn mount_read_only(name: &str, path: &str) -> VolumeMount {
    VolumeMount { read_only: Some(true), ..mount(name, path) }
}

/// A port that a container listens on.
pub fn container_port(name: &str, port: u16) -> ContainerPort {
    ContainerPort {
        name: Some(name.to_owned()),
        container_port: port.into(),
        protocol: Some("TCP".to_owned()),
        ..ContainerPort::default()
    }
}

/// A port of a Service, for the port `target` of its pods.
pub fn service_port(name: &str, port: u16, target: u16) -> ServicePort {
    ServicePort {
        name: Some(name.to_owned()),
        port: port.into(),
        target_port: Some(IntOrString::Int(target.into())),
        protocol: Some("TCP".to_owned()),
        ..ServicePort::default()
    }
}

/// A question over HTTP: every `period` seconds, answered within `timeout`, and no after `failures` of them.
pub fn http_probe(path: &str, port: u16, period: i32, timeout: i32, failures: i32) -> Probe {
    let get = HTTPGetAction {
        path: Some(path.to_owned()),
        port: IntOrString::Int(port.into()),
        ..HTTPGetAction::default()
    };
    Probe {
        http_get: Some(get),
        period_seconds: Some(period),
        timeout_seconds: Some(timeout),
        failure_threshold: Some(failures),
        ..Probe::default()
    }
}

/// An environment variable that is the key of its name in a Secret.
pub fn env_from_secret(secret: &str, name: &str) -> EnvVar {
    let key = SecretKeySelector { name: secret.to_owned(), key: name.to_owned(), optional: None };
    let source = EnvVarSource { secret_key_ref: Some(key), ..EnvVarSource::default() };
    EnvVar { name: name.to_owned(), value_from: Some(source), ..EnvVar::default() }
}

/// The words of a command line.
pub fn words<const N: usize>(words: [&str; N]) -> Vec<String> {
    words.map(str::to_owned).into()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_service_is_reached_by_its_balancer_or_within_the_cluster() {
        let service = |ingress: serde_json::Value| -> Service {
            serde_json::from_value(json!({"metadata": {"name": "db", "namespace": "prod"},
                "status": {"loadBalancer": {"ingress": ingress}}}))
            .unwrap()
        };
        assert_eq!(host(&service(json!(null))), "db.prod.svc");
        assert_eq!(host(&service(json!([{"ip": "192.0.2.1"}]))), "192.0.2.1");
        assert_eq!(
            host(&service(json!([{"ip": "192.0.2.1", "hostname": "db.example.com"}]))),
            "db.example.com"
        );
    }

    #[test]
    fn parts_say_what_they_must_and_no_more() {
        let labels = || BTreeMap::from([("app".to_owned(), "db".to_owned())]);
        assert_eq!(
            json!(container_port("http", 80)),
            json!({"name": "http", "containerPort": 80, "protocol": "TCP"})
        );
        assert_eq!(
            json!(mount_read_only("tls", "/tls")),
            json!({"name": "tls", "mountPath": "/tls", "readOnly": true})
        );
        assert_eq!(json!(mount("data", "/data")), json!({"name": "data", "mountPath": "/data"}));
        assert_eq!(
            json!(account(ObjectMeta::default())),
            json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {}, "automountServiceAccountToken": false})
        );
        assert_eq!(selector([("a", "b"), ("c", "d")]), "a=b,c=d");
        assert_eq!(selector_text(&matching(labels())), "app=db");
        assert_eq!(words(["serve", "--port"]), ["serve", "--port"]);
        assert_eq!(
            json!(service(ObjectMeta::default(), ServiceType::NodePort, Some(labels()), Vec::new()))["spec"],
            json!({"type": "NodePort", "selector": {"app": "db"}, "ports": []})
        );
        let pods = template(labels(), PodSpec::default());
        let web = deployment(ObjectMeta::default(), 2, "Recreate", matching(labels()), pods);
        assert_eq!(
            json!(web)["spec"],
            json!({"replicas": 2, "revisionHistoryLimit": 2, "strategy": {"type": "Recreate"},
                "selector": {"matchLabels": {"app": "db"}},
                "template": {"metadata": {"labels": {"app": "db"}}, "spec": {"containers": []}}})
        );
        let near = json!(together(labels()));
        let term =
            &near["podAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"][0]["podAffinityTerm"];
        assert_eq!(term["labelSelector"], json!(matching(labels())));
        assert!(near["podAntiAffinity"].is_null());
    }
}
