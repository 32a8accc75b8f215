//! The discoveries of ScrapeConfig: what each needs besides what its schema says.

use go_syntax::url;
use prometheus_types::discovery::clouds::{AzureSdConfig, Ec2SdConfig, LightSailSdConfig, OpenStackSdConfig};
use prometheus_types::discovery::containers::{DockerSdConfig, KubernetesSdConfig, KumaSdConfig};
use prometheus_types::discovery::generic::DnsSdConfig;
use prometheus_types::discovery::hosting::HetznerSdConfig;
use prometheus_types::discovery::registries::{ConsulSdConfig, PuppetDbSdConfig};
use prometheus_types::discovery::{Auth, Transport};
use prometheus_types::scrape_config::ScrapeConfigSpec;

use super::references::References;
use super::{Checker, Rejected, label_syntax};
use crate::gates::Field;

/// Which selectors each role of Kubernetes discovery takes. Source: Prometheus' configuration reference.
pub(crate) const SELECTORS: &[(&str, &[&str])] = &[
    ("pod", &["pod"]),
    ("service", &["service"]),
    ("endpointslice", &["pod", "service", "endpointslice"]),
    ("endpoints", &["pod", "service", "endpoints"]),
    ("node", &["node"]),
    ("ingress", &["ingress"]),
];

/// Runs a check over the entries of a discovery, and puts the entry's path before a refusal.
fn each<T>(
    field: &str,
    entries: &[T],
    mut check: impl FnMut(&T) -> Result<(), Rejected>,
) -> Result<(), Rejected> {
    entries
        .iter()
        .enumerate()
        .try_for_each(|(at, entry)| check(entry).map_err(|error| error.within(&format!("{field}[{at}]"))))
}

impl References<'_> {
    fn auth(&mut self, auth: &Auth) -> Result<(), Rejected> {
        self.basic_auth(auth.basic_auth.as_ref())?;
        self.safe_authorization(auth.authorization.as_ref())?;
        self.oauth2(auth.oauth2.as_ref())
    }

    fn transport(&mut self, transport: &Transport) -> Result<(), Rejected> {
        self.safe_tls(transport.tls_config.as_ref())?;
        self.proxy(&transport.proxy)
    }

    fn client(&mut self, auth: &Auth, transport: &Transport) -> Result<(), Rejected> {
        self.auth(auth)?;
        self.transport(transport)
    }
}

