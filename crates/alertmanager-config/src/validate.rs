//! Is an AlertmanagerConfig right in itself? What admission asks, before anybody knows which Alertmanager selects it.
//!
//! References to Secrets are not followed and no version is asked for: that is `select`'s part.

use std::collections::HashSet;

use prometheus_types::alertmanager_config::{AlertmanagerConfigSpec, v1beta1};
use prometheus_types::receivers::Receiver;
use prometheus_types::time_interval::MuteTimeInterval;

use crate::invalid::{Invalid, Within};
use crate::route::{self, Known};
use crate::{interval, receivers};

/// Checks an AlertmanagerConfig of version v1alpha1.
///
/// # Errors
/// The first field that cannot stay as it is, by its path from `spec`.
pub fn v1alpha1(spec: &AlertmanagerConfigSpec) -> Result<(), Invalid> {
    validate(spec, "muteTimeIntervals").within("spec")
}

/// Checks an AlertmanagerConfig of version v1beta1.
///
/// # Errors
/// The first field that cannot stay as it is, by its path from `spec`.
pub fn v1beta1(spec: &v1beta1::AlertmanagerConfigSpec) -> Result<(), Invalid> {
    let children = spec.route.as_ref().map_or(&[][..], |route| &route.routes);
    route::check_fields(children, route::MATCHER_V1BETA1).within("route").within("spec")?;
    let converted = AlertmanagerConfigSpec::try_from(spec.clone())
        .map_err(|error| Invalid::new("spec.route.routes", error.to_string()))?;
    validate(&converted, "timeIntervals").within("spec")
}

fn validate(spec: &AlertmanagerConfigSpec, intervals: &str) -> Result<(), Invalid> {
    let known = Known {
        receivers: validate_receivers(&spec.receivers)?,
        intervals: validate_intervals(&spec.mute_time_intervals, intervals)?,
    };
    match &spec.route {
        Some(root) => route::read(root).and_then(|root| root.validate(&known)).within("route"),
        None => Ok(()),
    }
}

fn validate_receivers(list: &[Receiver]) -> Result<HashSet<&str>, Invalid> {
    let mut names = HashSet::new();
    for (index, receiver) in list.iter().enumerate() {
        if !names.insert(receiver.name.as_str()) {
            let problem = format!("there is another receiver {:?}; names must differ", receiver.name);
            return Err(Invalid::new("name", problem)).at("receivers", index);
        }
        receivers::validate(receiver).at("receivers", index)?;
    }
    Ok(names)
}

fn validate_intervals<'a>(list: &'a [MuteTimeInterval], field: &str) -> Result<HashSet<&'a str>, Invalid> {
    let mut names = HashSet::new();
    for (index, given) in list.iter().enumerate() {
        interval::validate(given).at(field, index)?;
        names.insert(given.name.as_str());
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn message(spec: Value) -> String {
        let spec: AlertmanagerConfigSpec = serde_json::from_value(spec).unwrap();
        v1alpha1(&spec).map_or_else(|invalid| invalid.to_string(), |()| "accepted".into())
    }

    fn message_v1beta1(spec: Value) -> String {
        let spec: v1beta1::AlertmanagerConfigSpec = serde_json::from_value(spec).unwrap();
        v1beta1(&spec).map_or_else(|invalid| invalid.to_string(), |()| "accepted".into())
    }

    #[test]
    fn a_message_names_the_field() {
        let receiver =
            json!({"name": "r", "slackConfigs": [{}, {"actions": [{"type": "button", "text": "x"}]}]});
        assert_eq!(
            message(json!({"route": {"receiver": "r"}, "receivers": [receiver]})),
            "spec.receivers[0].slackConfigs[1].actions[0].name: must be given where url is not"
        );
    }

    #[test]
    fn routes_refer_to_receivers_and_intervals_of_the_same_object() {
        let spec = |route: Value| json!({"route": route, "receivers": [{"name": "r"}], "muteTimeIntervals": [{"name": "i"}]});
        assert_eq!(message(spec(json!({"receiver": "r", "muteTimeIntervals": ["i"]}))), "accepted");
        assert_eq!(message(spec(json!({}))), "spec.route.receiver: must be given at the root");
        assert_eq!(
            message(spec(json!({"receiver": "r", "routes": [{"receiver": "x"}]}))),
            "spec.route.routes[0].receiver: there is no receiver \"x\" in this object"
        );
        assert_eq!(
            message(spec(json!({"receiver": "r", "activeTimeIntervals": ["j"]}))),
            "spec.route.activeTimeIntervals[0]: there is no time interval of that name in this object"
        );
    }

    #[test]
    fn a_misspelt_field_of_a_child_route_is_refused() {
        let spec = |child: Value| json!({"route": {"receiver": "r", "routes": [child]}, "receivers": [{"name": "r"}]});
        assert!(
            message(spec(json!({"severity": "x"})))
                .starts_with("spec.route.routes[0].severity: is not known here")
        );
        let regex = json!({"matchers": [{"name": "a", "regex": true}]});
        assert_eq!(message(spec(regex.clone())), "accepted");
        assert!(
            message_v1beta1(spec(regex))
                .starts_with("spec.route.routes[0].matchers[0].regex: is not known here")
        );
    }

    #[test]
    fn time_intervals_are_named_as_each_version_names_them() {
        let spec = |field: &str| json!({field: [{"name": "i", "timeIntervals": [{"weekdays": ["noday"]}]}]});
        assert!(
            message(spec("muteTimeIntervals"))
                .starts_with("spec.muteTimeIntervals[0].timeIntervals[0].weekdays[0]: ")
        );
        assert!(
            message_v1beta1(spec("timeIntervals"))
                .starts_with("spec.timeIntervals[0].timeIntervals[0].weekdays[0]: ")
        );
    }
}
