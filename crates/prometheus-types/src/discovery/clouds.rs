//! Discoveries of clouds with virtual machines: AWS, Azure, Google, OpenStack, IONOS, Scaleway, OVHcloud.

use k8s_openapi::api::core::v1::SecretKeySelector;

use crate::auth::{OAuth2, SafeAuthorization};
use crate::discovery::{Auth, Filter, Transport};
use crate::object::object;
use crate::text::{Duration, HttpUrl, NonEmpty, text};
use crate::tls::SafeTlsConfig;

text! {
    /// How Azure is told who asks.
    pub struct AzureAuthentication {
        "enum": ["OAuth", "ManagedIdentity", "SDK", "WorkloadIdentity"]
    }

    /// The kind of OpenStack objects that become targets.
    pub struct OpenStackRole {
        "enum": ["Instance", "Hypervisor", "LoadBalancer"]
    }

    /// Which of OpenStack's endpoints is asked.
    pub struct OpenStackAvailability {
        "enum": ["Public", "Admin", "Internal"]
    }

    /// The kind of OVHcloud servers that become targets.
    pub struct OvhService {
        "enum": ["VPS", "DedicatedServer"]
    }

    /// The kind of Scaleway servers that become targets.
    pub struct ScalewayRole {
        "enum": ["Instance", "Baremetal"]
    }
}

object! {
    /// Instances of Google Compute Engine. Credentials are found as Google's libraries do.
    pub struct GceSdConfig {
        required {
            /// Project to look in.
            #[schemars(length(min = 1))]
            pub project: String,
            /// Zone to look in.
            #[schemars(length(min = 1))]
            pub zone: String,
        }
        optional {
            /// Expression that selects instances.
            #[schemars(length(min = 1))]
            pub filter: Option<String>,
            /// How often Google is asked.
            pub refresh_interval: Option<Duration>,
            /// Port of the targets.
            #[schemars(range(min = 0, max = 65535))]
            pub port: Option<i32>,
            /// What the tags of an instance are joined with, `,` unless given.
            #[schemars(length(min = 1))]
            pub tag_separator: Option<String>,
        }
    }
}

object! {
    /// Instances, hypervisors or load balancers of OpenStack.
    pub struct OpenStackSdConfig {
        required {
            /// Kind of the objects. `LoadBalancer` needs Prometheus 3.2.
            pub role: OpenStackRole,
            /// Region to look in.
            #[schemars(length(min = 1))]
            pub region: String,
        }
        optional {
            /// Address of the identity service.
            pub identity_endpoint: Option<HttpUrl>,
            /// User name, for Identity v2, or v3 together with a domain.
            #[schemars(length(min = 1))]
            pub username: Option<String>,
            /// ID of the user.
            #[schemars(length(min = 1))]
            pub userid: Option<String>,
            /// The key of a Secret that holds the password.
            pub password: Option<SecretKeySelector>,
            /// Name of the user's domain. Excludes `domainID`.
            #[schemars(length(min = 1))]
            pub domain_name: Option<String>,
            /// ID of the user's domain. Excludes `domainName`.
            #[serde(rename = "domainID")]
            #[schemars(length(min = 1))]
            pub domain_id: Option<String>,
            /// Name of the project. Excludes `projectID`.
            #[schemars(length(min = 1))]
            pub project_name: Option<String>,
            /// ID of the project. Excludes `projectName`.
            #[serde(rename = "projectID")]
            #[schemars(length(min = 1))]
            pub project_id: Option<String>,
            /// Name of an application credential, together with the user.
            #[schemars(length(min = 1))]
            pub application_credential_name: Option<String>,
            /// ID of an application credential.
            #[schemars(length(min = 1))]
            pub application_credential_id: Option<String>,
            /// The key of a Secret that holds the application credential's secret.
            pub application_credential_secret: Option<SecretKeySelector>,
            /// Whether instances of all projects are listed, which only administrators may.
            pub all_tenants: Option<bool>,
            /// How often OpenStack is asked.
            pub refresh_interval: Option<Duration>,
            /// Port of the targets.
            #[schemars(range(min = 0, max = 65535))]
            pub port: Option<i32>,
            /// Which endpoint is asked, `Public` unless given.
            pub availability: Option<OpenStackAvailability>,
            /// TLS towards OpenStack.
            pub tls_config: Option<SafeTlsConfig>,
        }
    }
}

object! {
    /// Servers of IONOS.
    pub struct IonosSdConfig {
        inline {
            pub transport: Transport,
        }
        required {
            /// ID of the data centre.
            #[serde(rename = "datacenterID")]
            #[schemars(length(min = 1))]
            pub datacenter_id: String,
            /// The `Authorization` header.
            pub authorization: SafeAuthorization,
        }
        optional {
            /// OAuth 2.0 client credentials. IONOS does not take them, Prometheus does.
            pub oauth2: Option<OAuth2>,
            /// Port of the targets.
            #[schemars(range(min = 0, max = 65535))]
            pub port: Option<i32>,
            /// How often IONOS is asked.
            pub refresh_interval: Option<Duration>,
        }
    }
}

