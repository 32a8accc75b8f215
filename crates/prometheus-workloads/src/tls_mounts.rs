//! TLS material of a web server, mounted as whole volumes: files that are mounted one by one never see a renewed certificate
//! (prometheus-operator#5527).

use k8s_openapi::api::core::v1::{SecretKeySelector, Volume, VolumeMount};
use prometheus_types::auth::SecretOrConfigMap;
use tls_assets::Reference;

use crate::names::unique_volume_name;
use crate::path::join;
use crate::volume;

pub(crate) struct TlsMounts<'a> {
    /// The directory below which everything is mounted.
    pub(crate) directory: String,
    /// What the volumes' names begin with.
    pub(crate) prefix: &'a str,
    pub(crate) key: &'a SecretKeySelector,
    pub(crate) cert: &'a SecretOrConfigMap,
    pub(crate) ca: &'a SecretOrConfigMap,
}

impl TlsMounts<'_> {
    pub(crate) fn volumes(&self) -> (Vec<Volume>, Vec<VolumeMount>) {
        let references =
            [(Some(self.key()), "key", "key"), (self.cert(), "cert", "cert"), (self.ca(), "client-ca", "ca")];
        references
            .into_iter()
            .filter_map(|(reference, role, directory)| Some((reference?, role, directory)))
            .map(|(reference, role, directory)| self.volume(reference, role, directory))
            .unzip()
    }

    /// Where the server finds its key, certificate and the authorities it trusts.
    pub(crate) fn key_file(&self) -> String {
        self.file(self.key(), "key")
    }

    pub(crate) fn cert_file(&self) -> Option<String> {
        self.cert().map(|cert| self.file(cert, "cert"))
    }

    pub(crate) fn ca_file(&self) -> Option<String> {
        self.ca().map(|ca| self.file(ca, "ca"))
    }

    /// Mounted even when the key is in a file: upstream's pods have it.
    fn key(&self) -> Reference<'_> {
        Reference::of_secret(self.key)
    }

    fn cert(&self) -> Option<Reference<'_>> {
        Reference::of(self.cert)
    }

    fn ca(&self) -> Option<Reference<'_>> {
        Reference::of(self.ca)
    }

    fn volume(&self, reference: Reference<'_>, role: &str, directory: &str) -> (Volume, VolumeMount) {
        let (volume_of, source, name): (fn(String, &str) -> Volume, _, _) = match reference {
            Reference::Secret { name, .. } => (|volume, name| volume::secret(volume, name), "secret", name),
            Reference::ConfigMap { name, .. } => {
                (|volume, name| volume::config_map(volume, name), "configmap", name)
            }
        };
        let volume = unique_volume_name(&format!("{}{source}-{role}-", self.prefix), name);
        let mount = volume::mount_read_only(&volume, self.directory(reference, directory));
        (volume_of(volume, name), mount)
    }

    fn directory(&self, reference: Reference<'_>, role: &str) -> String {
        let (source, name) = match reference {
            Reference::Secret { name, .. } => ("secret", name),
            Reference::ConfigMap { name, .. } => ("configmap", name),
        };
        join(&self.directory, &format!("{source}/{name}-{role}"))
    }

    fn file(&self, reference: Reference<'_>, role: &str) -> String {
        let (Reference::Secret { key, .. } | Reference::ConfigMap { key, .. }) = reference;
        join(&self.directory(reference, role), key)
    }
}
