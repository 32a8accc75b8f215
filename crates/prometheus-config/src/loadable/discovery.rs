//! What Prometheus refuses in the discoveries of a job: a table, a row each.

use go_syntax::url;
use rendering::{Gate, Map, Tree, since, since_candidates};

use super::{Loader, Verdict, check_address, check_duration, list, map, refuse, rejected, text};
use crate::validate::Rejected;
use crate::validate::discovery::SELECTORS;
use crate::validate::label_syntax::{check_field_selector, check_label_selector, is_label_name};

/// The client of these discoveries is judged as any other client.
const JUDGED_CLIENT: Gate = since("2.48.0");
/// Records of name servers.
const DNS_NS: Gate = since("2.49.0");
/// Pods can be selected by their node.
const PODS_BY_NODE: Gate = since("3.11.0");

/// Keys that are written for every version, and the versions that know them. An older one would take none of the configuration;
/// without the key it would find other targets than were asked for.
const KEYS: &[(&str, &str, Gate)] = &[
    ("consul_sd_configs", "filter", since_candidates("3.0.0")),
    ("consul_sd_configs", "health_filter", since("3.11.2")),
    ("kuma_sd_configs", "client_id", since("2.50.0")),
    ("linode_sd_configs", "region", since("2.52.0")),
];

/// One discovery: what must be there, whose client is judged since when, and what else holds.
struct Row {
    key: &'static str,
    needs: &'static [&'static str],
    client: Option<Gate>,
    check: fn(&Map, &Loader<'_>) -> Verdict,
}

const fn row(
    key: &'static str,
    needs: &'static [&'static str],
    check: fn(&Map, &Loader<'_>) -> Verdict,
) -> Row {
    Row { key, needs, client: Some(Gate::Always), check }
}

impl Row {
    const fn client(mut self, since: Option<Gate>) -> Self {
        self.client = since;
        self
    }
}

/// The discoveries, in the order of Prometheus' documentation.
const ROWS: &[Row] = &[
    row("azure_sd_configs", &["subscription_id"], azure).client(Some(JUDGED_CLIENT)),
    row("consul_sd_configs", &[], consul),
    row("digitalocean_sd_configs", &[], nothing),
    row("docker_sd_configs", &["host"], |entry, _| check_address(entry, "host")),
    row("dockerswarm_sd_configs", &["host", "role"], |entry, _| check_address(entry, "host")),
    row("dns_sd_configs", &["names"], dns).client(None),
    row("ec2_sd_configs", &[], filters).client(Some(JUDGED_CLIENT)),
    row("openstack_sd_configs", &["role", "region"], nothing).client(None),
    row(
        "ovhcloud_sd_configs",
        &["application_key", "application_secret", "consumer_key", "service"],
        ovhcloud,
    )
    .client(None),
    row("puppetdb_sd_configs", &["query"], web_address).client(Some(JUDGED_CLIENT)),
    row("file_sd_configs", &["files"], files).client(None),
    row("gce_sd_configs", &["project", "zone"], nothing).client(None),
    row("hetzner_sd_configs", &["role"], nothing),
    row("http_sd_configs", &[], web_address).client(Some(JUDGED_CLIENT)),
    row("ionos_sd_configs", &["datacenter_id"], nothing),
    row("kubernetes_sd_configs", &["role"], kubernetes),
    row("kuma_sd_configs", &[], server),
    row("lightsail_sd_configs", &[], nothing).client(Some(JUDGED_CLIENT)),
    row("linode_sd_configs", &[], nothing),
    row("eureka_sd_configs", &[], server),
    row("nomad_sd_configs", &[], blank_server),
    row("scaleway_sd_configs", &[], scaleway),
    row("static_configs", &[], labels).client(None),
];

/// Judges all discoveries of a job.
pub(super) fn check(job: &Map, loader: &Loader<'_>) -> Verdict {
    for (key, entries) in job.iter() {
        let (Some(row), Some(entries)) = (ROWS.iter().find(|row| row.key == key), entries.as_list()) else {
            continue;
        };
        for (at, entry) in entries.iter().enumerate() {
            let Some(entry) = entry.as_map() else { continue };
            row.check(entry, loader).map_err(|error| error.within(&format!("{key}[{at}]")))?;
        }
    }
    Ok(())
}

impl Row {
    fn check(&self, entry: &Map, loader: &Loader<'_>) -> Verdict {
        if let Some(key) = self.needs.iter().find(|key| !entry.given(key)) {
            return refuse(*key, "must be given");
        }
        let unknown = |(discovery, key, gate): &&(&str, &str, Gate)| {
            *discovery == self.key && entry.contains_key(key) && !gate.admits(loader.version)
        };
        if let Some((_, key, Gate::Since(first) | Gate::SinceCandidates(first))) = KEYS.iter().find(unknown) {
            return refuse(*key, format!("needs Prometheus {first}; raise spec.version or remove it"));
        }
        for key in ["refresh_interval", "fetch_timeout"] {
            check_duration(entry, key)?;
        }
        match self.client {
            Some(since) if since.admits(loader.version) => loader.client(entry)?,
            // TLS is judged wherever it stands.
            _ => map(entry, "tls_config")
                .map_or(Ok(()), rendering::client::check_tls)
                .map_err(|fault| rejected(fault).within("tls_config"))?,
        }
        (self.check)(entry, loader)
    }
}

