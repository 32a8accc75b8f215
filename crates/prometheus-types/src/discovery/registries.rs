//! Discoveries of registries of services and machines: Consul, Eureka, PuppetDB.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::SecretKeySelector;

use crate::discovery::{Auth, Transport};
use crate::http::Scheme;
use crate::object::object;
use crate::text::{Duration, HttpUrl, NonEmpty};

object! {
    /// Targets found in Consul.
    pub struct ConsulSdConfig {
        inline {
            pub auth: Auth,
            pub transport: Transport,
        }
        required {
            /// Host and port of Consul.
            #[schemars(length(min = 1))]
            pub server: String,
        }
        optional {
            /// Prefix of the API's path, when Consul is behind a gateway.
            #[schemars(length(min = 1))]
            pub path_prefix: Option<String>,
            /// The key of a Secret that holds Consul's token.
            pub token_ref: Option<SecretKeySelector>,
            /// Data centre to look in; the agent's own when absent.
            #[schemars(length(min = 1))]
            pub datacenter: Option<String>,
            /// Namespace to look in. Consul Enterprise only.
            #[schemars(length(min = 1))]
            pub namespace: Option<String>,
            /// Partition to look in. Consul Enterprise only.
            #[schemars(length(min = 1))]
            pub partition: Option<String>,
            /// HTTP or HTTPS, `http` unless given.
            pub scheme: Option<Scheme>,
            /// Services to take; all when absent.
            #[schemars(extend("x-kubernetes-list-type" = "set"))]
            pub services: Vec<NonEmpty>,
            /// Tags that a service must have, all of them. Deprecated by Consul: use `filter`.
            #[schemars(extend("x-kubernetes-list-type" = "set"))]
            pub tags: Vec<NonEmpty>,
            /// What the tags of a service are joined with, `,` unless given.
            #[schemars(length(min = 1))]
            pub tag_separator: Option<String>,
            /// Metadata that a service's node must have. Deprecated by Consul: use `filter`.
            #[schemars(extend("x-kubernetes-map-type" = "atomic"))]
            pub node_meta: BTreeMap<String, String>,
            /// Expression that selects from the catalogue. Needs Prometheus 3.
            #[schemars(length(min = 1))]
            pub filter: Option<String>,
            /// Expression that selects by health. Needs Prometheus 3.11.2.
            #[schemars(length(min = 1))]
            pub health_filter: Option<String>,
            /// Whether any server may answer, not only the leader.
            pub allow_stale: Option<bool>,
            /// How often Consul is asked for the names of services.
            pub refresh_interval: Option<Duration>,
        }
    }
}

object! {
    /// Instances registered with Eureka.
    pub struct EurekaSdConfig {
        inline {
            pub auth: Auth,
            pub transport: Transport,
        }
        required {
            /// Address of Eureka.
            pub server: HttpUrl,
        }
        optional {
            /// How often Eureka is asked.
            pub refresh_interval: Option<Duration>,
        }
    }
}

object! {
    /// Resources known to PuppetDB.
    pub struct PuppetDbSdConfig {
        inline {
            pub auth: Auth,
            pub transport: Transport,
        }
        required {
            /// Root address of PuppetDB's query API.
            pub url: HttpUrl,
            /// Query in PQL; only resources are supported.
            #[schemars(length(min = 1))]
            pub query: String,
        }
        optional {
            /// Whether the resources' parameters become labels. They may hold secrets.
            pub include_parameters: Option<bool>,
            /// How often PuppetDB is asked.
            pub refresh_interval: Option<Duration>,
            /// Port of the targets.
            #[schemars(range(min = 0, max = 65535))]
            pub port: Option<i32>,
        }
    }
}
