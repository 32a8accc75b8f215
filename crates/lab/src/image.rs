//! One container image as a tar, written without a container engine: OCI's image layout, one uncompressed layer.
//!
//! Invariant: the bytes depend on what is put in and on nothing else: entries are sorted, times are 0, everything belongs to root.

mod layout;
mod libraries;

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};

use sha2::{Digest as _, Sha256};

use crate::{Error, Result, error::At as _};

pub(crate) use layout::digest_in;

/// Kept out of the way of what an image brings: who root and the others are, and how names are resolved.
const TEXTS: [(&str, &str); 3] = [
    (
        "etc/passwd",
        "root:x:0:0:root:/:/bin/sh\nnonroot:x:65532:65532:nonroot:/:/bin/false\nnobody:x:65534:65534:nobody:/:/bin/false\n",
    ),
    ("etc/group", "root:x:0:\nnonroot:x:65532:\nnobody:x:65534:\n"),
    ("etc/nsswitch.conf", "hosts: files dns\n"),
];
const CERTIFICATES: &str = "etc/ssl/certs/ca-certificates.crt";

/// What an image is made of; [`Image::write`] makes it.
#[derive(Debug)]
pub(crate) struct Image {
    /// Registry, repository and tag, as pods' image names resolve to.
    name: String,
    entrypoint: Vec<String>,
    /// When there is no entrypoint.
    command: Vec<String>,
    user: String,
    environment: Vec<String>,
    labels: BTreeMap<String, String>,
    /// By path in the image, without the leading slash.
    entries: BTreeMap<String, Entry>,
}

#[derive(Debug)]
enum Entry {
    Directory { mode: u32 },
    File { from: PathBuf, mode: u32 },
    Text(&'static str),
    Link { target: String },
}

impl Image {
    pub(crate) fn new(name: impl Into<String>) -> Self {
        let mut image = Self {
            name: name.into(),
            entrypoint: Vec::new(),
            command: Vec::new(),
            user: String::new(),
            environment: vec!["PATH=/usr/local/bin:/usr/bin:/bin".into()],
            labels: BTreeMap::new(),
            entries: BTreeMap::new(),
        };
        for (path, text) in TEXTS {
            image.insert(path, Entry::Text(text));
        }
        image.insert("tmp", Entry::Directory { mode: 0o1777 });
        image
    }

    pub(crate) fn entrypoint(mut self, words: &[&str]) -> Self {
        self.entrypoint = words.iter().map(ToString::to_string).collect();
        self
    }

    pub(crate) fn command(mut self, words: &[&str]) -> Self {
        self.command = words.iter().map(ToString::to_string).collect();
        self
    }

    /// `uid:gid`; by number, so that Kubernetes can see that it is not root.
    pub(crate) fn user(mut self, user: &str) -> Self {
        self.user = user.into();
        self
    }

    /// An environment variable, as `NAME=value`.
    pub(crate) fn variable(mut self, variable: &str) -> Self {
        self.environment.push(variable.into());
        self
    }

    pub(crate) fn label(mut self, key: &str, value: &str) -> Self {
        self.labels.insert(key.into(), value.into());
        self
    }

    /// A program and, when it is dynamically linked, the libraries that it needs.
    pub(crate) fn program(mut self, from: &Path, path: &str) -> Result<Self> {
        for library in libraries::of(from)? {
            let real = fs::canonicalize(&library).at("find", &library)?;
            self.insert(&library.to_string_lossy(), Entry::File { from: real, mode: 0o755 });
        }
        self.insert(path, Entry::File { from: from.into(), mode: 0o755 });
        Ok(self)
    }

    pub(crate) fn link(mut self, path: &str, target: &str) -> Self {
        self.insert(path, Entry::Link { target: target.into() });
        self
    }

    /// This machine's certificate authorities, for a program that talks to the world.
    pub(crate) fn certificates(mut self) -> Result<Self> {
        let from = Path::new("/").join(CERTIFICATES);
        if !from.is_file() {
            return Err(Error::Image(format!(
                "{}: no {}: install ca-certificates",
                self.name,
                from.display()
            )));
        }
        self.insert(CERTIFICATES, Entry::File { from, mode: 0o644 });
        Ok(self)
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Changes whenever the image would. Files count by path, size and time of change: reading a gigabyte to find that nothing
    /// has changed would cost more than making the image.
    pub(crate) fn key(&self) -> Result<String> {
        let mut hash = Sha256::new();
        hash.update(format!("{} {self:?}", layout::FORMAT));
        for from in self.files() {
            let metadata = fs::metadata(from).at("read", from)?;
            let changed =
                metadata.modified().at("read", from)?.duration_since(UNIX_EPOCH).unwrap_or_default();
            hash.update(format!("{} {}\n", metadata.len(), changed.as_nanos()));
        }
        Ok(format!("{:x}", hash.finalize()).chars().take(12).collect())
    }

    /// Writes the tar, whole or not at all.
    pub(crate) fn write(&self, out: &Path) -> Result<()> {
        layout::write(self, out)
    }

    fn files(&self) -> impl Iterator<Item = &Path> {
        self.entries.values().filter_map(|entry| match entry {
            Entry::File { from, .. } => Some(from.as_path()),
            Entry::Directory { .. } | Entry::Text(_) | Entry::Link { .. } => None,
        })
    }

    /// With the directories above it.
    fn insert(&mut self, path: &str, entry: Entry) {
        let path = path.trim_start_matches('/');
        for (slash, _) in path.match_indices('/') {
            let above = path.get(..slash).unwrap_or_default().to_owned();
            self.entries.entry(above).or_insert(Entry::Directory { mode: 0o755 });
        }
        self.entries.insert(path.into(), entry);
    }
}