impl Checker<'_> {
    pub(crate) fn discoveries(
        &self,
        references: &mut References<'_>,
        spec: &ScrapeConfigSpec,
    ) -> Result<(), Rejected> {
        self.check_discoveries_known()?;
        each("httpSDConfigs", &spec.http_sd_configs, |config| {
            check_url("url", &config.url)?;
            references.client(&config.auth, &config.transport)
        })?;
        each("kubernetesSDConfigs", &spec.kubernetes_sd_configs, |config| {
            self.kubernetes(references, config)
        })?;
        each("consulSDConfigs", &spec.consul_sd_configs, |config| self.consul(references, config))?;
        each("dnsSDConfigs", &spec.dns_sd_configs, dns)?;
        each("ec2SDConfigs", &spec.ec2_sd_configs, |config| ec2(references, config))?;
        each("azureSDConfigs", &spec.azure_sd_configs, |config| self.azure(references, config))?;
        each("openstackSDConfigs", &spec.openstack_sd_configs, |config| self.openstack(references, config))?;
        each("digitalOceanSDConfigs", &spec.digital_ocean_sd_configs, |config| {
            references.safe_authorization(config.authorization.as_ref())?;
            references.oauth2(config.oauth2.as_ref())?;
            references.transport(&config.transport)
        })?;
        each("kumaSDConfigs", &spec.kuma_sd_configs, |config| self.kuma(references, config))?;
        each("eurekaSDConfigs", &spec.eureka_sd_configs, |config| {
            references.client(&config.auth, &config.transport)
        })?;
        each("dockerSDConfigs", &spec.docker_sd_configs, |config| self.docker(references, config))?;
        each("linodeSDConfigs", &spec.linode_sd_configs, |config| {
            references.safe_authorization(config.authorization.as_ref())?;
            references.oauth2(config.oauth2.as_ref())?;
            references.transport(&config.transport)
        })?;
        each("hetznerSDConfigs", &spec.hetzner_sd_configs, |config| self.hetzner(references, config))?;
        each("nomadSDConfigs", &spec.nomad_sd_configs, |config| {
            check_server("server", &config.server)?;
            references.client(&config.auth, &config.transport)
        })?;
        each("dockerSwarmSDConfigs", &spec.docker_swarm_sd_configs, |config| {
            check_url("host", &config.host)?;
            references.client(&config.auth, &config.transport)
        })?;
        each("puppetDBSDConfigs", &spec.puppet_db_sd_configs, |config| puppet_db(references, config))?;
        each("lightSailSDConfigs", &spec.light_sail_sd_configs, |config| light_sail(references, config))?;
        each("ovhcloudSDConfigs", &spec.ovhcloud_sd_configs, |config| {
            references.secret("applicationSecret", &config.application_secret)?;
            references.secret("consumerKey", &config.consumer_key)
        })?;
        each("scalewaySDConfigs", &spec.scaleway_sd_configs, |config| {
            references.secret("secretKey", &config.secret_key)?;
            references.transport(&config.transport)
        })?;
        each("ionosSDConfigs", &spec.ionos_sd_configs, |config| {
            references.safe_authorization(Some(&config.authorization))?;
            references.oauth2(config.oauth2.as_ref())?;
            references.transport(&config.transport)
        })
    }

    /// A Prometheus that lacks one of these discoveries takes no ScrapeConfig at all, as upstream has it. All versions
    /// that are supported have them.
    fn check_discoveries_known(&self) -> Result<(), Rejected> {
        let all = [
            Field::HttpDiscovery,
            Field::DigitalOceanDiscovery,
            Field::LinodeDiscovery,
            Field::DockerSwarmDiscovery,
            Field::PuppetDbDiscovery,
            Field::LightSailDiscovery,
            Field::OvhCloudDiscovery,
            Field::ScalewayDiscovery,
            Field::IonosDiscovery,
        ];
        all.into_iter().try_for_each(|field| self.needs(field, field.key()))
    }

    fn kubernetes(
        &self,
        references: &mut References<'_>,
        config: &KubernetesSdConfig,
    ) -> Result<(), Rejected> {
        references.client(&config.auth, &config.transport)?;
        let role = config.role.to_ascii_lowercase();
        if role == "endpointslice" {
            self.needs(Field::EndpointSliceRole, "role")?;
        }
        let own = config.namespaces.as_ref().is_some_and(|namespaces| namespaces.own_namespace == Some(true));
        if config.api_server.is_some() && own {
            return Err(Rejected::new(
                "namespaces.ownNamespace",
                "it has no meaning beside apiServer; remove one",
            ));
        }
        let allowed =
            SELECTORS.iter().find(|(name, _)| *name == role).map_or(&[][..], |(_, selectors)| selectors);
        each("selectors", &config.selectors, |selector| {
            let selected = selector.role.to_ascii_lowercase();
            if !allowed.contains(&selected.as_str()) {
                let why = format!("role {role} takes selectors of {}", allowed.join(", "));
                return Err(Rejected::new("role", why));
            }
            let field = selector.field.as_deref().unwrap_or_default();
            label_syntax::check_field_selector(field).map_err(|why| Rejected::new("field", why))?;
            let label = selector.label.as_deref().unwrap_or_default();
            label_syntax::check_label_selector(label).map_err(|why| Rejected::new("label", why))
        })
    }

    fn consul(&self, references: &mut References<'_>, config: &ConsulSdConfig) -> Result<(), Rejected> {
        for (field, used) in [
            (Field::ConsulPathPrefix, config.path_prefix.is_some()),
            (Field::ConsulNamespace, config.namespace.is_some()),
            (Field::ConsulFilter, config.filter.is_some()),
            (Field::ConsulHealthFilter, config.health_filter.is_some()),
        ] {
            if used {
                self.needs(field, field.key())?;
            }
        }
        references.optional_secret("tokenRef", config.token_ref.as_ref())?;
        references.client(&config.auth, &config.transport)
    }

    /// Azure's ways to authenticate without an application need no credentials here.
    fn azure(&self, references: &mut References<'_>, config: &AzureSdConfig) -> Result<(), Rejected> {
        let method = config.authentication_method.as_deref().unwrap_or("OAuth");
        match method {
            "SDK" => self.needs(Field::AzureSdkAuthentication, "authenticationMethod")?,
            "WorkloadIdentity" => self.needs(Field::AzureWorkloadAuthentication, "authenticationMethod")?,
            _ => {}
        }
        if config.resource_group.is_some() {
            self.needs(Field::AzureResourceGroup, "resourceGroup")?;
        }
        if matches!(method, "ManagedIdentity" | "SDK" | "WorkloadIdentity") {
            return Ok(());
        }
        for (field, value) in [("tenantID", &config.tenant_id), ("clientID", &config.client_id)] {
            if value.as_deref().unwrap_or_default().is_empty() {
                return Err(Rejected::new(field, "authenticationMethod OAuth needs it"));
            }
        }
        let secret = config
            .client_secret
            .as_ref()
            .ok_or_else(|| Rejected::new("clientSecret", "authenticationMethod OAuth needs it"))?;
        references.secret("clientSecret", secret)?;
        references.client(&config.auth, &config.transport)
    }

    fn openstack(&self, references: &mut References<'_>, config: &OpenStackSdConfig) -> Result<(), Rejected> {
        if *config.role == *"LoadBalancer" {
            self.needs(Field::OpenStackLoadBalancer, "role")?;
        }
        references.optional_secret("password", config.password.as_ref())?;
        references
            .optional_secret("applicationCredentialSecret", config.application_credential_secret.as_ref())?;
        references.safe_tls(config.tls_config.as_ref())
    }

    fn kuma(&self, references: &mut References<'_>, config: &KumaSdConfig) -> Result<(), Rejected> {
        if config.client_id.is_some() {
            self.needs(Field::KumaClientId, "clientID")?;
        }
        check_server("server", &config.server)?;
        references.client(&config.auth, &config.transport)
    }

    fn docker(&self, references: &mut References<'_>, config: &DockerSdConfig) -> Result<(), Rejected> {
        if config.match_first_network.is_some() {
            self.needs(Field::DockerMatchFirstNetwork, "matchFirstNetwork")?;
        }
        check_url("host", &config.host)?;
        references.client(&config.auth, &config.transport)
    }

    fn hetzner(&self, references: &mut References<'_>, config: &HetznerSdConfig) -> Result<(), Rejected> {
        if config.label_selector.is_some() {
            self.needs(Field::HetznerLabelSelector, "labelSelector")?;
        }
        references.client(&config.auth, &config.transport)
    }
}

