//! Prometheus and Agent configuration from the `monitoring.coreos.com` resources. Pure: resources in, text out.
//!
//! ```text
//!   ServiceMonitor ┐                         ┌ [`gates`]: which version knows which field
//!   PodMonitor     │  [`validate`]           │
//!   Probe          ├──── checked ──> scrape/ ├──> pieces ─┐
//!   ScrapeConfig   ┘                         │           │ [`renderer`]
//!   Prometheus, PrometheusAgent ──> global, storage, alerting, remote_write … ──┴──> prometheus.yaml
//!   ThanosRuler ──> [`thanos_ruler`] ──> remote-write.yaml
//! ```
//!
//! - [`context`]: what every part depends on: the workload, its version, the operator's switches, the Secrets that exist.
//! - `scrape/`: a file per kind of monitor; below `scrape/discovery/` the 23 discoveries of ScrapeConfig.
//! - A file per section of the configuration: `global`, `storage`, `alerting`, `remote_write`, `remote_read`, `telemetry`.
//! - What parts share: `auth` and `transport` (HTTP clients), `relabel` and `sharding`, `limits`, `kubernetes_sd`.
//! - [`validate`]: the checks before a monitor is taken; the same for admission, reconcile and `capstan lint`.
//! - `loadable`: the checks of what was written: what no Prometheus of the version would load is left out, and named.
//!
//! Invariants: the same input gives the same bytes; a monitor that is refused, or that Prometheus would not load, stops no other;
//! what a version of Prometheus does not know is not written; a user's relabelings never come behind an enforced namespace label.

mod additional;
mod alerting;
mod auth;
pub mod conformance;
pub mod context;
mod document;
pub mod gates;
mod global;
mod kubernetes_sd;
mod limits;
mod loadable;
mod relabel;
mod remote_read;
mod remote_write;
pub mod renderer;
mod scrape;
pub mod selector;
mod sharding;
mod storage;
mod telemetry;
pub mod thanos_ruler;
mod transport;
pub mod validate;
mod values;

pub use context::{Options, Unusable, Workload};
pub use document::{Additional, ConfigError, Selected};
pub use relabel::Enforcement;
pub use renderer::{Document, LeftOut, Renderer, Unfit};
pub use validate::{Checker, Rejected};
