//! ScrapeConfigs: would they be taken?

use prometheus_types::ScrapeConfig;

use super::references::{References, TlsFiles};
use super::{Checker, Rejected};

impl Checker<'_> {
    /// Checks a ScrapeConfig; gives the TLS files that it needs.
    pub fn scrape_config(&self, config: &ScrapeConfig) -> Result<TlsFiles, Rejected> {
        let spec = &config.spec;
        let mut references =
            References::new(self.assets, config.metadata.namespace.as_deref().unwrap_or_default());
        self.check_class(spec.scrape_class.as_deref())?;
        self.check_relabelings("relabelings", &spec.relabelings)?;
        references.basic_auth(spec.auth.basic_auth.as_ref())?;
        references.safe_authorization(spec.auth.authorization.as_ref())?;
        references.oauth2(spec.auth.oauth2.as_ref())?;
        references.safe_tls(spec.tls_config.as_ref())?;
        self.check_timing(
            spec.scrape_interval.as_deref().unwrap_or_default(),
            spec.scrape_timeout.as_deref().unwrap_or_default(),
        )?;
        references.proxy(&spec.proxy)?;
        self.check_relabelings("metricRelabelings", &spec.metric_relabelings)?;
        for (at, targets) in spec.static_configs.iter().enumerate() {
            self.check_labels(targets.labels.keys())
                .map_err(|error| error.within(&format!("staticConfigs[{at}]")))?;
        }
        self.discoveries(&mut references, spec)?;
        Ok(references.into_files())
    }
}
