//! HTTP clients in a configuration: what no program of the Prometheus family loads, wherever a client stands.
//!
//! Prometheus and Alertmanager read clients with the same library, so that these rules stand once. Source:
//! prometheus/common, `config/http_config.go`; they are the same in all versions that are supported.

use std::fmt;

use crate::{Map, Tree};

/// Ways to prove who one is, of which a client has one. Some count as soon as they are there, some when they say something.
const CREDENTIALS: &[(&str, Counts)] = &[
    ("authorization", Counts::Present),
    ("basic_auth", Counts::Present),
    ("oauth2", Counts::Present),
    ("bearer_token", Counts::Given),
    ("bearer_token_file", Counts::Given),
];

/// A value and the file that holds it, in one of the credentials.
const ONCE: &[(&str, &str, &str)] = &[
    ("authorization", "credentials", "credentials_file"),
    ("basic_auth", "username", "username_file"),
    ("basic_auth", "password", "password_file"),
    ("oauth2", "client_secret", "client_secret_file"),
];

/// Headers that the programs set themselves, in lower case.
pub const RESERVED_HEADERS: &[&str] = &[
    "authorization",
    "host",
    "content-encoding",
    "content-length",
    "content-type",
    "user-agent",
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "www-authenticate",
    "accept-encoding",
    "x-prometheus-remote-write-version",
    "x-prometheus-remote-read-version",
    "x-prometheus-scrape-timeout-seconds",
    "x-amz-date",
    "x-amz-security-token",
    "x-amz-content-sha256",
];

const TLS_VERSIONS: &[&str] = &["TLS10", "TLS11", "TLS12", "TLS13"];

#[derive(Clone, Copy, PartialEq)]
enum Counts {
    Present,
    Given,
}

/// A setting of a client that cannot stay as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientFault {
    /// Its path in the client, in the words of the configuration.
    pub path: String,
    pub problem: Problem,
}

/// What is wrong with a setting. Names are those of the configuration; users may know them by others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    Beside(&'static str),
    NeedsOneOf(&'static [&'static str]),
    Missing,
    WantsKey,
    WantsCertificate,
    Basic,
    Reserved,
    TlsVersion,
}

impl Problem {
    /// What to say to somebody who knows settings by the names that `name` gives them.
    pub fn said(&self, name: impl Fn(&str) -> String) -> String {
        let names = |list: &[&str]| list.iter().map(|key| name(key)).collect::<Vec<_>>().join(" or ");
        match self {
            Self::Beside(other) => {
                format!("cannot be used together with {}; remove one of them", name(other))
            }
            Self::NeedsOneOf(others) => format!("needs {}", names(others)),
            Self::Missing => "must be given".to_owned(),
            Self::WantsKey => "must be given with a certificate".to_owned(),
            Self::WantsCertificate => "must be given with a key".to_owned(),
            Self::Basic => format!("cannot be Basic; use {}", name("basic_auth")),
            Self::Reserved => "is set by the program itself; remove it".to_owned(),
            Self::TlsVersion => format!("must be one of {}", TLS_VERSIONS.join(", ")),
        }
    }
}

impl fmt::Display for ClientFault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.path, self.problem.said(str::to_owned))
    }
}

type Verdict = Result<(), ClientFault>;

fn refuse(path: impl Into<String>, problem: Problem) -> Verdict {
    Err(ClientFault { path: path.into(), problem })
}

/// Judges the settings of a client, which may stand among others.
pub fn check(client: &Map) -> Verdict {
    let counts = |(key, how): &&(&'static str, Counts)| match how {
        Counts::Present => client.get(key).is_some_and(|value| !value.is_null()),
        Counts::Given => client.given(key),
    };
    let mut proofs = CREDENTIALS.iter().filter(counts);
    if let (Some((one, _)), Some((other, _))) = (proofs.next(), proofs.next()) {
        return refuse(*other, Problem::Beside(one));
    }
    for (proof, value, file) in ONCE {
        let both = |proof: &Map| proof.given(value) && proof.given(file);
        if section(client, proof).is_some_and(both) {
            return refuse(format!("{proof}.{file}"), Problem::Beside(value));
        }
    }
    let scheme = section(client, "authorization").and_then(|header| header.get("type")?.as_str());
    if scheme.unwrap_or_default().trim().eq_ignore_ascii_case("basic") {
        return refuse("authorization.type", Problem::Basic);
    }
    check_transport(client)?;
    for (name, _) in section(client, "http_headers").into_iter().flat_map(Map::iter) {
        if RESERVED_HEADERS.contains(&name.to_ascii_lowercase().as_str()) {
            return refuse(format!("http_headers.{name}"), Problem::Reserved);
        }
    }
    let Some(oauth2) = section(client, "oauth2") else { return Ok(()) };
    let inside = |fault: ClientFault| ClientFault { path: format!("oauth2.{}", fault.path), ..fault };
    check_transport(oauth2).map_err(inside)?;
    match ["client_id", "token_url"].into_iter().find(|key| !oauth2.given(key)) {
        Some(key) => refuse(format!("oauth2.{key}"), Problem::Missing),
        None => Ok(()),
    }
}

