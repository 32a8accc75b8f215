//! Discoveries of container platforms: Kubernetes, Docker, Docker Swarm, Nomad, Kuma.

use crate::discovery::{Auth, Filter, Transport};
use crate::object::object;
use crate::scrape::AttachMetadata;
use crate::text::{Duration, HttpUrl, NonEmpty, text};

text! {
    /// The kind of Kubernetes objects that become targets.
    pub struct KubernetesRole {
        "enum": ["Pod", "Endpoints", "Ingress", "Service", "Node", "EndpointSlice"]
    }

    /// The kind of Swarm objects that become targets.
    pub struct SwarmRole {
        "enum": ["Services", "Tasks", "Nodes"]
    }

    /// Address of a Docker daemon, such as `unix:///var/run/docker.sock`.
    pub struct DockerHost {
        "pattern": "^[a-zA-Z][a-zA-Z0-9+.-]*://.+$"
    }
}

object! {
    /// Targets found in Kubernetes.
    pub struct KubernetesSdConfig {
        inline {
            pub auth: Auth,
            pub transport: Transport,
        }
        required {
            /// Kind of the objects.
            pub role: KubernetesRole,
        }
        optional {
            /// Address of the API server; Prometheus' own cluster when absent.
            #[schemars(length(min = 1))]
            pub api_server: Option<String>,
            /// Namespaces to look in; all when absent.
            pub namespaces: Option<NamespaceDiscovery>,
            /// Metadata that targets carry. Works with the roles Pod, Endpoints and EndpointSlice.
            pub attach_metadata: Option<AttachMetadata>,
            /// Selectors that the API server applies.
            #[schemars(extend("x-kubernetes-list-type" = "map"))]
            #[schemars(extend("x-kubernetes-list-map-keys" = ["role"]))]
            pub selectors: Vec<KubernetesSelector>,
        }
    }
}

object! {
    /// Namespaces to look in.
    pub struct NamespaceDiscovery {
        optional {
            /// Whether the namespace that Prometheus runs in is among them.
            pub own_namespace: Option<bool>,
            /// Names of the namespaces.
            #[schemars(extend("x-kubernetes-list-type" = "set"))]
            pub names: Vec<NonEmpty>,
        }
    }
}

object! {
    /// A selector for one kind of objects.
    pub struct KubernetesSelector {
        required {
            /// Kind of the objects.
            pub role: KubernetesRole,
        }
        optional {
            /// Label selector, such as `app=web,tier in (a,b)`.
            #[schemars(length(min = 1))]
            pub label: Option<String>,
            /// Field selector, such as `metadata.name=web`.
            #[schemars(length(min = 1))]
            pub field: Option<String>,
        }
    }
}

object! {
    /// Containers of a Docker daemon.
    pub struct DockerSdConfig {
        inline {
            pub auth: Auth,
            pub transport: Transport,
        }
        required {
            /// Address of the daemon.
            pub host: DockerHost,
        }
        optional {
            /// Port of containers that publish none.
            #[schemars(range(min = 0, max = 65535))]
            pub port: Option<i32>,
            /// Host of containers that use the host's network, `localhost` unless given.
            #[schemars(length(min = 1))]
            pub host_networking_host: Option<String>,
            /// Whether a container with several networks becomes one target, not one for each. Needs
            /// Prometheus 2.54.1.
            pub match_first_network: Option<bool>,
            /// Which containers are taken.
            #[schemars(extend("x-kubernetes-list-type" = "map"))]
            #[schemars(extend("x-kubernetes-list-map-keys" = ["name"]))]
            pub filters: Vec<Filter>,
            /// How often the daemon is asked.
            pub refresh_interval: Option<Duration>,
        }
    }
}

object! {
    /// Services, tasks or nodes of Docker Swarm.
    pub struct DockerSwarmSdConfig {
        inline {
            pub auth: Auth,
            pub transport: Transport,
        }
        required {
            /// Address of the daemon.
            pub host: DockerHost,
            /// Kind of the objects.
            pub role: SwarmRole,
        }
        optional {
            /// Port of nodes, and of services and tasks that publish none.
            #[schemars(range(min = 0, max = 65535))]
            pub port: Option<i32>,
            /// Which objects are taken.
            #[schemars(extend("x-kubernetes-list-type" = "map"))]
            #[schemars(extend("x-kubernetes-list-map-keys" = ["name"]))]
            pub filters: Vec<Filter>,
            /// How often the daemon is asked.
            pub refresh_interval: Option<Duration>,
        }
    }
}

object! {
    /// Services registered with Nomad.
    pub struct NomadSdConfig {
        inline {
            pub auth: Auth,
            pub transport: Transport,
        }
        required {
            /// Address of Nomad.
            pub server: HttpUrl,
        }
        optional {
            /// Whether any server may answer, not only the leader.
            pub allow_stale: Option<bool>,
            /// Namespace of the services.
            #[schemars(length(min = 1))]
            pub namespace: Option<String>,
            /// Region of the services.
            #[schemars(length(min = 1))]
            pub region: Option<String>,
            /// What the tags of a service are joined with, `,` unless given.
            #[schemars(length(min = 1))]
            pub tag_separator: Option<String>,
            /// How often Nomad is asked.
            pub refresh_interval: Option<Duration>,
        }
    }
}

object! {
    /// Data plane proxies of Kuma.
    pub struct KumaSdConfig {
        inline {
            pub auth: Auth,
            pub transport: Transport,
        }
        required {
            /// Address of Kuma's control plane.
            pub server: HttpUrl,
        }
        optional {
            /// Name under which Prometheus is known to the control plane.
            #[serde(rename = "clientID")]
            #[schemars(length(min = 1))]
            pub client_id: Option<String>,
            /// How long a poll waits for news.
            pub refresh_interval: Option<Duration>,
            /// Longest time for a refresh.
            pub fetch_timeout: Option<Duration>,
        }
    }
}
