//! AlertmanagerConfigs of both versions: refused when they are wrong in themselves.

use alertmanager_config::{Invalid, validate as judge};
use prometheus_types::AlertmanagerConfig;
use prometheus_types::alertmanager_config::v1beta1;

use crate::review::{AdmissionRequest, AdmissionResponse, Refusal};

const RESOURCE: &str = "alertmanagerconfigs";

pub(crate) fn validate(request: &AdmissionRequest<'_>) -> AdmissionResponse {
    let resource = &request.resource;
    if resource.group != "monitoring.coreos.com" || resource.resource != RESOURCE {
        return AdmissionResponse::unexpected_resource(RESOURCE, resource);
    }
    let verdict = match resource.version.as_str() {
        "v1alpha1" => serde_json::from_str(request.object())
            .map(|object: AlertmanagerConfig| judge::v1alpha1(&object.spec)),
        "v1beta1" => serde_json::from_str(request.object())
            .map(|object: v1beta1::AlertmanagerConfig| judge::v1beta1(&object.spec)),
        version => {
            let refusal =
                Refusal::of_whole(format!("version {version:?} is unknown; use v1alpha1 or v1beta1"));
            return AdmissionResponse::refused("Unexpected resource version", RESOURCE, refusal);
        }
    };
    match verdict {
        Ok(Ok(())) => AdmissionResponse::allowed(),
        Ok(Err(Invalid { field, problem })) => {
            let refusal = Refusal { message: format!("{field}: {problem}"), field };
            AdmissionResponse::refused("AlertmanagerConfig is invalid", RESOURCE, vec![refusal])
        }
        Err(error) => {
            let refusal = Refusal::of_whole(format!("the AlertmanagerConfig cannot be read: {error}"));
            AdmissionResponse::refused("Cannot unmarshal config from spec", RESOURCE, refusal)
        }
    }
}
