//! What every way of scraping has in common: protocols, histograms, which namespaces, which metadata.

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use crate::auth::Authorization;
use crate::object::object;
use crate::relabel::RelabelConfig;
use crate::text::text;
use crate::tls::TlsConfig;

text! {
    /// A format in which targets expose metrics.
    pub struct ScrapeProtocol {
        "enum": [
            "PrometheusProto", "OpenMetricsText0.0.1", "OpenMetricsText1.0.0",
            "PrometheusText0.0.4", "PrometheusText1.0.0"
        ]
    }

    /// Where targets are filtered by label: by relabeling in Prometheus, or by the API server.
    pub struct SelectorMechanism {
        "enum": ["RelabelConfig", "RoleSelector"]
    }

    /// The Kubernetes objects from which targets of Services are read.
    pub struct ServiceDiscoveryRole {
        "enum": ["Endpoints", "EndpointSlice"]
    }

    /// Which characters names of metrics and labels may have.
    pub struct NameValidationScheme {
        "enum": ["UTF8", "Legacy"]
    }

    /// How names with other characters are asked for.
    pub struct NameEscapingScheme {
        "enum": ["AllowUTF8", "Underscores", "Dots", "Values"]
    }
}

object! {
    /// Metadata of other objects that discovered targets carry.
    pub struct AttachMetadata {
        optional {
            /// Whether targets carry the labels of their node. Prometheus then needs to list and watch nodes.
            pub node: Option<bool>,
        }
    }
}

object! {
    /// The namespaces in which objects are looked for; the resource's own one unless given.
    pub struct NamespaceSelector {
        optional {
            /// Whether all namespaces are searched.
            pub any: bool,
            /// Names of the namespaces to search.
            pub match_names: Vec<String>,
        }
    }
}

object! {
    /// What becomes of histograms.
    pub struct NativeHistogramConfig {
        optional {
            /// Whether native histograms are scraped. Needs Prometheus 3.8.
            pub scrape_native_histograms: Option<bool>,
            /// Whether the classic form of a histogram is kept beside its native one.
            pub scrape_classic_histograms: Option<bool>,
            /// Most buckets of a native histogram; wider ones are merged until they fit.
            #[schemars(range(min = 0))]
            pub native_histogram_bucket_limit: Option<i64>,
            /// Smallest growth from bucket to bucket; finer histograms are merged. Needs Prometheus 2.50.
            pub native_histogram_min_bucket_factor: Option<Quantity>,
            /// Whether classic histograms are stored as native ones with custom buckets. Needs Prometheus 3.
            #[serde(rename = "convertClassicHistogramsToNHCB")]
            pub convert_classic_histograms_to_nhcb: Option<bool>,
        }
    }
}

object! {
    /// Scrape settings with a name, which monitors take by naming the class.
    pub struct ScrapeClass {
        required {
            /// Name of the class.
            #[schemars(length(min = 1))]
            pub name: String,
        }
        optional {
            /// Whether monitors that name no class get this one. At most one class may say so.
            pub default: Option<bool>,
            /// Format assumed when a target states none or an unknown one. A monitor's own value wins. Needs
            /// Prometheus 3.
            pub fallback_scrape_protocol: Option<ScrapeProtocol>,
            /// TLS towards targets that state none of their own; missing parts of theirs are taken from here.
            pub tls_config: Option<TlsConfig>,
            /// Credentials for targets that state none of their own.
            pub authorization: Option<Authorization>,
            /// Steps that run before a monitor's own relabelings.
            pub relabelings: Vec<RelabelConfig>,
            /// Steps that run before a monitor's own metric relabelings.
            pub metric_relabelings: Vec<RelabelConfig>,
            /// Metadata that targets carry unless the monitor says otherwise.
            pub attach_metadata: Option<AttachMetadata>,
        }
    }
}
