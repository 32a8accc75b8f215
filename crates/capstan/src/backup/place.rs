//! Where backups are, by flags; the same for every command.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::Args;
use etcd_backup::{Key, Store, Target};

use super::read;

#[derive(Debug, Clone, Args)]
pub(crate) struct Place {
    /// Where: s3://bucket/prefix, gs://bucket/prefix, az://container/prefix or file:///directory.
    #[arg(value_name = "STORE")]
    url: String,
    /// Another server than the cloud's own, such as that of a store that speaks S3.
    #[arg(long, value_name = "URL", help_heading = "Store")]
    server: Option<String>,
    #[arg(long, value_name = "NAME", help_heading = "Store")]
    region: Option<String>,
    /// The bucket is in the host's name, as AWS wants it; else in the path.
    #[arg(long, help_heading = "Store")]
    virtual_host_style: bool,
    /// Ask the store to encrypt: AES256, or aws:kms.
    #[arg(long, value_name = "HOW", help_heading = "Store")]
    server_side_encryption: Option<String>,
    /// The store's key for it.
    #[arg(long, value_name = "KEY", help_heading = "Store")]
    kms_key: Option<String>,
    /// The authorities of the store's certificate, as PEM.
    #[arg(long, value_name = "FILE", help_heading = "Store")]
    ca_file: Option<PathBuf>,
    /// A directory with a file per credential (accessKeyID, secretAccessKey …), as a Secret is mounted [default: the identity that the
    /// platform gives, or the environment that the store's own tools read].
    #[arg(long, value_name = "DIR", help_heading = "Store")]
    credentials: Option<PathBuf>,
    /// The key that backups are encrypted with: 32 bytes, raw or in base64.
    #[arg(long, value_name = "FILE", help_heading = "Store")]
    key_file: Option<PathBuf>,
}

impl Place {
    pub(super) fn open(&self) -> Result<Store> {
        let target = Target {
            url: self.url.clone(),
            endpoint: self.server.clone(),
            region: self.region.clone(),
            virtual_host_style: self.virtual_host_style,
            server_side_encryption: self.server_side_encryption.clone(),
            kms_key: self.kms_key.clone(),
            ca_file: self.ca_file.clone(),
            credentials: self.credentials.clone(),
        };
        Ok(target.open()?)
    }

    /// A directory that is to hold backups is made; a bucket is not ours to make.
    pub(super) fn prepare(&self) -> Result<()> {
        let Some(directory) = self.url.strip_prefix("file://") else { return Ok(()) };
        std::fs::create_dir_all(directory).with_context(|| format!("cannot make the directory {directory}"))
    }

    pub(super) fn key(&self) -> Result<Option<Key>> {
        let Some(file) = &self.key_file else { return Ok(None) };
        let key = Key::parse(&read(file)?).with_context(|| format!("{}", file.display()))?;
        Ok(Some(key))
    }
}
