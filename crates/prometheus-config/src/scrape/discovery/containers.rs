//! Discoveries of container platforms: Kubernetes, Docker, Docker Swarm, Nomad, Kuma.

use prometheus_types::discovery::containers::{
    DockerSdConfig, DockerSwarmSdConfig, KubernetesSdConfig, KubernetesSelector, KumaSdConfig, NomadSdConfig,
};
use rendering::{Map, Missing, Tree};

use super::filters;
use crate::context::Scope;
use crate::gates::Field;
use crate::values::{list, text};

pub(crate) fn kubernetes(scope: Scope<'_>, config: &KubernetesSdConfig) -> Result<Map, Missing> {
    let role = config.role.to_ascii_lowercase();
    let mut map = Map::new();
    map.set_some("api_server", config.api_server.as_ref());
    if role != "endpointslice" || scope.has(Field::EndpointSliceRole) {
        map.set("role", &role);
    }
    scope.put_auth(&mut map, &config.auth);
    scope.put_transport(&mut map, &config.transport);
    if let Some(namespaces) = &config.namespaces {
        let names = Map::new().with("names", list(&namespaces.names));
        map.set("namespaces", names.with_some("own_namespace", namespaces.own_namespace));
    }
    if !config.selectors.is_empty() {
        scope.known.put(&mut map, Field::Selectors, config.selectors.iter().map(selector).collect::<Tree>());
    }
    let attach = match role.as_str() {
        "pod" => Some(Field::PodAttachMetadata),
        "endpoints" | "endpointslice" => Some(Field::EndpointsAttachMetadata),
        _ => None,
    };
    if let (Some(field), Some(attach)) = (attach, &config.attach_metadata) {
        let node = attach.node.map_or(Tree::Null, Tree::Bool);
        scope.known.put(&mut map, field, Map::new().with("node", node));
    }
    Ok(map)
}

fn selector(selector: &KubernetesSelector) -> Map {
    let map = Map::new().with("role", selector.role.to_ascii_lowercase());
    map.with_some("label", selector.label.as_ref()).with_some("field", selector.field.as_ref())
}

pub(crate) fn docker(scope: Scope<'_>, config: &DockerSdConfig) -> Result<Map, Missing> {
    let mut map = Map::new();
    scope.put_auth(&mut map, &config.auth);
    map.set_some("filters", filters(&config.filters));
    map.set("host", Tree::text(&config.host));
    scope.put_transport(&mut map, &config.transport);
    map.set_some("port", config.port);
    map.set_some("host_networking_host", config.host_networking_host.as_ref());
    scope.known.put_some(&mut map, Field::DockerMatchFirstNetwork, config.match_first_network);
    map.set_some("refresh_interval", text(config.refresh_interval.as_ref()));
    Ok(map)
}

pub(crate) fn docker_swarm(scope: Scope<'_>, config: &DockerSwarmSdConfig) -> Result<Map, Missing> {
    let mut map = Map::new();
    scope.put_auth(&mut map, &config.auth);
    map.set_some("filters", filters(&config.filters));
    map.set("host", Tree::text(&config.host));
    scope.put_transport(&mut map, &config.transport);
    map.set("role", config.role.to_ascii_lowercase());
    map.set_some("port", config.port);
    map.set_some("refresh_interval", text(config.refresh_interval.as_ref()));
    Ok(map)
}

pub(crate) fn nomad(scope: Scope<'_>, config: &NomadSdConfig) -> Result<Map, Missing> {
    let mut map = Map::new();
    scope.put_auth(&mut map, &config.auth);
    scope.put_transport(&mut map, &config.transport);
    map.set("server", Tree::text(&config.server));
    map.set_some("allow_stale", config.allow_stale);
    map.set_some("namespace", config.namespace.as_ref());
    map.set_some("refresh_interval", text(config.refresh_interval.as_ref()));
    map.set_some("region", config.region.as_ref());
    map.set_some("tag_separator", config.tag_separator.as_ref());
    Ok(map)
}

pub(crate) fn kuma(scope: Scope<'_>, config: &KumaSdConfig) -> Result<Map, Missing> {
    let mut map = Map::new();
    scope.put_auth(&mut map, &config.auth);
    scope.put_transport(&mut map, &config.transport);
    map.set("server", Tree::text(&config.server));
    map.set_some("refresh_interval", text(config.refresh_interval.as_ref()));
    map.set_some("fetch_timeout", text(config.fetch_timeout.as_ref()));
    map.set_some("client_id", config.client_id.as_ref());
    Ok(map)
}
