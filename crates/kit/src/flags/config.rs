//! What the flags mean, after everything that can be wrong with them has been ruled out.

use std::{collections::BTreeSet, fmt, num::NonZeroUsize, path::PathBuf, time::Duration};

use super::OperatorFlags;
use crate::{scope::Scope, serve::Listen, telemetry};

/// The settings of an operator, checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperatorConfig {
    /// The namespaces that are looked after.
    pub scope: Scope,
    /// How the leader is elected; `None`: this is the only replica.
    pub election: Option<ElectionConfig>,
    /// Reconciles at once, per kind.
    pub workers: NonZeroUsize,
    /// When one is given up.
    pub reconcile_timeout: Duration,
    /// How often everything is looked at again.
    pub resync: Option<Duration>,
    /// Who owns the applied fields.
    pub field_manager: String,
    /// How long reconciles may take to end after the stop.
    pub graceful_shutdown_timeout: Duration,
    /// The kubeconfig file, if one was named.
    pub kubeconfig: Option<PathBuf>,
    /// Its context, if one was named.
    pub context: Option<String>,
    /// When a request is given up.
    pub request_timeout: Duration,
    /// Writes at once.
    pub max_writes_in_flight: NonZeroUsize,
    /// Where metrics are served.
    pub metrics_address: Listen,
    /// Where health is served.
    pub health_address: Listen,
    /// Logs and traces.
    pub telemetry: telemetry::Options,
    /// Admission webhooks, if they are served.
    pub webhook: Option<WebhookConfig>,
}

/// Leader election.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ElectionConfig {
    /// Where the lease is; `None`: in the operator's own namespace.
    pub namespace: Option<String>,
    /// How long a lease is good for.
    pub lease_duration: Duration,
    /// How long the leader tries to renew.
    pub renew_deadline: Duration,
    /// How often.
    pub retry_period: Duration,
}

/// Admission webhooks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookConfig {
    /// Where they are served.
    pub address: Listen,
    /// The certificate's files; `None`: an own CA.
    pub cert_dir: Option<PathBuf>,
    /// The Service in front; always there without `cert_dir`.
    pub service: Option<String>,
}

/// A flag whose value cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{flag}: {problem}. {remedy}")]
pub struct FlagError {
    /// For example `--workers`.
    pub flag: &'static str,
    /// What is wrong with it.
    pub problem: String,
    /// What to do about it.
    pub remedy: String,
}

/// Everything that is wrong with the flags, so that people need one round to mend it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct FlagErrors(pub Vec<FlagError>);

impl fmt::Display for FlagErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<_> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&lines.join("\n"))
    }
}

/// client-go waits up to this much longer than the retry period, so as not to have all replicas try at once.
const RETRY_JITTER: f64 = 1.2;

/// The API server refuses longer ones.
const FIELD_MANAGER_LIMIT: usize = 128;

impl OperatorFlags {
    /// Checks the flags of the operator `name` against each other and against what the API server takes.
    pub fn validate(self, name: &str) -> Result<OperatorConfig, FlagErrors> {
        let mut errors = Problems::default();
        let config = OperatorConfig {
            scope: scope(&self, &mut errors),
            election: election(&self, &mut errors),
            webhook: webhook(&self, &mut errors),
            workers: positive("--workers", self.workers, &mut errors),
            max_writes_in_flight: positive("--max-writes-in-flight", self.max_writes_in_flight, &mut errors),
            reconcile_timeout: nonzero("--reconcile-timeout", self.reconcile_timeout, &mut errors),
            request_timeout: nonzero("--request-timeout", self.request_timeout, &mut errors),
            resync: Some(self.resync).filter(|resync| !resync.is_zero()),
            field_manager: field_manager(self.field_manager.unwrap_or_else(|| name.to_owned()), &mut errors),
            graceful_shutdown_timeout: self.graceful_shutdown_timeout,
            kubeconfig: self.kubeconfig,
            context: self.context,
            metrics_address: self.metrics_bind_address,
            health_address: self.health_probe_bind_address,
            telemetry: telemetry::Options {
                service: name.to_owned(),
                format: self.log_format,
                filter: self.log_level,
                otlp_endpoint: self.otlp_endpoint.and_then(|url| endpoint(&url, &mut errors)),
            },
        };
        match errors.0.is_empty() {
            true => Ok(config),
            false => Err(FlagErrors(errors.0)),
        }
    }
}

#[derive(Default)]
struct Problems(Vec<FlagError>);

impl Problems {
    fn add(&mut self, flag: &'static str, problem: impl Into<String>, remedy: impl Into<String>) {
        self.0.push(FlagError { flag, problem: problem.into(), remedy: remedy.into() });
    }
}

