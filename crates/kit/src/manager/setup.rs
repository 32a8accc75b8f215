//! How an operator is set up: by its flags, or (in tests) field by field.

use std::time::Duration;

use super::{Api, ManagerError};
use crate::{
    Clock, Scope,
    client::ClientOptions,
    controller::ControllerOptions,
    flags::{ElectionConfig, OperatorConfig},
    lead::Election,
    metrics::Metrics,
    serve::Listen,
};

/// How an operator is set up. Everything has a default but the name and the way to the API server.
pub struct Setup {
    /// The operator's name: its user agent, its place in events, and its lease's name.
    pub name: String,
    /// Where the API server is.
    pub api: Api,
    /// The operator's own namespace: its lease is there, and the certificates of its webhooks.
    pub namespace: String,
    /// Which namespaces it looks after; may be changed later through [`Manager::scope`](super::Manager::scope).
    pub scope: Scope,
    /// The election among replicas; without one, this is the only replica.
    pub election: Option<Election>,
    /// How its controllers work.
    pub controllers: ControllerOptions,
    /// Who owns the fields that it applies.
    pub field_manager: String,
    /// How long one request may take.
    pub request_timeout: Duration,
    /// How many writes may be under way at once.
    pub max_writes_in_flight: usize,
    /// Where metrics are served.
    pub metrics_listen: Listen,
    /// Where health is served.
    pub health_listen: Listen,
    /// How long running reconciles may take to end when it stops. Kubernetes gives a pod 30 seconds in all.
    pub graceful_shutdown_timeout: Duration,
    /// What time it is.
    pub clock: Clock,
    /// Where everything is counted.
    pub metrics: Metrics,
}

impl Setup {
    /// The defaults: all namespaces, no election, no ports.
    pub fn new(name: impl Into<String>, api: Api) -> Self {
        let (name, metrics) = (name.into(), Metrics::new());
        let client = ClientOptions::new("", metrics.clone());
        Self {
            field_manager: name.clone(),
            name,
            api,
            namespace: "default".into(),
            scope: Scope::All,
            election: None,
            controllers: ControllerOptions::default(),
            request_timeout: client.request_timeout,
            max_writes_in_flight: client.max_writes_in_flight,
            metrics_listen: Listen::Off,
            health_listen: Listen::Off,
            graceful_shutdown_timeout: Duration::from_secs(20),
            clock: Clock::system(),
            metrics,
        }
    }

    /// As the flags say, with the cluster that they name. Logs and traces are for
    /// [`telemetry::start`](crate::telemetry::start), webhooks for [`Manager::webhooks`](super::Manager::webhooks).
    pub async fn load(name: impl Into<String>, config: &OperatorConfig) -> Result<Self, ManagerError> {
        let (api, namespace) = Api::load(config.kubeconfig.as_deref(), config.context.as_deref()).await?;
        Ok(Self::configured(name, api, namespace, config))
    }

    /// As the flags say, with another API server than they name.
    pub fn configured(
        name: impl Into<String>,
        api: Api,
        namespace: impl Into<String>,
        config: &OperatorConfig,
    ) -> Self {
        let (defaults, namespace) = (Self::new(name, api), namespace.into());
        let election = config.election.as_ref().map(|election| {
            let ElectionConfig { namespace: named, lease_duration, renew_deadline, retry_period } =
                election.clone();
            let home = named.unwrap_or_else(|| namespace.clone());
            Election { lease_duration, renew_deadline, retry_period, ..Election::new(home, &*defaults.name) }
        });
        Self {
            election,
            namespace,
            scope: config.scope.clone(),
            controllers: ControllerOptions {
                workers: config.workers.get(),
                reconcile_timeout: config.reconcile_timeout,
                resync: config.resync.unwrap_or_default(),
                ..ControllerOptions::default()
            },
            field_manager: config.field_manager.clone(),
            request_timeout: config.request_timeout,
            max_writes_in_flight: config.max_writes_in_flight.get(),
            metrics_listen: config.metrics_address.clone(),
            health_listen: config.health_address.clone(),
            graceful_shutdown_timeout: config.graceful_shutdown_timeout,
            ..defaults
        }
    }
}
