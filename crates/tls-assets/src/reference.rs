//! A key of a Secret or ConfigMap that holds TLS material.

use std::fmt;

use k8s_openapi::api::core::v1::SecretKeySelector;
use prometheus_types::auth::SecretOrConfigMap;
use rendering::{Assets, Missing};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reference<'a> {
    Secret { name: &'a str, key: &'a str },
    ConfigMap { name: &'a str, key: &'a str },
}

impl<'a> Reference<'a> {
    /// The Secret when both are named; `None` when neither is.
    #[must_use]
    pub fn of(selector: &'a SecretOrConfigMap) -> Option<Self> {
        match (&selector.secret, &selector.config_map) {
            (Some(secret), _) => Some(Self::of_secret(secret)),
            (None, Some(map)) => Some(Self::ConfigMap { name: &map.name, key: &map.key }),
            (None, None) => None,
        }
    }

    #[must_use]
    pub fn of_secret(selector: &'a SecretKeySelector) -> Self {
        Self::Secret { name: &selector.name, key: &selector.key }
    }

    /// The name of the file that holds a copy of this key of an object in `namespace`.
    #[must_use]
    pub fn file_name(&self, namespace: &str) -> String {
        match self {
            Self::Secret { name, key } => format!("0_{namespace}_{name}_{key}"),
            Self::ConfigMap { name, key } => format!("1_{namespace}_{name}_{key}"),
        }
    }

    pub(crate) fn bytes<'b>(&self, assets: &'b Assets, namespace: &str) -> Result<&'b [u8], Missing> {
        match self {
            Self::Secret { name, key } => assets.secret(namespace, name, key),
            Self::ConfigMap { name, key } => assets.config_map(namespace, name, key),
        }
    }
}

impl fmt::Display for Reference<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Secret { name, key } => write!(f, "key {key:?} of secret {name:?}"),
            Self::ConfigMap { name, key } => write!(f, "key {key:?} of configmap {name:?}"),
        }
    }
}
