//! What resources of several kinds must be, whatever their references lead to: rules that the schema cannot say.
//!
//! The generators of Prometheus and of Alertmanager, admission and `capstan lint` all ask here.

pub mod client;
pub mod tls;
