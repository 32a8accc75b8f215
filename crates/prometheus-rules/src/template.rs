//! Templates in the labels and annotations of alerts.

use go_syntax::template::{TemplateError, check};

/// What a template of an alert may call, besides what every Go template may. Source: Prometheus 3.14.
const FUNCTIONS: &[&str] = &[
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

/// Whether Prometheus would parse this text as a template of the alert.
pub(crate) fn check_alert_template(alert: &str, text: &str) -> Result<(), TemplateError> {
    // Prometheus gives the template this name, which a `{{define}}` in it could take.
    check(&format!("__alert_{alert}"), text, FUNCTIONS, VARIABLES)
}