object! {
    /// Servers of Scaleway.
    pub struct ScalewaySdConfig {
        inline {
            pub transport: Transport,
        }
        required {
            /// Access key of the API.
            #[schemars(length(min = 1))]
            pub access_key: String,
            /// The key of a Secret that holds the API's secret key.
            pub secret_key: SecretKeySelector,
            /// ID of the project.
            #[serde(rename = "projectID")]
            #[schemars(length(min = 1))]
            pub project_id: String,
            /// Kind of the servers.
            pub role: ScalewayRole,
        }
        optional {
            /// Port of the targets.
            #[schemars(range(min = 0, max = 65535))]
            pub port: Option<i32>,
            /// Address of the API.
            #[serde(rename = "apiURL")]
            pub api_url: Option<HttpUrl>,
            /// Availability zone, such as `fr-par-1`.
            #[schemars(length(min = 1))]
            pub zone: Option<String>,
            /// Name that a server must have.
            #[schemars(length(min = 1))]
            pub name_filter: Option<String>,
            /// Tags that a server must have, all of them.
            #[schemars(length(min = 1))]
            #[schemars(extend("x-kubernetes-list-type" = "set"))]
            pub tags_filter: Vec<NonEmpty>,
            /// How often Scaleway is asked.
            pub refresh_interval: Option<Duration>,
        }
    }
}

object! {
    /// Servers of OVHcloud.
    pub struct OvhCloudSdConfig {
        required {
            /// Application key of the API.
            #[schemars(length(min = 1))]
            pub application_key: String,
            /// The key of a Secret that holds the application's secret.
            pub application_secret: SecretKeySelector,
            /// The key of a Secret that holds the consumer key.
            pub consumer_key: SecretKeySelector,
            /// Kind of the servers.
            pub service: OvhService,
        }
        optional {
            /// Endpoint of the API, such as `ovh-eu`.
            #[schemars(length(min = 1))]
            pub endpoint: Option<String>,
            /// How often OVHcloud is asked.
            pub refresh_interval: Option<Duration>,
        }
    }
}

object! {
    /// Instances of AWS EC2.
    pub struct Ec2SdConfig {
        inline {
            pub transport: Transport,
        }
        optional {
            /// Region to look in; the one of the instance's metadata when absent.
            #[schemars(length(min = 1))]
            pub region: Option<String>,
            /// The key of a Secret that holds the AWS access key ID.
            pub access_key: Option<SecretKeySelector>,
            /// The key of a Secret that holds the AWS secret access key.
            pub secret_key: Option<SecretKeySelector>,
            /// Role that is assumed.
            #[serde(rename = "roleARN")]
            #[schemars(length(min = 1))]
            pub role_arn: Option<String>,
            /// Port of the targets.
            #[schemars(range(min = 0, max = 65535))]
            pub port: Option<i32>,
            /// How often AWS is asked.
            pub refresh_interval: Option<Duration>,
            /// Which instances are taken.
            #[schemars(extend("x-kubernetes-list-type" = "map"))]
            #[schemars(extend("x-kubernetes-list-map-keys" = ["name"]))]
            pub filters: Vec<Filter>,
        }
    }
}

object! {
    /// Instances of AWS Lightsail.
    pub struct LightSailSdConfig {
        inline {
            pub auth: Auth,
            pub transport: Transport,
        }
        optional {
            /// Region to look in; the one of the instance's metadata when absent.
            #[schemars(length(min = 1))]
            pub region: Option<String>,
            /// The key of a Secret that holds the AWS access key ID.
            pub access_key: Option<SecretKeySelector>,
            /// The key of a Secret that holds the AWS secret access key.
            pub secret_key: Option<SecretKeySelector>,
            /// Role that is assumed.
            #[serde(rename = "roleARN")]
            #[schemars(length(min = 1))]
            pub role_arn: Option<String>,
            /// Endpoint to use instead of AWS' own.
            #[schemars(length(min = 1))]
            pub endpoint: Option<String>,
            /// How often AWS is asked.
            pub refresh_interval: Option<Duration>,
            /// Port of the targets.
            #[schemars(range(min = 0, max = 65535))]
            pub port: Option<i32>,
        }
    }
}

object! {
    /// Virtual machines of Azure.
    pub struct AzureSdConfig {
        inline {
            pub auth: Auth,
            pub transport: Transport,
        }
        required {
            /// Subscription to look in.
            #[serde(rename = "subscriptionID")]
            #[schemars(length(min = 1))]
            pub subscription_id: String,
        }
        optional {
            /// The Azure environment, `AzurePublicCloud` unless given.
            #[schemars(length(min = 1))]
            pub environment: Option<String>,
            /// How Azure is told who asks, `OAuth` unless given. `SDK` needs Prometheus 2.52.
            pub authentication_method: Option<AzureAuthentication>,
            /// Tenant; needed by `OAuth`.
            #[serde(rename = "tenantID")]
            #[schemars(length(min = 1))]
            pub tenant_id: Option<String>,
            /// Client ID; needed by `OAuth`.
            #[serde(rename = "clientID")]
            #[schemars(length(min = 1))]
            pub client_id: Option<String>,
            /// The key of a Secret that holds the client's secret; needed by `OAuth`.
            pub client_secret: Option<SecretKeySelector>,
            /// Resource group to look in; all when absent.
            #[schemars(length(min = 1))]
            pub resource_group: Option<String>,
            /// How often Azure is asked.
            pub refresh_interval: Option<Duration>,
            /// Port of the targets.
            #[schemars(range(min = 0, max = 65535))]
            pub port: Option<i32>,
        }
    }
}
