//! A chain, read chunk by chunk, and believed only as far as everything fits.

use bytes::Bytes;
use futures::{StreamExt as _, stream, stream::BoxStream};

use super::{
    chain::End,
    chunk::{self, Chunk},
    shelf::{Listed, Shelf, of_chunk},
};
use crate::{Error, Key, Manifest, Result, wal::chain::Broken};

/// Chunks that are fetched at once, in order.
const AHEAD: usize = 4;

/// The chunks of a chain that come after a backup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Way {
    pub chain: String,
    pub sequences: Vec<u64>,
}

/// A way that is being walked.
pub struct Walk<'a> {
    chunks: BoxStream<'a, (u64, Result<Option<Bytes>>)>,
    chain: &'a str,
    key: Option<&'a Key>,
    end: Option<End>,
}

/// Why a chunk is the end of what can be believed.
#[derive(Debug, thiserror::Error)]
pub enum Stop {
    #[error("{0}")]
    Broken(Broken),
    #[error("{0}")]
    Unusable(Error),
}

impl Way {
    /// The way from a backup on along a chain, if the chain is of the same etcd and holds what comes after the backup.
    pub async fn from(shelf: &Shelf<'_>, listed: &Listed, manifest: &Manifest) -> Result<Option<Self>> {
        let held = manifest.revision.at_least;
        let from = begin(shelf, listed, held).await?;
        let rest = listed.sequences.get(from..).unwrap_or_default();
        let Some(first) = rest.first() else { return Ok(None) };
        let fits = match shelf.header(&listed.chain, *first).await {
            Ok(header) => header.cluster_id == manifest.cluster.id && header.first <= held + 1,
            // Whoever walks will be told what is wrong with it.
            Err(Error::Chunk { .. }) => true,
            Err(error) => return Err(error),
        };
        Ok(fits.then(|| Self { chain: listed.chain.clone(), sequences: rest.to_vec() }))
    }

    pub fn walk<'a>(&'a self, shelf: &'a Shelf<'a>, key: Option<&'a Key>) -> Walk<'a> {
        let fetch = move |sequence: u64| async move { (sequence, shelf.read(&self.chain, sequence).await) };
        let chunks = stream::iter(self.sequences.iter().copied().map(fetch)).buffered(AHEAD).boxed();
        Walk { chunks, chain: &self.chain, key, end: None }
    }
}

/// The place of the first chunk that does not end before revision `held`, by halving: revisions only grow. Or, where chunks cannot be read, of
/// the first of those after which that is not known.
async fn begin(shelf: &Shelf<'_>, listed: &Listed, held: i64) -> Result<usize> {
    let (mut from, mut to) = (0, listed.sequences.len());
    let mut step: fn(usize, usize) -> usize = usize::midpoint;
    while from < to {
        let middle = step(from, to);
        let Some(sequence) = listed.sequences.get(middle) else { break };
        match shelf.header(&listed.chain, *sequence).await {
            Ok(header) if header.last < held => from = middle + 1,
            Ok(_) => to = middle,
            // From here on one by one.
            Err(Error::Chunk { .. }) if middle == from => break,
            Err(Error::Chunk { .. }) => step = |from, _| from,
            Err(error) => return Err(error),
        }
    }
    Ok(from)
}

impl Walk<'_> {
    /// The next chunk, checked by itself and against the one before. `None` at the end, and after a [`Stop`].
    pub async fn next(&mut self) -> Option<Result<Chunk, Stop>> {
        let (sequence, read) = self.chunks.next().await?;
        let checked = self.check(sequence, read);
        if checked.is_err() {
            self.chunks = stream::empty().boxed();
        }
        Some(checked)
    }

    fn check(&mut self, sequence: u64, read: Result<Option<Bytes>>) -> Result<Chunk, Stop> {
        let found = sequence + 1;
        let bytes = read
            .map_err(Stop::Unusable)?
            .ok_or(Stop::Broken(Broken::Missing { expected: sequence, found }))?;
        let unusable = |why| Stop::Unusable(of_chunk(self.chain, sequence, why));
        let chunk = chunk::open(&bytes, self.key).map_err(unusable)?;
        // A chunk that was copied to another name fits nowhere.
        if chunk.header.sequence != sequence {
            return Err(Stop::Broken(Broken::Missing { expected: sequence, found: chunk.header.sequence }));
        }
        self.end = Some(match &self.end {
            None => End::after(&chunk.header, chunk.hash),
            Some(end) => end.followed_by(&chunk.header, chunk.hash).map_err(Stop::Broken)?,
        });
        Ok(chunk)
    }
}
