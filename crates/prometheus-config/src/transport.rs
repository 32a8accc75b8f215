//! TLS and proxies of HTTP clients.

use std::borrow::Cow;

use prometheus_types::http::ProxyConfig;
use prometheus_types::scrape::ScrapeClass;
use prometheus_types::tls::{SafeTlsConfig, TlsConfig};
use rendering::{Map, Tree};
use tls_assets::Reference;

use crate::context::Scope;
use crate::gates::Field;

/// Where the TLS assets Secrets are mounted.
const ASSETS: &str = "/etc/prometheus/certs";

impl Scope<'_> {
    pub(crate) fn safe_tls(&self, tls: &SafeTlsConfig) -> Map {
        let mut map = Map::new();
        map.set_some("insecure_skip_verify", tls.insecure_skip_verify);
        map.set_some("ca_file", Reference::of(&tls.ca).map(|ca| self.asset(ca)));
        map.set_some("cert_file", Reference::of(&tls.cert).map(|cert| self.asset(cert)));
        map.set_some("key_file", tls.key_secret.as_ref().map(|key| self.asset(Reference::of_secret(key))));
        map.set_text("server_name", tls.server_name.as_deref().unwrap_or_default());
        self.known.put_some(
            &mut map,
            Field::TlsMinVersion,
            tls.min_version.as_ref().map(|version| Tree::text(version)),
        );
        self.known.put_some(
            &mut map,
            Field::TlsMaxVersion,
            tls.max_version.as_ref().map(|version| Tree::text(version)),
        );
        map
    }

    pub(crate) fn tls(&self, tls: &TlsConfig) -> Map {
        let mut map = self.safe_tls(&tls.safe);
        map.set_text("ca_file", &tls.ca_file)
            .set_text("cert_file", &tls.cert_file)
            .set_text("key_file", &tls.key_file);
        map
    }

    pub(crate) fn put_safe_tls(&self, map: &mut Map, tls: Option<&SafeTlsConfig>) {
        map.set_some("tls_config", tls.map(|tls| self.safe_tls(tls)));
    }

    pub(crate) fn put_tls(&self, map: &mut Map, tls: Option<&TlsConfig>) {
        map.set_some("tls_config", tls.map(|tls| self.tls(tls)));
    }

    fn asset(&self, reference: Reference<'_>) -> String {
        format!("{ASSETS}/{}", reference.file_name(self.namespace()))
    }

    pub(crate) fn put_proxy(&self, map: &mut Map, proxy: &ProxyConfig) {
        map.set_some("proxy_url", proxy.proxy_url.as_ref().map(|url| Tree::text(url)));
        self.known.put_some(map, Field::NoProxy, proxy.no_proxy.as_ref());
        self.known.put_some(map, Field::ProxyFromEnvironment, proxy.proxy_from_environment);
        if !proxy.proxy_connect_header.is_empty() && self.has(Field::ProxyConnectHeader) {
            let headers: Map = proxy
                .proxy_connect_header
                .iter()
                .map(|(name, values)| {
                    (name.clone(), values.iter().map(|value| self.secret_or_empty(value)).collect::<Tree>())
                })
                .collect();
            map.set(Field::ProxyConnectHeader.key(), headers);
        }
    }
}

/// A monitor's TLS, with the files of its class where it has none of its own.
pub(crate) fn tls_with_class<'a>(
    own: Option<&'a TlsConfig>,
    class: &'a ScrapeClass,
) -> Option<Cow<'a, TlsConfig>> {
    match (own, &class.tls_config) {
        (None, default) => default.as_ref().map(Cow::Borrowed),
        (Some(own), None) => Some(Cow::Borrowed(own)),
        (Some(own), Some(default)) => Some(Cow::Owned(merge(own.clone(), default))),
    }
}

/// The same for a monitor that may not name files.
pub(crate) fn safe_tls_with_class<'a>(
    own: Option<&SafeTlsConfig>,
    class: &'a ScrapeClass,
) -> Option<Cow<'a, TlsConfig>> {
    match own.filter(|own| **own != SafeTlsConfig::default()) {
        None => class.tls_config.as_ref().map(Cow::Borrowed),
        Some(own) => {
            let own = TlsConfig { safe: own.clone(), ..TlsConfig::default() };
            Some(Cow::Owned(match &class.tls_config {
                Some(default) => merge(own, default),
                None => own,
            }))
        }
    }
}

fn merge(mut own: TlsConfig, default: &TlsConfig) -> TlsConfig {
    if own.ca_file.is_empty() && Reference::of(&own.safe.ca).is_none() {
        own.ca_file.clone_from(&default.ca_file);
    }
    if own.cert_file.is_empty() && Reference::of(&own.safe.cert).is_none() {
        own.cert_file.clone_from(&default.cert_file);
    }
    if own.key_file.is_empty() && own.safe.key_secret.is_none() {
        own.key_file.clone_from(&default.key_file);
    }
    own
}
