//! Mutual TLS between the members of an Alertmanager cluster: one file with a server's and a client's part.

use k8s_openapi::api::core::v1::{SecretKeySelector, Volume, VolumeMount};
use prometheus_types::tls::ClusterTlsConfig;
use rendering::Map;
use tls_assets::{InvalidTls, validate_safe, validate_web};

use crate::path::join;
use crate::tls_mounts::TlsMounts;
use crate::volume;
use crate::web_config::server;

const VOLUME: &str = "cluster-tls-config";
const FILE: &str = "cluster-tls-config.yaml";

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidClusterTls {
    #[error("server: {0}")]
    Server(InvalidTls),
    #[error("client: {0}")]
    Client(InvalidTls),
    #[error("client.cert and client.keySecret are missing: members prove themselves to each other, set both")]
    NoClientCertificate,
}

/// A checked configuration; nothing but an empty file when the resource has none.
pub struct ClusterTls<'a> {
    directory: &'a str,
    secret: String,
    pair: Option<Pair<'a>>,
}

struct Pair<'a> {
    config: &'a ClusterTlsConfig,
    client_key: &'a SecretKeySelector,
}

impl<'a> ClusterTls<'a> {
    /// For the Alertmanager `name`; `directory` is where the file is mounted.
    pub fn new(
        directory: &'a str,
        name: &str,
        config: Option<&'a ClusterTlsConfig>,
    ) -> Result<Self, InvalidClusterTls> {
        let pair = config.map(Pair::check).transpose()?;
        Ok(Self { directory, secret: format!("alertmanager-{name}-cluster-tls-config"), pair })
    }

    #[must_use]
    pub fn secret_name(&self) -> &str {
        &self.secret
    }

    /// The value of `--cluster.tls-config`, which is not given without configuration.
    #[must_use]
    pub fn path(&self) -> Option<String> {
        self.pair.as_ref().map(|_| join(self.directory, FILE))
    }

    #[must_use]
    pub fn mounts(&self) -> (Vec<Volume>, Vec<VolumeMount>) {
        let mut volumes = vec![volume::secret(VOLUME, &self.secret)];
        let mut mounts = vec![volume::mount_file(VOLUME, FILE, join(self.directory, FILE))];
        if let Some(pair) = &self.pair {
            for part in [pair.server(self.directory), pair.client(self.directory)] {
                let (part_volumes, part_mounts) = part.volumes();
                volumes.extend(part_volumes);
                mounts.extend(part_mounts);
            }
        }
        (volumes, mounts)
    }

    /// The file. Source: Alertmanager's documentation "HTTPS and authentication", gossip traffic.
    #[must_use]
    pub fn file(&self) -> String {
        let Some(pair) = &self.pair else { return String::new() };
        let (tls, files) = (&pair.config.client, pair.client(self.directory));
        let client = Map::new()
            .with("key_file", files.key_file())
            .with_some("cert_file", files.cert_file())
            .with_some("ca_file", files.ca_file())
            .with_some("server_name", tls.server_name.clone())
            .with_some("insecure_skip_verify", tls.insecure_skip_verify);
        Map::new()
            .with("tls_server_config", server(&pair.config.server, &pair.server(self.directory)))
            .with("tls_client_config", client)
            .to_yaml()
    }
}

impl<'a> Pair<'a> {
    fn check(config: &'a ClusterTlsConfig) -> Result<Self, InvalidClusterTls> {
        validate_web(&config.server).map_err(InvalidClusterTls::Server)?;
        validate_safe(&config.client).map_err(InvalidClusterTls::Client)?;
        let client_key = config.client.key_secret.as_ref().ok_or(InvalidClusterTls::NoClientCertificate)?;
        Ok(Self { config, client_key })
    }

    fn server(&self, directory: &str) -> TlsMounts<'a> {
        let tls = &self.config.server;
        TlsMounts {
            directory: join(directory, "server_tls"),
            prefix: "cluster-tls-server-config-",
            key: &tls.key_secret,
            cert: &tls.cert,
            ca: &tls.client_ca,
        }
    }

    fn client(&self, directory: &str) -> TlsMounts<'a> {
        let tls = &self.config.client;
        TlsMounts {
            directory: join(directory, "client_tls"),
            prefix: "cluster-tls-client-config-",
            key: self.client_key,
            cert: &tls.cert,
            ca: &tls.ca,
        }
    }
}