fn nothing(_: &Map, _: &Loader<'_>) -> Verdict {
    Ok(())
}

fn azure(entry: &Map, _: &Loader<'_>) -> Verdict {
    if !matches!(text(entry, "authentication_method"), "" | "OAuth") {
        return Ok(());
    }
    match ["tenant_id", "client_id", "client_secret"].into_iter().find(|key| !entry.given(key)) {
        Some(key) => refuse(key, "authenticationMethod OAuth needs it"),
        None => Ok(()),
    }
}

fn consul(entry: &Map, _: &Loader<'_>) -> Verdict {
    if text(entry, "server").trim().is_empty() {
        return refuse("server", "must be given");
    }
    let others = ["authorization", "oauth2"].into_iter().find(|key| entry.contains_key(key));
    match others.filter(|_| entry.given("token")) {
        Some(other) => refuse("token", format!("cannot be used together with {other}; remove one of them")),
        None => Ok(()),
    }
}

fn dns(entry: &Map, loader: &Loader<'_>) -> Verdict {
    let record = text(entry, "type").to_ascii_uppercase();
    match record.as_str() {
        "" | "SRV" => Ok(()),
        "NS" if !DNS_NS.admits(loader.version) => {
            refuse("type", "NS needs Prometheus 2.49.0; raise spec.version")
        }
        _ if !entry.given("port") => {
            refuse("port", format!("records of type {record} carry no port; give one"))
        }
        _ => Ok(()),
    }
}

fn filters(entry: &Map, _: &Loader<'_>) -> Verdict {
    match list(entry, "filters")
        .iter()
        .position(|filter| filter.as_map().is_some_and(|filter| !filter.given("values")))
    {
        Some(at) => refuse(format!("filters[{at}].values"), "must not be empty"),
        None => Ok(()),
    }
}

/// Its place has a default, which an empty text is not.
fn ovhcloud(entry: &Map, _: &Loader<'_>) -> Verdict {
    match entry.contains_key("endpoint") && !entry.given("endpoint") {
        true => refuse("endpoint", "must not be empty; remove it for the default"),
        false => Ok(()),
    }
}

fn web_address(entry: &Map, _: &Loader<'_>) -> Verdict {
    let address = url::parse(text(entry, "url")).map_err(|error| Rejected::new("url", error))?;
    match matches!(address.scheme.as_str(), "http" | "https") && !address.host.is_empty() {
        true => Ok(()),
        false => refuse("url", "must begin with http:// or https:// and have a host"),
    }
}

fn server(entry: &Map, _: &Loader<'_>) -> Verdict {
    let address = url::parse(text(entry, "server")).map_err(|error| Rejected::new("server", error))?;
    match address.scheme.is_empty() || address.host.is_empty() {
        true => refuse("server", "needs a scheme and a host, as in http://host:8080"),
        false => Ok(()),
    }
}

fn blank_server(entry: &Map, _: &Loader<'_>) -> Verdict {
    match text(entry, "server").trim().is_empty() {
        true => refuse("server", "must be given"),
        false => Ok(()),
    }
}

/// `*` stands in the name of the file only, which ends as a file of targets does.
fn files(entry: &Map, _: &Loader<'_>) -> Verdict {
    let is_path = |path: &str| {
        let stem = ["json", "yml", "yaml", "JSON", "YML", "YAML"]
            .into_iter()
            .find_map(|end| path.strip_suffix(end)?.strip_suffix('.'));
        stem.is_some_and(|stem| stem.split_once('*').is_none_or(|(_, rest)| !rest.contains('/')))
    };
    match list(entry, "files").iter().filter_map(Tree::as_str).find(|path| !is_path(path)) {
        Some(path) => refuse(
            "files",
            format!("{path:?} must end in .json, .yml or .yaml, with * in its last part only"),
        ),
        None => Ok(()),
    }
}

fn labels(entry: &Map, loader: &Loader<'_>) -> Verdict {
    let utf8 = since("3.0.0").admits(loader.version);
    let labels = map(entry, "labels").into_iter().flat_map(Map::iter);
    match labels.map(|(name, _)| name).find(|name| !is_label_name(name, utf8)) {
        Some(name) => refuse("labels", format!("{name:?} is no name of a label")),
        None => Ok(()),
    }
}

