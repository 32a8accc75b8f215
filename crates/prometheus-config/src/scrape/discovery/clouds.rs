//! Discoveries of clouds with virtual machines: AWS, Azure, Google, OpenStack, IONOS, Scaleway, OVHcloud.

use prometheus_types::discovery::clouds::{
    AzureSdConfig, Ec2SdConfig, GceSdConfig, IonosSdConfig, LightSailSdConfig, OpenStackSdConfig,
    OvhCloudSdConfig, ScalewaySdConfig,
};
use rendering::{Map, Missing};

use super::filters;
use crate::context::Scope;
use crate::gates::Field;
use crate::values::{list, text};

pub(crate) fn ec2(scope: Scope<'_>, config: &Ec2SdConfig) -> Result<Map, Missing> {
    let mut map = Map::new();
    scope.put_proxy(&mut map, &config.transport.proxy);
    map.set_some("region", config.region.as_ref());
    scope.put_keys(&mut map, config.access_key.as_ref(), config.secret_key.as_ref())?;
    map.set_some("role_arn", config.role_arn.as_ref());
    map.set_some("refresh_interval", text(config.refresh_interval.as_ref()));
    map.set_some("port", config.port);
    scope.known.put_some(&mut map, Field::Ec2Filters, filters(&config.filters));
    scope.known.put_some(&mut map, Field::Ec2FollowRedirects, config.transport.follow_redirects);
    scope.known.put_some(&mut map, Field::Ec2EnableHttp2, config.transport.enable_http2);
    let tls = config.transport.tls_config.as_ref().map(|tls| scope.safe_tls(tls));
    scope.known.put_some(&mut map, Field::Ec2Tls, tls);
    Ok(map)
}

pub(crate) fn light_sail(scope: Scope<'_>, config: &LightSailSdConfig) -> Result<Map, Missing> {
    let mut map = Map::new();
    scope.put_auth(&mut map, &config.auth);
    scope.put_transport(&mut map, &config.transport);
    map.set_some("region", config.region.as_ref());
    map.set_some("endpoint", config.endpoint.as_ref());
    map.set_some("port", config.port);
    map.set_some("refresh_interval", text(config.refresh_interval.as_ref()));
    scope.put_keys(&mut map, config.access_key.as_ref(), config.secret_key.as_ref())?;
    map.set_some("role_arn", config.role_arn.as_ref());
    Ok(map)
}

/// Prometheus' Azure discovery takes neither TLS nor redirect settings from upstream; nor, beside an `environment`,
/// credentials of HTTP or a proxy, which Azure's own authentication has no use for.
pub(crate) fn azure(scope: Scope<'_>, config: &AzureSdConfig) -> Result<Map, Missing> {
    let mut map = Map::new();
    match &config.environment {
        Some(environment) => {
            map.set("environment", environment);
        }
        None => {
            scope.put_auth(&mut map, &config.auth);
            scope.put_proxy(&mut map, &config.transport.proxy);
        }
    }
    map.set_some("authentication_method", text(config.authentication_method.as_ref()));
    map.set_text("subscription_id", &config.subscription_id);
    map.set_some("tenant_id", config.tenant_id.as_ref());
    map.set_some("client_id", config.client_id.as_ref());
    scope.put_secret(&mut map, "client_secret", config.client_secret.as_ref())?;
    map.set_some("resource_group", config.resource_group.as_ref());
    map.set_some("refresh_interval", text(config.refresh_interval.as_ref()));
    map.set_some("port", config.port);
    Ok(map)
}

pub(crate) fn gce(_: Scope<'_>, config: &GceSdConfig) -> Result<Map, Missing> {
    let mut map = Map::new().with("project", &config.project).with("zone", &config.zone);
    map.set_some("filter", config.filter.as_ref());
    map.set_some("refresh_interval", text(config.refresh_interval.as_ref()));
    map.set_some("port", config.port);
    map.set_some("tag_separator", config.tag_separator.as_ref());
    Ok(map)
}

pub(crate) fn openstack(scope: Scope<'_>, config: &OpenStackSdConfig) -> Result<Map, Missing> {
    let mut map = Map::new().with("role", config.role.to_ascii_lowercase()).with("region", &config.region);
    map.set_some("identity_endpoint", text(config.identity_endpoint.as_ref()));
    map.set_some("username", config.username.as_ref());
    map.set_some("userid", config.userid.as_ref());
    scope.put_secret(&mut map, "password", config.password.as_ref())?;
    map.set_some("domain_name", config.domain_name.as_ref());
    map.set_some("domain_id", config.domain_id.as_ref());
    map.set_some("project_name", config.project_name.as_ref());
    map.set_some("project_id", config.project_id.as_ref());
    map.set_some("application_credential_name", config.application_credential_name.as_ref());
    map.set_some("application_credential_id", config.application_credential_id.as_ref());
    scope.put_secret(
        &mut map,
        "application_credential_secret",
        config.application_credential_secret.as_ref(),
    )?;
    map.set_some("all_tenants", config.all_tenants);
    map.set_some("refresh_interval", text(config.refresh_interval.as_ref()));
    map.set_some("port", config.port);
    map.set_some(
        "availability",
        config.availability.as_ref().map(|availability| availability.to_ascii_lowercase()),
    );
    scope.put_safe_tls(&mut map, config.tls_config.as_ref());
    Ok(map)
}

pub(crate) fn ovhcloud(scope: Scope<'_>, config: &OvhCloudSdConfig) -> Result<Map, Missing> {
    let mut map = Map::new().with("application_key", &config.application_key);
    map.set("application_secret", scope.secret_or_empty(&config.application_secret));
    map.set("consumer_key", scope.secret_or_empty(&config.consumer_key));
    match &*config.service {
        "VPS" => map.set("service", "vps"),
        "DedicatedServer" => map.set("service", "dedicated_server"),
        _ => &mut map,
    };
    map.set_some("endpoint", config.endpoint.as_ref());
    map.set_some("refresh_interval", text(config.refresh_interval.as_ref()));
    Ok(map)
}

pub(crate) fn scaleway(scope: Scope<'_>, config: &ScalewaySdConfig) -> Result<Map, Missing> {
    let mut map = Map::new().with("access_key", &config.access_key);
    map.set("secret_key", scope.secret_or_empty(&config.secret_key));
    map.set("project_id", &config.project_id).set("role", config.role.to_ascii_lowercase());
    map.set_some("port", config.port);
    map.set_some("api_url", text(config.api_url.as_ref()));
    map.set_some("zone", config.zone.as_ref());
    map.set_some("name_filter", config.name_filter.as_ref());
    if !config.tags_filter.is_empty() {
        map.set("tags_filter", list(&config.tags_filter));
    }
    map.set_some("refresh_interval", text(config.refresh_interval.as_ref()));
    scope.put_transport(&mut map, &config.transport);
    Ok(map)
}

pub(crate) fn ionos(scope: Scope<'_>, config: &IonosSdConfig) -> Result<Map, Missing> {
    let mut map = Map::new();
    match &config.oauth2 {
        Some(oauth2) => scope.put_oauth2(&mut map, Some(oauth2)),
        None => scope.put_safe_authorization(&mut map, Some(&config.authorization)),
    }
    scope.put_transport(&mut map, &config.transport);
    map.set("datacenter_id", &config.datacenter_id);
    map.set_some("port", config.port);
    map.set_some("refresh_interval", text(config.refresh_interval.as_ref()));
    Ok(map)
}
