//! What an object may refer to: the Secrets and ConfigMaps of its namespace, and the version it is for.

use std::cell::RefCell;

use k8s_openapi::api::core::v1::SecretKeySelector;
use prometheus_types::auth::SecretOrConfigMap;
use rendering::{Assets, Gate, Tree, Version};
use tls_assets::TlsAssets;

use crate::invalid::Invalid;
use crate::value::text;

/// The surroundings of an object while it is selected and rendered.
#[derive(Clone, Copy)]
pub(crate) struct References<'a> {
    pub(crate) assets: &'a Assets,
    pub(crate) namespace: &'a str,
    pub(crate) version: &'a Version,
    /// Where certificates and keys are gathered, if they are.
    pub(crate) tls: Option<&'a RefCell<TlsAssets>>,
}

impl<'a> References<'a> {
    /// The key of a Secret that a tree of the form `{name, key}` refers to.
    pub(crate) fn secret(&self, selector: &Tree) -> Result<&'a str, Invalid> {
        let part = |name| selector.get(name).map_or("", text);
        self.secret_key(part("name"), part("key"))
    }

    pub(crate) fn secret_of(&self, selector: &SecretKeySelector) -> Result<&'a str, Invalid> {
        self.secret_key(&selector.name, &selector.key)
    }

    /// The text that is referred to; empty when nothing is.
    pub(crate) fn either(&self, selector: &SecretOrConfigMap) -> Result<&'a str, Invalid> {
        match (&selector.secret, &selector.config_map) {
            (Some(secret), _) => self.secret_of(secret),
            (None, Some(map)) => self
                .assets
                .config_map_text(self.namespace, &map.name, &map.key)
                .map_err(|missing| Invalid::new("", missing.to_string())),
            (None, None) => Ok(""),
        }
    }

    /// Refuses what this version of Alertmanager does not have.
    pub(crate) fn demand(&self, gate: Gate) -> Result<(), Invalid> {
        if gate.admits(self.version) { Ok(()) } else { Err(Invalid::new("", needs(gate, self.version))) }
    }

    fn secret_key(&self, name: &str, key: &str) -> Result<&'a str, Invalid> {
        self.assets
            .secret_text(self.namespace, name, key)
            .map_err(|missing| Invalid::new("", missing.to_string()))
    }
}

/// Says which versions would do.
pub(crate) fn needs(gate: Gate, version: &Version) -> String {
    let wanted = match gate {
        Gate::Always => "any version".to_owned(),
        Gate::Since(first) | Gate::SinceCandidates(first) => format!("{first} or later"),
        Gate::Until(end) | Gate::UntilCandidates(end) => format!("a version before {end}"),
        Gate::Between(first, end) => format!("{first} or later, and a version before {end}"),
    };
    format!("needs Alertmanager {wanted}, this is {version}; remove the field or upgrade")
}
