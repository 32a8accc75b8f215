//! TLS as a client and as a server, with material from Secrets and ConfigMaps or, where trusted users alone
//! write, from files.

use k8s_openapi::api::core::v1::SecretKeySelector;

use crate::auth::SecretOrConfigMap;
use crate::object::object;
use crate::text::text;

text! {
    /// A version of TLS.
    pub struct TlsVersion {
        "enum": ["TLS10", "TLS11", "TLS12", "TLS13"]
    }
}

object! {
    /// TLS of a client whose material comes from Secrets and ConfigMaps only.
    pub struct SafeTlsConfig {
        optional {
            /// Authority that the server's certificate is checked against.
            pub ca: SecretOrConfigMap,
            /// Certificate that the client presents.
            pub cert: SecretOrConfigMap,
            /// The key of a Secret that holds the private key of the client's certificate.
            pub key_secret: Option<SecretKeySelector>,
            /// Name that the server's certificate must carry, when it is not the host of the address.
            pub server_name: Option<String>,
            /// Whether the server's certificate is accepted unchecked.
            pub insecure_skip_verify: Option<bool>,
            /// Oldest version of TLS to accept.
            pub min_version: Option<TlsVersion>,
            /// Newest version of TLS to accept.
            pub max_version: Option<TlsVersion>,
        }
    }
}

object! {
    /// TLS of a client, with material from Secrets, ConfigMaps or files of the container.
    pub struct TlsConfig {
        inline {
            pub safe: SafeTlsConfig,
        }
        optional {
            /// Path of the authority's certificates in the container.
            pub ca_file: String,
            /// Path of the client's certificate in the container.
            pub cert_file: String,
            /// Path of the client's private key in the container.
            pub key_file: String,
        }
    }
}

object! {
    /// TLS of the gRPC server of Thanos.
    pub struct GrpcServerTlsConfig {
        inline {
            pub tls: TlsConfig,
        }
        optional {
            /// Cipher suites offered up to TLS 1.2, by their IANA names. Needs Thanos 0.42.
            #[schemars(length(min = 1))]
            #[schemars(extend("x-kubernetes-list-type" = "set"))]
            pub cipher_suites: Vec<String>,
            /// Elliptic curves offered for the key exchange. Needs Thanos 0.42.
            #[schemars(length(min = 1))]
            #[schemars(extend("x-kubernetes-list-type" = "set"))]
            pub curves: Vec<String>,
        }
    }
}

object! {
    /// TLS of an HTTP server.
    pub struct WebTlsConfig {
        optional {
            /// The server's certificate. Excludes `certFile`.
            pub cert: SecretOrConfigMap,
            /// Path of the server's certificate in the container. Excludes `cert`.
            pub cert_file: Option<String>,
            /// The key of a Secret that holds the server's private key. Excludes `keyFile`.
            pub key_secret: SecretKeySelector,
            /// Path of the server's private key in the container. Excludes `keySecret`.
            pub key_file: Option<String>,
            /// Authority that clients' certificates are checked against. Excludes `clientCAFile`.
            #[serde(rename = "client_ca")]
            pub client_ca: SecretOrConfigMap,
            /// Path of the clients' authority in the container. Excludes `client_ca`.
            #[serde(rename = "clientCAFile")]
            pub client_ca_file: Option<String>,
            /// Whether clients must present a certificate, in the words of Go's `tls.ClientAuthType`:
            /// `NoClientCert`, `RequireAndVerifyClientCert` and others.
            pub client_auth_type: Option<String>,
            /// Oldest version of TLS to accept, `TLS12` unless given.
            pub min_version: Option<String>,
            /// Newest version of TLS to accept, `TLS13` unless given.
            pub max_version: Option<String>,
            /// Cipher suites offered up to TLS 1.2, by their IANA names; Go's choice when empty.
            pub cipher_suites: Vec<String>,
            /// Whether the server's order of cipher suites decides. Go ignores it nowadays.
            pub prefer_server_cipher_suites: Option<bool>,
            /// Elliptic curves in order of preference; Go's choice when empty.
            pub curve_preferences: Vec<String>,
        }
    }
}

object! {
    /// Mutual TLS between the members of an Alertmanager cluster.
    pub struct ClusterTlsConfig {
        required {
            /// TLS for connections that other members open.
            pub server: WebTlsConfig,
            /// TLS for connections to other members.
            pub client: SafeTlsConfig,
        }
    }
}
