//! The `monitoring.coreos.com` resources as Rust types, and the CRDs made from them.
//!
//! ```text
//!   service_monitor  pod_monitor  probe  scrape_config        what to scrape ─┐
//!   prometheus_rule                                           what to compute ┤ selected by labels
//!   alertmanager_config                                       whom to tell   ─┘        │
//!                                                                                      ▼
//!   prometheus  prometheus_agent  thanos_ruler  alertmanager  the workloads that use them
//! ```
//!
//! A file is a kind, or a concept that kinds share: [`auth`], [`tls`], [`http`] for clients and servers, [`relabel`],
//! [`scrape`], [`discovery`] for scraping, [`receivers`] and [`time_interval`] for alerts, [`pod`] and [`storage`] for
//! the workloads; [`validity`] says what a schema cannot. Fields are named as in the API; `inline` parts are those that several kinds have in common.
//!
//! `object` and `text` say how types are declared and what holds for all of them; `schema` and [`crd`] make CRDs of
//! them. Invariant: the CRDs are structurally equal to those of prometheus-operator 0.94.1 (`tests/crds.rs`), and every
//! object survives being read and written (`tests/round_trip.rs`). The texts are our own.

mod object;
mod schema;
pub mod text;

pub mod alertmanager;
pub mod alertmanager_config;
pub mod auth;
pub mod crd;
pub mod discovery;
pub mod exclusion;
pub mod http;
pub mod pod;
pub mod pod_monitor;
pub mod probe;
pub mod prometheus;
pub mod prometheus_agent;
pub mod prometheus_rule;
pub mod receivers;
pub mod relabel;
pub mod remote_write;
pub mod scrape;
pub mod scrape_config;
pub mod service_monitor;
pub mod sharding;
pub mod status;
pub mod storage;
pub mod thanos;
pub mod thanos_ruler;
pub mod time_interval;
pub mod tls;
pub mod validity;

pub use alertmanager::Alertmanager;
pub use alertmanager_config::AlertmanagerConfig;
pub use pod_monitor::PodMonitor;
pub use probe::Probe;
pub use prometheus::Prometheus;
pub use prometheus_agent::PrometheusAgent;
pub use prometheus_rule::PrometheusRule;
pub use scrape_config::ScrapeConfig;
pub use service_monitor::ServiceMonitor;
pub use thanos_ruler::ThanosRuler;
