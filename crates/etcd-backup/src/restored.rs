//! A backup that was restored into an etcd of its own, compared with what the original said when it was taken.

use std::time::Duration;

use etcd_api::{Client, Consistency, Endpoint as _, EtcdError, Refusal, pb};
use serde::Serialize;

use crate::{Error, Manifest, Result};

/// Hashing reads everything that is in etcd.
pub(crate) const HASHING: Duration = Duration::from_secs(600);

/// What proves it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum By {
    /// etcd computes the same hash over all keys, values and revisions as the original did.
    #[serde(rename = "HashKV")]
    HashKv,
    /// etcd serves it, at a revision that the backup can have, and could read all of it.
    Consistency,
    /// etcd serves it, and asks who we are: its users came with the backup.
    Start,
}

/// A backup that is good.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Verdict {
    pub by: By,
    pub revision: i64,
    pub hash: u32,
    pub keys: i64,
    /// Why it was not by more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Judges the etcd at `client`, which was restored from the backup of this manifest, without its revision bumped, and serves.
pub async fn judge(client: &Client, manifest: &Manifest) -> Result<Verdict> {
    match compare(&client.with_deadline(HASHING), manifest).await {
        Ok(verdict) => verdict,
        Err(EtcdError::Refused(Refusal::UserEmpty | Refusal::PermissionDenied)) => Ok(Verdict {
            by: By::Start,
            revision: 0,
            hash: 0,
            keys: 0,
            note: Some("etcd's authentication is on, so what it holds could not be asked for".to_owned()),
        }),
        Err(error) => Err(Error::Etcd(error.to_string())),
    }
}

async fn compare(client: &Client, manifest: &Manifest) -> Result<Result<Verdict>, EtcdError> {
    let revision = client.probe(Consistency::Linearizable).await?;
    let bad = |why: String| Ok(Err(Error::Bad { id: manifest.id.clone(), why }));
    let (from, to) = (manifest.revision.at_least, manifest.revision.at_most);
    if !(from..=to).contains(&revision) {
        return bad(format!("restored, it is at revision {revision}, and was taken between {from} and {to}"));
    }
    let everything = pb::RangeRequest {
        key: vec![0].into(),
        range_end: vec![0].into(),
        count_only: true,
        ..pb::RangeRequest::default()
    };
    let keys = client.call(client.kv().range(everything)).await?.count;
    let (by, seen, note) = match manifest.hash {
        None => {
            let note = "its manifest has no hash to compare with: take backups with --hash".to_owned();
            (By::Consistency, client.hash_kv(0).await?, Some(note))
        }
        Some(recorded) => {
            let seen = client.hash_kv(recorded.revision).await?;
            match seen.compact_revision == recorded.compact_revision {
                // Hashes are of what compaction has left: only after the same one they can be compared.
                false => {
                    let note = format!(
                        "etcd compacted its history from revision {} to {} while the backup was taken, so the hashes cannot be compared",
                        recorded.compact_revision, seen.compact_revision
                    );
                    (By::Consistency, seen, Some(note))
                }
                true if seen.hash == recorded.hash => (By::HashKv, seen, None),
                true => {
                    return bad(format!(
                        "restored, its HashKV at revision {} is {}, and was {} in the original",
                        recorded.revision, seen.hash, recorded.hash
                    ));
                }
            }
        }
    };
    Ok(Ok(Verdict { by, revision, hash: seen.hash, keys, note }))
}
