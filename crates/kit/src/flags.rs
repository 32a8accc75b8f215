//! Every setting of an operator, as data in one place: a flag, its environment variable, its default and what it is for.
//!
//! [`OperatorFlags`] is what was written, [`OperatorConfig`] what it means: [`OperatorFlags::validate`] is the only way from
//! one to the other, and its errors name the flag and the remedy. The reference is generated from the flags
//! ([`reference()`]), so it cannot be wrong about them.

mod config;
mod duration;
mod reference;

use std::{ffi::OsString, path::PathBuf, time::Duration};

use clap::Args;

use crate::{
    serve::Listen,
    telemetry::{Filter, LogFormat},
};

pub use config::{ElectionConfig, FlagError, FlagErrors, OperatorConfig, WebhookConfig};
pub use reference::reference;

/// The flags that every operator on this kit has. Put it into yours with `#[command(flatten)]`.
#[derive(Debug, Clone, Args)]
pub struct OperatorFlags {
    /// Look after these namespaces only, instead of all.
    #[arg(long, env = "CAPSTAN_NAMESPACES", value_name = "NAME,…", value_delimiter = ',', help_heading = SCOPE)]
    pub namespaces: Vec<String>,

    /// Look after all namespaces but these.
    #[arg(long, env = "CAPSTAN_DENY_NAMESPACES", value_name = "NAME,…", value_delimiter = ',', help_heading = SCOPE)]
    pub deny_namespaces: Vec<String>,

    /// Look after the namespaces whose labels match, as they come and go.
    #[arg(long, env = "CAPSTAN_NAMESPACE_SELECTOR", value_name = "LABELS", help_heading = SCOPE)]
    pub namespace_selector: Option<String>,

    /// Elect one leader among the replicas; the others stand by with warm caches. Needed with more than one replica.
    #[arg(long, env = "CAPSTAN_LEADER_ELECT", default_value_t = true, help_heading = LEADER)]
    #[arg(action = clap::ArgAction::Set, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub leader_elect: bool,

    /// Where the lease is kept [default: the operator's own namespace].
    #[arg(long, env = "CAPSTAN_LEADER_ELECT_NAMESPACE", value_name = "NAME", help_heading = LEADER)]
    pub leader_elect_namespace: Option<String>,

    /// For how long the others wait after the last renewal before one of them takes over.
    #[arg(long, env = "CAPSTAN_LEADER_ELECT_LEASE_DURATION", default_value = "15s", help_heading = LEADER)]
    #[arg(value_name = "TIME", value_parser = duration::parse)]
    pub leader_elect_lease_duration: Duration,

    /// For how long the leader tries to renew before it stops writing.
    #[arg(long, env = "CAPSTAN_LEADER_ELECT_RENEW_DEADLINE", default_value = "10s", help_heading = LEADER)]
    #[arg(value_name = "TIME", value_parser = duration::parse)]
    pub leader_elect_renew_deadline: Duration,

    /// How often the lease is renewed or tried for.
    #[arg(long, env = "CAPSTAN_LEADER_ELECT_RETRY_PERIOD", default_value = "2s", help_heading = LEADER)]
    #[arg(value_name = "TIME", value_parser = duration::parse)]
    pub leader_elect_retry_period: Duration,

    /// How many objects of a kind are worked on at once.
    #[arg(long, env = "CAPSTAN_WORKERS", default_value_t = 8, value_name = "NUMBER", help_heading = WORK)]
    pub workers: usize,

    /// When to give up one reconcile and try it again later.
    #[arg(long, env = "CAPSTAN_RECONCILE_TIMEOUT", default_value = "2m", help_heading = WORK)]
    #[arg(value_name = "TIME", value_parser = duration::parse)]
    pub reconcile_timeout: Duration,

    /// How often every object is looked at again though nothing changed; 0 for never.
    #[arg(long, env = "CAPSTAN_RESYNC", default_value = "10h", help_heading = WORK)]
    #[arg(value_name = "TIME", value_parser = duration::parse)]
    pub resync: Duration,

    /// Who owns the fields that this operator applies [default: the operator's name]. Changing it on a running system
    /// leaves the old owner's fields behind.
    #[arg(long, env = "CAPSTAN_FIELD_MANAGER", value_name = "NAME", help_heading = WORK)]
    pub field_manager: Option<String>,

