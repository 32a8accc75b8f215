//! The HTTP client of a receiver: credentials, TLS, proxy.

use prometheus_types::auth::OAuth2;
use prometheus_types::http::{HttpConfigWithProxy, ProxyConfig};
use prometheus_types::receivers::ReceiverHttpConfig;
use prometheus_types::tls::SafeTlsConfig;
use prometheus_types::validity::client::{check_credentials, check_proxy};
use rendering::{Gate, Map, Tree, since};
use tls_assets::{Reference, TlsAssets};

use crate::invalid::{Invalid, Within};
use crate::references::References;

/// Where the Secret with certificates and keys is mounted.
const TLS_ASSETS: &str = "/etc/alertmanager/certs";

/// What of a client needs a version, and which; an older Alertmanager does not get an object that uses it.
const GATES: &[(&str, Gate)] = &[
    ("authorization", since("0.22.0")),
    ("oauth2", since("0.22.0")),
    ("noProxy", since("0.25.0")),
    ("proxyFromEnvironment", since("0.25.0")),
    ("proxyConnectHeader", since("0.25.0")),
];

pub(crate) fn read(value: &Tree) -> Result<ReceiverHttpConfig, Invalid> {
    serde_json::from_value(value.to_json()).map_err(|error| Invalid::new("", error.to_string()))
}

pub(crate) fn read_tls(value: &Tree) -> Result<SafeTlsConfig, Invalid> {
    serde_json::from_value(value.to_json()).map_err(|error| Invalid::new("", error.to_string()))
}

/// The global client in the form of a receiver's.
pub(crate) fn global(client: &HttpConfigWithProxy) -> ReceiverHttpConfig {
    ReceiverHttpConfig {
        http: client.http.clone(),
        proxy: client.proxy.clone(),
        tls_config: client.tls_config.clone(),
        proxy_url_original: None,
    }
}

pub(crate) fn validate(client: &ReceiverHttpConfig) -> Result<(), Invalid> {
    check_credentials(&client.http)?;
    if let Some(tls) = &client.tls_config {
        tls_assets::validate_safe(tls).map_err(|problem| Invalid::new("tlsConfig", problem.to_string()))?;
    }
    Ok(check_proxy(&client.proxy)?)
}

/// Do the references exist, and does this version have what is used?
pub(crate) fn select(client: &ReceiverHttpConfig, references: &References<'_>) -> Result<(), Invalid> {
    let (http, proxy) = (&client.http, &client.proxy);
    for (name, gate) in GATES {
        let used = match *name {
            "authorization" => http.authorization.is_some(),
            "oauth2" => http.oauth2.is_some(),
            "noProxy" => proxy.no_proxy.is_some(),
            "proxyFromEnvironment" => proxy.proxy_from_environment.is_some(),
            _ => !proxy.proxy_connect_header.is_empty(),
        };
        if used {
            references.demand(*gate).within(name)?;
        }
    }
    resolve(client, references)
}

/// Do the references exist?
pub(crate) fn resolve(client: &ReceiverHttpConfig, references: &References<'_>) -> Result<(), Invalid> {
    if let Some(tls) = &client.tls_config {
        select_tls(tls, references).within("tlsConfig")?;
    }
    if let Some(tls) = client.http.oauth2.as_ref().and_then(|oauth2| oauth2.tls_config.as_ref()) {
        select_tls(tls, references).within("oauth2.tlsConfig")?;
    }
    render(client, references).map(|_| ())
}

/// Do certificates and key exist, are they such, and do they belong together?
pub(crate) fn select_tls(tls: &SafeTlsConfig, references: &References<'_>) -> Result<(), Invalid> {
    let add = |tls_assets: &mut TlsAssets| tls_assets.add_safe(references.assets, references.namespace, tls);
    let checked = match references.tls {
        Some(gathered) => add(&mut gathered.borrow_mut()),
        None => add(&mut TlsAssets::default()),
    };
    checked.map_err(|problem| Invalid::new("", problem.to_string()))
}

