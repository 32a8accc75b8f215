//! The chunk that is being filled.

use bytes::Bytes;
use jiff::Timestamp;

use super::{
    chain::End,
    chunk::{self, FORMAT, Header, Revision},
};
use crate::{Key, Sha256, manifest::Encryption, seal};

/// Revisions that are captured and not yet in a chunk, after the end of a chain.
#[derive(Debug)]
pub(super) struct Filling {
    body: Vec<u8>,
    last: i64,
    since: Option<Timestamp>,
    /// Up to when it holds what happened.
    pub(super) until: Timestamp,
    events: u64,
    tail: Option<Sha256>,
}

/// A chunk, ready to be stored.
#[derive(Debug, Clone)]
pub(super) struct Packed {
    pub(super) header: Header,
    pub(super) bytes: Bytes,
    pub(super) hash: Sha256,
}

impl Filling {
    pub(super) fn after(end: &End) -> Self {
        Self { body: Vec::new(), last: end.last, since: None, until: end.until, events: 0, tail: end.tail }
    }

    /// For what comes after this one.
    pub(super) fn following(before: &Self) -> Self {
        let (last, until, tail) = (before.last, before.until, before.tail);
        Self { body: Vec::new(), last, since: None, until, events: 0, tail }
    }

    pub(super) fn add(&mut self, revision: &Revision) {
        let received = Timestamp::from_millisecond(revision.received).unwrap_or(self.until);
        chunk::append(&mut self.body, revision);
        self.last = revision.revision;
        self.since.get_or_insert(received);
        self.until = self.until.max(received);
        self.events += revision.events.len() as u64;
        self.tail = Some(revision.fingerprint());
    }

    pub(super) fn is_empty(&self) -> bool {
        self.since.is_none()
    }

    pub(super) fn bytes(&self) -> usize {
        self.body.len()
    }

    pub(super) fn last(&self) -> i64 {
        self.last
    }

    pub(super) fn tail(&self) -> Option<Sha256> {
        self.tail
    }

    /// Everything so far as the next chunk of the chain; what comes later begins anew. Compresses: for a thread that may take its time.
    pub(super) fn pack(self, end: &End, key: Option<&Key>) -> std::io::Result<Packed> {
        let header = Header {
            format: FORMAT.to_owned(),
            chain: end.chain.clone(),
            cluster_uid: end.cluster_uid.clone(),
            cluster_id: end.cluster_id.clone(),
            sequence: end.sequence + 1,
            previous: end.hash,
            first: end.last + 1,
            last: self.last,
            since: self.since.unwrap_or(self.until),
            until: self.until,
            events: self.events,
            bytes: self.body.len() as u64,
            tail: self.tail,
            encryption: key.map(|key| Encryption { scheme: seal::SCHEME.to_owned(), key_id: key.id() }),
        };
        let (bytes, hash) = chunk::pack(&header, &self.body, key)?;
        Ok(Packed { header, bytes, hash })
    }
}