    /// How long running reconciles may take to end after a stop was asked for.
    #[arg(long, env = "CAPSTAN_GRACEFUL_SHUTDOWN_TIMEOUT", default_value = "20s", help_heading = WORK)]
    #[arg(value_name = "TIME", value_parser = duration::parse)]
    pub graceful_shutdown_timeout: Duration,

    /// The kubeconfig file [default: the cluster that the operator runs in, else ~/.kube/config].
    #[arg(long, env = "CAPSTAN_KUBECONFIG", value_name = "FILE", help_heading = SERVER)]
    pub kubeconfig: Option<PathBuf>,

    /// The kubeconfig's context [default: its current one].
    #[arg(long, env = "CAPSTAN_CONTEXT", value_name = "NAME", help_heading = SERVER)]
    pub context: Option<String>,

    /// When to give up one request to the API server; watches have their own.
    #[arg(long, env = "CAPSTAN_REQUEST_TIMEOUT", default_value = "15s", help_heading = SERVER)]
    #[arg(value_name = "TIME", value_parser = duration::parse)]
    pub request_timeout: Duration,

    /// How many writes may be on their way to the API server at once. It adapts below this when the server is busy.
    #[arg(long, env = "CAPSTAN_MAX_WRITES_IN_FLIGHT", default_value_t = 32, value_name = "NUMBER", help_heading = SERVER)]
    pub max_writes_in_flight: usize,

    /// Where metrics are served; 0 for nowhere.
    #[arg(long, env = "CAPSTAN_METRICS_BIND_ADDRESS", default_value = ":8080", value_name = "ADDRESS", help_heading = TELL)]
    pub metrics_bind_address: Listen,

    /// Where /healthz, /readyz and /debug/state.json are served; 0 for nowhere.
    #[arg(long, env = "CAPSTAN_HEALTH_PROBE_BIND_ADDRESS", default_value = ":8081", value_name = "ADDRESS", help_heading = TELL)]
    pub health_probe_bind_address: Listen,

    /// How log lines look.
    #[arg(long, env = "CAPSTAN_LOG_FORMAT", default_value = "text", value_enum, value_name = "FORMAT", help_heading = TELL)]
    pub log_format: LogFormat,

    /// Which log lines are written: a level, and levels for single modules, as in `info,kit=debug`.
    #[arg(long, env = "CAPSTAN_LOG_LEVEL", default_value = "info", value_name = "FILTER", help_heading = TELL)]
    pub log_level: Filter,

    /// The OpenTelemetry collector that takes traces over HTTP, for example http://collector:4318 [default: no traces].
    #[arg(long, env = "CAPSTAN_OTLP_ENDPOINT", value_name = "URL", help_heading = TELL)]
    pub otlp_endpoint: Option<String>,

    /// Where admission webhooks are served; 0 for nowhere.
    #[arg(long, env = "CAPSTAN_WEBHOOK_BIND_ADDRESS", default_value = "0", value_name = "ADDRESS", help_heading = WEBHOOK)]
    pub webhook_bind_address: Listen,

    /// The Service that API servers reach the webhooks by, for the certificate's names.
    #[arg(long, env = "CAPSTAN_WEBHOOK_SERVICE", value_name = "NAME", help_heading = WEBHOOK)]
    pub webhook_service: Option<String>,

    /// A directory with tls.crt and tls.key, re-read when they change [default: certificates of an own CA, kept in a Secret].
    #[arg(long, env = "CAPSTAN_WEBHOOK_CERT_DIR", value_name = "DIRECTORY", help_heading = WEBHOOK)]
    pub webhook_cert_dir: Option<PathBuf>,
}

const SCOPE: &str = "Scope";
const LEADER: &str = "Leader election";
const WORK: &str = "Work";
const SERVER: &str = "API server";
const TELL: &str = "Metrics, health, logs, traces";
const WEBHOOK: &str = "Webhooks";

/// Lets flags be written with one dash, too, as Go's `flag` package does: `-log-level=debug`. Manifests written for operators
/// in Go then work as they are. Nothing after `--` is touched.
pub fn accept_single_dash(args: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut only_values = false;
    let rewrite = |arg: OsString| {
        let Some(text) = arg.to_str() else { return arg };
        only_values |= text == "--";
        match text.strip_prefix('-') {
            // One letter is a short flag, a digit the start of a negative number.
            Some(rest)
                if !only_values && rest.len() > 1 && rest.starts_with(|c: char| c.is_ascii_alphabetic()) =>
            {
                format!("--{rest}").into()
            }
            _ => arg,
        }
    };
    args.into_iter().map(rewrite).collect()
}

#[cfg(test)]
mod tests;
