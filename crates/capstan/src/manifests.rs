//! What `kubectl apply` takes: the definitions of our kinds, and the operator with exactly the rights that its code declares.

mod deployment;
mod monitor;
mod protect;

use std::convert::Infallible;

use anyhow::Result;
use etcd_operator::monitoring;
use http::{Request, Response};
use k8s_openapi::{
    api::core::v1::{Namespace, Service, ServiceAccount, ServicePort, ServiceSpec},
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
    apimachinery::pkg::{apis::meta::v1::ObjectMeta, util::intstr::IntOrString},
};
use kit::{
    Api, Setup,
    access::{Install, Watched, manifests as rbac},
    lead::Election,
};
use kube::client::Body;
use prometheus_types::crd::{Descriptions, Versions};
use serde::Serialize;
use serde_json::Value;

use crate::{
    commands::Manifests,
    operator::{self, NAME},
    output::say,
};

/// Where the operator lives.
pub(crate) const NAMESPACE: &str = "capstan-system";

pub(crate) fn print(what: Manifests, image: &str) -> Result<()> {
    say(&match what {
        Manifests::Crds => yaml(&[crds()?, monitoring_crds(Descriptions::Full)?].concat())?,
        Manifests::Operator => yaml(&[home()?, guard()?, operator(image)?].concat())?,
        Manifests::MonitoringCrds => yaml(&monitoring_crds(Descriptions::Full)?)?,
        Manifests::MonitoringCrdsSlim => yaml(&monitoring_crds(Descriptions::Slim)?)?,
        Manifests::EtcdAlerts => yaml(&[monitoring::prometheus_rule(), monitor::pod_monitor()])?,
        Manifests::EtcdDashboard => format!("{:#}\n", monitoring::dashboard()),
        // The guards stand after the definitions: `kubectl delete -f` of all this meets them while they still stand.
        Manifests::Install => yaml(&[home()?, crds()?, guard()?, operator(image)?].concat())?,
    })
}

/// The definitions of our own kinds: those that the operator runs.
pub(crate) fn definitions() -> Vec<CustomResourceDefinition> {
    etcd_types::definitions().into_iter().chain([example_app::crd()]).collect()
}

fn crds() -> Result<Vec<Value>> {
    definitions().iter().map(value).collect()
}

/// Without AlertmanagerConfig's v1beta1, which needs a conversion webhook.
fn monitoring_crds(descriptions: Descriptions) -> Result<Vec<Value>> {
    prometheus_types::crd::crds(descriptions, Versions::Default)?.iter().map(value).collect()
}

fn home() -> Result<Vec<Value>> {
    // Enforced on ourselves, too: the operator needs no privilege on its node.
    let restricted = ["enforce", "audit", "warn"]
        .map(|mode| (format!("pod-security.kubernetes.io/{mode}"), "restricted".to_owned()));
    let metadata = ObjectMeta {
        name: Some(NAMESPACE.into()),
        labels: Some(restricted.into_iter().chain(deployment::labels()).collect()),
        ..ObjectMeta::default()
    };
    Ok(vec![value(&Namespace { metadata, ..Namespace::default() })?])
}

fn guard() -> Result<Vec<Value>> {
    let mut objects = Vec::new();
    for (policy, binding) in [protect::definitions(&definitions()), protect::clusters()] {
        objects.extend([value(&policy)?, value(&binding)?]);
    }
    Ok(objects)
}

/// The operator: who it is, what it may do, and how it runs.
fn operator(image: &str) -> Result<Vec<Value>> {
    let account = ServiceAccount { metadata: named(NAME), ..ServiceAccount::default() };
    let install = Install {
        name: NAME.into(),
        namespace: NAMESPACE.into(),
        service_account: NAME.into(),
        watched: Watched::All,
    };
    let rights = rbac(&manager(image)?.access(), &install);
    let mut objects = vec![value(&account)?];
    for object in rights.cluster_roles {
        objects.push(value(&object)?);
    }
    for object in rights.cluster_role_bindings {
        objects.push(value(&object)?);
    }
    for object in rights.roles {
        objects.push(value(&object)?);
    }
    for object in rights.role_bindings {
        objects.push(value(&object)?);
    }
    objects.push(value(&metrics())?);
    objects.push(value(&deployment::budget())?);
    objects.push(value(&deployment::deployment(image))?);
    Ok(objects)
}

/// The same controllers that `capstan operator` runs, on a server that nobody calls.
fn manager(image: &str) -> Result<kit::Manager> {
    let nobody =
        tower::service_fn(|_: Request<Body>| async { Ok::<_, Infallible>(Response::new(Body::empty())) });
    let setup = Setup {
        namespace: NAMESPACE.into(),
        election: Some(Election::new(NAMESPACE, NAME)),
        ..Setup::new(NAME, Api::service(nobody))
    };
    Ok(operator::manager(setup, image)?)
}

fn metrics() -> Service {
    let port = ServicePort {
        name: Some(deployment::METRICS.into()),
        port: 8080,
        target_port: Some(IntOrString::String(deployment::METRICS.into())),
        ..ServicePort::default()
    };
    Service {
        metadata: named("capstan-metrics"),
        spec: Some(ServiceSpec {
            selector: Some(deployment::selector()),
            ports: Some(vec![port]),
            ..ServiceSpec::default()
        }),
        status: None,
    }
}

fn named(name: &str) -> ObjectMeta {
    ObjectMeta {
        name: Some(name.into()),
        namespace: Some(NAMESPACE.into()),
        labels: Some(deployment::labels().collect()),
        ..ObjectMeta::default()
    }
}

fn value(object: &impl Serialize) -> Result<Value> {
    let mut value = serde_json::to_value(object)?;
    // An empty status is the server's to fill; applied, it would only be in the way.
    if let Some(fields) = value.as_object_mut()
        && fields.get("status").is_none_or(|status| status.as_object().is_some_and(serde_json::Map::is_empty))
    {
        fields.remove("status");
    }
    Ok(value)
}

fn yaml(objects: &[Value]) -> Result<String> {
    let documents: Result<Vec<String>, _> = objects.iter().map(serde_saphyr::to_string).collect();
    Ok(format!(
        "# Written by `capstan manifests`. Every field is as the code has it.\n---\n{}",
        documents?.join("---\n")
    ))
}

#[cfg(test)]
mod tests;
