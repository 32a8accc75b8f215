//! A chunk of history: some revisions, one after the other, in an object.
//!
//! ```text
//! chunk = magic (8) ‖ length of the header (4) ‖ header (JSON) ‖ body ‖ SHA-256 of all before (32)
//! body  = zstd, then sealed if there is a key, of: SHA-256 of the header (32) ‖ revision …
//! ```
//!
//! The header can be read without the key: it holds numbers and times, nothing of what is in etcd. Its hash within the sealed body keeps it from
//! being exchanged. The last 32 bytes are the chunk's name in the chain: the next chunk's header has them as `previous`.

use std::io::{self, Read as _, Write as _};

use bytes::{Buf as _, Bytes};
use etcd_api::pb;
use jiff::Timestamp;
use prost::Message as _;
use serde::{Deserialize, Serialize};

use crate::{
    Key, Sha256,
    manifest::Encryption,
    seal::{self, Opener, Sealer},
    sha256,
};

/// What a header says it is.
pub const FORMAT: &str = "capstan.dev/etcd-wal/v1";
const MAGIC: &[u8; 8] = b"CAPWAL01";
const LENGTH: usize = 4;
/// No header is longer; so much of an object is read when only its header is wanted.
pub const LONGEST_HEADER: usize = 4096;
const LEVEL: i32 = 3;

/// Everything that one revision changed, in etcd's order.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Revision {
    #[prost(int64, tag = "1")]
    pub revision: i64,
    /// When it was received, in milliseconds since 1970: it was committed then, or before.
    #[prost(int64, tag = "2")]
    pub received: i64,
    #[prost(message, repeated, tag = "3")]
    pub events: Vec<pb::Event>,
}

