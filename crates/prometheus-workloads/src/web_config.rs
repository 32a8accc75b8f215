//! The web server's configuration file: its contents, where it is mounted, and the TLS material beside it.

use k8s_openapi::api::core::v1::{Volume, VolumeMount};
use prometheus_types::http::{WebConfigFile, WebHttpConfig};
use prometheus_types::tls::WebTlsConfig;
use rendering::{Map, Tree};
use tls_assets::{InvalidTls, validate_web};

use crate::path::join;
use crate::tls_mounts::TlsMounts;
use crate::volume;

const VOLUME: &str = "web-config";
const FILE: &str = "web-config.yaml";

/// A checked configuration.
pub struct WebConfig<'a> {
    directory: &'a str,
    secret: String,
    fields: Option<&'a WebConfigFile>,
}

impl<'a> WebConfig<'a> {
    /// `secret` is the Secret that holds the file; `directory` is where it is mounted.
    pub fn new(
        directory: &'a str,
        secret: String,
        fields: Option<&'a WebConfigFile>,
    ) -> Result<Self, InvalidTls> {
        let config = Self { directory, secret, fields };
        config.tls().map_or(Ok(()), validate_web)?;
        Ok(config)
    }

    /// The path of the file, the value of `--web.config.file`.
    #[must_use]
    pub fn path(&self) -> String {
        join(self.directory, FILE)
    }

    /// Always there, so that turning TLS on needs no restart.
    #[must_use]
    pub fn mounts(&self) -> (Vec<Volume>, Vec<VolumeMount>) {
        let mut volumes = vec![volume::secret(VOLUME, &self.secret)];
        let mut mounts = vec![volume::mount_file(VOLUME, FILE, self.path())];
        if let Some(tls) = self.tls() {
            let (tls_volumes, tls_mounts) = self.tls_mounts(tls).volumes();
            volumes.extend(tls_volumes);
            mounts.extend(tls_mounts);
        }
        (volumes, mounts)
    }

    /// The file, empty when nothing is configured. Source: Prometheus' documentation "HTTPS and authentication".
    #[must_use]
    pub fn file(&self) -> String {
        let http = self.fields.and_then(|fields| fields.http_config.as_ref());
        let file = Map::new()
            .with_some("tls_server_config", self.tls().map(|tls| server(tls, &self.tls_mounts(tls))))
            .with_some("http_server_config", http.map(http_server));
        if file.is_empty() { String::new() } else { file.to_yaml() }
    }

    fn tls(&self) -> Option<&'a WebTlsConfig> {
        self.fields.and_then(|fields| fields.tls_config.as_ref())
    }

    fn tls_mounts(&self, tls: &'a WebTlsConfig) -> TlsMounts<'a> {
        TlsMounts {
            directory: self.directory.to_owned(),
            prefix: "web-config-tls-",
            key: &tls.key_secret,
            cert: &tls.cert,
            ca: &tls.client_ca,
        }
    }
}

/// A server's TLS, with the files that a resource names or those that are mounted.
pub(crate) fn server(tls: &WebTlsConfig, mounts: &TlsMounts<'_>) -> Map {
    let named = |file: &Option<String>| file.clone().filter(|file| !file.is_empty());
    let texts = |texts: &[String]| {
        (!texts.is_empty()).then(|| Tree::List(texts.iter().map(|text| Tree::text(text)).collect()))
    };
    Map::new()
        .with_some("cert_file", named(&tls.cert_file).or_else(|| mounts.cert_file()))
        .with("key_file", named(&tls.key_file).unwrap_or_else(|| mounts.key_file()))
        .with_some("client_auth_type", named(&tls.client_auth_type))
        .with_some("client_ca_file", named(&tls.client_ca_file).or_else(|| mounts.ca_file()))
        .with_some("min_version", named(&tls.min_version))
        .with_some("max_version", named(&tls.max_version))
        .with_some("cipher_suites", texts(&tls.cipher_suites))
        .with_some("prefer_server_cipher_suites", tls.prefer_server_cipher_suites)
        .with_some("curve_preferences", texts(&tls.curve_preferences))
}

fn http_server(http: &WebHttpConfig) -> Map {
    let headers = http.headers.as_ref().map(|headers| {
        let mut map = Map::new();
        map.set_text("Content-Security-Policy", &headers.content_security_policy)
            .set_text("Strict-Transport-Security", &headers.strict_transport_security)
            .set_text("X-Content-Type-Options", &headers.x_content_type_options.to_lowercase())
            .set_text("X-Frame-Options", &headers.x_frame_options.to_lowercase())
            .set_text("X-XSS-Protection", &headers.x_xss_protection);
        map
    });
    Map::new().with_some("http2", http.http2).with_some("headers", headers)
}
