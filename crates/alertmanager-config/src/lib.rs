//! Alertmanager configuration from raw Secrets and AlertmanagerConfigs.
//!
//! ```text
//!   raw Secret ── load ─────────────────┐
//!   named AlertmanagerConfig ── global ─┴─> base ─┐
//!   AlertmanagerConfig ── validate ── select ─────┴─> merge ── sanitize ──> provision: the Secret
//!                          │            │               │         │
//!                          └── forms: receivers' fields ┘         └── shape: keys of the file, by version
//! ```
//!
//! Two sets of tables hold the facts. `form` and `receivers` say how fields of a resource become keys of the file, and
//! serve validation, selection and rendering alike. `shape` says what the file may hold in which version of Alertmanager.
//! Everything is a function of its input: Secrets come as [`rendering::Assets`], and the same input makes the same bytes.
//!
//! Where we depart from upstream on purpose: keys that it writes and Alertmanager refuses are taken out again (`mend`), an
//! object that would keep the whole configuration from loading is left out and named (`provision`), and keys of a raw
//! configuration that we do not know pass through (`load`).

pub mod conformance;
mod form;
mod global;
mod http;
mod interval;
mod invalid;
mod load;
mod loadable;
mod matchers;
mod mend;
mod merge;
mod names;
mod normal;
mod provision;
mod receivers;
mod references;
mod route;
mod sanitize;
mod select;
mod shape;
mod strategy;
mod url;
pub mod validate;
mod value;

pub use invalid::Invalid;
pub use load::load;
pub use provision::{
    COMPRESSED_KEY, CONFIGURATION_KEY, DEFAULT_VERSION, Provisioned, Rejected, Request,
    generated_secret_name, provision, users_secret_name,
};
pub use select::select;