impl Revision {
    /// What tells it from another of the same number.
    pub fn fingerprint(&self) -> Sha256 {
        let mut hash = sha256::Hasher::default();
        for event in &self.events {
            hash.update(&event.encode_length_delimited_to_vec());
        }
        hash.finish()
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Header {
    pub format: String,
    /// The backup that the chain began at.
    pub chain: String,
    pub cluster_uid: String,
    /// etcd's own name for the cluster. Revisions mean nothing in another.
    pub cluster_id: String,
    /// From 1.
    pub sequence: u64,
    pub previous: Sha256,
    /// A chunk without revisions has `last` just before `first`: it says that nothing happened until then.
    pub first: i64,
    pub last: i64,
    /// When its first revision was received.
    pub since: Timestamp,
    /// Up to when it holds what happened: its last revision was received then, or etcd had nothing newer.
    pub until: Timestamp,
    pub events: u64,
    /// Length of the body before it was compressed.
    pub bytes: u64,
    /// [`Revision::fingerprint`] of `last`, also if an earlier chunk holds it; none at the beginning of a chain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tail: Option<Sha256>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encryption: Option<Encryption>,
}

/// A chunk that was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Chunk {
    pub header: Header,
    pub hash: Sha256,
    pub revisions: Vec<Revision>,
}

/// Why bytes are not a chunk that can be used.
#[derive(Debug, thiserror::Error)]
pub enum NotAChunk {
    #[error("it is no chunk of history")]
    Foreign,
    #[error("it ends after {0} bytes")]
    Truncated(usize),
    #[error("its SHA-256 is {actual}, the one at its end {claimed}: it was changed or cut")]
    Damaged { claimed: Sha256, actual: Sha256 },
    #[error("its header cannot be read ({0})")]
    Header(String),
    #[error("it is encrypted with the key {wanted}; {given}")]
    Key { wanted: String, given: String },
    #[error("it cannot be unpacked ({0})")]
    Unpack(io::Error),
    #[error("its header is not the one that it was written with")]
    Exchanged,
    #[error("it does not hold what its header says ({0})")]
    Content(String),
}

/// The chunk as it is stored, and its hash. `body` is what [`append`] made.
pub fn pack(header: &Header, body: &[u8], key: Option<&Key>) -> io::Result<(Bytes, Sha256)> {
    let head = serde_json::to_vec(header)?;
    let length = u32::try_from(head.len()).map_err(io::Error::other)?;
    let mut chunk = Vec::with_capacity(body.len() / 2 + LONGEST_HEADER);
    chunk.extend(MAGIC);
    chunk.extend(length.to_be_bytes());
    chunk.extend(&head);
    let binding = Sha256::of(&head);
    match key {
        None => {
            let mut zstd = zstd::Encoder::new(&mut chunk, LEVEL)?;
            zstd.write_all(&binding.0)?;
            zstd.write_all(body)?;
            zstd.finish()?;
        }
        Some(key) => {
            let mut zstd = zstd::Encoder::new(Sealer::new(&mut chunk, key)?, LEVEL)?;
            zstd.write_all(&binding.0)?;
            zstd.write_all(body)?;
            zstd.finish()?.finish()?;
        }
    }
    let hash = Sha256::of(&chunk);
    chunk.extend(hash.0);
    Ok((Bytes::from(chunk), hash))
}

/// Adds a revision to a body.
pub fn append(body: &mut Vec<u8>, revision: &Revision) {
    body.extend(revision.encode_length_delimited_to_vec());
}

/// The header at the beginning of `bytes`, which may end anywhere after it. Nothing vouches for it.
pub fn header(bytes: &[u8]) -> Result<Header, NotAChunk> {
    split(bytes).and_then(|(head, _)| parse(head))
}

/// The header as it is written, and what follows.
fn split(bytes: &[u8]) -> Result<(&[u8], &[u8]), NotAChunk> {
    let rest = match bytes.strip_prefix(MAGIC) {
        Some(rest) => rest,
        None if MAGIC.starts_with(bytes) => return Err(NotAChunk::Truncated(bytes.len())),
        None => return Err(NotAChunk::Foreign),
    };
    let truncated = || NotAChunk::Truncated(bytes.len());
    let (length, rest) = rest.split_first_chunk::<LENGTH>().ok_or_else(truncated)?;
    let length = u32::from_be_bytes(*length) as usize;
    if length > LONGEST_HEADER {
        return Err(NotAChunk::Header(format!("{length} bytes are too long for one")));
    }
    rest.split_at_checked(length).ok_or_else(truncated)
}

fn parse(head: &[u8]) -> Result<Header, NotAChunk> {
    let header: Header =
        serde_json::from_slice(head).map_err(|error| NotAChunk::Header(error.to_string()))?;
    match header.format == FORMAT {
        true => Ok(header),
        false => Err(NotAChunk::Header(format!(
            "it has the format {:?}, this program knows {FORMAT:?}: use a newer Capstan",
            header.format
        ))),
    }
}

/// The hash at the end, checked.
pub fn hash(bytes: &[u8]) -> Result<Sha256, NotAChunk> {
    let (before, claimed) =
        bytes.split_last_chunk::<{ sha256::BYTES }>().ok_or(NotAChunk::Truncated(bytes.len()))?;
    let (claimed, actual) = (Sha256(*claimed), Sha256::of(before));
    if claimed == actual { Ok(actual) } else { Err(NotAChunk::Damaged { claimed, actual }) }
}

/// All of a chunk, checked from end to end.
pub fn open(bytes: &[u8], key: Option<&Key>) -> Result<Chunk, NotAChunk> {
    // First whether it is one at all: a foreign object's last bytes are no hash.
    let (head, _) = split(bytes)?;
    let hash = hash(bytes)?;
    let header = parse(head)?;
    let body = bytes.get(MAGIC.len() + LENGTH + head.len()..bytes.len() - sha256::BYTES).unwrap_or_default();
    let plain = unpack(body, &header, key)?;
    let (binding, mut rest) =
        plain.split_at_checked(sha256::BYTES).ok_or(NotAChunk::Truncated(bytes.len()))?;
    if binding != Sha256::of(head).0 {
        return Err(NotAChunk::Exchanged);
    }
    let mut revisions = Vec::new();
    while rest.has_remaining() {
        let revision = Revision::decode_length_delimited(&mut rest)
            .map_err(|error| NotAChunk::Content(error.to_string()))?;
        revisions.push(revision);
    }
    holds(&header, &revisions)?;
    Ok(Chunk { header, hash, revisions })
}

fn unpack(body: &[u8], header: &Header, key: Option<&Key>) -> Result<Vec<u8>, NotAChunk> {
    let mut plain = Vec::new();
    // No more than the header announces: what unpacks to more is not what was packed.
    let longest = header.bytes.saturating_add(sha256::BYTES as u64);
    let read = match &header.encryption {
        None => zstd::Decoder::new(body).and_then(|zstd| zstd.take(longest + 1).read_to_end(&mut plain)),
        Some(encryption) => {
            let key = fitting(encryption, key)?;
            Opener::new(body, key)
                .and_then(zstd::Decoder::new)
                .and_then(|zstd| zstd.take(longest + 1).read_to_end(&mut plain))
        }
    };
    read.map_err(NotAChunk::Unpack)?;
    match plain.len() as u64 == longest {
        true => Ok(plain),
        false => Err(NotAChunk::Content(format!("{} bytes instead of {longest}", plain.len()))),
    }
}

fn fitting<'a>(encryption: &Encryption, key: Option<&'a Key>) -> Result<&'a Key, NotAChunk> {
    let wrong = |given: String| NotAChunk::Key { wanted: encryption.key_id.clone(), given };
    if encryption.scheme != seal::SCHEME {
        return Err(NotAChunk::Header(format!(
            "it is encrypted with {}, which this program does not know",
            encryption.scheme
        )));
    }
    match key {
        None => Err(wrong("no key is given".to_owned())),
        Some(key) if key.id() != encryption.key_id => Err(wrong(format!("the key {} is given", key.id()))),
        Some(key) => Ok(key),
    }
}

