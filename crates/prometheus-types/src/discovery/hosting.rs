//! Discoveries of hosting providers: DigitalOcean, Hetzner, Linode.

use crate::auth::{OAuth2, SafeAuthorization};
use crate::discovery::{Auth, Transport};
use crate::object::object;
use crate::text::{Duration, text};

text! {
    /// The Hetzner product whose servers become targets.
    pub struct HetznerRole {
        "enum": ["Hcloud", "Robot"]
    }
}

object! {
    /// Droplets of DigitalOcean.
    pub struct DigitalOceanSdConfig {
        inline {
            pub transport: Transport,
        }
        optional {
            /// The `Authorization` header.
            pub authorization: Option<SafeAuthorization>,
            /// OAuth 2.0 client credentials.
            pub oauth2: Option<OAuth2>,
            /// Port of the targets.
            #[schemars(range(min = 0, max = 65535))]
            pub port: Option<i32>,
            /// How often DigitalOcean is asked.
            pub refresh_interval: Option<Duration>,
        }
    }
}

object! {
    /// Servers of Hetzner Cloud or Robot.
    pub struct HetznerSdConfig {
        inline {
            pub auth: Auth,
            pub transport: Transport,
        }
        required {
            /// Product whose servers are listed.
            pub role: HetznerRole,
        }
        optional {
            /// Port of the targets.
            #[schemars(range(min = 0, max = 65535))]
            pub port: Option<i32>,
            /// How often Hetzner is asked.
            pub refresh_interval: Option<Duration>,
            /// Label selector that servers must match. Hetzner Cloud only. Needs Prometheus 3.5.
            #[schemars(length(min = 1))]
            pub label_selector: Option<String>,
        }
    }
}

object! {
    /// Instances of Linode.
    pub struct LinodeSdConfig {
        inline {
            pub transport: Transport,
        }
        optional {
            /// Region to look in; all when absent.
            #[schemars(length(min = 1))]
            pub region: Option<String>,
            /// Port of the targets.
            #[schemars(range(min = 0, max = 65535))]
            pub port: Option<i32>,
            /// What the tags of an instance are joined with, `,` unless given.
            #[schemars(length(min = 1))]
            pub tag_separator: Option<String>,
            /// How often Linode is asked.
            pub refresh_interval: Option<Duration>,
            /// The `Authorization` header.
            pub authorization: Option<SafeAuthorization>,
            /// OAuth 2.0 client credentials.
            pub oauth2: Option<OAuth2>,
        }
    }
}
