//! The whole configuration: sections around the scrape jobs, in upstream's order.

use prometheus_types::{PodMonitor, Probe, ScrapeConfig, ServiceMonitor};
use rendering::{Map, Tree};

use crate::context::{Context, Unusable, Workload};
use crate::validate::Rejected;
use crate::validate::timing::check_timeout;

/// The monitors that a workload has selected, checked.
#[derive(Clone, Debug, Default)]
pub struct Selected<'a> {
    pub service_monitors: Vec<&'a ServiceMonitor>,
    pub pod_monitors: Vec<&'a PodMonitor>,
    pub probes: Vec<&'a Probe>,
    pub scrape_configs: Vec<&'a ScrapeConfig>,
}

/// What a configuration takes from Secrets of administrators, and the ConfigMaps of rules.
#[derive(Clone, Copy, Debug, Default)]
pub struct Additional<'a> {
    pub scrape_configs: Option<&'a str>,
    pub alert_relabel_configs: Option<&'a str>,
    pub alertmanager_configs: Option<&'a str>,
    pub rule_config_maps: &'a [String],
}

/// Why there is no configuration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    #[error(transparent)]
    Workload(#[from] Unusable),
    #[error("spec.{0}")]
    Invalid(#[from] Rejected),
    #[error("spec.{field}: {why}")]
    Additional { field: &'static str, why: String },
}

/// Where the ConfigMaps of rules are mounted.
const RULES: &str = "/etc/prometheus/rules";

/// The sections before and after the scrape jobs.
pub(crate) struct Frame {
    pub(crate) head: Map,
    pub(crate) tail: Map,
}

/// Renders the sections around the jobs.
pub(crate) fn frame(
    context: &Context<'_>,
    workload: Workload<'_>,
    additional: &Additional<'_>,
) -> Result<Frame, ConfigError> {
    let common = context.common;
    if !common.scrape_timeout.is_empty() {
        check_timeout(&common.scrape_timeout, &common.scrape_interval)?;
    }
    let scope = context.scope(context.namespace);
    let mut head = Map::new();
    let mut tail = Map::new();
    match workload {
        Workload::Server(prometheus) => {
            let spec = &prometheus.spec;
            head.set("global", context.server_global(spec));
            context.put_runtime(&mut head);
            if spec.rule_selector.is_some() {
                let files = additional.rule_config_maps.iter().map(|name| format!("{RULES}/{name}/*.yaml"));
                head.set("rule_files", files.collect::<Tree>());
            }
            context.put_server_storage(&mut tail, spec)?;
            context.put_alerting(&mut tail, spec, additional)?;
        }
        Workload::Agent(_) => {
            head.set("global", context.global());
            context.put_runtime(&mut head);
            context.put_agent_storage(&mut tail)?;
        }
    }
    if !common.remote_write.is_empty() {
        tail.set(
            "remote_write",
            common.remote_write.iter().map(|spec| scope.remote_write(spec)).collect::<Tree>(),
        );
    }
    if let Workload::Server(prometheus) = workload
        && !prometheus.spec.remote_read.is_empty()
    {
        tail.set(
            "remote_read",
            prometheus.spec.remote_read.iter().map(|spec| scope.remote_read(spec)).collect::<Tree>(),
        );
    }
    context.put_otlp(&mut tail)?;
    context.put_tracing(&mut tail)?;
    Ok(Frame { head, tail })
}
