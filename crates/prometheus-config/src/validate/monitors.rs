//! ServiceMonitors, PodMonitors and Probes: would they be taken?

use prometheus_types::http::{HttpConfig, ProxyConfig};
use prometheus_types::scrape::SelectorMechanism;
use prometheus_types::service_monitor::Endpoint;
use prometheus_types::tls::SafeTlsConfig;
use prometheus_types::validity::client::{check_credentials, check_proxy};
use prometheus_types::{PodMonitor, Probe, ServiceMonitor};

use super::references::{References, TlsFiles};
use super::{Checker, Rejected, address, label_syntax};
use crate::gates::Field;
use crate::selector;

impl Checker<'_> {
    /// Checks a ServiceMonitor; gives the TLS files that it needs.
    pub fn service_monitor(&self, monitor: &ServiceMonitor) -> Result<TlsFiles, Rejected> {
        let spec = &monitor.spec;
        let mut references =
            References::new(self.assets, monitor.metadata.namespace.as_deref().unwrap_or_default());
        selector::check(&spec.selector)?;
        self.check_mechanism(spec.selector_mechanism.as_ref())?;
        for (at, endpoint) in spec.endpoints.iter().enumerate() {
            self.endpoint(&mut references, endpoint)
                .map_err(|error| error.within(&format!("endpoints[{at}]")))?;
        }
        self.check_class(spec.scrape_class.as_deref())?;
        Ok(references.into_files())
    }

    fn endpoint(&self, references: &mut References<'_>, endpoint: &Endpoint) -> Result<(), Rejected> {
        if self.common.arbitrary_fs_access_through_sms.deny {
            check_no_files(endpoint)?;
        }
        check_credentials(&endpoint.http)?;
        if let Some(tls) = &endpoint.tls_config {
            tls_assets::validate(tls).map_err(|error| Rejected::new("tlsConfig", error))?;
        }
        check_proxy(&endpoint.proxy)?;
        let token = endpoint.http.bearer_token_secret.as_ref().filter(|token| !token.name.is_empty());
        references.optional_secret("bearerTokenSecret", token)?;
        references.basic_auth(endpoint.http.basic_auth.as_ref())?;
        references.tls(endpoint.tls_config.as_ref())?;
        references.oauth2(endpoint.http.oauth2.as_ref())?;
        references.safe_authorization(endpoint.http.authorization.as_ref())?;
        self.check_timing(&endpoint.interval, &endpoint.scrape_timeout)?;
        self.check_relabelings("relabelings", &endpoint.relabelings)?;
        self.check_relabelings("metricRelabelings", &endpoint.metric_relabelings)?;
        references.proxy(&endpoint.proxy)
    }

    /// Checks a PodMonitor; gives the TLS files that it needs.
    pub fn pod_monitor(&self, monitor: &PodMonitor) -> Result<TlsFiles, Rejected> {
        let spec = &monitor.spec;
        let mut references =
            References::new(self.assets, monitor.metadata.namespace.as_deref().unwrap_or_default());
        selector::check(&spec.selector)?;
        self.check_mechanism(spec.selector_mechanism.as_ref())?;
        for (at, endpoint) in spec.pod_metrics_endpoints.iter().enumerate() {
            self.check_timing(&endpoint.interval, &endpoint.scrape_timeout)
                .and_then(|()| self.check_relabelings("relabelings", &endpoint.relabelings))
                .and_then(|()| self.check_relabelings("metricRelabelings", &endpoint.metric_relabelings))
                .and_then(|()| {
                    check_http(&mut references, &endpoint.http, endpoint.tls_config.as_ref(), &endpoint.proxy)
                })
                .map_err(|error| error.within(&format!("podMetricsEndpoints[{at}]")))?;
        }
        self.check_class(spec.scrape_class.as_deref())?;
        Ok(references.into_files())
    }

    /// Checks a Probe; gives the TLS files that it needs.
    pub fn probe(&self, probe: &Probe) -> Result<TlsFiles, Rejected> {
        let spec = &probe.spec;
        let mut references =
            References::new(self.assets, probe.metadata.namespace.as_deref().unwrap_or_default());
        self.check_class(spec.scrape_class.as_deref())?;
        if spec.targets.static_config.is_none() && spec.targets.ingress.is_none() {
            return Err(Rejected::new(
                "targets",
                "it has neither staticConfig nor ingress; give one of them",
            ));
        }
        references.optional_secret("bearerTokenSecret", spec.http.bearer_token_secret.as_ref())?;
        references.basic_auth(spec.http.basic_auth.as_ref())?;
        references.safe_tls(spec.tls_config.as_ref())?;
        references.safe_authorization(spec.http.authorization.as_ref())?;
        references.oauth2(spec.http.oauth2.as_ref())?;
        self.check_timing(&spec.interval, &spec.scrape_timeout)?;
        self.check_relabelings("metricRelabelings", &spec.metric_relabelings)?;
        if let Some(targets) = &spec.targets.static_config {
            self.check_labels(targets.labels.keys()).map_err(|error| error.within("targets.staticConfig"))?;
            self.check_relabelings("targets.staticConfig.relabelingConfigs", &targets.relabeling_configs)?;
        }
        if let Some(targets) = &spec.targets.ingress {
            self.check_relabelings("targets.ingress.relabelingConfigs", &targets.relabeling_configs)?;
        }
        references.proxy(&spec.prober.proxy).map_err(|error| error.within("prober"))?;
        address::check_prober(&spec.prober.url).map_err(|why| Rejected::new("prober.url", why))?;
        Ok(references.into_files())
    }

    /// Names of labels that targets are given.
    pub(crate) fn check_labels<'l>(
        &self,
        mut names: impl Iterator<Item = &'l String>,
    ) -> Result<(), Rejected> {
        let utf8 = self.known.has(Field::Utf8Names);
        match names.find(|name| !label_syntax::is_label_name(name, utf8)) {
            Some(name) => Err(Rejected::new("labels", format!("{name:?} is no name of a label"))),
            None => Ok(()),
        }
    }

    fn check_mechanism(&self, mechanism: Option<&SelectorMechanism>) -> Result<(), Rejected> {
        match mechanism {
            Some(mechanism) if **mechanism == *"RoleSelector" => {
                self.needs(Field::RoleSelector, "selectorMechanism")
            }
            _ => Ok(()),
        }
    }
}

