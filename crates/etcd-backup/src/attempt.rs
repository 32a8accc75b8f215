//! The marker of an attempt: says who is about to write which object, before the first byte of it is written.
//!
//! `attempt-<8 hex digits>.json` lies beside `snapshot-<the same digits>.zst`. It is kept as long as the backup and removed last. So whatever
//! interrupts a backup or its removal, the marker still proves which object may be deleted, and by whom. An object that neither a manifest nor
//! a marker names is not ours and is never deleted.
//!
//! Unknown fields are ignored, and a marker of another format is not ours. A signature can be added as a field.

use aws_lc_rs::rand;
use jiff::Timestamp;
use object_store::{Error as E, ObjectStoreExt as _, PutMode, PutOptions, PutPayload};
use serde::{Deserialize, Serialize};

use crate::{Error, Key, Manifest, Result, Store, save::About, store::Found};

/// Another number is a format that this program does not know.
pub const FORMAT: &str = "capstan.dev/etcd-backup-attempt/v1";
/// A larger object is no marker, whatever its name.
const LONGEST: u64 = 16 << 10;
/// Hex digits that tell attempts at one backup apart.
const DIGITS: usize = 8;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Attempt {
    pub format: String,
    /// The backup's directory in the store.
    pub id: String,
    /// The object that this attempt writes, and no other.
    pub object: String,
    pub producer: String,
    pub began_at: Timestamp,
    /// The schedule that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<String>,
    pub cluster: Owner,
}

/// The cluster that the backup is of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    pub namespace: String,
    pub name: String,
    pub uid: String,
}

impl Attempt {
    /// A new attempt with an object name of its own: two attempts at one backup may run at once, and neither may write over the other's object.
    pub(crate) fn new(about: &About, key: Option<&Key>) -> Result<Self> {
        let mut bytes = [0; DIGITS / 2];
        rand::fill(&mut bytes).map_err(|_| Error::Stopped)?;
        let sealed = if key.is_some() { ".sealed" } else { "" };
        Ok(Self {
            format: FORMAT.to_owned(),
            id: about.id.clone(),
            object: format!("snapshot-{:08x}.zst{sealed}", u32::from_be_bytes(bytes)),
            producer: about.producer.clone(),
            began_at: about.taken_at,
            schedule: about.schedule.clone(),
            cluster: Owner {
                namespace: about.cluster.namespace.clone(),
                name: about.cluster.name.clone(),
                uid: about.cluster.uid.clone(),
            },
        })
    }

    /// The marker that a backup of a Capstan without markers would have had; none when its object has another name.
    pub(crate) fn of(manifest: &Manifest) -> Option<Self> {
        digits(&manifest.stored.object)?;
        Some(Self {
            format: FORMAT.to_owned(),
            id: manifest.id.clone(),
            object: manifest.stored.object.clone(),
            producer: manifest.producer.clone(),
            began_at: manifest.taken_at,
            schedule: manifest.schedule.clone(),
            cluster: Owner {
                namespace: manifest.cluster.namespace.clone(),
                name: manifest.cluster.name.clone(),
                uid: manifest.cluster.uid.clone(),
            },
        })
    }

    /// The name of the marker's own object.
    pub fn marker(&self) -> String {
        format!("attempt-{}.json", digits(&self.object).unwrap_or_default())
    }

    /// Reads the marker `name` of the directory `id`. None: it is not one of ours, or it is the marker of something else.
    fn parse(id: &str, name: &str, text: &[u8]) -> Option<Self> {
        let attempt: Self = serde_json::from_slice(text).ok()?;
        let is_ours = attempt.format == FORMAT && attempt.id == id;
        (is_ours && digits(&attempt.object).is_some() && attempt.marker() == name).then_some(attempt)
    }

    fn text(&self) -> Vec<u8> {
        let mut text = serde_json::to_vec_pretty(self).unwrap_or_default();
        text.push(b'\n');
        text
    }

    /// Writes the marker. It may be there already only where this very attempt wrote it and the answer was lost.
    pub(crate) async fn announce(&self, store: &Store) -> Result<()> {
        let path = store.path(&self.id, &self.marker());
        let only_new = PutOptions { mode: PutMode::Create, ..PutOptions::default() };
        match store.objects().put_opts(&path, PutPayload::from(self.text()), only_new).await {
            Ok(_) => return Ok(()),
            Err(E::AlreadyExists { .. } | E::Precondition { .. }) => {}
            Err(error) => return Err(store.failed("write", &path)(error)),
        }
        match read(store, &self.id, &self.marker()).await? {
            Some(there) if there == *self => Ok(()),
            _ => {
                let why =
                    format!("{} is not this attempt's; another attempt takes another name", self.marker());
                Err(Error::Taken { id: self.id.clone(), why })
            }
        }
    }
}

