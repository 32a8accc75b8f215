//! Label selectors: as Kubernetes writes them, as Prometheus relabels by them, and whether an object matches.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use rendering::{Text, Tree};

use crate::relabel::{drop, keep};
use crate::validate::Rejected;
use crate::validate::label_syntax::{check_key, check_value};
use crate::values::sanitized;

/// Whether labels match. No selector matches nothing, an empty one everything.
pub fn matches(selector: Option<&LabelSelector>, labels: &BTreeMap<String, String>) -> bool {
    let Some(selector) = selector else { return false };
    let equal = selector.match_labels.iter().flatten().all(|(key, value)| labels.get(key) == Some(value));
    equal
        && selector.match_expressions.iter().flatten().all(|expression| {
            let value = labels.get(&expression.key);
            let among = || {
                value.is_some_and(|value| expression.values.iter().flatten().any(|wanted| wanted == value))
            };
            match expression.operator.as_str() {
                "In" => among(),
                "NotIn" => !among(),
                "Exists" => value.is_some(),
                "DoesNotExist" => value.is_none(),
                _ => false,
            }
        })
}

/// Checks what an API server would refuse in a selector of its own.
pub(crate) fn check(selector: &LabelSelector) -> Result<(), Rejected> {
    for (key, value) in selector.match_labels.iter().flatten() {
        check_key(key)
            .and_then(|()| check_value(value))
            .map_err(|why| Rejected::new(format!("selector.matchLabels[{key}]"), why))?;
    }
    for (at, expression) in selector.match_expressions.iter().flatten().enumerate() {
        let values = expression.values.as_deref().unwrap_or_default();
        let verdict = match expression.operator.as_str() {
            "In" | "NotIn" if values.is_empty() => Err("In and NotIn need at least one value".to_owned()),
            "Exists" | "DoesNotExist" if !values.is_empty() => {
                Err("Exists and DoesNotExist take no values".to_owned())
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" => Ok(()),
            other => Err(format!("{other:?} is no operator; use In, NotIn, Exists or DoesNotExist")),
        };
        verdict
            .and_then(|()| check_key(&expression.key))
            .and_then(|()| values.iter().try_for_each(|value| check_value(value)))
            .map_err(|why| Rejected::new(format!("selector.matchExpressions[{at}]"), why))?;
    }
    Ok(())
}

/// The selector in the notation of the Kubernetes API: `app=web,tier in (a,b),!legacy`.
pub(crate) fn to_query(selector: &LabelSelector) -> String {
    let mut terms: Vec<(&str, String)> = Vec::new();
    for (key, value) in selector.match_labels.iter().flatten() {
        terms.push((key, format!("{key}={value}")));
    }
    for expression in selector.match_expressions.iter().flatten() {
        let key = &expression.key;
        let mut values = expression.values.clone().unwrap_or_default();
        values.sort();
        let term = match expression.operator.as_str() {
            "In" => format!("{key} in ({})", values.join(",")),
            "NotIn" => format!("{key} notin ({})", values.join(",")),
            "Exists" => key.clone(),
            "DoesNotExist" => format!("!{key}"),
            _ => continue,
        };
        terms.push((key, term));
    }
    terms.sort_by_key(|(key, _)| *key);
    terms.into_iter().map(|(_, term)| term).collect::<Vec<_>>().join(",")
}

/// Appends steps that keep the targets whose object matches; `object` is `service`, `pod` or `ingress`.
pub(crate) fn relabelings(selector: &LabelSelector, object: &str, steps: &mut Vec<Tree>) {
    let label = |key: &str| -> Text { format!("__meta_kubernetes_{object}_label_{}", sanitized(key)).into() };
    let present =
        |key: &str| -> Text { format!("__meta_kubernetes_{object}_labelpresent_{}", sanitized(key)).into() };
    for (key, value) in selector.match_labels.iter().flatten() {
        steps.push(keep([label(key), present(key)], format!("({value});true")).into());
    }
    for expression in selector.match_expressions.iter().flatten() {
        let key = &expression.key;
        let values = || format!("({});true", expression.values.as_deref().unwrap_or_default().join("|"));
        steps.push(Tree::Map(match expression.operator.as_str() {
            "In" => keep([label(key), present(key)], values()),
            "NotIn" => drop([label(key), present(key)], values()),
            "Exists" => keep([present(key)], "true"),
            "DoesNotExist" => drop([present(key)], "true"),
            _ => continue,
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selector(json: serde_json::Value) -> LabelSelector {
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn a_query_is_sorted_by_key() {
        let selector = selector(
            serde_json::json!({"matchLabels": {"b": "1", "a": "2"}, "matchExpressions": [
            {"key": "c", "operator": "In", "values": ["y", "x"]}, {"key": "aa", "operator": "DoesNotExist"}]}),
        );
        assert_eq!(to_query(&selector), "a=2,!aa,b=1,c in (x,y)");
    }

    #[test]
    fn no_selector_matches_nothing_and_an_empty_one_everything() {
        let labels = BTreeMap::from([("a".to_owned(), "1".to_owned())]);
        assert!(!matches(None, &labels));
        assert!(matches(Some(&LabelSelector::default()), &labels));
        let not_in = selector(
            serde_json::json!({"matchExpressions": [{"key": "b", "operator": "NotIn", "values": ["1"]}]}),
        );
        assert!(matches(Some(&not_in), &labels));
        assert!(!matches(Some(&selector(serde_json::json!({"matchLabels": {"a": "2"}}))), &labels));
    }
}
