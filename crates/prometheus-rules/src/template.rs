//! Templates in the labels and annotations of alerts.

use go_syntax::template::{TemplateError, check};

/// What a template of an alert may call, besides what every Go template may. Source: Prometheus 3.14.
pub const FUNCTIONS: &[&str] = &[
    "args",
    "externalURL",
    "first",
    "graphLink",
    "humanize",
    "humanize1024",
    "humanizeDuration",
    "humanizePercentage",
    "humanizeTimestamp",
    "label",
    "match",
    "now",
    "parseDuration",
    "pathPrefix",
    "query",
    "reReplaceAll",
    "safeHtml",
    "sortByLabel",
    "stripDomain",
    "stripPort",
    "strvalue",
    "tableLink",
    "title",
    "toDuration",
    "toLower",
    "toTime",
    "toUpper",
    "urlQueryEscape",
    "value",
];

/// What Prometheus declares before every template of an alert.
const VARIABLES: &[&str] = &["$labels", "$externalLabels", "$externalURL", "$value"];

/// Whether a template that parses calls this function.
pub(crate) fn calls(alert: &str, text: &str, function: &str) -> bool {
    let without = || FUNCTIONS.iter().copied().filter(|name| *name != function).collect::<Vec<_>>();
    text.contains(function) && check(&template_name(alert), text, &without(), VARIABLES).is_err()
}

/// Whether Prometheus would parse this text as a template of the alert.
pub(crate) fn check_alert_template(alert: &str, text: &str) -> Result<(), TemplateError> {
    check(&template_name(alert), text, FUNCTIONS, VARIABLES)
}

/// What Prometheus calls the template of an alert; a `{{define}}` in it could take that name.
fn template_name(alert: &str) -> String {
    format!("__alert_{alert}")
}