fn dns(config: &DnsSdConfig) -> Result<(), Rejected> {
    match config.r#type.as_deref() {
        Some(record) if record != "SRV" && config.port.is_none() => {
            Err(Rejected::new("port", format!("records of type {record} carry no port; give one")))
        }
        _ => Ok(()),
    }
}

fn ec2(references: &mut References<'_>, config: &Ec2SdConfig) -> Result<(), Rejected> {
    references.optional_secret("accessKey", config.access_key.as_ref())?;
    references.optional_secret("secretKey", config.secret_key.as_ref())?;
    references.transport(&config.transport)
}

fn light_sail(references: &mut References<'_>, config: &LightSailSdConfig) -> Result<(), Rejected> {
    references.optional_secret("accessKey", config.access_key.as_ref())?;
    references.optional_secret("secretKey", config.secret_key.as_ref())?;
    references.client(&config.auth, &config.transport)
}

fn puppet_db(references: &mut References<'_>, config: &PuppetDbSdConfig) -> Result<(), Rejected> {
    let address = url::parse(&config.url).map_err(|why| Rejected::new("url", why))?;
    if !matches!(address.scheme.as_str(), "http" | "https") || address.host.is_empty() {
        return Err(Rejected::new("url", "it must begin with http:// or https:// and have a host"));
    }
    references.client(&config.auth, &config.transport)
}

fn check_url(field: &str, url: &str) -> Result<(), Rejected> {
    url::parse(url).map(|_| ()).map_err(|why| Rejected::new(field, why))
}

fn check_server(field: &str, server: &str) -> Result<(), Rejected> {
    let address = url::parse(server).map_err(|why| Rejected::new(field, why))?;
    if address.scheme.is_empty() || address.host.is_empty() {
        return Err(Rejected::new(
            field,
            format!("{server:?} needs a scheme and a host, as in http://host:8080"),
        ));
    }
    Ok(())
}
