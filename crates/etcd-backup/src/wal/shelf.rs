//! Chains in the store: listed, read, and written once.

use std::collections::BTreeMap;

use bytes::Bytes;
use futures::TryStreamExt as _;
use jiff::Timestamp;
use object_store::{Error as E, ObjectStoreExt as _, PutMode, PutOptions, PutPayload, path::Path};
use serde::{Deserialize, Serialize};

use super::chunk::{self, Header, LONGEST_HEADER, NotAChunk};
use crate::{Error, Result, Sha256, Store};

/// The directory beside those of the backups. No backup can have this name.
pub const ROOT: &str = "wal";
const GAP: &str = "gap.json";

/// Why a chain ends: what came after `after` was not captured, and never will be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Gap {
    pub after: i64,
    /// What etcd has forgotten everything before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compacted: Option<i64>,
    pub at: Timestamp,
    pub why: String,
}

/// A chain, as the names of its objects tell.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listed {
    pub chain: String,
    /// In order; retention may have taken the first ones.
    pub sequences: Vec<u64>,
    pub bytes: u64,
    pub has_gap: bool,
}

impl Listed {
    /// Runs of chunks without one missing, with the number that is missing after each but the last.
    pub fn runs(&self) -> Vec<&[u64]> {
        self.sequences.chunk_by(|one, next| one + 1 == *next).collect()
    }
}

/// The chains of one cluster in a store.
#[derive(Debug, Clone)]
pub struct Shelf<'a> {
    pub store: &'a Store,
    pub cluster_uid: &'a str,
}

/// The clusters that something was captured of.
pub async fn clusters(store: &Store) -> Result<Vec<String>> {
    let root = store.below(&[ROOT]);
    let listed =
        store.objects().list_with_delimiter(Some(&root)).await.map_err(store.failed("list", &root))?;
    let name = |path: &Path| path.filename().map(str::to_owned);
    Ok(listed.common_prefixes.iter().filter_map(name).collect())
}

