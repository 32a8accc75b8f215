//! What a backup is, written beside it: everything that one must know to choose, check and restore it, without Kubernetes or the operator.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{Error, Result, Sha256};

/// The name of the object that it is stored in.
pub const OBJECT: &str = "manifest.json";
/// What a manifest says it is. Another number is a format that this program does not know.
pub const FORMAT: &str = "capstan.dev/etcd-backup/v1";
/// How every format of ours begins; a version follows.
const FORMATS: &str = "capstan.dev/etcd-backup/v";
/// A larger object is no manifest, whatever its name.
pub(crate) const LONGEST: u64 = 1 << 20;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Manifest {
    pub format: String,
    /// The backup's directory in the store.
    pub id: String,
    /// Who wrote it: program and version.
    pub producer: String,
    pub taken_at: Timestamp,
    /// The schedule that it belongs to: its retention is of these only. None for one that was asked for by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<String>,
    pub cluster: Cluster,
    /// The version of the member that gave the snapshot. An older etcd cannot read it.
    pub etcd_version: String,
    pub revision: Revisions,
    /// What etcd computed over all that it held, if it was asked to: a restored etcd must compute the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<Hash>,
    /// Only with the alarm CORRUPT: which members held the same data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub corruption: Option<Corruption>,
    pub database: Database,
    pub stored: Stored,
}

/// The alarm CORRUPT was raised when the snapshot was taken. It comes from a member of the majority that held the same data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Corruption {
    /// The revision that the members were compared at.
    pub revision: i64,
    /// Members with the same hash, the one that gave the snapshot among them.
    pub agree: Vec<String>,
    pub differ: Vec<Differing>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Differing {
    pub member: String,
    /// Its hash, or why there is none.
    pub found: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Cluster {
    pub namespace: String,
    pub name: String,
    pub uid: String,
    /// etcd's own name for it.
    pub id: String,
    /// The member that gave the snapshot.
    pub member: String,
}

/// The stream does not say its revision: it is one of these. Without a write meanwhile they are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Revisions {
    pub at_least: i64,
    pub at_most: i64,
}

/// etcd's HashKV at a revision. It depends on what had been compacted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Hash {
    pub revision: i64,
    pub hash: u32,
    pub compact_revision: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Database {
    pub bytes: u64,
    /// etcd's own hash of it, checked when it came.
    pub sha256: Sha256,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Stored {
    pub object: String,
    pub bytes: u64,
    pub sha256: Sha256,
    pub compression: Compression,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encryption: Option<Encryption>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Compression {
    Zstd,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Encryption {
    pub scheme: String,
    /// Which key opens it, see [`crate::Key::id`].
    pub key_id: String,
}

impl Manifest {
    /// Reads one; `id` is the directory that it was found in.
    pub fn parse(id: &str, text: &[u8]) -> Result<Self> {
        let wrong = |why: String| Error::Manifest { id: id.to_owned(), why };
        // Of what is not ours nothing is repeated: messages end in a status.
        let format = serde_json::from_slice::<Format>(text).ok().map(|it| it.format);
        let version = format.as_deref().and_then(|format| format.strip_prefix(FORMATS));
        match version.filter(|it| it.len() <= 8 && it.bytes().all(|it| it.is_ascii_alphanumeric())) {
            None => {
                let why = "its manifest.json is not one of ours".to_owned();
                return Err(Error::NotOurs { id: id.to_owned(), why });
            }
            Some(version) if format.as_deref() != Some(FORMAT) => {
                return Err(wrong(format!(
                    "its manifest has the format {FORMATS}{version}, this program knows {FORMAT}; use a newer Capstan"
                )));
            }
            Some(_) => {}
        }
        let manifest: Self = serde_json::from_slice(text).map_err(|error| {
            wrong(format!("its manifest cannot be read (line {}, column {})", error.line(), error.column()))
        })?;
        // A manifest that was copied elsewhere names the wrong object; so would one that points out of its directory.
        if manifest.id != id || manifest.stored.object.contains('/') {
            return Err(wrong(format!("its manifest is that of {:?}", manifest.id)));
        }
        Ok(manifest)
    }

    /// As it is stored: for people, too.
    pub fn text(&self) -> Vec<u8> {
        let mut text = serde_json::to_vec_pretty(self).unwrap_or_default();
        text.push(b'\n');
        text
    }
}

#[derive(Deserialize)]
struct Format {
    format: String,
}

/// One for tests.
#[cfg(test)]
pub(crate) fn example(id: &str) -> Manifest {
    Manifest {
        format: FORMAT.to_owned(),
        id: id.to_owned(),
        producer: "capstan 0.1.0".to_owned(),
        taken_at: Timestamp::UNIX_EPOCH,
        schedule: None,
        cluster: Cluster {
            namespace: "default".to_owned(),
            name: "db".to_owned(),
            uid: "9b1c".to_owned(),
            id: "8e9e05c52164694d".to_owned(),
            member: "db-1".to_owned(),
        },
        etcd_version: "3.6.16".to_owned(),
        revision: Revisions { at_least: 40, at_most: 42 },
        hash: None,
        corruption: None,
        database: Database { bytes: 1024, sha256: Sha256::of(b"database") },
        stored: Stored {
            object: "snapshot.zst".to_owned(),
            bytes: 77,
            sha256: Sha256::of(b"stored"),
            compression: Compression::Zstd,
            encryption: None,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_read_as_it_was_written() {
        let manifest = example("nightly-1");
        assert_eq!(Manifest::parse("nightly-1", &manifest.text()).unwrap(), manifest);
    }

    #[test]
    fn what_is_not_a_manifest_of_this_backup_is_refused_with_the_reason() {
        let refused = |text: &[u8]| Manifest::parse("nightly-1", text).unwrap_err().to_string();
        assert!(refused(b"<html>").contains("not one of ours"));
        assert!(refused(&example("nightly-2").text()).contains("that of \"nightly-2\""));
        let newer = Manifest { format: "capstan.dev/etcd-backup/v2".to_owned(), ..example("nightly-1") };
        assert!(refused(&newer.text()).contains("use a newer Capstan"));
        let mut outside = example("nightly-1");
        outside.stored.object = "../other/snapshot.zst".to_owned();
        assert!(Manifest::parse("nightly-1", &outside.text()).is_err());
    }
}
