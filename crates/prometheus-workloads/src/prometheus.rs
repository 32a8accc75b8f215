//! Prometheus as server and as agent: what their pods have in common.
//!
//! ```text
//! instance ──┬──▶ arguments, volumes ──▶ server (StatefulSet) ◀── thanos_sidecar
//!            └───────────────────────▶ agent (StatefulSet, DaemonSet)
//! ```

mod agent;
mod arguments;
mod instance;
mod server;
mod thanos_sidecar;
mod volumes;

pub use agent::{daemonset, statefulset as agent_statefulset};
pub use server::statefulset as server_statefulset;