/// The forms in which Scaleway gives out keys. Source: scaleway-sdk-go, `validation/is.go`.
fn scaleway(entry: &Map, _: &Loader<'_>) -> Verdict {
    let upper = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit();
    let access = text(entry, "access_key").strip_prefix("SCW");
    if !access.is_some_and(|key| key.len() == 17 && key.bytes().all(upper)) {
        return refuse(
            "access_key",
            "must be SCW and 17 upper-case letters or digits, as Scaleway gives it out",
        );
    }
    for key in ["secret_key", "project_id"] {
        if !is_uuid(text(entry, key)) {
            return refuse(key, "must be a UUID, as Scaleway gives it out");
        }
    }
    let zone = entry.get("zone").and_then(Tree::as_str);
    if zone.is_some_and(|zone| !is_zone(zone)) {
        return refuse("zone", "must be as in fr-par-1");
    }
    match entry.get("api_url").and_then(Tree::as_str) {
        None => Ok(()),
        Some(address) if address.is_empty() || address.ends_with('/') => {
            refuse("api_url", "must be an address that does not end in a slash")
        }
        Some(_) => check_address(entry, "api_url"),
    }
}

fn is_uuid(text: &str) -> bool {
    let dash = |at| matches!(at, 8 | 13 | 18 | 23);
    text.len() == 36
        && text
            .bytes()
            .enumerate()
            .all(|(at, byte)| if dash(at) { byte == b'-' } else { byte.is_ascii_hexdigit() })
}

/// Country, city, number.
fn is_zone(zone: &str) -> bool {
    let lower = |word: &str, lengths: std::ops::RangeInclusive<usize>| {
        lengths.contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_lowercase())
    };
    let mut parts = zone.split('-');
    match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some(country), Some(city), Some(number), None) => {
            lower(country, 2..=2)
                && lower(city, 3..=7)
                && (1..=2).contains(&number.len())
                && number.bytes().all(|byte| byte.is_ascii_digit())
        }
        _ => false,
    }
}

/// One entry of `kubernetes_sd_configs`.
pub(super) fn check_kubernetes(entry: &Map, loader: &Loader<'_>) -> Verdict {
    loader.client(entry).and_then(|()| kubernetes(entry, loader))
}

fn kubernetes(entry: &Map, loader: &Loader<'_>) -> Verdict {
    check_address(entry, "api_server")?;
    let elsewhere = entry.contains_key("api_server");
    if !elsewhere && let Some(setting) = own_client(entry) {
        return refuse(setting, "is for another API server; give apiServer, or remove it");
    }
    let own = map(entry, "namespaces").is_some_and(|namespaces| namespaces.given("own_namespace"));
    if elsewhere && own {
        return refuse("namespaces.own_namespace", "has no meaning beside apiServer; remove one of them");
    }
    let role = text(entry, "role");
    let Some((_, allowed)) = SELECTORS.iter().find(|(name, _)| *name == role) else {
        return refuse("role", format!("{role:?} is no role"));
    };
    let by_node = |selected: &str| role == "pod" && selected == "node" && PODS_BY_NODE.admits(loader.version);
    let selectors: Vec<&Map> = list(entry, "selectors").iter().filter_map(Tree::as_map).collect();
    for (at, selector) in selectors.iter().enumerate() {
        let selected = text(selector, "role");
        if selectors.iter().take(at).any(|earlier| text(earlier, "role") == selected) {
            return refuse("selectors", format!("has two for role {selected}; make them one"));
        }
        if !allowed.contains(&selected) && !by_node(selected) {
            return refuse("selectors", format!("role {role} takes selectors of {}", allowed.join(", ")));
        }
        check_field_selector(text(selector, "field")).map_err(|why| Rejected::new("selectors", why))?;
        check_label_selector(text(selector, "label")).map_err(|why| Rejected::new("selectors", why))?;
    }
    Ok(())
}

/// A setting of the client that differs from what Prometheus uses within its own cluster.
fn own_client(entry: &Map) -> Option<&'static str> {
    const PRESENT: &[&str] = &["basic_auth", "authorization", "oauth2", "proxy_url", "proxy_connect_header"];
    const GIVEN: &[&str] = &["bearer_token", "bearer_token_file", "no_proxy", "proxy_from_environment"];
    let present = PRESENT.iter().find(|key| entry.contains_key(key));
    let given = || GIVEN.iter().find(|key| entry.given(key));
    let refused = || {
        ["follow_redirects", "enable_http2"]
            .iter()
            .find(|key| entry.get(key).and_then(Tree::as_bool) == Some(false))
    };
    let tls = || {
        let says =
            map(entry, "tls_config").is_some_and(|tls| tls.iter().any(|(_, value)| !value.says_nothing()));
        says.then_some(&"tls_config")
    };
    present.or_else(given).or_else(refused).or_else(tls).copied()
}