/// Where the administrator has said that monitors may not name files of the container.
fn check_no_files(endpoint: &Endpoint) -> Result<(), Rejected> {
    let tls = endpoint.tls_config.as_ref();
    let files = [
        ("bearerTokenFile", endpoint.bearer_token_file.as_str()),
        ("tlsConfig.caFile", tls.map_or("", |tls| &tls.ca_file)),
        ("tlsConfig.certFile", tls.map_or("", |tls| &tls.cert_file)),
        ("tlsConfig.keyFile", tls.map_or("", |tls| &tls.key_file)),
    ];
    match files.into_iter().find(|(_, file)| !file.is_empty()) {
        Some((field, _)) => {
            Err(Rejected::new(field, "the workload denies files to monitors; refer to a Secret instead"))
        }
        None => Ok(()),
    }
}

fn check_http(
    references: &mut References<'_>,
    http: &HttpConfig,
    tls: Option<&SafeTlsConfig>,
    proxy: &ProxyConfig,
) -> Result<(), Rejected> {
    check_credentials(http)?;
    check_proxy(proxy)?;
    let token =
        http.bearer_token_secret.as_ref().filter(|token| !token.name.is_empty() && !token.key.is_empty());
    references.optional_secret("bearerTokenSecret", token)?;
    references.basic_auth(http.basic_auth.as_ref())?;
    references.safe_tls(tls)?;
    references.oauth2(http.oauth2.as_ref())?;
    references.safe_authorization(http.authorization.as_ref())?;
    references.proxy(proxy)
}
