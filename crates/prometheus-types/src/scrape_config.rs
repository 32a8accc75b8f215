//! ScrapeConfig: scrape whatever one of Prometheus' own service discoveries finds.

use std::collections::BTreeMap;

use crate::discovery::Auth;
use crate::discovery::clouds::{
    AzureSdConfig, Ec2SdConfig, GceSdConfig, IonosSdConfig, LightSailSdConfig, OpenStackSdConfig,
    OvhCloudSdConfig, ScalewaySdConfig,
};
use crate::discovery::containers::{
    DockerSdConfig, DockerSwarmSdConfig, KubernetesSdConfig, KumaSdConfig, NomadSdConfig,
};
use crate::discovery::generic::{DnsSdConfig, FileSdConfig, HttpSdConfig, StaticConfig};
use crate::discovery::hosting::{DigitalOceanSdConfig, HetznerSdConfig, LinodeSdConfig};
use crate::discovery::registries::{ConsulSdConfig, EurekaSdConfig, PuppetDbSdConfig};
use crate::http::{ProxyConfig, Scheme};
use crate::object::kind;
use crate::relabel::RelabelConfig;
use crate::scrape::{NameEscapingScheme, NameValidationScheme, NativeHistogramConfig, ScrapeProtocol};
use crate::status::ConfigResourceStatus;
use crate::text::{ByteSize, Duration};
use crate::tls::SafeTlsConfig;

