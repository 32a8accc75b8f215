//! The two Services: `<name>-client` for users, `<name>-peer` for the members' own names.

use etcd_core::{CLIENT_PORT, METRICS_PORT, PEER_PORT};
use etcd_types::EtcdCluster;
use k8s_openapi::api::core::v1::{Service, ServiceSpec};
use kit::parts;
use kube::ResourceExt as _;

use super::owned;
use crate::names;

/// Whether clients are let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Open,
    Closed,
}

/// Ready pods only: no learner, and no member that lags or is without a leader. While `access` is closed, nobody: what is there is not yet
/// what clients are to see.
pub(crate) fn client_service(cluster: &EtcdCluster, access: Access) -> Service {
    let mut selector = names::selector(&cluster.name_any());
    if access == Access::Closed {
        selector.insert(names::CLOSED.to_owned(), "restoring".to_owned());
    }
    let service = Service {
        metadata: names::meta(cluster, names::of(cluster).get().client_service()),
        spec: Some(ServiceSpec {
            selector: Some(selector),
            ports: Some(vec![parts::service_port("client", CLIENT_PORT, CLIENT_PORT)]),
            ..ServiceSpec::default()
        }),
        status: None,
    };
    owned(service, cluster)
}

/// Headless, and with the names of pods that are not ready: members must find each other before they can be.
pub(crate) fn peer_service(cluster: &EtcdCluster) -> Service {
    let service = Service {
        metadata: names::meta(cluster, names::of(cluster).get().peer_service()),
        spec: Some(ServiceSpec {
            cluster_ip: Some("None".to_owned()),
            publish_not_ready_addresses: Some(true),
            selector: Some(names::selector(&cluster.name_any())),
            ports: Some(
                [("peer", PEER_PORT), ("client", CLIENT_PORT), ("metrics", METRICS_PORT)]
                    .map(|(name, port)| parts::service_port(name, port, port))
                    .into(),
            ),
            ..ServiceSpec::default()
        }),
        status: None,
    };
    owned(service, cluster)
}
