//! Which alerts an AlertmanagerConfig may speak of: those of its namespace, unless its Alertmanager says otherwise.

use prometheus_types::Alertmanager;

/// How objects are kept to their namespaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Strategy<'a> {
    OnNamespace,
    /// Objects in the namespace of the Alertmanager speak of all alerts.
    ExceptFor(&'a str),
    /// Every object speaks of all alerts.
    Nobody,
    /// The base configuration: nobody is kept to a namespace, and routes end where they say.
    Base,
}

impl<'a> Strategy<'a> {
    pub(crate) fn of(alertmanager: &'a Alertmanager) -> Self {
        match &*alertmanager.spec.alertmanager_config_matcher_strategy.r#type {
            "None" => Self::Nobody,
            "OnNamespaceExceptForAlertmanagerNamespace" => {
                Self::ExceptFor(alertmanager.metadata.namespace.as_deref().unwrap_or_default())
            }
            _ => Self::OnNamespace,
        }
    }

    /// The namespace that an object in `namespace` is kept to.
    pub(crate) fn confines<'n>(&self, namespace: &'n str) -> Option<&'n str> {
        match self {
            Self::OnNamespace => Some(namespace),
            Self::ExceptFor(own) => (namespace != *own).then_some(namespace),
            Self::Nobody | Self::Base => None,
        }
    }

    /// Whether alerts go on to the next object's routes.
    pub(crate) fn continues(&self) -> bool {
        *self != Self::Base
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_object_is_kept_to_its_namespace_unless_its_alertmanager_says_otherwise() {
        let confined = |strategy: &str, namespace| {
            let alertmanager: Alertmanager = serde_json::from_value(json!({
                "metadata": {"name": "main", "namespace": "own"},
                "spec": {"alertmanagerConfigMatcherStrategy": {"type": strategy}},
            }))
            .unwrap();
            Strategy::of(&alertmanager).confines(namespace)
        };
        for strategy in ["", "OnNamespace"] {
            assert_eq!(confined(strategy, "own"), Some("own"));
            assert_eq!(confined(strategy, "other"), Some("other"));
        }
        assert_eq!(confined("OnNamespaceExceptForAlertmanagerNamespace", "own"), None);
        assert_eq!(confined("OnNamespaceExceptForAlertmanagerNamespace", "other"), Some("other"));
        assert_eq!(confined("None", "other"), None);
    }
}
