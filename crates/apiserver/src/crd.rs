//! What is served now: the built-in kinds, and those of established CustomResourceDefinitions.
//!
//! - [`Registry`]: the answer to "which kind is at this path?".
//! - `life`: what becomes of a definition: names accepted, established, terminating.

pub(crate) mod life;
mod registry;

pub(crate) use registry::Registry;

pub(crate) const GROUP: &str = "apiextensions.k8s.io";
pub(crate) const PLURAL: &str = "customresourcedefinitions";
