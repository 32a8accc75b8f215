//! What surrounds etcd in its pods.

use std::collections::BTreeMap;

use k8s_openapi::api::{
    core::v1::{
        Affinity, EnvVar, LocalObjectReference, PodSecurityContext, ResourceRequirements, Toleration,
        TopologySpreadConstraint,
    },
    networking::v1::NetworkPolicyPeer,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What surrounds etcd in its pods.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct PodOptions {
    /// CPU and memory of each member.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<ResourceRequirements>,
    /// Where pods may and should run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub affinity: Option<Affinity>,
    /// How members are spread. Over nodes and zones as far as possible, unless said otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topology_spread_constraints: Option<Vec<TopologySpreadConstraint>>,
    /// Labels that a node must have.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub node_selector: BTreeMap<String, String>,
    /// Taints that do not keep pods away.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tolerations: Vec<Toleration>,
    /// How important the pods are among others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority_class_name: Option<String>,
    /// Further labels of the pods. Those that begin with `etcd.capstan.dev/` or `app.kubernetes.io/` are the operator's.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Further annotations of the pods. Those that begin with `etcd.capstan.dev/` are the operator's.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
    /// Instead of the operator's choice, which satisfies the restricted Pod Security Standard.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub security_context: Option<PodSecurityContext>,
    /// Further environment variables of etcd, for example `GOMAXPROCS`. Those that begin with `ETCD_` are refused: etcd would
    /// read them as flags.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<EnvVar>,
    /// Secrets to pull the image with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub image_pull_secrets: Vec<LocalObjectReference>,
}

/// Who may connect.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct NetworkPolicyOptions {
    /// Who may use the client port. Pods of the same namespace, when empty. Members and the operator always may.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clients: Vec<NetworkPolicyPeer>,
}
