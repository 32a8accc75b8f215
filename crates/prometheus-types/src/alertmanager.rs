//! Alertmanager: servers that group, silence and deliver alerts.

pub mod global;

use k8s_openapi::api::apps::v1::StatefulSetPersistentVolumeClaimRetentionPolicy;
use k8s_openapi::api::core::v1::TopologySpreadConstraint as PodSpreadConstraint;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

use crate::alertmanager::global::AlertmanagerGlobalConfig;
use crate::auth::SecretOrConfigMap;
use crate::http::WebConfigFile;
use crate::object::{kind, object};
use crate::pod::PodFields;
use crate::status::Condition;
use crate::text::{ByteSize, GoDuration, text};
use crate::tls::ClusterTlsConfig;

text! {
    /// To which alerts the routes of an AlertmanagerConfig apply.
    pub struct MatcherStrategyType {
        "enum": ["OnNamespace", "OnNamespaceExceptForAlertmanagerNamespace", "None"]
    }
}

kind! {
    /// An Alertmanager cluster.
    #[kube(
        version = "v1",
        kind = "Alertmanager",
        plural = "alertmanagers",
        shortname = "am",
        status = "AlertmanagerStatus",
        scale(
            spec_replicas_path = ".spec.replicas",
            status_replicas_path = ".status.replicas",
            label_selector_path = ".status.selector"
        )
    )]
    pub struct AlertmanagerSpec {
        inline {
            pub pod: PodFields,
        }
        optional {
            /// How the pods are spread over the cluster.
            pub topology_spread_constraints: Vec<PodSpreadConstraint>,
            /// Whether the pods get the token of their service account.
            pub automount_service_account_token: Option<bool>,
            /// Whether the pods use the network of their node.
            pub host_network: bool,
            /// What becomes of volume claims when pods go for good.
            pub persistent_volume_claim_retention_policy: Option<StatefulSetPersistentVolumeClaimRetentionPolicy>,
            /// Secrets that are mounted below `/etc/alertmanager/secrets/`.
            pub secrets: Vec<String>,
            /// ConfigMaps that are mounted below `/etc/alertmanager/configmaps/`.
            pub config_maps: Vec<String>,
            /// Secret that holds the configuration, `alertmanager-<name>` unless given. Its other keys lie
            /// beside the configuration, for templates.
            pub config_secret: String,
            /// How long silences and notifications are remembered.
            #[schemars(extend("default" = "120h"))]
            pub retention: GoDuration,
            /// Address under which users reach Alertmanager, for links.
            pub external_url: String,
            /// Further members of the cluster.
            pub additional_peers: Vec<String>,
            /// Address that other members are told; Alertmanager finds one itself when absent.
            pub cluster_advertise_address: String,
            /// Time from gossip to gossip.
            pub cluster_gossip_interval: GoDuration,
            /// Name of the cluster, so that strangers are refused. Needs Alertmanager 0.26.
            pub cluster_label: Option<String>,
            /// Time from full exchange to full exchange.
            pub cluster_pushpull_interval: GoDuration,
            /// How long a member waits for the one before it to have delivered a notification.
            pub cluster_peer_timeout: GoDuration,
            /// Name under which a member is known to the others. Needs Alertmanager 0.30.
            #[schemars(length(min = 1))]
            pub cluster_peer_name: Option<String>,
            /// Whether a single replica runs as a cluster too, as one that spans Kubernetes clusters must.
            pub force_enable_cluster_mode: bool,
            /// Mutual TLS between members. Needs Alertmanager 0.24.
            #[serde(rename = "clusterTLS")]
            pub cluster_tls: Option<ClusterTlsConfig>,
            /// The AlertmanagerConfigs that are merged in, by label.
            pub alertmanager_config_selector: Option<LabelSelector>,
            /// The namespaces of AlertmanagerConfigs, by label; the own one when absent.
            pub alertmanager_config_namespace_selector: Option<LabelSelector>,
            /// To which alerts their routes apply.
            pub alertmanager_config_matcher_strategy: MatcherStrategy,
            /// The AlertmanagerConfig that the configuration is built on, instead of a Secret. Experimental.
            pub alertmanager_configuration: Option<AlertmanagerConfiguration>,
            /// The web server.
            pub web: Option<AlertmanagerWebSpec>,
            /// Limits for silences. Needs Alertmanager 0.28.
            pub limits: Option<AlertmanagerLimits>,
            /// Feature flags to switch on. Needs Alertmanager 0.27.
            pub enable_features: Vec<String>,
            /// Image without tag. Deprecated: use `image`.
            pub base_image: String,
            /// Tag of the image. Deprecated: use `image`.
            pub tag: String,
            /// Digest of the image. Deprecated: use `image`.
            pub sha: String,
        }
    }
}

object! {
    /// To which alerts the routes of an AlertmanagerConfig apply.
    pub struct MatcherStrategy {
        optional {
            /// Only to those of its namespace, unless given otherwise.
            #[schemars(extend("default" = "OnNamespace"))]
            pub r#type: MatcherStrategyType,
        }
    }
}

object! {
    /// What the configuration is built on.
    pub struct AlertmanagerConfiguration {
        optional {
            /// Name of an AlertmanagerConfig in the same namespace. Its routes and inhibitions apply to all
            /// alerts.
            #[schemars(length(min = 1))]
            pub name: String,
            /// The global part of the configuration.
            pub global: Option<AlertmanagerGlobalConfig>,
            /// Templates for notifications.
            pub templates: Vec<SecretOrConfigMap>,
        }
    }
}

object! {
    /// The web server of Alertmanager.
    pub struct AlertmanagerWebSpec {
        inline {
            pub file: WebConfigFile,
        }
        optional {
            /// Most GET requests at the same time.
            #[schemars(range(min = 0))]
            pub get_concurrency: Option<i32>,
            /// Longest time for a request, in seconds.
            #[schemars(range(min = 0))]
            pub timeout: Option<i32>,
        }
    }
}

object! {
    /// Limits for silences.
    pub struct AlertmanagerLimits {
        optional {
            /// Most silences, expired ones included.
            #[schemars(range(min = 0))]
            pub max_silences: Option<i32>,
            /// Largest silence.
            pub max_per_silence_bytes: Option<ByteSize>,
        }
    }
}

object! {
    /// What was last seen of an Alertmanager.
    pub struct AlertmanagerStatus {
        optional {
            /// Whether the operator leaves the workload alone.
            pub paused: bool,
            /// Pods of the cluster.
            pub replicas: i32,
            /// Pods with the wanted specification.
            pub updated_replicas: i32,
            /// Pods that are ready.
            pub available_replicas: i32,
            /// Pods that are not ready.
            pub unavailable_replicas: i32,
            /// Label selector of the pods, for the scale subresource.
            pub selector: String,
            /// The workload's state in detail.
            #[schemars(extend("x-kubernetes-list-type" = "map"))]
            #[schemars(extend("x-kubernetes-list-map-keys" = ["type"]))]
            pub conditions: Vec<Condition>,
        }
    }
}
