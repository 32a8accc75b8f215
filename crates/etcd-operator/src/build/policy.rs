//! The NetworkPolicy: members among themselves, clients, the operator, and nobody else.

use etcd_core::{CLIENT_PORT, METRICS_PORT, PEER_PORT};
use etcd_types::{EtcdCluster, NetworkPolicyOptions};
use k8s_openapi::{
    api::networking::v1::{
        NetworkPolicy, NetworkPolicyIngressRule, NetworkPolicyPeer, NetworkPolicyPort, NetworkPolicySpec,
    },
    apimachinery::pkg::{
        apis::meta::v1::{LabelSelector, LabelSelectorRequirement},
        util::intstr::IntOrString,
    },
};
use kit::parts::matching;
use kube::ResourceExt as _;

use super::owned;
use crate::{backup::WORKER, names};

/// What the pods of backups and restores are, as their label says it.
const WORKERS: [&str; 2] = [WORKER, "etcd-restore"];

/// `home` is the namespace of the operator.
pub(crate) fn network_policy(
    cluster: &EtcdCluster,
    options: &NetworkPolicyOptions,
    home: &str,
) -> NetworkPolicy {
    let name = cluster.name_any();
    let members =
        NetworkPolicyPeer { pod_selector: Some(matching(names::selector(&name))), ..Default::default() };
    let operator = NetworkPolicyPeer {
        namespace_selector: Some(matching(
            [("kubernetes.io/metadata.name".to_owned(), home.to_owned())].into(),
        )),
        pod_selector: Some(matching([("app.kubernetes.io/name".to_owned(), "capstan".to_owned())].into())),
        ..Default::default()
    };
    let neighbours = NetworkPolicyPeer { pod_selector: Some(LabelSelector::default()), ..Default::default() };
    let mut clients = match options.clients.is_empty() {
        true => vec![neighbours],
        false => options.clients.clone(),
    };
    // Pods of backups and restores: whoever may be a client, they must.
    let workers = LabelSelector {
        match_labels: Some([(names::CLUSTER.to_owned(), name.clone())].into()),
        match_expressions: Some(vec![LabelSelectorRequirement {
            key: "app.kubernetes.io/name".to_owned(),
            operator: "In".to_owned(),
            values: Some(WORKERS.map(str::to_owned).into()),
        }]),
    };
    let workers = NetworkPolicyPeer { pod_selector: Some(workers), ..Default::default() };
    clients.extend([members.clone(), operator, workers]);
    let policy = NetworkPolicy {
        metadata: names::meta(cluster, name.clone()),
        spec: Some(NetworkPolicySpec {
            pod_selector: Some(matching(names::selector(&name))),
            policy_types: Some(vec!["Ingress".to_owned()]),
            ingress: Some(vec![
                rule(PEER_PORT, Some(vec![members])),
                rule(CLIENT_PORT, Some(clients)),
                // Health and figures: no data, and whoever scrapes them is not known here.
                rule(METRICS_PORT, None),
            ]),
            egress: None,
        }),
    };
    owned(policy, cluster)
}

fn rule(port: u16, from: Option<Vec<NetworkPolicyPeer>>) -> NetworkPolicyIngressRule {
    let port = NetworkPolicyPort {
        port: Some(IntOrString::Int(port.into())),
        protocol: Some("TCP".to_owned()),
        end_port: None,
    };
    NetworkPolicyIngressRule { from, ports: Some(vec![port]) }
}
