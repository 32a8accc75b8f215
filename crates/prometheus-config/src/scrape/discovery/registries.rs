//! Discoveries of registries of services and machines: Consul, Eureka, PuppetDB.

use prometheus_types::discovery::registries::{ConsulSdConfig, EurekaSdConfig, PuppetDbSdConfig};
use rendering::{Map, Missing, Tree};

use crate::context::Scope;
use crate::values::{list, string_map, text};

pub(crate) fn consul(scope: Scope<'_>, config: &ConsulSdConfig) -> Result<Map, Missing> {
    let mut map = Map::new();
    scope.put_auth(&mut map, &config.auth);
    scope.put_transport(&mut map, &config.transport);
    map.set("server", &config.server);
    map.set_some("path_prefix", config.path_prefix.as_ref());
    scope.put_secret(&mut map, "token", config.token_ref.as_ref())?;
    map.set_some("datacenter", config.datacenter.as_ref());
    map.set_some("namespace", config.namespace.as_ref());
    map.set_some("partition", config.partition.as_ref());
    map.set_some("scheme", config.scheme.as_ref().map(|scheme| scheme.to_ascii_lowercase()));
    if !config.services.is_empty() {
        map.set("services", list(&config.services));
    }
    if !config.tags.is_empty() {
        map.set("tags", list(&config.tags));
    }
    map.set_some("tag_separator", config.tag_separator.as_ref());
    map.set_some("node_meta", string_map(&config.node_meta).non_empty());
    map.set_some("filter", config.filter.as_ref());
    map.set_some("health_filter", config.health_filter.as_ref());
    map.set_some("allow_stale", config.allow_stale);
    map.set_some("refresh_interval", text(config.refresh_interval.as_ref()));
    Ok(map)
}

pub(crate) fn eureka(scope: Scope<'_>, config: &EurekaSdConfig) -> Result<Map, Missing> {
    let mut map = Map::new();
    scope.put_auth(&mut map, &config.auth);
    scope.put_transport(&mut map, &config.transport);
    map.set_some("refresh_interval", text(config.refresh_interval.as_ref()));
    map.set_text("server", &config.server);
    Ok(map)
}

pub(crate) fn puppet_db(scope: Scope<'_>, config: &PuppetDbSdConfig) -> Result<Map, Missing> {
    let mut map = Map::new();
    scope.put_auth(&mut map, &config.auth);
    scope.put_transport(&mut map, &config.transport);
    map.set("url", Tree::text(&config.url)).set("query", &config.query);
    map.set_some("include_parameters", config.include_parameters);
    map.set_some("port", config.port);
    map.set_some("refresh_interval", text(config.refresh_interval.as_ref()));
    Ok(map)
}
