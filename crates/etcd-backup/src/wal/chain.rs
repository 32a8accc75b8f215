//! What may follow what: the one place that decides whether a chunk continues a chain.

use jiff::Timestamp;

use super::chunk::Header;
use crate::{Manifest, Sha256};

/// The end of a chain so far: what the next chunk must fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct End {
    pub chain: String,
    pub cluster_uid: String,
    pub cluster_id: String,
    /// Of the last chunk; 0 before the first.
    pub sequence: u64,
    pub hash: Sha256,
    /// The last revision that is captured.
    pub last: i64,
    pub until: Timestamp,
    /// The fingerprint of `last`, where it is known.
    pub tail: Option<Sha256>,
}

/// Why a chunk does not continue a chain.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    #[error("chunk {expected} is missing: the next one is {found}")]
    Missing { expected: u64, found: u64 },
    #[error(
        "chunk {sequence} follows {follows}, and the one before it is {before}: it is from another chain, or one of them was exchanged"
    )]
    Forked { sequence: u64, follows: Sha256, before: Sha256 },
    #[error("chunk {sequence} begins with revision {first}, and {expected} is due")]
    Hole { sequence: u64, first: i64, expected: i64 },
    #[error("chunk {sequence} is of the chain {chain:?} of etcd {cluster}, not of this one")]
    Foreign { sequence: u64, chain: String, cluster: String },
}

impl End {
    /// Where a chain begins: at what the backup holds for certain. It may hold more; then replay skips what it has.
    pub fn of_backup(manifest: &Manifest) -> Self {
        Self {
            chain: manifest.id.clone(),
            cluster_uid: manifest.cluster.uid.clone(),
            cluster_id: manifest.cluster.id.clone(),
            sequence: 0,
            hash: Sha256::of(&manifest.text()),
            last: manifest.revision.at_least,
            until: manifest.taken_at,
            tail: None,
        }
    }

    /// After a chunk that nothing before can vouch for: the first one that retention left.
    pub fn after(header: &Header, hash: Sha256) -> Self {
        Self {
            chain: header.chain.clone(),
            cluster_uid: header.cluster_uid.clone(),
            cluster_id: header.cluster_id.clone(),
            sequence: header.sequence,
            hash,
            last: header.last,
            until: header.until,
            tail: header.tail,
        }
    }

    /// After the chunk, if it is the next.
    pub fn followed_by(&self, header: &Header, hash: Sha256) -> Result<Self, Broken> {
        let sequence = header.sequence;
        let ours = (&self.chain, &self.cluster_uid, &self.cluster_id);
        if (&header.chain, &header.cluster_uid, &header.cluster_id) != ours {
            let (chain, cluster) = (header.chain.clone(), header.cluster_id.clone());
            return Err(Broken::Foreign { sequence, chain, cluster });
        }
        if sequence != self.sequence + 1 {
            return Err(Broken::Missing { expected: self.sequence + 1, found: sequence });
        }
        if header.previous != self.hash {
            return Err(Broken::Forked { sequence, follows: header.previous, before: self.hash });
        }
        if header.first != self.last + 1 {
            return Err(Broken::Hole { sequence, first: header.first, expected: self.last + 1 });
        }
        Ok(Self::after(header, hash))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::wal::chunk::{self, example, example_packed};

    fn chain(lengths: &[i64]) -> Vec<(Header, Sha256)> {
        let (mut previous, mut first) = (Sha256::of(b"manifest"), 41);
        lengths
            .iter()
            .zip(1..)
            .map(|(count, sequence)| {
                let (bytes, hash) = example_packed(sequence, previous, first, *count, None);
                (previous, first) = (hash, first + count);
                (chunk::header(&bytes).unwrap(), hash)
            })
            .collect()
    }

    fn walked(chunks: &[(Header, Sha256)]) -> Result<End, Broken> {
        let (first, rest) = chunks.split_first().unwrap();
        rest.iter()
            .try_fold(End::after(&first.0, first.1), |end, (header, hash)| end.followed_by(header, *hash))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]

        #[test]
        fn a_whole_chain_passes(lengths in proptest::collection::vec(0_i64..20, 1..12)) {
            let end = walked(&chain(&lengths)).unwrap();
            prop_assert_eq!(end.last, 40 + lengths.iter().sum::<i64>());
        }

        #[test]
        fn no_chain_passes_that_lost_or_changed_places_of_chunks(
            lengths in proptest::collection::vec(0_i64..20, 3..12), at in any::<usize>(), swap in any::<bool>()
        ) {
            let mut chunks = chain(&lengths);
            let at = 1 + at % (chunks.len() - 2);
            if swap { chunks.swap(at, at + 1) } else { drop(chunks.remove(at)) }
            prop_assert!(walked(&chunks).is_err());
        }
    }

    #[test]
    fn a_chunk_from_elsewhere_is_refused_with_the_reason() {
        let chunks = chain(&[3, 3]);
        let end = walked(&chunks).unwrap();
        let next = |change: &dyn Fn(&mut Header)| {
            let (mut header, _) = example(3, end.hash, 47, 2);
            change(&mut header);
            end.followed_by(&header, Sha256::of(b"next"))
        };
        assert!(next(&|_| ()).is_ok());
        assert!(matches!(next(&|it| it.cluster_id = "f".into()), Err(Broken::Foreign { .. })));
        assert!(matches!(next(&|it| it.chain = "nightly-2".into()), Err(Broken::Foreign { .. })));
        assert!(matches!(next(&|it| it.sequence = 4), Err(Broken::Missing { expected: 3, found: 4 })));
        assert!(matches!(next(&|it| it.previous = Sha256::of(b"x")), Err(Broken::Forked { .. })));
        assert!(matches!(next(&|it| it.first = 48), Err(Broken::Hole { first: 48, expected: 47, .. })));
    }
}
