//! Alertmanager's volumes and their mounts.

use k8s_openapi::api::core::v1::{
    ConfigMapProjection, KeyToPath, SecretProjection, Volume, VolumeMount, VolumeProjection,
};
use prometheus_types::auth::SecretOrConfigMap;

use super::Instance;
use crate::WorkloadError;
use crate::arguments::Arguments;
use crate::cluster_tls::ClusterTls;
use crate::storage;
use crate::volume::{listed, memory, mount, mount_read_only, projected, secret, tls_assets};
use crate::web_config::WebConfig;

const CONFIG: &str = "/etc/alertmanager/config";
const CONFIG_OUT: &str = "/etc/alertmanager/config_out";
const TEMPLATES: &str = "/etc/alertmanager/templates";

/// Volumes of the pod, mounts of Alertmanager's container and of the reloader's, and what the reloader watches.
pub(super) struct Volumes {
    pub(super) volumes: Vec<Volume>,
    pub(super) mounts: Vec<VolumeMount>,
    pub(super) reloader: Vec<VolumeMount>,
    pub(super) watched: Vec<String>,
}

impl Instance<'_> {
    pub(super) fn volumes(&self, tls_asset_secrets: &[String]) -> Result<Volumes, WorkloadError> {
        let (spec, fields) = (self.spec, &self.spec.pod);
        let mut all = Volumes {
            volumes: vec![
                secret("config-volume", format!("{}-generated", self.prefixed_name())),
                tls_assets(tls_asset_secrets),
                memory("config-out"),
            ],
            mounts: vec![
                mount("config-volume", CONFIG),
                mount_read_only("config-out", CONFIG_OUT),
                mount_read_only("tls-assets", "/etc/alertmanager/certs"),
                storage::mount(
                    fields.storage.as_ref(),
                    &self.data_volume(),
                    "/alertmanager",
                    Some("alertmanager-db"),
                ),
            ],
            reloader: vec![mount_read_only("config-volume", CONFIG), mount("config-out", CONFIG_OUT)],
            watched: vec![CONFIG.to_owned()],
        };
        let templates = spec
            .alertmanager_configuration
            .as_ref()
            .map_or(&[][..], |configuration| &configuration.templates);
        if !templates.is_empty() {
            all.volumes.push(projected("notification-templates", projections(templates)));
            all.share(mount_read_only("notification-templates", TEMPLATES));
        }
        let listed = listed(&spec.secrets, &spec.config_maps, "/etc/alertmanager")
            .map_err(|(field, source)| WorkloadError::Name { field, source })?;
        all.volumes.extend(listed.volumes);
        listed.mounts.into_iter().for_each(|mount| all.share(mount));
        all.mounts.extend_from_slice(&fields.volume_mounts);
        Ok(all)
    }

    /// The web server's file, mounted for every version that knows it; its path.
    pub(super) fn add_web_config(
        &self,
        arguments: &mut Arguments<'_>,
        all: &mut Volumes,
    ) -> Result<Option<String>, WorkloadError> {
        if !arguments.knows("web.config.file") {
            return Ok(None);
        }
        let secret = format!("{}-web-config", self.prefixed_name());
        let fields = self.spec.web.as_ref().map(|web| &web.file);
        let web_config = WebConfig::new("/etc/alertmanager/web_config", secret, fields)?;
        arguments.value("web.config.file", web_config.path());
        let (volumes, mounts) = web_config.mounts();
        all.volumes.extend(volumes);
        all.mounts.extend_from_slice(&mounts);
        all.reloader.extend(mounts);
        Ok(Some(web_config.path()))
    }

    /// The file of the cluster's TLS, mounted for every version that knows it.
    pub(super) fn add_cluster_tls(
        &self,
        arguments: &mut Arguments<'_>,
        all: &mut Volumes,
    ) -> Result<(), WorkloadError> {
        if arguments.knows("cluster.tls-config") {
            let config = self.spec.cluster_tls.as_ref();
            let cluster_tls = ClusterTls::new("/etc/alertmanager/cluster_tls_config", self.name, config)?;
            arguments.some("cluster.tls-config", cluster_tls.path());
            let (volumes, mounts) = cluster_tls.mounts();
            all.volumes.extend(volumes);
            all.mounts.extend(mounts);
        }
        Ok(())
    }
}

impl Volumes {
    /// Alertmanager reads it, and reads it again when it changes.
    fn share(&mut self, mount: VolumeMount) {
        self.watched.push(mount.mount_path.clone());
        self.reloader.push(mount.clone());
        self.mounts.push(mount);
    }
}

/// Templates lie in one directory under the names of their keys; of two with one name the first counts.
fn projections(templates: &[SecretOrConfigMap]) -> Vec<VolumeProjection> {
    let mut taken: Vec<&str> = Vec::new();
    let mut sources = Vec::new();
    for template in templates {
        if let Some(map) = &template.config_map {
            if taken.contains(&map.key.as_str()) {
                continue;
            }
            taken.push(&map.key);
            let config_map =
                ConfigMapProjection { name: map.name.clone(), items: item(&map.key), ..Default::default() };
            sources.push(VolumeProjection { config_map: Some(config_map), ..Default::default() });
        }
        if let Some(given) = &template.secret
            && !taken.contains(&given.key.as_str())
        {
            taken.push(&given.key);
            let secret =
                SecretProjection { name: given.name.clone(), items: item(&given.key), ..Default::default() };
            sources.push(VolumeProjection { secret: Some(secret), ..Default::default() });
        }
    }
    sources
}

fn item(key: &str) -> Option<Vec<KeyToPath>> {
    Some(vec![KeyToPath { key: key.to_owned(), path: key.to_owned(), ..Default::default() }])
}
