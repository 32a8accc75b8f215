//! HTTP clients: at most one kind of credentials, each complete; one source of proxies.

use go_syntax::url;
use k8s_openapi::api::core::v1::SecretKeySelector;

use super::tls;
use crate::auth::{Authorization, OAuth2, SafeAuthorization, SecretOrConfigMap};
use crate::http::{HttpConfig, ProxyConfig};

/// A field of a client that cannot stay as it is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {why}")]
pub struct InvalidClient {
    /// Its path within the client.
    pub field: String,
    /// What is wrong with it, and what to do.
    pub why: String,
}

/// A verdict on a client.
pub type Verdict = Result<(), InvalidClient>;

fn refuse(field: impl Into<String>, why: impl ToString) -> Verdict {
    Err(InvalidClient { field: field.into(), why: why.to_string() })
}

/// At most one kind of credentials, and that one complete.
pub fn check_credentials(http: &HttpConfig) -> Verdict {
    let given = [
        ("authorization", http.authorization.is_some()),
        ("basicAuth", http.basic_auth.is_some()),
        ("bearerTokenSecret", http.bearer_token_secret.is_some()),
        ("oauth2", http.oauth2.is_some()),
    ];
    let mut given = given.into_iter().filter_map(|(name, given)| given.then_some(name));
    if let (Some(one), Some(other)) = (given.next(), given.next()) {
        return refuse(other, format!("cannot be used together with {one}; remove one of them"));
    }
    if let Some(authorization) = &http.authorization {
        check_safe_authorization(authorization)?;
    }
    http.oauth2.as_ref().map_or(Ok(()), check_oauth2)
}

/// Credentials from a Secret or from a file, and not for basic authentication.
pub fn check_authorization(authorization: &Authorization) -> Verdict {
    if authorization.safe.credentials.is_some() && !authorization.credentials_file.is_empty() {
        return refuse(
            "authorization.credentialsFile",
            "cannot be used together with credentials; remove one of them",
        );
    }
    check_scheme(&authorization.safe)
}

/// Credentials from a Secret, and not for basic authentication.
pub fn check_safe_authorization(authorization: &SafeAuthorization) -> Verdict {
    check_scheme(authorization)?;
    match authorization.credentials {
        Some(_) => Ok(()),
        None => refuse("authorization.credentials", "must be given; name a Secret and its key"),
    }
}

fn check_scheme(authorization: &SafeAuthorization) -> Verdict {
    if authorization.r#type.trim().eq_ignore_ascii_case("basic") {
        return refuse("authorization.type", "cannot be Basic; use basicAuth");
    }
    Ok(())
}

/// The token's address, the client's name, TLS and proxy.
pub fn check_oauth2(oauth2: &OAuth2) -> Verdict {
    if oauth2.token_url.is_empty() {
        return refuse("oauth2.tokenUrl", "must be given");
    }
    match &oauth2.client_id {
        SecretOrConfigMap { secret: None, config_map: None } => {
            return refuse("oauth2.clientId", "must be given; name a Secret or ConfigMap and its key");
        }
        SecretOrConfigMap { secret: Some(_), config_map: Some(_) } => {
            return refuse("oauth2.clientId", "refers to a Secret and to a ConfigMap; remove one of them");
        }
        _ => {}
    }
    if let Some(problem) = oauth2.tls_config.as_ref().and_then(|tls| tls::validate_safe(tls).err()) {
        return refuse("oauth2.tlsConfig", problem);
    }
    check_proxy(&oauth2.proxy)
        .map_err(|invalid| InvalidClient { field: format!("oauth2.{}", invalid.field), ..invalid })
}

/// One source of proxies; headers and exceptions only beside one.
pub fn check_proxy(proxy: &ProxyConfig) -> Verdict {
    let from_environment = proxy.proxy_from_environment == Some(true);
    let url = proxy.proxy_url.as_deref().unwrap_or_default();
    let exceptions = proxy.no_proxy.as_deref().is_some_and(|hosts| !hosts.is_empty());
    if !proxy.proxy_connect_header.is_empty() && !from_environment && url.is_empty() {
        return refuse("proxyConnectHeader", "needs proxyUrl or proxyFromEnvironment");
    }
    if from_environment && !url.is_empty() {
        return refuse("proxyUrl", "cannot be used together with proxyFromEnvironment; remove one of them");
    }
    if from_environment && exceptions {
        return refuse("noProxy", "cannot be used together with proxyFromEnvironment; remove one of them");
    }
    if url.is_empty() && exceptions {
        return refuse("noProxy", "needs proxyUrl");
    }
    for (header, values) in &proxy.proxy_connect_header {
        if values.is_empty() || values.contains(&SecretKeySelector::default()) {
            return refuse(
                format!("proxyConnectHeader[{header}]"),
                "must have values, each with the name of a Secret and its key",
            );
        }
    }
    url::parse(url).map_or_else(|error| refuse("proxyUrl", error), |_| Ok(()))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn said(client: Value) -> String {
        let http: HttpConfig = serde_json::from_value(client.clone()).unwrap();
        let proxy: ProxyConfig = serde_json::from_value(client).unwrap();
        let verdict = check_credentials(&http).and_then(|()| check_proxy(&proxy));
        verdict.map_or_else(|invalid| invalid.to_string(), |()| "valid".to_owned())
    }

    #[test]
    fn a_client_proves_itself_in_one_way() {
        let secret = json!({"name": "s", "key": "k"});
        for (client, expected) in [
            (json!({}), "valid"),
            (json!({"bearerTokenSecret": secret}), "valid"),
            (
                json!({"basicAuth": {"username": secret, "password": secret}, "bearerTokenSecret": secret}),
                "bearerTokenSecret: cannot be used together with basicAuth; remove one of them",
            ),
            (
                json!({"authorization": {"type": " basic", "credentials": secret}}),
                "authorization.type: cannot be Basic; use basicAuth",
            ),
            (
                json!({"authorization": {}}),
                "authorization.credentials: must be given; name a Secret and its key",
            ),
            (
                json!({"oauth2": {"tokenUrl": "http://t"}}),
                "oauth2.clientId: must be given; name a Secret or ConfigMap and its key",
            ),
            (
                json!({"oauth2": {"tokenUrl": "http://t", "clientId": {"secret": secret}, "noProxy": "a"}}),
                "oauth2.noProxy: needs proxyUrl",
            ),
        ] {
            assert_eq!(said(client.clone()), expected, "{client}");
        }
    }

    #[test]
    fn a_proxy_comes_from_one_place() {
        for (client, expected) in [
            (json!({"proxyFromEnvironment": true}), "valid"),
            (json!({"noProxy": "a"}), "noProxy: needs proxyUrl"),
            (
                json!({"proxyUrl": "http://p", "proxyFromEnvironment": true}),
                "proxyUrl: cannot be used together with proxyFromEnvironment; remove one of them",
            ),
            (json!({"proxyUrl": "http://p:port"}), "proxyUrl: its port is not a number"),
            (
                json!({"proxyFromEnvironment": true, "proxyConnectHeader": {"a": []}}),
                "proxyConnectHeader[a]: must have values, each with the name of a Secret and its key",
            ),
        ] {
            assert_eq!(said(client.clone()), expected, "{client}");
        }
    }
}
