//! HTTP clients: which credentials go together, headers, tokens, proxies. References are resolved elsewhere.

use prometheus_types::auth::{Authorization, OAuth2, SafeAuthorization, SecretOrConfigMap};
use prometheus_types::http::{HttpConfig, ProxyConfig};

use super::{Rejected, address};

pub(crate) fn check_authorization(authorization: &Authorization) -> Result<(), Rejected> {
    if authorization.safe.credentials.is_some() && !authorization.credentials_file.is_empty() {
        return Err(Rejected::new(
            "authorization",
            "credentials and credentialsFile exclude each other; remove one",
        ));
    }
    check_scheme(&authorization.safe)
}

pub(crate) fn check_safe_authorization(authorization: &SafeAuthorization) -> Result<(), Rejected> {
    check_scheme(authorization)?;
    match authorization.credentials {
        Some(_) => Ok(()),
        None => Err(Rejected::new(
            "authorization.credentials",
            "it is missing; name the Secret and key that hold them",
        )),
    }
}

fn check_scheme(authorization: &SafeAuthorization) -> Result<(), Rejected> {
    if authorization.r#type.trim().eq_ignore_ascii_case("basic") {
        return Err(Rejected::new("authorization.type", "it cannot be Basic; use basicAuth"));
    }
    Ok(())
}

pub(crate) fn check_oauth2(oauth2: &OAuth2) -> Result<(), Rejected> {
    if oauth2.token_url.is_empty() {
        return Err(Rejected::new("oauth2.tokenUrl", "it is missing"));
    }
    if oauth2.client_id == SecretOrConfigMap::default() {
        return Err(Rejected::new(
            "oauth2.clientId",
            "it is missing; name a Secret or ConfigMap and its key",
        ));
    }
    if oauth2.client_id.secret.is_some() && oauth2.client_id.config_map.is_some() {
        return Err(Rejected::new("oauth2.clientId", "secret and configMap exclude each other; remove one"));
    }
    if let Some(tls) = &oauth2.tls_config {
        tls_assets::validate_safe(tls).map_err(|error| Rejected::new("oauth2.tlsConfig", error))?;
    }
    check_proxy(&oauth2.proxy).map_err(|error| error.within("oauth2"))
}

pub(crate) fn check_proxy(proxy: &ProxyConfig) -> Result<(), Rejected> {
    let environment = proxy.proxy_from_environment == Some(true);
    let url = proxy.proxy_url.as_deref().is_some_and(|url| !url.is_empty());
    let exceptions = proxy.no_proxy.as_deref().is_some_and(|hosts| !hosts.is_empty());
    let refuse = |field: &str, why: &str| Err(Rejected::new(field, why));
    if !proxy.proxy_connect_header.is_empty() && !environment && !url {
        return refuse("proxyConnectHeader", "it needs proxyUrl or proxyFromEnvironment");
    }
    if environment && url {
        return refuse("proxyFromEnvironment", "it and proxyUrl exclude each other; remove one");
    }
    if environment && exceptions {
        return refuse("proxyFromEnvironment", "it and noProxy exclude each other; remove one");
    }
    if exceptions && !url {
        return refuse("noProxy", "it needs proxyUrl");
    }
    for (header, values) in &proxy.proxy_connect_header {
        if values.is_empty() || values.iter().any(|value| value.name.is_empty() && value.key.is_empty()) {
            return Err(Rejected::new(
                format!("proxyConnectHeader[{header}]"),
                "a value names no Secret and key",
            ));
        }
    }
    match &proxy.proxy_url {
        Some(url) => address::parse(url).map(|_| ()).map_err(|why| Rejected::new("proxyUrl", why)),
        None => Ok(()),
    }
}

/// At most one kind of credentials, each complete.
pub(crate) fn check_credentials(http: &HttpConfig) -> Result<(), Rejected> {
    let given: Vec<&str> = [
        ("authorization", http.authorization.is_some()),
        ("basicAuth", http.basic_auth.is_some()),
        ("bearerTokenSecret", http.bearer_token_secret.is_some()),
        ("oauth2", http.oauth2.is_some()),
    ]
    .into_iter()
    .filter_map(|(name, given)| given.then_some(name))
    .collect();
    if let [first, second, ..] = given.as_slice() {
        return Err(Rejected::new(*first, format!("it and {second} exclude each other; remove one")));
    }
    if let Some(authorization) = &http.authorization {
        check_safe_authorization(authorization)?;
    }
    http.oauth2.as_ref().map_or(Ok(()), check_oauth2)
}
