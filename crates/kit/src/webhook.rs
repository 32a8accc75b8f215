//! Admission webhooks over TLS.
//!
//! ```text
//! certificates: a Secret that the replicas share (keeper) ─┐
//!               or mounted files (files) ──────────────────┴─> CertSlot ──> Server ──> your functions
//! trust:        keeper ──> caBundle of the webhook configurations (inject)
//! ```
//!
//! A webhook only makes errors visible earlier: whatever it checks is checked in the reconcile, too, so an operator is safe
//! without it.

pub mod certs;
mod files;
mod inject;
mod keeper;
mod patch;
mod review;
mod server;
mod slot;

pub use files::Files;
pub use inject::Target;
pub use keeper::{KeepError, Keeper};
pub use review::{AdmissionRequest, Denied, Operation, UserInfo};
pub use server::{Bound, Server};
pub use slot::CertSlot;

/// The names by which API servers and people reach a Service: what its certificate must be valid for.
pub fn service_names(service: &str, namespace: &str) -> Vec<String> {
    vec![
        format!("{service}.{namespace}.svc"),
        format!("{service}.{namespace}.svc.cluster.local"),
        format!("{service}.{namespace}"),
        service.to_owned(),
    ]
}