impl Shelf<'_> {
    fn path(&self, chain: &str, object: &str) -> Path {
        self.store.below(&[ROOT, self.cluster_uid, chain, object])
    }

    fn chunk(&self, chain: &str, sequence: u64) -> Path {
        self.path(chain, &chunk_name(sequence))
    }

    pub async fn list(&self) -> Result<Vec<Listed>> {
        let root = self.store.below(&[ROOT, self.cluster_uid]);
        let mut objects = self.store.objects().list(Some(&root));
        let mut chains = BTreeMap::<String, Listed>::new();
        while let Some(meta) = objects.try_next().await.map_err(self.store.failed("list", &root))? {
            let Some(mut below) = meta.location.prefix_match(&root) else { continue };
            let (Some(chain), Some(object), None) = (below.next(), below.next(), below.next()) else {
                continue;
            };
            let chain = chain.as_ref().to_owned();
            let listed = chains.entry(chain.clone()).or_insert(Listed { chain, ..Listed::default() });
            listed.has_gap |= object.as_ref() == GAP;
            // Exactly as they are written: `7` and an empty object are no chunks.
            let is_chunk = |sequence: &u64| meta.size > 0 && chunk_name(*sequence) == object.as_ref();
            if let Some(sequence) = object.as_ref().parse().ok().filter(is_chunk) {
                listed.sequences.push(sequence);
                listed.bytes += meta.size;
            }
        }
        let mut chains: Vec<Listed> = chains.into_values().collect();
        chains.iter_mut().for_each(|listed| listed.sequences.sort_unstable());
        Ok(chains)
    }

    /// `None` when it is not there.
    pub async fn read(&self, chain: &str, sequence: u64) -> Result<Option<Bytes>> {
        self.object(&self.chunk(chain, sequence)).await
    }

    async fn object(&self, path: &Path) -> Result<Option<Bytes>> {
        match self.store.objects().get(path).await {
            Ok(found) => found.bytes().await.map(Some).map_err(self.store.failed("read", path)),
            Err(E::NotFound { .. }) => Ok(None),
            Err(error) => Err(self.store.failed("read", path)(error)),
        }
    }

    /// The header alone, which nothing vouches for: to find one's way.
    pub async fn header(&self, chain: &str, sequence: u64) -> Result<Header> {
        let path = self.chunk(chain, sequence);
        let head = self.store.objects().get_range(&path, 0..(LONGEST_HEADER as u64 + 12)).await;
        let head = head.map_err(self.store.failed("read", &path))?;
        chunk::header(&head).map_err(|why| of_chunk(chain, sequence, why))
    }

    /// Writes a chunk, once, and reads it back. That it is there already is fine if it is the same: an answer was lost.
    pub async fn put(&self, chain: &str, sequence: u64, bytes: &Bytes) -> Result<()> {
        let path = self.chunk(chain, sequence);
        let only_new = PutOptions { mode: PutMode::Create, ..PutOptions::default() };
        let payload = PutPayload::from_bytes(bytes.clone());
        let taken = match self.store.objects().put_opts(&path, payload, only_new).await {
            Ok(_) => false,
            Err(E::AlreadyExists { .. } | E::Precondition { .. }) => true,
            Err(error) => return Err(self.store.failed("write", &path)(error)),
        };
        let found = self.object(&path).await?.unwrap_or_default();
        match (found == *bytes, taken || chunk::hash(&found).is_ok()) {
            (true, _) => Ok(()),
            // Whole, and not ours: also where a store knows no condition, and the last one to write has won.
            (false, true) => Err(Error::Overtaken {
                location: self.store.location().to_owned(),
                chain: chain.to_owned(),
                sequence,
            }),
            (false, false) => Err(Error::Lied {
                location: self.store.location().to_owned(),
                object: path.to_string(),
                written: Sha256::of(bytes),
                read: Sha256::of(&found),
            }),
        }
    }

    pub async fn gap(&self, chain: &str) -> Result<Option<Gap>> {
        let text = self.object(&self.path(chain, GAP)).await?;
        // That there is one counts; what it says is for people.
        let unreadable = |why: String| Gap { after: 0, compacted: None, at: Timestamp::UNIX_EPOCH, why };
        Ok(text.map(|text| {
            serde_json::from_slice(&text)
                .unwrap_or_else(|error| unreadable(format!("{GAP} cannot be read ({error})")))
        }))
    }

    /// Whether the chain has ended by a word of ours: an object of that name that says something else is not ours.
    pub(super) async fn is_ended(&self, chain: &str) -> Result<bool> {
        let text = self.object(&self.path(chain, GAP)).await?;
        Ok(text.is_some_and(|text| serde_json::from_slice::<Gap>(&text).is_ok()))
    }

    /// Whether the header is that of the chunk that belongs there.
    pub(super) fn is_own(&self, chain: &str, sequence: u64, header: &Header) -> bool {
        (header.chain.as_str(), header.sequence) == (chain, sequence)
            && header.cluster_uid == self.cluster_uid
    }

    /// Ends the chain for ever. Who comes second leaves the first one's word.
    pub async fn put_gap(&self, chain: &str, gap: &Gap) -> Result<()> {
        let path = self.path(chain, GAP);
        let text = serde_json::to_vec_pretty(gap).unwrap_or_default();
        let only_new = PutOptions { mode: PutMode::Create, ..PutOptions::default() };
        match self.store.objects().put_opts(&path, PutPayload::from(text), only_new).await {
            Ok(_) | Err(E::AlreadyExists { .. } | E::Precondition { .. }) => Ok(()),
            Err(error) => Err(self.store.failed("write", &path)(error)),
        }
    }

    pub(super) async fn remove(&self, chain: &str, sequence: u64) -> Result<()> {
        self.delete(&self.chunk(chain, sequence)).await
    }

    pub(super) async fn remove_gap(&self, chain: &str) -> Result<()> {
        self.delete(&self.path(chain, GAP)).await
    }

    async fn delete(&self, path: &Path) -> Result<()> {
        match self.store.objects().delete(path).await {
            Ok(()) | Err(E::NotFound { .. }) => Ok(()),
            Err(error) => Err(self.store.failed("delete", path)(error)),
        }
    }
}

fn chunk_name(sequence: u64) -> String {
    format!("{sequence:010}")
}

pub(super) fn of_chunk(chain: &str, sequence: u64, why: NotAChunk) -> Error {
    Error::Chunk { chain: chain.to_owned(), sequence, why }
}
