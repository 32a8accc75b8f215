//! A certificate that somebody else renews, cert-manager for example, mounted as files.

use std::{fs, io, path::PathBuf, time::Duration};

use tokio_util::sync::CancellationToken;

use super::{
    certs::{CertError, certified, valid_until},
    slot::CertSlot,
};

/// The kubelet takes up to a minute to bring a changed Secret into a volume anyway.
const LOOK_EVERY: Duration = Duration::from_secs(10);

/// `tls.crt` and `tls.key` in a directory.
#[derive(Debug, Clone)]
pub struct Files {
    directory: PathBuf,
}

/// Why files cannot be served.
#[derive(Debug, thiserror::Error)]
enum FileError {
    #[error("cannot read {path}: {source}")]
    Read { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Certificate(#[from] CertError),
}

impl Files {
    /// The files in `directory`.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into() }
    }

    /// Keeps `slot` filled with what the files hold, until `stop`. Files that cannot be used are reported once, and what was
    /// served before goes on being served.
    pub async fn run(self, slot: CertSlot, stop: CancellationToken) {
        let mut served = None;
        let mut reported = None;
        let mut every = tokio::time::interval(LOOK_EVERY);
        while stop.run_until_cancelled(every.tick()).await.is_some() {
            let files = self.clone();
            let Ok(read) = tokio::task::spawn_blocking(move || files.read()).await else { continue };
            let put = match read {
                Ok(pair) if served.as_ref() == Some(&pair) => continue,
                Ok(pair) => pair.put(&slot).map(|()| served = Some(pair)).map_err(FileError::from),
                Err(error) => Err(error),
            };
            match put {
                Ok(()) => {
                    reported = None;
                    tracing::info!(directory = %self.directory.display(), "serving the certificate of the files");
                }
                Err(error) if reported.as_ref() == Some(&error.to_string()) => {}
                Err(error) => {
                    tracing::warn!("the certificate stays as it was: {error}");
                    reported = Some(error.to_string());
                }
            }
        }
    }

    fn read(&self) -> Result<Pair, FileError> {
        let read = |name| {
            let path = self.directory.join(name);
            fs::read_to_string(&path).map_err(|source| FileError::Read { path, source })
        };
        Ok(Pair { chain: read("tls.crt")?, key: read("tls.key")? })
    }
}

/// What the two files hold. No `Debug`: one of them is a key.
#[derive(PartialEq, Eq)]
struct Pair {
    chain: String,
    key: String,
}

impl Pair {
    /// Between the two reads the kubelet may have swapped the volume: then they do not fit, and the next look finds them whole.
    fn put(&self, slot: &CertSlot) -> Result<(), CertError> {
        slot.put(certified(&self.chain, &self.key)?, valid_until(&self.chain)?);
        Ok(())
    }
}
