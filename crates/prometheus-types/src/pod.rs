//! What the operator's four workloads have in common: how their pods look and where they run.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{
    Affinity, Container, LocalObjectReference, PodSecurityContext, ResourceRequirements, Toleration, Volume,
    VolumeMount,
};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use crate::object::object;
use crate::storage::StorageSpec;
use crate::text::{NonEmpty, text};

text! {
    /// How much an operand writes to its log.
    pub struct LogLevel {
        "enum": ["", "debug", "info", "warn", "error"]
    }

    /// How an operand writes its log.
    pub struct LogFormat {
        "enum": ["", "logfmt", "json"]
    }

    /// When images are pulled.
    pub struct ImagePullPolicy {
        "enum": ["", "Always", "Never", "IfNotPresent"]
    }

    /// Which DNS servers pods ask.
    pub struct DnsPolicy {
        "enum": ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"]
    }

    /// Whether pods are started one after the other or at once.
    pub struct PodManagementPolicy {
        "enum": ["OrderedReady", "Parallel"]
    }

    /// Whether pods are replaced by the StatefulSet or when somebody deletes them.
    pub struct UpdateStrategyType {
        "enum": ["OnDelete", "RollingUpdate"]
    }
}

object! {
    /// The pods of a workload.
    pub struct PodFields {
        optional {
            /// Version of the operand; the operator's default when absent.
            pub version: String,
            /// Whether the operator leaves the workload alone. Only its status is kept up to date.
            pub paused: bool,
            /// Number of pods (per shard, where there are shards); 1 when absent.
            pub replicas: Option<i32>,
            /// Labels and annotations added to the pods.
            pub pod_metadata: Option<EmbeddedObjectMetadata>,
            /// Image of the operand. Wins over everything that an image could be composed from; `version` is
            /// still needed for the right configuration.
            pub image: Option<String>,
            /// When images are pulled.
            pub image_pull_policy: ImagePullPolicy,
            /// Secrets with the credentials for pulling images.
            pub image_pull_secrets: Vec<LocalObjectReference>,
            /// Resources of the operand's container.
            pub resources: ResourceRequirements,
            /// Labels that a node must have to run the pods.
            pub node_selector: BTreeMap<String, String>,
            /// Scheduler that places the pods.
            #[schemars(length(min = 1))]
            pub scheduler_name: String,
            /// Rules of affinity for placing the pods.
            pub affinity: Option<Affinity>,
            /// Taints that the pods tolerate.
            pub tolerations: Vec<Toleration>,
            /// Priority class of the pods.
            pub priority_class_name: String,
            /// Security settings of the pods. The operator chooses an unprivileged user when absent.
            pub security_context: Option<PodSecurityContext>,
            /// Service account of the pods.
            pub service_account_name: String,
            /// Whether Services of the namespace appear in the pods' environment.
            pub enable_service_links: Option<bool>,
            /// Name of an existing headless Service that governs the StatefulSet; the operator makes one when
            /// absent.
            #[schemars(length(min = 1))]
            pub service_name: Option<String>,
            /// Lines added to the pods' hosts file.
            #[schemars(extend("x-kubernetes-list-type" = "map"))]
            #[schemars(extend("x-kubernetes-list-map-keys" = ["ip"]))]
            pub host_aliases: Vec<HostAlias>,
            /// Whether the pods share the node's user namespace.
            pub host_users: Option<bool>,
            /// Which DNS servers the pods ask.
            pub dns_policy: Option<DnsPolicy>,
            /// Details of the pods' DNS resolution.
            pub dns_config: Option<PodDnsConfig>,
            /// Where the data lies; an empty directory when absent.
            pub storage: Option<StorageSpec>,
            /// Further volumes of the pods.
            pub volumes: Vec<Volume>,
            /// Further mounts of the operand's container.
            pub volume_mounts: Vec<VolumeMount>,
            /// Further containers. One with the name of a container of the operator's is merged into it, at
            /// the user's own risk.
            pub containers: Vec<Container>,
            /// Further init containers, merged in the same way.
            pub init_containers: Vec<Container>,
            /// Whether pods start one after the other; `Parallel` unless given.
            pub pod_management_policy: Option<PodManagementPolicy>,
            /// How pods are replaced; one by one unless given.
            pub update_strategy: Option<StatefulSetUpdateStrategy>,
            /// How long a new pod must be ready to count as available.
            #[schemars(range(min = 0))]
            pub min_ready_seconds: Option<i32>,
            /// How long a pod may take to stop.
            #[schemars(range(min = 0))]
            pub termination_grace_period_seconds: Option<i64>,
            /// Name of the web port, in the pods and in the governing Service.
            #[schemars(extend("default" = "web"))]
            pub port_name: String,
            /// Whether the operand listens on the loopback address only.
            pub listen_local: bool,
            /// Path prefix that the operand's web handlers are registered under.
            pub route_prefix: String,
            /// How much the operand writes to its log.
            pub log_level: LogLevel,
            /// How the operand writes its log.
            pub log_format: LogFormat,
            /// Further arguments of the operand. Those that the operator sets itself are refused.
            pub additional_args: Vec<Argument>,
        }
    }
}

