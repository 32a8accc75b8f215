//! Volumes and mounts, in the few forms the operator makes.

use k8s_openapi::api::core::v1::{
    ConfigMapVolumeSource, EmptyDirVolumeSource, ProjectedVolumeSource, SecretProjection, SecretVolumeSource,
    Volume, VolumeMount, VolumeProjection,
};

use crate::names::{NameError, volume_name};

pub(crate) fn secret(name: impl Into<String>, secret: impl Into<String>) -> Volume {
    let secret_name = Some(secret.into()).filter(|name| !name.is_empty());
    let source = SecretVolumeSource { secret_name, ..Default::default() };
    Volume { name: name.into(), secret: Some(source), ..Default::default() }
}

pub(crate) fn config_map(name: impl Into<String>, config_map: impl Into<String>) -> Volume {
    let source = ConfigMapVolumeSource { name: config_map.into(), ..Default::default() };
    Volume { name: name.into(), config_map: Some(source), ..Default::default() }
}

/// A ConfigMap of rules: the pod starts without it, and gets it when it is made.
pub(crate) fn rules(name: &str) -> Volume {
    let source = ConfigMapVolumeSource { name: name.to_owned(), optional: Some(true), ..Default::default() };
    Volume { name: name.to_owned(), config_map: Some(source), ..Default::default() }
}

pub(crate) fn empty_dir(name: impl Into<String>) -> Volume {
    Volume { name: name.into(), empty_dir: Some(EmptyDirVolumeSource::default()), ..Default::default() }
}

/// Never on a disk: what lies there holds secrets.
pub(crate) fn memory(name: impl Into<String>) -> Volume {
    let source = EmptyDirVolumeSource { medium: Some("Memory".to_owned()), ..Default::default() };
    Volume { name: name.into(), empty_dir: Some(source), ..Default::default() }
}

/// The Secrets that TLS material was divided among, in one directory.
pub(crate) fn tls_assets(secrets: &[String]) -> Volume {
    let source = |secret: &String| VolumeProjection {
        secret: Some(SecretProjection { name: secret.clone(), ..Default::default() }),
        ..Default::default()
    };
    projected("tls-assets", secrets.iter().map(source).collect())
}

pub(crate) fn projected(name: impl Into<String>, sources: Vec<VolumeProjection>) -> Volume {
    let source = ProjectedVolumeSource { sources: Some(sources), ..Default::default() };
    Volume { name: name.into(), projected: Some(source), ..Default::default() }
}

pub(crate) fn mount(name: impl Into<String>, path: impl Into<String>) -> VolumeMount {
    VolumeMount { name: name.into(), mount_path: path.into(), ..Default::default() }
}

pub(crate) fn mount_read_only(name: impl Into<String>, path: impl Into<String>) -> VolumeMount {
    VolumeMount { read_only: Some(true), ..mount(name, path) }
}

/// One file of a volume.
pub(crate) fn mount_file(name: &str, file: &str, path: impl Into<String>) -> VolumeMount {
    VolumeMount { sub_path: Some(file.to_owned()), ..mount_read_only(name, path) }
}

/// Secrets and ConfigMaps that a resource lists, each with its mount below a directory.
pub(crate) struct Listed {
    pub(crate) volumes: Vec<Volume>,
    pub(crate) mounts: Vec<VolumeMount>,
}

pub(crate) fn listed(
    secrets: &[String],
    config_maps: &[String],
    directory: &str,
) -> Result<Listed, (&'static str, NameError)> {
    let mut listed = Listed { volumes: Vec::new(), mounts: Vec::new() };
    for name in secrets {
        let volume = volume_name("secret", name).map_err(|error| ("secrets", error))?;
        listed.mounts.push(mount_read_only(&volume, format!("{directory}/secrets/{name}")));
        listed.volumes.push(secret(volume, name));
    }
    for name in config_maps {
        let volume = volume_name("configmap", name).map_err(|error| ("configMaps", error))?;
        listed.mounts.push(mount_read_only(&volume, format!("{directory}/configmaps/{name}")));
        listed.volumes.push(config_map(volume, name));
    }
    Ok(listed)
}