/// The attempts that the markers in a directory tell of.
pub(crate) async fn all(store: &Store, found: &Found) -> Result<Vec<Attempt>> {
    let mut attempts = Vec::new();
    for name in found.objects.iter().filter(|name| is_marker(name)) {
        attempts.extend(read(store, &found.id, name).await?);
    }
    Ok(attempts)
}

async fn read(store: &Store, id: &str, name: &str) -> Result<Option<Attempt>> {
    let path = store.path(id, name);
    let found = match store.objects().get(&path).await {
        Ok(found) if found.meta.size > LONGEST => return Ok(None),
        Ok(found) => found.bytes().await.map_err(store.failed("read", &path))?,
        Err(E::NotFound { .. }) => return Ok(None),
        Err(error) => return Err(store.failed("read", &path)(error)),
    };
    Ok(Attempt::parse(id, name, &found))
}

/// Whether an object has the name of a marker.
pub(crate) fn is_marker(name: &str) -> bool {
    name.strip_prefix("attempt-").and_then(|rest| rest.strip_suffix(".json")).is_some_and(is_hex)
}

/// The digits in the name of a snapshot's object, if it is one.
fn digits(object: &str) -> Option<&str> {
    let rest = object.strip_prefix("snapshot-")?;
    let rest = rest.strip_suffix(".sealed").unwrap_or(rest);
    rest.strip_suffix(".zst").filter(|digits| is_hex(digits))
}

/// Whether an object has the name of a snapshot, as this program or an earlier one writes it.
pub(crate) fn is_snapshot(object: &str) -> bool {
    digits(object).is_some() || matches!(object, "snapshot.zst" | "snapshot.zst.sealed")
}

fn is_hex(text: &str) -> bool {
    text.len() == DIGITS && text.bytes().all(|it| matches!(it, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::example;

    fn attempt() -> Attempt {
        let mut manifest = example("nightly-1");
        manifest.stored.object = "snapshot-0badcafe.zst.sealed".to_owned();
        Attempt::of(&manifest).unwrap()
    }

    #[test]
    fn a_marker_is_read_as_it_was_written() {
        let attempt = attempt();
        assert_eq!(attempt.marker(), "attempt-0badcafe.json");
        assert!(is_marker(&attempt.marker()));
        assert_eq!(Attempt::parse("nightly-1", "attempt-0badcafe.json", &attempt.text()), Some(attempt));
    }

    #[test]
    fn a_marker_of_something_else_is_not_ours() {
        let of = |id: &str, name: &str, change: &dyn Fn(&mut Attempt)| {
            let mut attempt = attempt();
            change(&mut attempt);
            Attempt::parse(id, name, &attempt.text())
        };
        let name = "attempt-0badcafe.json";
        assert!(of("nightly-1", name, &|_| ()).is_some());
        assert_eq!(of("nightly-2", name, &|_| ()), None);
        assert_eq!(of("nightly-1", "attempt-00000000.json", &|_| ()), None);
        assert_eq!(
            of("nightly-1", name, &|it| it.format = "capstan.dev/etcd-backup-attempt/v2".into()),
            None
        );
        for object in ["prod.tfstate", "../other/snapshot-0badcafe.zst", "snapshot-0badcafe.zst/x", ""] {
            assert_eq!(of("nightly-1", name, &|it| it.object = object.into()), None, "{object}");
        }
        assert_eq!(Attempt::parse("nightly-1", name, b"{}"), None);
    }

    #[test]
    fn only_our_own_names_are_snapshots() {
        for ours in
            ["snapshot-0badcafe.zst", "snapshot-0badcafe.zst.sealed", "snapshot.zst", "snapshot.zst.sealed"]
        {
            assert!(is_snapshot(ours), "{ours}");
        }
        for other in
            ["snapshot-0badcaf.zst", "snapshot-0BADCAFE.zst", "snapshot-0badcafe.zst.bak", "snapshot", "db"]
        {
            assert!(!is_snapshot(other), "{other}");
        }
    }
}
