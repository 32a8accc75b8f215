//! Discoveries without a provider behind them: static lists, files, HTTP, DNS.

use std::collections::BTreeMap;

use crate::discovery::{Auth, Transport};
use crate::object::object;
use crate::text::{Duration, HttpUrl, NonEmpty, text};

text! {
    /// A type of DNS record.
    pub struct DnsRecordType {
        "enum": ["A", "AAAA", "MX", "NS", "SRV"]
    }

    /// A JSON or YAML file; `*` may stand in the last part of the path.
    pub struct SdFile {
        "pattern": "^[^*]*(\\*[^/]*)?\\.(json|yml|yaml|JSON|YML|YAML)$"
    }
}

object! {
    /// Targets known beforehand.
    pub struct StaticConfig {
        required {
            /// Hosts and ports to scrape.
            #[schemars(length(min = 1))]
            #[schemars(extend("x-kubernetes-list-type" = "set"))]
            pub targets: Vec<NonEmpty>,
        }
        optional {
            /// Labels put on the targets' metrics.
            #[schemars(extend("x-kubernetes-map-type" = "atomic"))]
            pub labels: BTreeMap<String, String>,
        }
    }
}

object! {
    /// Targets listed in files of the container, which must be mounted there.
    pub struct FileSdConfig {
        required {
            /// The files.
            #[schemars(length(min = 1))]
            #[schemars(extend("x-kubernetes-list-type" = "set"))]
            pub files: Vec<SdFile>,
        }
        optional {
            /// How often the files are read although they seem unchanged.
            pub refresh_interval: Option<Duration>,
        }
    }
}

object! {
    /// Targets listed by an HTTP server.
    pub struct HttpSdConfig {
        inline {
            pub auth: Auth,
            pub transport: Transport,
        }
        required {
            /// Address of the list.
            pub url: HttpUrl,
        }
        optional {
            /// How often the list is fetched.
            pub refresh_interval: Option<Duration>,
        }
    }
}

object! {
    /// Targets found in DNS.
    pub struct DnsSdConfig {
        required {
            /// Names to look up.
            #[schemars(length(min = 1))]
            pub names: Vec<NonEmpty>,
        }
        optional {
            /// How often they are looked up.
            pub refresh_interval: Option<Duration>,
            /// Type of the records, `SRV` unless given. `NS` needs Prometheus 2.49.
            pub r#type: Option<DnsRecordType>,
            /// Port of the targets, for records other than SRV.
            #[schemars(range(min = 0, max = 65535))]
            pub port: Option<i32>,
        }
    }
}