/// Revisions from `first` to `last` without a hole.
fn holds(header: &Header, revisions: &[Revision]) -> Result<(), NotAChunk> {
    let wrong = |why: String| Err(NotAChunk::Content(why));
    let mut next = header.first;
    for revision in revisions {
        if revision.revision != next || revision.events.is_empty() {
            return wrong(format!("revision {} where {next} is due", revision.revision));
        }
        next += 1;
    }
    match next == header.last + 1 {
        true => Ok(()),
        false => wrong(format!("it ends before revision {next} instead of after {}", header.last)),
    }
}

/// A header and revisions for tests, here and elsewhere.
#[doc(hidden)]
pub fn example(sequence: u64, previous: Sha256, first: i64, count: i64) -> (Header, Vec<Revision>) {
    let revisions: Vec<Revision> = (first..first + count).map(example_revision).collect();
    let bytes: usize = revisions.iter().map(|it| it.encode_length_delimited_to_vec().len()).sum();
    let at = |revision: i64| Timestamp::from_second(1_795_000_000 + revision).unwrap_or_default();
    let header = Header {
        format: FORMAT.to_owned(),
        chain: "nightly-1".to_owned(),
        cluster_uid: "9b1c".to_owned(),
        cluster_id: "8e9e05c52164694d".to_owned(),
        sequence,
        previous,
        first,
        last: first + count - 1,
        since: at(first),
        until: at(first + count),
        events: count.unsigned_abs(),
        bytes: bytes as u64,
        tail: revisions.last().map(Revision::fingerprint),
        encryption: None,
    };
    (header, revisions)
}

#[doc(hidden)]
pub fn example_revision(revision: i64) -> Revision {
    let kv = pb::KeyValue {
        key: Bytes::from(format!("key-{}", revision % 7)),
        value: Bytes::from(format!("value of {revision}")),
        mod_revision: revision,
        ..pb::KeyValue::default()
    };
    let event = pb::Event { kv: Some(kv), ..pb::Event::default() };
    Revision { revision, received: (1_795_000_000 + revision) * 1000, events: vec![event] }
}

