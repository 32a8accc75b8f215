//! How the server behaves: honestly, or as a store does that loses or changes what it has acknowledged; and what it was asked.

use std::{
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use s3s::access::S3AccessContext;
use tokio::{fs, io};

/// Shared between the server and whoever watches it.
#[derive(Debug, Clone, Default)]
pub struct Conduct(Arc<Mutex<Inner>>);

#[derive(Debug, Default)]
struct Inner {
    lie: Option<(String, Lie)>,
    /// Operations that are refused, such as `DeleteObject`.
    refused: Vec<String>,
    /// Lists are answered for this prefix, whatever was asked.
    listed: Option<String>,
    /// Kept only for whoever wants to know: a server may run for long.
    asked: Option<Vec<Asked>>,
}

/// What is not true of objects from now on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lie {
    /// One bit of an object is another one as soon as it is stored.
    Flips,
    /// The last byte of an object is gone as soon as it is stored.
    Shortens,
    /// An object is acknowledged, and gone.
    Forgets,
    /// What is read is one byte shorter than it says.
    Truncates,
    /// Parts and objects are acknowledged with the ETag of something else.
    Mistakes,
}

/// One request.
#[derive(Debug, Clone)]
pub struct Asked {
    /// S3's name for it, such as `PutObject`.
    pub operation: String,
    pub path: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
}

impl Asked {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find_map(|(header, value)| (header == name).then_some(value.as_str()))
    }
}

impl Conduct {
    /// From now on this is done to objects whose key ends with `suffix`; all others are kept.
    pub fn lie_about(&self, suffix: &str, lie: Lie) {
        self.inner().lie = Some((suffix.to_owned(), lie));
    }

    /// From now on this operation is refused with AccessDenied.
    pub fn refuse(&self, operation: &str) {
        self.inner().refused.push(operation.to_owned());
    }

    /// From now on lists are answered for this prefix, whatever was asked; for what was asked again with `None`.
    pub fn list_instead(&self, prefix: Option<&str>) {
        self.inner().listed = prefix.map(str::to_owned);
    }

    pub(crate) fn refuses(&self, operation: &str) -> bool {
        self.inner().refused.iter().any(|refused| refused == operation)
    }

    pub(crate) fn listed_instead(&self) -> Option<String> {
        self.inner().listed.clone()
    }

    /// An honest one that keeps what it is asked.
    pub fn watched() -> Self {
        let conduct = Self::default();
        conduct.inner().asked = Some(Vec::new());
        conduct
    }

    /// Everything that was asked so far, if it is watched.
    pub fn asked(&self) -> Vec<Asked> {
        self.inner().asked.clone().unwrap_or_default()
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn note(&self, request: &S3AccessContext<'_>) {
        let Some(all) = &mut self.inner().asked else { return };
        let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
        let headers = request.headers().iter();
        let asked = Asked {
            operation: request.s3_op().name().to_owned(),
            path: request.uri().path().to_owned(),
            headers: headers.map(|(name, value)| (name.to_string(), text(value.as_bytes()))).collect(),
        };
        all.push(asked);
    }

    pub(crate) fn about(&self, key: &str) -> Option<Lie> {
        self.inner().lie.as_ref().filter(|(suffix, _)| key.ends_with(suffix)).map(|(_, lie)| *lie)
    }

    /// Does to the file of an object that was just stored what the lie wants.
    pub(crate) async fn stored(&self, key: &str, file: &Path) -> io::Result<()> {
        match self.about(key) {
            Some(Lie::Forgets) => fs::remove_file(file).await,
            Some(Lie::Flips) => {
                let mut bytes = fs::read(file).await?;
                let middle = bytes.len() / 2;
                if let Some(byte) = bytes.get_mut(middle) {
                    *byte ^= 1;
                }
                fs::write(file, bytes).await
            }
            Some(Lie::Shortens) => {
                let mut bytes = fs::read(file).await?;
                bytes.pop();
                fs::write(file, bytes).await
            }
            Some(Lie::Truncates | Lie::Mistakes) | None => Ok(()),
        }
    }
}