kind! {
    /// Scrapes what the service discoveries that it lists find.
    #[kube(
        version = "v1alpha1",
        kind = "ScrapeConfig",
        plural = "scrapeconfigs",
        shortname = "scfg",
        status = "ConfigResourceStatus"
    )]
    #[schemars(extend("x-kubernetes-validations" = [
        {"rule": "[has(self.basicAuth), has(self.authorization), has(self.oauth2)].filter(x, x).size() <= 1", "message": "at most one of basicAuth, authorization, or oauth2 can be configured"},
    ]))]
    pub struct ScrapeConfigSpec {
        inline {
            pub auth: Auth,
            pub proxy: ProxyConfig,
            pub histograms: NativeHistogramConfig,
        }
        optional {
            /// Value of the `job` label; a name made from the resource's when absent.
            #[schemars(length(min = 1))]
            pub job_name: Option<String>,
            /// Targets known beforehand.
            pub static_configs: Vec<StaticConfig>,
            /// Targets listed in files.
            #[serde(rename = "fileSDConfigs")]
            pub file_sd_configs: Vec<FileSdConfig>,
            /// Targets listed by an HTTP server.
            #[serde(rename = "httpSDConfigs")]
            pub http_sd_configs: Vec<HttpSdConfig>,
            /// Targets found in Kubernetes.
            #[serde(rename = "kubernetesSDConfigs")]
            pub kubernetes_sd_configs: Vec<KubernetesSdConfig>,
            /// Targets found in Consul.
            #[serde(rename = "consulSDConfigs")]
            pub consul_sd_configs: Vec<ConsulSdConfig>,
            /// Targets found in DNS.
            #[serde(rename = "dnsSDConfigs")]
            pub dns_sd_configs: Vec<DnsSdConfig>,
            /// Instances of AWS EC2.
            #[serde(rename = "ec2SDConfigs")]
            pub ec2_sd_configs: Vec<Ec2SdConfig>,
            /// Virtual machines of Azure.
            #[serde(rename = "azureSDConfigs")]
            pub azure_sd_configs: Vec<AzureSdConfig>,
            /// Instances of Google Compute Engine.
            #[serde(rename = "gceSDConfigs")]
            pub gce_sd_configs: Vec<GceSdConfig>,
            /// Instances and hypervisors of OpenStack.
            #[serde(rename = "openstackSDConfigs")]
            pub openstack_sd_configs: Vec<OpenStackSdConfig>,
            /// Droplets of DigitalOcean.
            #[serde(rename = "digitalOceanSDConfigs")]
            pub digital_ocean_sd_configs: Vec<DigitalOceanSdConfig>,
            /// Data plane proxies of Kuma.
            #[serde(rename = "kumaSDConfigs")]
            pub kuma_sd_configs: Vec<KumaSdConfig>,
            /// Instances registered with Eureka.
            #[serde(rename = "eurekaSDConfigs")]
            pub eureka_sd_configs: Vec<EurekaSdConfig>,
            /// Containers of a Docker daemon.
            #[serde(rename = "dockerSDConfigs")]
            pub docker_sd_configs: Vec<DockerSdConfig>,
            /// Instances of Linode.
            #[serde(rename = "linodeSDConfigs")]
            pub linode_sd_configs: Vec<LinodeSdConfig>,
            /// Servers of Hetzner.
            #[serde(rename = "hetznerSDConfigs")]
            pub hetzner_sd_configs: Vec<HetznerSdConfig>,
            /// Services registered with Nomad.
            #[serde(rename = "nomadSDConfigs")]
            pub nomad_sd_configs: Vec<NomadSdConfig>,
            /// Services, tasks or nodes of Docker Swarm.
            #[serde(rename = "dockerSwarmSDConfigs")]
            pub docker_swarm_sd_configs: Vec<DockerSwarmSdConfig>,
            /// Resources known to PuppetDB.
            #[serde(rename = "puppetDBSDConfigs")]
            pub puppet_db_sd_configs: Vec<PuppetDbSdConfig>,
            /// Instances of AWS Lightsail.
            #[serde(rename = "lightSailSDConfigs")]
            pub light_sail_sd_configs: Vec<LightSailSdConfig>,
            /// Servers of OVHcloud.
            #[serde(rename = "ovhcloudSDConfigs")]
            pub ovhcloud_sd_configs: Vec<OvhCloudSdConfig>,
            /// Servers of Scaleway.
            #[serde(rename = "scalewaySDConfigs")]
            pub scaleway_sd_configs: Vec<ScalewaySdConfig>,
            /// Servers of IONOS.
            #[serde(rename = "ionosSDConfigs")]
            pub ionos_sd_configs: Vec<IonosSdConfig>,
            /// Steps applied to each target before it is scraped.
            #[schemars(length(min = 1))]
            pub relabelings: Vec<RelabelConfig>,
            /// Path of the metrics, `/metrics` unless given.
            #[schemars(length(min = 1))]
            pub metrics_path: Option<String>,
            /// Time from scrape to scrape; the workload's choice when absent.
            pub scrape_interval: Option<Duration>,
            /// Longest time for a scrape, at most the interval; the workload's choice when absent.
            pub scrape_timeout: Option<Duration>,
            /// Formats offered to targets, the preferred first. Needs Prometheus 2.49.
            #[schemars(length(min = 1))]
            #[schemars(extend("x-kubernetes-list-type" = "set"))]
            pub scrape_protocols: Vec<ScrapeProtocol>,
            /// Format assumed when a target states none or an unknown one. Needs Prometheus 3.
            pub fallback_scrape_protocol: Option<ScrapeProtocol>,
            /// Whether a target's own timestamps are kept.
            pub honor_timestamps: Option<bool>,
            /// Whether series with their own timestamps go stale when they vanish. Needs Prometheus 2.48.
            pub track_timestamps_staleness: Option<bool>,
            /// Whether a target's own labels win over those that Prometheus adds.
            pub honor_labels: Option<bool>,
            /// Parameters added to the address.
            #[schemars(extend("x-kubernetes-map-type" = "atomic"))]
            pub params: BTreeMap<String, Vec<String>>,
            /// HTTP or HTTPS, `http` unless given.
            pub scheme: Option<Scheme>,
            /// Whether compressed responses are asked for, as they are unless given. Needs Prometheus 2.49.
            pub enable_compression: Option<bool>,
            /// Whether HTTP/2 is offered.
            #[serde(rename = "enableHTTP2")]
            pub enable_http2: Option<bool>,
            /// TLS towards the targets.
            pub tls_config: Option<SafeTlsConfig>,
            /// Most samples per scrape; a scrape with more fails.
            #[schemars(range(min = 0))]
            pub sample_limit: Option<i64>,
            /// Most targets; with more, all of them fail.
            #[schemars(range(min = 0))]
            pub target_limit: Option<i64>,
            /// Most labels per sample.
            #[schemars(range(min = 0))]
            pub label_limit: Option<i64>,
            /// Longest name of a label.
            #[schemars(range(min = 0))]
            pub label_name_length_limit: Option<i64>,
            /// Longest value of a label.
            #[schemars(range(min = 0))]
            pub label_value_length_limit: Option<i64>,
            /// Largest response to accept, uncompressed.
            pub body_size_limit: Option<ByteSize>,
            /// How many dropped targets are remembered for display; 0 means all. Needs Prometheus 2.47.
            #[schemars(range(min = 0))]
            pub keep_dropped_targets: Option<i64>,
            /// Steps applied to each scraped sample.
            #[schemars(length(min = 1))]
            pub metric_relabelings: Vec<RelabelConfig>,
            /// Which characters names may have. Needs Prometheus 3.
            pub name_validation_scheme: Option<NameValidationScheme>,
            /// How other names are asked for. Needs Prometheus 3.4.
            pub name_escaping_scheme: Option<NameEscapingScheme>,
            /// Scrape class to take settings from.
            #[schemars(length(min = 1))]
            pub scrape_class: Option<String>,
        }
    }
}