/// Proxy and TLS, which the client that fetches tokens has as well.
fn check_transport(client: &Map) -> Verdict {
    let from_environment = client.get("proxy_from_environment").and_then(Tree::as_bool) == Some(true);
    let (url, no_proxy) = (client.given("proxy_url"), client.given("no_proxy"));
    match (from_environment, url, no_proxy) {
        (false, false, _) if client.given("proxy_connect_header") => {
            refuse("proxy_connect_header", Problem::NeedsOneOf(&["proxy_url", "proxy_from_environment"]))
        }
        (true, true, _) => refuse("proxy_url", Problem::Beside("proxy_from_environment")),
        (true, _, true) => refuse("no_proxy", Problem::Beside("proxy_from_environment")),
        (_, false, true) => refuse("no_proxy", Problem::NeedsOneOf(&["proxy_url"])),
        _ => Ok(()),
    }?;
    let tls = section(client, "tls_config").map_or(Ok(()), check_tls);
    tls.map_err(|fault| ClientFault { path: format!("tls_config.{}", fault.path), ..fault })
}

/// A certificate is of use with its key only.
pub fn check_tls(tls: &Map) -> Verdict {
    for (value, file) in [("ca", "ca_file"), ("cert", "cert_file"), ("key", "key_file")] {
        if tls.given(value) && tls.given(file) {
            return refuse(file, Problem::Beside(value));
        }
    }
    for key in ["min_version", "max_version"] {
        let version = tls.get(key).and_then(Tree::as_str).unwrap_or_default();
        if !version.is_empty() && !TLS_VERSIONS.contains(&version) {
            return refuse(key, Problem::TlsVersion);
        }
    }
    let any = |value: &str, file: &str| tls.given(value) || tls.given(file);
    match (any("cert", "cert_file"), any("key", "key_file")) {
        (true, false) => refuse("key_file", Problem::WantsKey),
        (false, true) => refuse("cert_file", Problem::WantsCertificate),
        _ => Ok(()),
    }
}

fn section<'a>(client: &'a Map, key: &str) -> Option<&'a Map> {
    client.get(key).and_then(Tree::as_map)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(yaml: &str) -> String {
        let Ok(Tree::Map(client)) = Tree::parse(yaml) else { panic!("no mapping") };
        check(&client).map_or_else(|fault| fault.to_string(), |()| "loads".into())
    }

    #[test]
    fn a_client_proves_itself_in_one_way() {
        for (client, verdict) in [
            ("{bearer_token: a, bearer_token_file: ''}", "loads"),
            ("{oauth2: {client_id: a, token_url: b}}", "loads"),
            (
                "{basic_auth: {}, bearer_token_file: a}",
                "bearer_token_file: cannot be used together with basic_auth; remove one of them",
            ),
            (
                "{authorization: {}, oauth2: {client_id: a, token_url: b}}",
                "oauth2: cannot be used together with authorization; remove one of them",
            ),
            ("{authorization: {type: ' bAsic'}}", "authorization.type: cannot be Basic; use basic_auth"),
            ("{oauth2: {token_url: b}}", "oauth2.client_id: must be given"),
            (
                "{basic_auth: {password: a, password_file: b}}",
                "basic_auth.password_file: cannot be used together with password; remove one of them",
            ),
        ] {
            assert_eq!(said(client), verdict, "{client}");
        }
    }

    #[test]
    fn a_proxy_comes_from_one_place_and_a_certificate_with_its_key() {
        for (client, verdict) in [
            ("{proxy_url: a, no_proxy: b, proxy_connect_header: {c: [d]}}", "loads"),
            ("{no_proxy: b}", "no_proxy: needs proxy_url"),
            (
                "{proxy_connect_header: {c: [d]}}",
                "proxy_connect_header: needs proxy_url or proxy_from_environment",
            ),
            (
                "{oauth2: {client_id: a, token_url: b, proxy_url: c, proxy_from_environment: true}}",
                "oauth2.proxy_url: cannot be used together with proxy_from_environment; remove one of them",
            ),
            ("{tls_config: {cert_file: a}}", "tls_config.key_file: must be given with a certificate"),
            (
                "{tls_config: {min_version: TLS1}}",
                "tls_config.min_version: must be one of TLS10, TLS11, TLS12, TLS13",
            ),
            (
                "{http_headers: {Host: {values: [a]}}}",
                "http_headers.Host: is set by the program itself; remove it",
            ),
        ] {
            assert_eq!(said(client), verdict, "{client}");
        }
    }
}
