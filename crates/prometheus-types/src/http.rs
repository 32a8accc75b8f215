//! What an HTTP client needs besides an address: credentials, proxy, redirects; and what the operands' own
//! web servers need.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::SecretKeySelector;

use crate::auth::{BasicAuth, OAuth2, SafeAuthorization};
use crate::object::object;
use crate::text::{ProxyUrl, text};
use crate::tls::{SafeTlsConfig, WebTlsConfig};

text! {
    /// HTTP or HTTPS; both spellings are accepted.
    pub struct Scheme {
        "enum": ["http", "https", "HTTP", "HTTPS"]
    }

    /// Who may show a page in a frame.
    pub struct FrameOptions {
        "enum": ["", "Deny", "SameOrigin"]
    }

    /// Whether browsers may guess content types.
    pub struct ContentTypeOptions {
        "enum": ["", "NoSniff"]
    }
}

object! {
    /// The proxy that requests go through.
    pub struct ProxyConfig {
        optional {
            /// Address of the proxy.
            pub proxy_url: Option<ProxyUrl>,
            /// Comma-separated hosts, domains and networks that are reached without the proxy.
            pub no_proxy: Option<String>,
            /// Whether the proxy is the one named by the container's environment. Excludes `proxyUrl` and
            /// `noProxy`.
            pub proxy_from_environment: Option<bool>,
            /// Headers sent to the proxy with CONNECT requests, values from Secrets.
            #[schemars(extend("x-kubernetes-map-type" = "atomic"))]
            pub proxy_connect_header: BTreeMap<String, Vec<SecretKeySelector>>,
        }
    }
}

object! {
    /// Credentials and habits of an HTTP client; at most one kind of credentials is to be given.
    pub struct HttpConfig {
        optional {
            /// The `Authorization` header.
            pub authorization: Option<SafeAuthorization>,
            /// Basic authentication.
            pub basic_auth: Option<BasicAuth>,
            /// OAuth 2.0 client credentials.
            pub oauth2: Option<OAuth2>,
            /// The key of a Secret that holds a bearer token. Deprecated: use `authorization`.
            pub bearer_token_secret: Option<SecretKeySelector>,
            /// Whether redirects are followed.
            pub follow_redirects: Option<bool>,
            /// Whether HTTP/2 is offered.
            pub enable_http2: Option<bool>,
        }
    }
}

object! {
    /// Everything about an HTTP client: credentials, TLS and proxy.
    pub struct HttpConfigWithProxy {
        inline {
            pub http: HttpConfig,
            pub proxy: ProxyConfig,
        }
        optional {
            /// TLS towards the server.
            pub tls_config: Option<SafeTlsConfig>,
        }
    }
}

object! {
    /// The part of a web server's settings that goes into its web configuration file.
    pub struct WebConfigFile {
        optional {
            /// TLS of the server.
            pub tls_config: Option<WebTlsConfig>,
            /// HTTP/2 and headers of the server.
            pub http_config: Option<WebHttpConfig>,
        }
    }
}

object! {
    /// HTTP/2 and headers of a web server.
    pub struct WebHttpConfig {
        optional {
            /// Whether HTTP/2 is served. Without TLS it never is.
            pub http2: Option<bool>,
            /// Headers added to each response.
            pub headers: Option<WebHttpHeaders>,
        }
    }
}

object! {
    /// Security headers of a web server; an absent one is not sent.
    pub struct WebHttpHeaders {
        optional {
            /// Value of `Content-Security-Policy`.
            pub content_security_policy: String,
            /// Value of `X-Frame-Options`.
            pub x_frame_options: FrameOptions,
            /// Value of `X-Content-Type-Options`.
            pub x_content_type_options: ContentTypeOptions,
            /// Value of `X-XSS-Protection`.
            #[serde(rename = "xXSSProtection")]
            pub x_xss_protection: String,
            /// Value of `Strict-Transport-Security`; send it only when every subdomain serves HTTPS.
            pub strict_transport_security: String,
        }
    }
}