pub(crate) fn render(client: &ReceiverHttpConfig, references: &References<'_>) -> Result<Map, Invalid> {
    let http = &client.http;
    let mut out = Map::new();
    if let Some(authorization) = &http.authorization {
        let credentials = match &authorization.credentials {
            Some(selector) => references.secret_of(selector).within("authorization.credentials")?,
            None => "",
        };
        if !credentials.is_empty() {
            let scheme = if authorization.r#type.is_empty() { "Bearer" } else { &authorization.r#type };
            out.set(
                "authorization",
                Map::new().with("type", Tree::text(scheme)).with("credentials", Tree::text(credentials)),
            );
        }
    }
    if let Some(basic) = &http.basic_auth {
        let mut parts = Map::new();
        parts.set_text("username", references.secret_of(&basic.username).within("basicAuth.username")?);
        parts.set_text("password", references.secret_of(&basic.password).within("basicAuth.password")?);
        out.set_some("basic_auth", parts.non_empty());
    }
    if let Some(oauth2) = &http.oauth2 {
        out.set("oauth2", render_oauth2(oauth2, references).within("oauth2")?);
    }
    if let Some(token) = &http.bearer_token_secret {
        out.set_text("bearer_token", references.secret_of(token).within("bearerTokenSecret")?);
    }
    out.set_some("tls_config", client.tls_config.as_ref().map(|tls| render_tls(tls, references)));
    out.set_some("follow_redirects", http.follow_redirects);
    out.set_some("enable_http2", http.enable_http2);
    let mut proxy = render_proxy(&client.proxy, references)?;
    // The older spelling of the field wins over the newer.
    if let Some(url) = client.proxy_url_original.as_deref() {
        proxy.set_text("proxy_url", url);
    }
    out.extend(proxy);
    Ok(out)
}

fn render_oauth2(oauth2: &OAuth2, references: &References<'_>) -> Result<Map, Invalid> {
    let mut out = Map::new();
    out.set("client_id", Tree::text(references.either(&oauth2.client_id).within("clientId")?));
    out.set("client_secret", Tree::text(references.secret_of(&oauth2.client_secret).within("clientSecret")?));
    if !oauth2.scopes.is_empty() {
        out.set("scopes", oauth2.scopes.iter().map(Tree::from).collect::<Tree>());
    }
    out.set("token_url", Tree::text(&oauth2.token_url));
    let parameters: Map = oauth2.endpoint_params.iter().map(|(name, value)| (name.clone(), value)).collect();
    out.set_some("endpoint_params", parameters.non_empty());
    // Upstream checks the client's `tlsConfig` and never writes it; neither do we, so that both make the same file.
    out.extend(render_proxy(&oauth2.proxy, references)?);
    Ok(out)
}

pub(crate) fn render_tls(tls: &SafeTlsConfig, references: &References<'_>) -> Map {
    let file =
        |reference: Reference<'_>| format!("{TLS_ASSETS}/{}", reference.file_name(references.namespace));
    let mut out = Map::new();
    out.set_some("ca_file", Reference::of(&tls.ca).map(file));
    out.set_some("cert_file", Reference::of(&tls.cert).map(file));
    out.set_some("key_file", tls.key_secret.as_ref().map(Reference::of_secret).map(file));
    out.set_text("server_name", tls.server_name.as_deref().unwrap_or_default());
    out.set("insecure_skip_verify", tls.insecure_skip_verify.unwrap_or_default());
    out.set_text("min_version", tls.min_version.as_deref().unwrap_or_default());
    out.set_text("max_version", tls.max_version.as_deref().unwrap_or_default());
    out
}

fn render_proxy(proxy: &ProxyConfig, references: &References<'_>) -> Result<Map, Invalid> {
    let mut out = Map::new();
    out.set_text("proxy_url", proxy.proxy_url.as_deref().unwrap_or_default());
    out.set_text("no_proxy", proxy.no_proxy.as_deref().unwrap_or_default());
    if proxy.proxy_from_environment == Some(true) {
        out.set("proxy_from_environment", true);
    }
    let mut headers = Map::new();
    for (header, selectors) in &proxy.proxy_connect_header {
        let values: Result<Tree, Invalid> = selectors
            .iter()
            .map(|selector| references.secret_of(selector).map(Tree::text))
            .collect::<Result<Vec<_>, _>>()
            .map(Tree::from);
        headers.set(header.clone(), values.within("proxyConnectHeader")?);
    }
    out.set_some("proxy_connect_header", headers.non_empty());
    Ok(out)
}

#[cfg(test)]
mod tests {
    use rendering::{Assets, Version};
    use serde_json::{Value, json};

    use super::*;

    fn client(value: Value) -> ReceiverHttpConfig {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn secrets_are_written_out_and_certificates_are_files() {
        let mut assets = Assets::new();
        assets.add_secret("ns", "s", [("k".to_owned(), b"token".to_vec())]);
        let version = Version::parse("0.34.0").unwrap();
        let references = References { assets: &assets, namespace: "ns", version: &version, tls: None };
        let value = json!({
            "authorization": {"credentials": {"name": "s", "key": "k"}},
            "tlsConfig": {"ca": {"configMap": {"name": "c", "key": "ca.crt"}}},
            "proxyUrl": "http://new", "proxyURL": "http://old",
        });
        assert_eq!(
            render(&client(value), &references).unwrap().to_yaml(),
            "authorization:\n  type: Bearer\n  credentials: token\ntls_config:\n  ca_file: /etc/alertmanager/certs/1_ns_c_ca.crt\n  \
             insecure_skip_verify: false\nproxy_url: http://old\n"
        );
    }
}
