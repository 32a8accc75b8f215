//! May an AlertmanagerConfig be taken by an Alertmanager of this version, with the Secrets that exist?

use prometheus_types::AlertmanagerConfig;
use rendering::{Assets, Version};

use crate::invalid::{Invalid, Within};
use crate::references::References;
use crate::route::{self, select_matchers, validate_matcher};
use crate::{matchers, receivers, validate};

/// Checks the object itself, its references, and that the version has what it uses.
///
/// # Errors
/// The first field for which the object must be left out.
pub fn select(config: &AlertmanagerConfig, version: &Version, assets: &Assets) -> Result<(), Invalid> {
    let namespace = config.metadata.namespace.as_deref().unwrap_or_default();
    select_with(config, &References { assets, namespace, version, tls: None })
}

pub(crate) fn select_with(config: &AlertmanagerConfig, references: &References<'_>) -> Result<(), Invalid> {
    validate::v1alpha1(&config.spec)?;
    select_parts(config, references).within("spec")
}

fn select_parts(config: &AlertmanagerConfig, references: &References<'_>) -> Result<(), Invalid> {
    for (index, receiver) in config.spec.receivers.iter().enumerate() {
        receivers::select(receiver, references).at("receivers", index)?;
    }
    if let Some(root) = &config.spec.route {
        route::read(root).and_then(|root| root.select(references)).within("route")?;
    }
    for (index, rule) in config.spec.inhibit_rules.iter().enumerate() {
        for (name, list) in [("sourceMatch", &rule.source_match), ("targetMatch", &rule.target_match)] {
            select_matchers(list, references).within(name).at("inhibitRules", index)?;
            if matchers::STRINGS.admits(references.version) {
                for (at, matcher) in list.iter().enumerate() {
                    validate_matcher(matcher).at(name, at).at("inhibitRules", index)?;
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn verdict(spec: Value, version: &str) -> String {
        let config = json!({"metadata": {"name": "cfg", "namespace": "ns"}, "spec": spec});
        let config: AlertmanagerConfig = serde_json::from_value(config).unwrap();
        let mut assets = Assets::new();
        assets.add_secret("ns", "s", [("url".to_owned(), b" https://hook.example.com\n".to_vec())]);
        let verdict = select(&config, &Version::parse(version).unwrap(), &assets);
        verdict.map_or_else(|invalid| invalid.to_string(), |()| "selected".into())
    }

    #[test]
    fn a_reference_to_nothing_is_named_with_its_field() {
        let slack = |key: &str| json!({"receivers": [{"name": "r", "slackConfigs": [{"apiURL": {"name": "s", "key": key}}]}]});
        assert_eq!(verdict(slack("url"), "0.34.0"), "selected");
        assert_eq!(
            verdict(slack("none"), "0.34.0"),
            "spec.receivers[0].slackConfigs[0].apiURL: Secret ns/s has no key \"none\"; add it or correct the reference"
        );
    }

    #[test]
    fn what_the_version_does_not_have_is_refused() {
        let webhook =
            json!({"receivers": [{"name": "r", "webhookConfigs": [{"url": "http://a", "payload": "x"}]}]});
        assert_eq!(verdict(webhook.clone(), "0.32.0"), "selected");
        assert!(
            verdict(webhook, "0.31.0")
                .starts_with("spec.receivers[0].webhookConfigs[0].payload: needs Alertmanager 0.32.0")
        );
        let webex = json!({"receivers": [{"name": "r", "webexConfigs": [{"roomID": "x"}]}]});
        assert!(
            verdict(webex, "0.24.0").starts_with("spec.receivers[0].webexConfigs: needs Alertmanager 0.25.0")
        );
        let rule =
            json!({"inhibitRules": [{"sourceMatch": [{"name": "a", "matchType": "=~", "value": "b"}]}]});
        assert!(
            verdict(rule, "0.21.0")
                .starts_with("spec.inhibitRules[0].sourceMatch[0].matchType: needs Alertmanager 0.22.0")
        );
    }
}
