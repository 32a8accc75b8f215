//! PrometheusRules: refused when Prometheus would refuse them.

use prometheus_rules::{Judge, validate as findings};
use prometheus_types::PrometheusRule;

use crate::review::{AdmissionRequest, AdmissionResponse, Refusal};

pub(crate) const RESOURCE: &str = "prometheusrules";

pub(crate) fn is_for_rules(request: &AdmissionRequest<'_>) -> bool {
    let resource = &request.resource;
    resource.group == "monitoring.coreos.com" && resource.version == "v1" && resource.resource == RESOURCE
}

pub(crate) fn validate(request: &AdmissionRequest<'_>, judge: &Judge) -> AdmissionResponse {
    if !is_for_rules(request) {
        return AdmissionResponse::unexpected_resource(RESOURCE, &request.resource);
    }
    let rule: PrometheusRule = match serde_json::from_str(request.object()) {
        Ok(rule) => rule,
        Err(error) => {
            let refusal = Refusal::of_whole(format!("the PrometheusRule cannot be read: {error}"));
            return AdmissionResponse::refused("Cannot unmarshal rules from spec", RESOURCE, refusal);
        }
    };
    let findings = findings(&rule.spec, judge);
    if findings.is_empty() {
        return AdmissionResponse::allowed();
    }
    let refusals =
        findings.into_iter().map(|finding| Refusal { message: finding.to_string(), field: finding.field });
    AdmissionResponse::refused("Rules are not valid", RESOURCE, refusals.collect())
}