object! {
    /// The part of an object's metadata that users may choose.
    pub struct EmbeddedObjectMetadata {
        optional {
            /// Name of the object. Has no effect on pods.
            pub name: String,
            /// Labels of the object.
            pub labels: BTreeMap<String, String>,
            /// Annotations of the object.
            pub annotations: BTreeMap<String, String>,
        }
    }
}

object! {
    /// One line of a hosts file.
    pub struct HostAlias {
        required {
            /// The address.
            pub ip: String,
            /// The names that resolve to the address.
            pub hostnames: Vec<String>,
        }
    }
}

object! {
    /// A command-line argument.
    pub struct Argument {
        required {
            /// Name of the argument, without dashes.
            #[schemars(length(min = 1))]
            pub name: String,
        }
        optional {
            /// Value of the argument; absent for a bare flag.
            pub value: String,
        }
    }
}

object! {
    /// Details of DNS resolution, added to what the policy gives.
    pub struct PodDnsConfig {
        optional {
            /// Addresses of DNS servers.
            #[schemars(extend("x-kubernetes-list-type" = "set"))]
            pub nameservers: Vec<NonEmpty>,
            /// Domains in which short names are looked up.
            #[schemars(extend("x-kubernetes-list-type" = "set"))]
            pub searches: Vec<NonEmpty>,
            /// Options of the resolver.
            #[schemars(extend("x-kubernetes-list-type" = "map"))]
            #[schemars(extend("x-kubernetes-list-map-keys" = ["name"]))]
            pub options: Vec<PodDnsOption>,
        }
    }
}

object! {
    /// An option of the resolver.
    pub struct PodDnsOption {
        required {
            /// Name of the option.
            #[schemars(length(min = 1))]
            pub name: String,
        }
        optional {
            /// Value of the option.
            pub value: Option<String>,
        }
    }
}

object! {
    /// How the pods of a StatefulSet are replaced.
    #[schemars(extend("x-kubernetes-validations" = [
        {"rule": "!(self.type != 'RollingUpdate' && has(self.rollingUpdate))", "message": "rollingUpdate requires type to be RollingUpdate"},
    ]))]
    pub struct StatefulSetUpdateStrategy {
        required {
            /// Who replaces pods: the StatefulSet, or whoever deletes them.
            pub r#type: UpdateStrategyType,
        }
        optional {
            /// Details of a rolling update.
            pub rolling_update: Option<RollingUpdate>,
        }
    }
}

object! {
    /// Details of a rolling update.
    pub struct RollingUpdate {
        optional {
            /// How many pods may be down at once, as a number or in percent; 1 unless given.
            pub max_unavailable: Option<IntOrString>,
        }
    }
}
