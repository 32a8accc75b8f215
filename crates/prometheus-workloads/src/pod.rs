//! What all workloads take from their resource for their pods.

use k8s_openapi::api::core::v1::{
    Capabilities, Container, EnvVar, EnvVarSource, HostAlias, ObjectFieldSelector, PodDNSConfig,
    PodDNSConfigOption, PodSpec, SecurityContext,
};
use prometheus_types::pod::{PodDnsConfig, PodFields};

/// The name of the web port unless the resource names it.
pub(crate) const WEB: &str = "web";

/// `None` instead of nothing.
pub(crate) fn text(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

/// `None` instead of nothing.
pub(crate) fn list<T: Clone>(list: &[T]) -> Option<Vec<T>> {
    (!list.is_empty()).then(|| list.to_vec())
}

/// A pod without containers and volumes, as the resource describes it.
pub(crate) fn pod(fields: &PodFields, default_grace_period: i64) -> PodSpec {
    let alias = |alias: &prometheus_types::pod::HostAlias| HostAlias {
        ip: alias.ip.clone(),
        hostnames: list(&alias.hostnames),
    };
    PodSpec {
        affinity: fields.affinity.clone(),
        dns_config: fields.dns_config.as_ref().map(dns_config),
        dns_policy: fields.dns_policy.as_ref().map(ToString::to_string),
        enable_service_links: fields.enable_service_links,
        host_aliases: list(&fields.host_aliases).map(|aliases| aliases.iter().map(alias).collect()),
        host_users: fields.host_users,
        image_pull_secrets: list(&fields.image_pull_secrets),
        node_selector: (!fields.node_selector.is_empty()).then(|| fields.node_selector.clone()),
        priority_class_name: text(&fields.priority_class_name),
        scheduler_name: text(&fields.scheduler_name),
        security_context: fields.security_context.clone(),
        service_account_name: text(&fields.service_account_name),
        termination_grace_period_seconds: Some(
            fields.termination_grace_period_seconds.unwrap_or(default_grace_period),
        ),
        tolerations: list(&fields.tolerations),
        ..Default::default()
    }
}

/// In the node's network the cluster's names need a policy of their own, unless the resource chose one.
pub(crate) fn on_host_network(pod: &mut PodSpec, host_network: bool) {
    if host_network {
        pod.host_network = Some(true);
        pod.dns_policy.get_or_insert_with(|| "ClusterFirstWithHostNet".to_owned());
    }
}

fn dns_config(config: &PodDnsConfig) -> PodDNSConfig {
    let texts = |texts: &[prometheus_types::text::NonEmpty]| {
        list(texts).map(|list| list.iter().map(ToString::to_string).collect())
    };
    let options = config
        .options
        .iter()
        .map(|option| PodDNSConfigOption { name: Some(option.name.clone()), value: option.value.clone() });
    PodDNSConfig {
        nameservers: texts(&config.nameservers),
        searches: texts(&config.searches),
        options: (!config.options.is_empty()).then(|| options.collect()),
    }
}

/// A container of the operator's: it writes to its volumes only and cannot gain privileges.
pub(crate) fn container(name: &str, image: String, pull_policy: &str) -> Container {
    Container {
        name: name.to_owned(),
        image: Some(image),
        image_pull_policy: text(pull_policy),
        termination_message_policy: Some("FallbackToLogsOnError".to_owned()),
        security_context: Some(SecurityContext {
            allow_privilege_escalation: Some(false),
            read_only_root_filesystem: Some(true),
            capabilities: Some(Capabilities { drop: Some(vec!["ALL".to_owned()]), ..Default::default() }),
            ..Default::default()
        }),
        ..Default::default()
    }
}

pub(crate) fn variable(name: &str, value: impl Into<String>) -> EnvVar {
    EnvVar { name: name.to_owned(), value: Some(value.into()), ..Default::default() }
}

/// A variable with a field of the pod, such as its name.
pub(crate) fn variable_of_field(name: &str, field: &str) -> EnvVar {
    let field_ref = Some(ObjectFieldSelector { field_path: field.to_owned(), ..Default::default() });
    EnvVar {
        name: name.to_owned(),
        value_from: Some(EnvVarSource { field_ref, ..Default::default() }),
        ..Default::default()
    }
}
