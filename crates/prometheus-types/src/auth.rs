//! How a client proves who it is: basic authentication, bearer tokens, OAuth 2.0, AWS signatures.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{ConfigMapKeySelector, SecretKeySelector};

use crate::http::ProxyConfig;
use crate::object::object;
use crate::text::{Url, text};
use crate::tls::SafeTlsConfig;

text! {
    /// The Azure cloud that issues the tokens.
    pub struct AzureCloud {
        "enum": ["AzureChina", "AzureGovernment", "AzurePublic"]
    }
}

object! {
    /// One key of a Secret or of a ConfigMap: exactly one of the two is to be given.
    pub struct SecretOrConfigMap {
        optional {
            /// The key in a Secret of the same namespace.
            pub secret: Option<SecretKeySelector>,
            /// The key in a ConfigMap of the same namespace.
            pub config_map: Option<ConfigMapKeySelector>,
        }
    }
}

object! {
    /// User name and password for HTTP basic authentication.
    pub struct BasicAuth {
        optional {
            /// The key of a Secret that holds the user name.
            pub username: SecretKeySelector,
            /// The key of a Secret that holds the password.
            pub password: SecretKeySelector,
        }
    }
}

object! {
    /// The `Authorization` header, with credentials that can only come from a Secret.
    pub struct SafeAuthorization {
        optional {
            /// The scheme that precedes the credentials, `Bearer` unless given. `Basic` is refused: use
            /// `basicAuth`.
            pub r#type: String,
            /// The key of a Secret that holds the credentials.
            pub credentials: Option<SecretKeySelector>,
        }
    }
}

object! {
    /// The `Authorization` header, with credentials from a Secret or from a file of the container.
    pub struct Authorization {
        inline {
            pub safe: SafeAuthorization,
        }
        optional {
            /// Path of a file in the container that holds the credentials. Excludes `credentials`.
            pub credentials_file: String,
        }
    }
}

object! {
    /// A token fetched from an OAuth 2.0 server with the client credentials grant.
    pub struct OAuth2 {
        inline {
            pub proxy: ProxyConfig,
        }
        required {
            /// Where the client's ID is kept.
            pub client_id: SecretOrConfigMap,
            /// The key of a Secret that holds the client's secret.
            pub client_secret: SecretKeySelector,
            /// Address at which tokens are requested.
            pub token_url: Url,
        }
        optional {
            /// Scopes asked for with each token.
            pub scopes: Vec<String>,
            /// Parameters added to the address of the token request.
            pub endpoint_params: BTreeMap<String, String>,
            /// TLS towards the token server.
            pub tls_config: Option<SafeTlsConfig>,
        }
    }
}

object! {
    /// Requests signed with AWS Signature Version 4.
    #[schemars(extend("x-kubernetes-validations" = [
        {"rule": "!has(self.externalId) || has(self.roleArn)", "message": "externalId can only be used when roleArn is specified"},
    ]))]
    pub struct SigV4 {
        optional {
            /// AWS region; the one of the default credentials chain when absent.
            pub region: String,
            /// The key of a Secret that holds the AWS access key ID.
            pub access_key: Option<SecretKeySelector>,
            /// The key of a Secret that holds the AWS secret access key.
            pub secret_key: Option<SecretKeySelector>,
            /// Named AWS profile to take credentials from.
            pub profile: String,
            /// Role that is assumed for signing.
            pub role_arn: String,
            /// External ID presented when the role is assumed. Needs `roleArn`, and Prometheus 3.11 or
            /// Alertmanager 0.33.
            #[schemars(length(min = 1))]
            pub external_id: String,
            /// Whether tokens come from the FIPS endpoint of the security token service. Needs Prometheus
            /// 2.54 or Alertmanager 0.33.
            #[serde(rename = "useFIPSSTSEndpoint")]
            pub use_fips_sts_endpoint: Option<bool>,
        }
    }
}

object! {
    /// Tokens of Microsoft Entra ID. Exactly one of the four ways to get them is to be given.
    pub struct AzureAd {
        optional {
            /// The Azure cloud, `AzurePublic` unless given.
            pub cloud: Option<AzureCloud>,
            /// An identity that Azure assigns to the machine.
            pub managed_identity: Option<ManagedIdentity>,
            /// The credentials of a registered application. Needs Prometheus 2.48.
            pub oauth: Option<AzureOAuth>,
            /// Whatever the Azure SDK finds in its surroundings. Needs Prometheus 2.52.
            pub sdk: Option<AzureSdk>,
            /// The identity of the pod's service account. Needs Prometheus 3.7.
            pub workload_identity: Option<AzureWorkloadIdentity>,
            /// Scope asked for, when it is not the one of the chosen cloud. Needs Prometheus 3.9.
            #[schemars(extend("pattern" = "^[\\w\\s:/.\\\\-]+$"))]
            pub scope: Option<String>,
        }
    }
}

object! {
    /// An identity that Azure assigns to the machine.
    pub struct ManagedIdentity {
        optional {
            /// Client ID of a user-assigned identity; the system-assigned one when absent (Prometheus 3.5 and
            /// later).
            #[schemars(length(min = 1))]
            pub client_id: Option<String>,
        }
    }
}

object! {
    /// The credentials of an application registered with Entra ID.
    pub struct AzureOAuth {
        required {
            /// The application's client ID.
            #[schemars(length(min = 1))]
            pub client_id: String,
            /// The key of a Secret that holds the application's secret.
            pub client_secret: SecretKeySelector,
            /// The tenant that the application belongs to.
            #[schemars(extend("pattern" = "^[0-9a-zA-Z-.]+$"))]
            #[schemars(length(min = 1))]
            pub tenant_id: String,
        }
    }
}

object! {
    /// Credentials as the Azure SDK finds them.
    pub struct AzureSdk {
        optional {
            /// The tenant to authenticate against.
            #[schemars(extend("pattern" = "^[0-9a-zA-Z-.]+$"))]
            pub tenant_id: Option<String>,
        }
    }
}

object! {
    /// The identity federated with the pod's service account.
    pub struct AzureWorkloadIdentity {
        required {
            /// Client ID of the federated identity.
            #[schemars(length(min = 1))]
            pub client_id: String,
            /// The tenant of the federated identity.
            #[schemars(length(min = 1))]
            pub tenant_id: String,
        }
    }
}
