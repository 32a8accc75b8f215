//! What workloads stand on: PersistentVolumeClaim, Service, CustomResourceDefinition.

use k8s_openapi::{
    api::core::v1::{PersistentVolumeClaim, PersistentVolumeClaimStatus, Service},
    apiextensions_apiserver::pkg::apis::apiextensions::v1::{
        CustomResourceDefinition, CustomResourceDefinitionCondition,
    },
};

use super::{Readiness, Workload, sentence, unsettled};
use crate::apply::quantity::billionths;

const STORAGE: &str = "storage";

impl Workload for PersistentVolumeClaim {
    fn readiness(&self) -> Readiness {
        if let Some(unsettled) = unsettled(&self.metadata, self.metadata.generation) {
            return unsettled;
        }
        let status = self.status.clone().unwrap_or_default();
        match status.phase.as_deref() {
            Some("Bound") => resized(self, &status),
            Some("Lost") => Readiness::failed("its volume is gone, and with it the data"),
            _ => Readiness::waiting("it has no volume yet"),
        }
    }
}

/// A bound claim is ready when its volume is as large as it asks for.
fn resized(claim: &PersistentVolumeClaim, status: &PersistentVolumeClaimStatus) -> Readiness {
    let requests = claim.spec.as_ref().and_then(|spec| spec.resources.as_ref()?.requests.as_ref());
    let wanted = requests.and_then(|requests| requests.get(STORAGE)).map_or("0", |quantity| &quantity.0);
    let actual = status.capacity.as_ref().and_then(|capacity| capacity.get(STORAGE)).map_or("0", |q| &q.0);
    if billionths(actual) >= billionths(wanted) {
        return Readiness::Ready;
    }
    let states = status.allocated_resource_statuses.as_ref();
    match states.and_then(|states| states.get(STORAGE)) {
        Some(state) if state.ends_with("Infeasible") => Readiness::failed(format!(
            "its storage class cannot resize it from {actual} to {wanted} ({state})"
        )),
        _ => Readiness::waiting(format!("it is being resized from {actual} to {wanted}")),
    }
}

impl Workload for Service {
    fn readiness(&self) -> Readiness {
        if let Some(unsettled) = unsettled(&self.metadata, self.metadata.generation) {
            return unsettled;
        }
        let spec = self.spec.clone().unwrap_or_default();
        let balancer = self.status.as_ref().and_then(|status| status.load_balancer.as_ref());
        let has_ingress =
            balancer.is_some_and(|b| b.ingress.as_ref().is_some_and(|ingress| !ingress.is_empty()));
        match spec.type_.as_deref() {
            Some("ExternalName") => Readiness::Ready,
            Some("LoadBalancer") if !has_ingress => {
                Readiness::waiting("its load balancer has no address yet")
            }
            _ if spec.cluster_ip.as_deref().unwrap_or_default().is_empty() => {
                Readiness::waiting("it has no cluster IP yet")
            }
            _ => Readiness::Ready,
        }
    }
}

impl Workload for CustomResourceDefinition {
    fn readiness(&self) -> Readiness {
        if let Some(unsettled) = unsettled(&self.metadata, self.metadata.generation) {
            return unsettled;
        }
        let conditions =
            self.status.as_ref().and_then(|status| status.conditions.as_deref()).unwrap_or_default();
        let is = |kind: &str, status: &str| {
            let found = |c: &&CustomResourceDefinitionCondition| c.type_ == kind && c.status == status;
            conditions.iter().find(found)
        };
        if let Some(refused) = is("NamesAccepted", "False") {
            return Readiness::failed(sentence(refused.reason.as_deref(), refused.message.as_deref()));
        }
        if is("Established", "True").is_some() {
            return Readiness::Ready;
        }
        Readiness::waiting("the API server does not serve it yet")
    }
}

#[cfg(test)]
mod tests {
    use super::{super::check, *};
    use serde_json::{Value, json};

    #[test]
    fn claims() {
        let claim = |wanted: &str, status: Value| json!({"spec": {"resources": {"requests": {"storage": wanted}}}, "status": status});
        let bound = |has: &str| json!({"phase": "Bound", "capacity": {"storage": has}});
        let infeasible = json!({"phase": "Bound", "capacity": {"storage": "1Gi"}, "allocatedResourceStatuses": {"storage": "ControllerResizeInfeasible"}});
        check::<PersistentVolumeClaim>(&[
            ("pending", claim("1Gi", json!({"phase": "Pending"})), "waiting: it has no volume yet"),
            ("bound", claim("1024Mi", bound("1Gi")), "ready"),
            ("larger than asked for", claim("1Gi", bound("10Gi")), "ready"),
            ("growing", claim("20Gi", bound("10Gi")), "waiting: it is being resized from 10Gi to 20Gi"),
            (
                "cannot grow",
                claim("2Gi", infeasible),
                "failed: its storage class cannot resize it from 1Gi to 2Gi (ControllerResizeInfeasible)",
            ),
            (
                "lost",
                claim("1Gi", json!({"phase": "Lost"})),
                "failed: its volume is gone, and with it the data",
            ),
        ]);
    }

    #[test]
    fn services() {
        let service = |spec: Value, status: Value| json!({"spec": spec, "status": status});
        check::<Service>(&[
            ("fresh", service(json!({}), json!({})), "waiting: it has no cluster IP yet"),
            ("cluster IP", service(json!({"clusterIP": "10.0.0.1"}), json!({})), "ready"),
            ("headless", service(json!({"clusterIP": "None"}), json!({})), "ready"),
            ("external name", service(json!({"type": "ExternalName"}), json!({})), "ready"),
            (
                "no balancer",
                service(json!({"type": "LoadBalancer", "clusterIP": "10.0.0.1"}), json!({})),
                "waiting: its load balancer has no address yet",
            ),
            (
                "balancer",
                service(
                    json!({"type": "LoadBalancer", "clusterIP": "10.0.0.1"}),
                    json!({"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}),
                ),
                "ready",
            ),
        ]);
    }

    #[test]
    fn definitions() {
        let definition = |conditions: Value| json!({"spec": {"group": "g", "names": {"kind": "K", "plural": "ks"}, "scope": "Namespaced", "versions": []}, "status": {"conditions": conditions}});
        check::<CustomResourceDefinition>(&[
            ("fresh", definition(json!([])), "waiting: the API server does not serve it yet"),
            (
                "served",
                definition(
                    json!([{"type": "NamesAccepted", "status": "True"}, {"type": "Established", "status": "True"}]),
                ),
                "ready",
            ),
            (
                "refused",
                definition(
                    json!([{"type": "NamesAccepted", "status": "False", "reason": "PluralConflict", "message": "\"ks\" is already in use"}]),
                ),
                "failed: PluralConflict: \"ks\" is already in use",
            ),
        ]);
    }
}
