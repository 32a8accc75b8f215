//! Rule files from PrometheusRules: validated, sanitised, enforced, packed.
//!
//! ```text
//!   PrometheusRule ──enforce──> confined to its namespace ──sanitize──> what the version knows
//!        ──validate──> groups that load, groups that do not ──file──> rule file ──pack──> ConfigMaps
//! ```
//!
//! [`render`] goes all the way to the file. A bad group costs that group: it is left out and named in
//! [`Rendered::rejected`], so that one typing error does not silence the alerts beside it. Whoever wants the verdict on
//! the whole object (admission, `capstan lint`) asks [`validate`].
//!
//! Which version knows which field is a table, in [`gates`]; which reads what an expression or a template uses, in `loadable`.

pub mod conformance;
mod enforce;
mod features;
mod file;
pub mod gates;
mod loadable;
mod names;
mod pack;
mod render;
mod template;
mod validate;

pub use enforce::Enforcement;
pub use features::promql_options;
pub use gates::Target;
pub use names::NameScheme;
pub use pack::{ConfigMap, MAX_CONFIG_MAP_BYTES, config_map_name, mounted_names, pack};
pub use render::{RejectedGroup, Rendered, Settings, file_name, render, render_unjudged};
pub use template::FUNCTIONS as TEMPLATE_FUNCTIONS;
pub use validate::{Finding, Judge, validate, validate_for_version};
