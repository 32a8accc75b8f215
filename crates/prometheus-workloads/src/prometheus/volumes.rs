//! Volumes that Prometheus has as server and as agent alike, and their mounts.

use k8s_openapi::api::core::v1::{Volume, VolumeMount};

use super::instance::Instance;
use crate::WorkloadError;
use crate::arguments::Arguments;
use crate::path::is_bare;
use crate::volume::{empty_dir, listed, memory, mount, mount_read_only, secret, tls_assets};
use crate::web_config::WebConfig;

pub(super) const DATA: &str = "/prometheus";
/// The directory of the data volume in which they lie.
pub(super) const DATA_DIRECTORY: &str = "prometheus-db";
const LOGS: &str = "log-file";
const LOG_DIRECTORY: &str = "/var/log/prometheus";

/// Volumes of the pod, mounts of Prometheus' container and of the reloader's.
pub(super) struct Volumes {
    pub(super) volumes: Vec<Volume>,
    pub(super) mounts: Vec<VolumeMount>,
    pub(super) reloader: Vec<VolumeMount>,
}

impl Instance<'_> {
    /// `data` is the mount of the data; a DaemonSet has none.
    pub(super) fn volumes(
        &self,
        tls_asset_secrets: &[String],
        data: Option<VolumeMount>,
    ) -> Result<Volumes, WorkloadError> {
        let mut volumes =
            vec![secret("config", self.prefixed_name()), tls_assets(tls_asset_secrets), memory("config-out")];
        let mut mounts = vec![
            mount_read_only("config-out", "/etc/prometheus/config_out"),
            mount_read_only("tls-assets", "/etc/prometheus/certs"),
        ];
        mounts.extend(data);
        mounts.extend_from_slice(&self.fields.volume_mounts);
        let listed = listed(&self.common.secrets, &self.common.config_maps, "/etc/prometheus")
            .map_err(|(field, source)| WorkloadError::Name { field, source })?;
        volumes.extend(listed.volumes);
        mounts.extend(listed.mounts);
        let mut all = Volumes {
            volumes,
            mounts,
            reloader: vec![
                mount("config", "/etc/prometheus/config"),
                mount("config-out", "/etc/prometheus/config_out"),
            ],
        };
        if self.common.scrape_failure_log_file.as_deref().is_some_and(is_bare) {
            all.volumes.push(log_volume());
            all.mounts.push(log_mount());
        }
        Ok(all)
    }
}

impl Instance<'_> {
    /// The web server's file is mounted for every version that knows it; the path comes back when the reloader serves by it, too.
    pub(super) fn add_web_config(
        &self,
        arguments: &mut Arguments<'_>,
        all: &mut Volumes,
        reloader_serves: bool,
    ) -> Result<Option<String>, WorkloadError> {
        if !arguments.knows("web.config.file") {
            return Ok(None);
        }
        let secret = format!("{}-web-config", self.prefixed_name());
        let fields = self.common.web.as_ref().map(|web| &web.file);
        let web_config = WebConfig::new("/etc/prometheus/web_config", secret, fields)?;
        arguments.value("web.config.file", web_config.path());
        let (volumes, mounts) = web_config.mounts();
        all.volumes.extend(volumes);
        all.mounts.extend_from_slice(&mounts);
        if reloader_serves {
            all.reloader.extend(mounts);
        }
        Ok(reloader_serves.then(|| web_config.path()))
    }
}

/// Where log files with a bare name go: the root file system cannot be written to.
pub(super) fn log_volume() -> Volume {
    empty_dir(LOGS)
}

pub(super) fn log_mount() -> VolumeMount {
    mount(LOGS, LOG_DIRECTORY)
}
