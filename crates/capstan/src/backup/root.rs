//! How a restored etcd is asked although its users came with the backup: it is started with a certificate that is its user root.

use std::{fs, io::Write as _, path::Path};

use anyhow::{Context as _, Result};

/// Writes `ca.crt`, `tls.crt` and `tls.key`, for the server and for its client, to a directory that it creates.
pub(super) fn write(directory: &Path) -> Result<()> {
    use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
    let failed = || format!("cannot write to {}", directory.display());
    fs::DirBuilder::new().recursive(true).mode(0o700).create(directory).with_context(failed)?;
    for (name, text) in etcd_operator::certificate_of_root()? {
        let file = fs::OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(directory.join(name));
        file.and_then(|mut file| file.write_all(text.as_bytes())).with_context(failed)?;
    }
    Ok(())
}
