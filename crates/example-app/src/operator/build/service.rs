//! The Service, and the address that users are told.

use k8s_openapi::{
    api::core::v1::{Service, ServicePort, ServiceSpec},
    apimachinery::pkg::util::intstr::IntOrString,
};
use kube::ResourceExt as _;

use super::{PORT, owned, selector};
use crate::{
    ServiceType,
    operator::{names, observe::World},
};

pub(crate) fn service(world: &World) -> Service {
    let app = &*world.app;
    let kind = match app.spec.service.kind {
        ServiceType::ClusterIP => "ClusterIP",
        ServiceType::NodePort => "NodePort",
        ServiceType::LoadBalancer => "LoadBalancer",
    };
    let port = ServicePort {
        name: Some("http".to_owned()),
        port: 80,
        target_port: Some(IntOrString::Int(PORT)),
        protocol: Some("TCP".to_owned()),
        ..ServicePort::default()
    };
    let service = Service {
        metadata: names::meta(app, app.name_any(), names::APP),
        spec: Some(ServiceSpec {
            type_: Some(kind.to_owned()),
            selector: selector(world).match_labels,
            ports: Some(vec![port]),
            ..ServiceSpec::default()
        }),
        status: None,
    };
    owned(service, app)
}

/// Where it is reached: by the load balancer once there is one, and from within the cluster otherwise.
pub(crate) fn url(world: &World) -> Option<String> {
    let service = world.service.as_ref()?;
    let balancer = service.status.as_ref().and_then(|status| {
        let first = status.load_balancer.as_ref()?.ingress.as_ref()?.first()?;
        first.hostname.clone().or_else(|| first.ip.clone())
    });
    let inside = || format!("{}.{}.svc", service.name_any(), service.namespace().unwrap_or_default());
    Some(format!("http://{}/", balancer.unwrap_or_else(inside)))
}