#[doc(hidden)]
pub fn example_packed(
    sequence: u64,
    previous: Sha256,
    first: i64,
    count: i64,
    key: Option<&Key>,
) -> (Bytes, Sha256) {
    let (mut header, revisions) = example(sequence, previous, first, count);
    header.encryption = key.map(|key| Encryption { scheme: seal::SCHEME.to_owned(), key_id: key.id() });
    let mut body = Vec::new();
    revisions.iter().for_each(|revision| append(&mut body, revision));
    pack(&header, &body, key).unwrap_or_else(|_| (Bytes::new(), Sha256::of(b"")))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::seal::example_key;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]

        #[test]
        fn what_was_packed_opens(count in 0_i64..200, sealed in any::<bool>()) {
            let key = sealed.then(|| example_key("a"));
            let (bytes, hash) = example_packed(3, Sha256::of(b"before"), 40, count, key.as_ref());
            let chunk = open(&bytes, key.as_ref()).unwrap();
            prop_assert_eq!(chunk.hash, hash);
            prop_assert_eq!(chunk.revisions.len() as i64, count);
            prop_assert_eq!(header(&bytes[..bytes.len().min(LONGEST_HEADER)]).unwrap(), chunk.header);
        }

        #[test]
        fn no_changed_byte_passes(at in any::<usize>(), change in 1_u8.., sealed in any::<bool>()) {
            let key = sealed.then(|| example_key("a"));
            let (bytes, _) = example_packed(3, Sha256::of(b"before"), 40, 20, key.as_ref());
            let mut bytes = bytes.to_vec();
            let at = at % bytes.len();
            bytes[at] ^= change;
            prop_assert!(open(&bytes, key.as_ref()).is_err());
        }

        #[test]
        fn no_prefix_passes(cut in 1_usize..1000) {
            let (bytes, _) = example_packed(3, Sha256::of(b"before"), 40, 20, None);
            let rest = bytes.len().saturating_sub(cut);
            prop_assert!(open(&bytes[..rest], None).is_err());
        }
    }

    /// Another header, and a hash at the end that fits: what somebody without the key can do.
    #[test]
    fn a_header_that_was_exchanged_is_found_out() {
        let key = example_key("a");
        let (bytes, _) = example_packed(3, Sha256::of(b"before"), 40, 20, Some(&key));
        let (head, _) = split(&bytes).unwrap();
        let forged = String::from_utf8(head.to_vec()).unwrap().replace("\"sequence\":3", "\"sequence\":4");
        let mut chunk = bytes[..bytes.len() - sha256::BYTES].to_vec();
        chunk.splice(MAGIC.len() + LENGTH..MAGIC.len() + LENGTH + head.len(), forged.into_bytes());
        let hash = Sha256::of(&chunk);
        chunk.extend(hash.0);
        assert!(matches!(open(&chunk, Some(&key)), Err(NotAChunk::Exchanged)));
    }

    #[test]
    fn each_refusal_says_what_is_wrong() {
        let key = example_key("a");
        let (bytes, _) = example_packed(3, Sha256::of(b"before"), 40, 20, Some(&key));
        assert!(matches!(
            open(b"<html></html> and more than a hash's length of it", None),
            Err(NotAChunk::Foreign)
        ));
        assert!(matches!(open(&bytes[..bytes.len() - 1], Some(&key)), Err(NotAChunk::Damaged { .. })));
        assert!(matches!(open(&bytes, None), Err(NotAChunk::Key { .. })));
        assert!(matches!(open(&bytes, Some(&example_key("b"))), Err(NotAChunk::Key { .. })));

        let (mut lying, revisions) = example(1, Sha256::of(b""), 40, 3);
        let mut body = Vec::new();
        revisions.iter().skip(1).for_each(|revision| append(&mut body, revision));
        lying.bytes = body.len() as u64;
        let (bytes, _) = pack(&lying, &body, None).unwrap();
        let said = open(&bytes, None).unwrap_err().to_string();
        assert!(said.contains("revision 41 where 40 is due"), "{said}");
    }
}