fn scope(flags: &OperatorFlags, errors: &mut Problems) -> Scope {
    let only = names("--namespaces", &flags.namespaces, errors);
    let except = names("--deny-namespaces", &flags.deny_namespaces, errors);
    match (only.is_empty(), except.is_empty(), flags.namespace_selector.as_deref().unwrap_or_default()) {
        (true, true, "") => Scope::All,
        (false, true, "") => Scope::Only(only),
        (true, false, "") => Scope::Except(except),
        (true, true, selector) => Scope::Labelled(selector.to_owned()),
        _ => {
            let flag = if only.is_empty() { "--deny-namespaces" } else { "--namespaces" };
            errors.add(
                flag,
                "only one of --namespaces, --deny-namespaces and --namespace-selector can say which namespaces are meant",
                "Leave the others out",
            );
            Scope::All
        }
    }
}

/// An empty name comes from `--namespaces=""`, which manifests write for "all".
fn names(flag: &'static str, names: &[String], errors: &mut Problems) -> BTreeSet<String> {
    let names: BTreeSet<_> =
        names.iter().map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect();
    for name in names.iter().filter(|name| !is_dns_label(name)) {
        let remedy = "Write names of a-z, 0-9 and -, separated by commas";
        errors.add(flag, format!("`{name}` is no name of a namespace"), remedy);
    }
    names
}

fn is_dns_label(name: &str) -> bool {
    let inside = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    (1..=63).contains(&name.len())
        && name.chars().all(inside)
        && !name.starts_with('-')
        && !name.ends_with('-')
}

fn election(flags: &OperatorFlags, errors: &mut Problems) -> Option<ElectionConfig> {
    let election = ElectionConfig {
        namespace: flags.leader_elect_namespace.clone(),
        lease_duration: flags.leader_elect_lease_duration,
        renew_deadline: flags.leader_elect_renew_deadline,
        retry_period: flags.leader_elect_retry_period,
    };
    if !flags.leader_elect {
        return None;
    }
    if election.lease_duration < Duration::from_secs(1) {
        errors.add(
            "--leader-elect-lease-duration",
            "a lease counts whole seconds",
            "Set 1s or more, 15s is usual",
        );
    }
    if election.renew_deadline >= election.lease_duration {
        errors.add(
            "--leader-elect-renew-deadline",
            format!(
                "{:?} is not below --leader-elect-lease-duration {:?}: two replicas could lead at once",
                election.renew_deadline, election.lease_duration
            ),
            "Set it to about two thirds of the lease duration",
        );
    }
    if election.retry_period.is_zero()
        || election.retry_period.mul_f64(RETRY_JITTER) >= election.renew_deadline
    {
        errors.add(
            "--leader-elect-retry-period",
            format!(
                "{:?} leaves no second try within --leader-elect-renew-deadline {:?}",
                election.retry_period, election.renew_deadline
            ),
            "Set it to about a fifth of the renew deadline",
        );
    }
    Some(election)
}

fn webhook(flags: &OperatorFlags, errors: &mut Problems) -> Option<WebhookConfig> {
    let address = flags.webhook_bind_address.clone();
    if address == Listen::Off {
        return None;
    }
    if flags.webhook_cert_dir.is_none() && flags.webhook_service.is_none() {
        errors.add(
            "--webhook-service",
            "the certificate needs the name that API servers call",
            "Set it to the Service in front of this operator, or give your own certificate with --webhook-cert-dir",
        );
    }
    Some(WebhookConfig {
        address,
        cert_dir: flags.webhook_cert_dir.clone(),
        service: flags.webhook_service.clone(),
    })
}

fn positive(flag: &'static str, number: usize, errors: &mut Problems) -> NonZeroUsize {
    NonZeroUsize::new(number).unwrap_or_else(|| {
        errors.add(flag, "with 0 nothing would ever be done", "Set 1 or more");
        NonZeroUsize::MIN
    })
}

fn nonzero(flag: &'static str, time: Duration, errors: &mut Problems) -> Duration {
    if time.is_zero() {
        errors.add(flag, "with 0 everything would be given up before it starts", "Set a time, as in 15s");
    }
    time
}

fn field_manager(name: String, errors: &mut Problems) -> String {
    if name.is_empty() || name.len() > FIELD_MANAGER_LIMIT || name.chars().any(char::is_control) {
        errors.add(
            "--field-manager",
            format!("the API server takes 1 to {FIELD_MANAGER_LIMIT} printable characters"),
            "Choose a short name and keep it",
        );
    }
    name
}

/// The error repeats no part of the URL: it may hold a password.
fn endpoint(url: &str, errors: &mut Problems) -> Option<http::Uri> {
    const FLAG: &str = "--otlp-endpoint";
    const REMEDY: &str = "Write it as in http://collector:4318";
    if url.is_empty() {
        return None;
    }
    let parsed = url.parse::<http::Uri>().ok().filter(|uri| uri.host().is_some());
    match parsed {
        None => errors.add(FLAG, "this is no URL", REMEDY),
        Some(uri) if uri.scheme_str() != Some("http") => {
            errors.add(
                FLAG,
                "only http is spoken to the collector",
                "Use a collector in the cluster, which may speak TLS to the outside",
            );
        }
        Some(uri) if uri.authority().is_some_and(|authority| authority.as_str().contains('@')) => {
            errors.add(FLAG, "a user and password in the URL would end up in logs", REMEDY);
        }
        Some(uri) => return Some(uri),
    }
    None
}
