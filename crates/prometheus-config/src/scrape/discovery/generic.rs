//! Discoveries without a provider behind them: static lists, files, HTTP, DNS.

use prometheus_types::discovery::generic::{DnsSdConfig, FileSdConfig, HttpSdConfig, StaticConfig};
use rendering::{Map, Missing, Tree};

use crate::context::Scope;
use crate::gates::Field;
use crate::values::{list, string_map, text};

pub(crate) fn fixed(_: Scope<'_>, config: &StaticConfig) -> Result<Map, Missing> {
    Ok(Map::new().with("targets", list(&config.targets)).with("labels", string_map(&config.labels)))
}

pub(crate) fn file(_: Scope<'_>, config: &FileSdConfig) -> Result<Map, Missing> {
    let map = Map::new().with("files", list(&config.files));
    Ok(map.with_some("refresh_interval", text(config.refresh_interval.as_ref())))
}

pub(crate) fn http(scope: Scope<'_>, config: &HttpSdConfig) -> Result<Map, Missing> {
    let mut map = Map::new();
    scope.put_auth(&mut map, &config.auth);
    scope.put_transport(&mut map, &config.transport);
    map.set("url", Tree::text(&config.url));
    map.set_some("refresh_interval", text(config.refresh_interval.as_ref()));
    Ok(map)
}

pub(crate) fn dns(scope: Scope<'_>, config: &DnsSdConfig) -> Result<Map, Missing> {
    let mut map = Map::new().with("names", list(&config.names));
    map.set_some("refresh_interval", text(config.refresh_interval.as_ref()));
    let known = match config.r#type.as_deref() {
        Some("NS") => scope.has(Field::DnsNs),
        Some("MX") => scope.has(Field::DnsMx),
        _ => true,
    };
    if known {
        map.set_some("type", text(config.r#type.as_ref()));
    }
    map.set_some("port", config.port);
    Ok(map)
}
