//! What a Prometheus or PrometheusAgent refers to itself: remote write and read, the API server, Alertmanagers, classes.

use prometheus_types::prometheus::server::ApiServerConfig;
use prometheus_types::remote_write::{RemoteReadSpec, RemoteWriteSpec};

use super::references::{References, TlsFiles};
use super::{Checker, Rejected, remote_write};
use crate::context::Workload;

impl Checker<'_> {
    /// Checks the workload's own references; gives the TLS files that it needs.
    pub fn workload(&self, workload: Workload<'_>) -> Result<TlsFiles, Rejected> {
        let mut references = References::new(self.assets, workload.namespace());
        for (at, spec) in self.common.remote_write.iter().enumerate() {
            self.remote_write(&mut references, spec)
                .map_err(|error| error.within(&format!("remoteWrite[{at}]")))?;
        }
        if let Some(server) = &self.common.apiserver_config {
            check_api_server(&mut references, server).map_err(|error| error.within("apiserverConfig"))?;
        }
        for class in &self.common.scrape_classes {
            references
                .tls(class.tls_config.as_ref())
                .map_err(|error| error.within(&format!("scrapeClasses[{}]", class.name)))?;
        }
        if let Some(tracing) = &self.common.tracing_config {
            references.tls(tracing.tls_config.as_ref()).map_err(|error| error.within("tracingConfig"))?;
        }
        if let Workload::Server(prometheus) = workload {
            for (at, spec) in prometheus.spec.remote_read.iter().enumerate() {
                check_remote_read(&mut references, spec)
                    .map_err(|error| error.within(&format!("remoteRead[{at}]")))?;
            }
            let alertmanagers = prometheus.spec.alerting.iter().flat_map(|alerting| &alerting.alertmanagers);
            for (at, alertmanager) in alertmanagers.enumerate() {
                references
                    .basic_auth(alertmanager.basic_auth.as_ref())
                    .and_then(|()| references.safe_authorization(alertmanager.authorization.as_ref()))
                    .and_then(|()| references.sigv4(alertmanager.sigv4.as_ref()))
                    .and_then(|()| references.tls(alertmanager.tls_config.as_ref()))
                    .and_then(|()| references.proxy(&alertmanager.proxy))
                    .and_then(|()| self.check_relabelings("relabelings", &alertmanager.relabelings))
                    .and_then(|()| {
                        self.check_relabelings("alertRelabelings", &alertmanager.alert_relabelings)
                    })
                    .map_err(|error| error.within(&format!("alerting.alertmanagers[{at}]")))?;
            }
        }
        Ok(references.into_files())
    }

    fn remote_write(&self, references: &mut References<'_>, spec: &RemoteWriteSpec) -> Result<(), Rejected> {
        remote_write::check(spec, &self.known)?;
        check_remote_write_references(references, spec)
    }
}

/// The references of remote write, which Thanos Ruler has as well.
pub(crate) fn check_remote_write_references(
    references: &mut References<'_>,
    spec: &RemoteWriteSpec,
) -> Result<(), Rejected> {
    references.basic_auth(spec.basic_auth.as_ref())?;
    references.oauth2(spec.oauth2.as_ref())?;
    references.tls(spec.tls_config.as_ref())?;
    references.authorization(spec.authorization.as_ref())?;
    references.sigv4(spec.sigv4.as_ref())?;
    references.azure_ad(spec.azure_ad.as_ref())?;
    references.proxy_headers(&spec.proxy)
}

fn check_remote_read(references: &mut References<'_>, spec: &RemoteReadSpec) -> Result<(), Rejected> {
    references.basic_auth(spec.basic_auth.as_ref())?;
    references.oauth2(spec.oauth2.as_ref())?;
    references.tls(spec.tls_config.as_ref())?;
    references.authorization(spec.authorization.as_ref())?;
    references.proxy(&spec.proxy)
}

fn check_api_server(references: &mut References<'_>, server: &ApiServerConfig) -> Result<(), Rejected> {
    references.basic_auth(server.basic_auth.as_ref())?;
    references.authorization(server.authorization.as_ref())?;
    references.tls(server.tls_config.as_ref())?;
    references.proxy_headers(&server.proxy)
}
