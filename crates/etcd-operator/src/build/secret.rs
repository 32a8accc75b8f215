//! The Secrets with certificates. They belong to the cluster, and go with it.

use std::collections::BTreeMap;

use etcd_types::EtcdCluster;
use k8s_openapi::{ByteString, api::core::v1::Secret};

use super::owned;
use crate::names;

pub(crate) fn secret(cluster: &EtcdCluster, name: String, data: BTreeMap<String, ByteString>) -> Secret {
    // Not `kubernetes.io/tls`: the CA's has no `tls.crt`, and the type could never be changed.
    let secret = Secret { metadata: names::meta(cluster, name), data: Some(data), ..Secret::default() };
    owned(secret, cluster)
}
