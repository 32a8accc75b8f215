//! HTTP clients of a raw configuration: what Alertmanager would not load, wherever a client stands.

use rendering::{Map, Tree};

use crate::invalid::{Invalid, Within};
use crate::normal::given;
use crate::shape::RESERVED_HEADERS;
use crate::value::{is_true, text};

/// Ways to prove who one is; a client has one of them.
const CREDENTIALS: &[&str] = &["authorization", "basic_auth", "oauth2", "bearer_token", "bearer_token_file"];

/// A value and the file that holds it, in one of the credentials.
const ONCE: &[(&str, &str, &str)] = &[
    ("authorization", "credentials", "credentials_file"),
    ("basic_auth", "username", "username_file"),
    ("basic_auth", "password", "password_file"),
    ("oauth2", "client_secret", "client_secret_file"),
];

/// Judges every `http_config` below a section.
pub(super) fn check(section: &Map) -> Result<(), Invalid> {
    for (key, value) in section.iter() {
        match value {
            Tree::Map(client) if key == "http_config" => check_client(client).within(key)?,
            Tree::Map(tls) if key.ends_with("tls_config") => check_tls(tls).within(key)?,
            Tree::Map(below) => check(below).within(key)?,
            Tree::List(items) => {
                for (index, item) in items.iter().enumerate() {
                    item.as_map().map_or(Ok(()), check).at(key, index)?;
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn check_client(client: &Map) -> Result<(), Invalid> {
    let mut proofs = CREDENTIALS.iter().filter(|key| client.contains_key(key));
    if let (Some(one), Some(other)) = (proofs.next(), proofs.next()) {
        return Err(together(other, one));
    }
    for (proof, value, file) in ONCE {
        if let Some(proof_map) = client.get(proof).and_then(Tree::as_map)
            && given(proof_map, value)
            && given(proof_map, file)
        {
            return Err(together(file, value)).within(proof);
        }
    }
    let scheme =
        client.get("authorization").and_then(|authorization| authorization.get("type")).map_or("", text);
    if scheme.trim().eq_ignore_ascii_case("basic") {
        return Err(Invalid::new("authorization.type", "cannot be Basic; use basic_auth"));
    }
    check_proxy(client)?;
    for (name, _) in client.get("http_headers").and_then(Tree::as_map).into_iter().flat_map(Map::iter) {
        if RESERVED_HEADERS.contains(&name.to_ascii_lowercase().as_str()) {
            return Err(Invalid::new(
                format!("http_headers.{name}"),
                "is set by Alertmanager itself; remove it",
            ));
        }
    }
    client.get("tls_config").and_then(Tree::as_map).map_or(Ok(()), check_tls).within("tls_config")?;
    client.get("oauth2").and_then(Tree::as_map).map_or(Ok(()), check_oauth2).within("oauth2")
}

fn check_oauth2(oauth2: &Map) -> Result<(), Invalid> {
    check_proxy(oauth2)?;
    for key in ["client_id", "token_url"] {
        if !given(oauth2, key) {
            return Err(Invalid::new(key, "must be given"));
        }
    }
    oauth2.get("tls_config").and_then(Tree::as_map).map_or(Ok(()), check_tls).within("tls_config")
}

/// A certificate is of use with its key only.
fn check_tls(tls: &Map) -> Result<(), Invalid> {
    let any = |name: &str| given(tls, name) || given(tls, &format!("{name}_file"));
    for name in ["ca", "cert", "key"] {
        let file = format!("{name}_file");
        if given(tls, name) && given(tls, &file) {
            return Err(together(&file, name));
        }
    }
    for key in ["min_version", "max_version"] {
        if !["", "TLS10", "TLS11", "TLS12", "TLS13"].contains(&tls.get(key).map_or("", text)) {
            return Err(Invalid::new(key, "must be one of TLS10, TLS11, TLS12, TLS13"));
        }
    }
    match (any("cert"), any("key")) {
        (true, false) => Err(Invalid::new("key_file", "must be given with a certificate")),
        (false, true) => Err(Invalid::new("cert_file", "must be given with a key")),
        _ => Ok(()),
    }
}

fn check_proxy(client: &Map) -> Result<(), Invalid> {
    let from_environment = client.get("proxy_from_environment").is_some_and(is_true);
    let (url, no_proxy) = (given(client, "proxy_url"), given(client, "no_proxy"));
    let headers = given(client, "proxy_connect_header");
    match (from_environment, url, no_proxy) {
        (false, false, _) if headers => {
            Err(Invalid::new("proxy_connect_header", "needs proxy_url or proxy_from_environment"))
        }
        (true, true, _) => Err(together("proxy_url", "proxy_from_environment")),
        (true, _, true) => Err(together("no_proxy", "proxy_from_environment")),
        (_, false, true) => Err(Invalid::new("no_proxy", "needs proxy_url")),
        _ => Ok(()),
    }
}

fn together(one: &str, other: &str) -> Invalid {
    Invalid::new(one, format!("cannot be used together with {other}; remove one of them"))
}
