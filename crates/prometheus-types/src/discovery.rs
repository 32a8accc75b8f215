//! What the service discoveries of ScrapeConfig share; each of the 23 is in a file by where it looks.

pub mod clouds;
pub mod containers;
pub mod generic;
pub mod hosting;
pub mod registries;

use crate::auth::{BasicAuth, OAuth2, SafeAuthorization};
use crate::http::ProxyConfig;
use crate::object::object;
use crate::text::NonEmpty;
use crate::tls::SafeTlsConfig;

object! {
    /// Credentials of an HTTP client; at most one kind is to be given.
    pub struct Auth {
        optional {
            /// Basic authentication.
            pub basic_auth: Option<BasicAuth>,
            /// The `Authorization` header.
            pub authorization: Option<SafeAuthorization>,
            /// OAuth 2.0 client credentials.
            pub oauth2: Option<OAuth2>,
        }
    }
}

object! {
    /// How an HTTP client of a discovery gets through.
    pub struct Transport {
        inline {
            pub proxy: ProxyConfig,
        }
        optional {
            /// TLS towards the server.
            pub tls_config: Option<SafeTlsConfig>,
            /// Whether redirects are followed.
            pub follow_redirects: Option<bool>,
            /// Whether HTTP/2 is offered.
            #[serde(rename = "enableHTTP2")]
            pub enable_http2: Option<bool>,
        }
    }
}

object! {
    /// A filter that the discovered system applies itself.
    pub struct Filter {
        required {
            /// Name of the filter.
            #[schemars(length(min = 1))]
            pub name: String,
            /// Values of which one must match.
            #[schemars(length(min = 1))]
            #[schemars(extend("x-kubernetes-list-type" = "set"))]
            pub values: Vec<NonEmpty>,
        }
    }
}
