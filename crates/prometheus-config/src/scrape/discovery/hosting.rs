//! Discoveries of hosting providers: DigitalOcean, Hetzner, Linode.

use prometheus_types::discovery::hosting::{DigitalOceanSdConfig, HetznerSdConfig, LinodeSdConfig};
use rendering::{Map, Missing};

use crate::context::Scope;
use crate::gates::Field;
use crate::values::text;

pub(crate) fn digital_ocean(scope: Scope<'_>, config: &DigitalOceanSdConfig) -> Result<Map, Missing> {
    let mut map = Map::new();
    scope.put_safe_authorization(&mut map, config.authorization.as_ref());
    scope.put_oauth2(&mut map, config.oauth2.as_ref());
    scope.put_transport(&mut map, &config.transport);
    map.set_some("port", config.port);
    map.set_some("refresh_interval", text(config.refresh_interval.as_ref()));
    Ok(map)
}

pub(crate) fn hetzner(scope: Scope<'_>, config: &HetznerSdConfig) -> Result<Map, Missing> {
    let mut map = Map::new();
    scope.put_auth(&mut map, &config.auth);
    scope.put_transport(&mut map, &config.transport);
    map.set("role", config.role.to_ascii_lowercase());
    map.set_some("port", config.port);
    map.set_some("refresh_interval", text(config.refresh_interval.as_ref()));
    let selector = config.label_selector.as_ref().filter(|selector| !selector.is_empty());
    scope.known.put_some(&mut map, Field::HetznerLabelSelector, selector);
    Ok(map)
}

pub(crate) fn linode(scope: Scope<'_>, config: &LinodeSdConfig) -> Result<Map, Missing> {
    let mut map = Map::new();
    scope.put_safe_authorization(&mut map, config.authorization.as_ref());
    scope.put_oauth2(&mut map, config.oauth2.as_ref());
    scope.put_transport(&mut map, &config.transport);
    map.set_some("port", config.port);
    map.set_some("region", config.region.as_ref());
    map.set_some("tag_separator", config.tag_separator.as_ref());
    map.set_some("refresh_interval", text(config.refresh_interval.as_ref()));
    Ok(map)
}
