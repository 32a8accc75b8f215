//! One member's watch of all keys, from a revision on.
//!
//! It begins one revision before what is due, where etcd still has that: a member (or a restored etcd) that tells something else there than was
//! captured has another history, and nothing of it may be appended.

use etcd_api::{Client, Consistency, Endpoint as _, EtcdError, EventStream, MemberId, Refusal, pb};
use futures::StreamExt as _;
use jiff::Timestamp;

use super::{
    assemble::{Assembler, Hole},
    chain::End,
    chunk::Revision,
};
use crate::{Sha256, source::Source};

/// An open watch.
pub struct Follower {
    client: Client,
    events: EventStream,
    assembler: Assembler,
    /// The revision that must come first, and is dropped.
    overlap: Option<(i64, Sha256)>,
    cluster: u64,
    pub name: String,
    pub member: MemberId,
}

/// Why there is no watch, or no longer one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Lost {
    #[error("etcd has compacted its history up to revision {0}")]
    Compacted(i64),
    #[error("etcd is at revision {now}, and {captured} was captured: it was restored from a backup")]
    Rewound { captured: i64, now: i64 },
    #[error(
        "etcd holds something else at revision {0} than was captured: it was restored from a backup, or this member differs"
    )]
    Diverged(i64),
    #[error("{0}")]
    Hole(Hole),
    /// It was restored from a backup in place, say. It may be the old one again in a moment: a restore can be given up.
    #[error("etcd {answers} answers at these endpoints, and etcd {captured} is captured")]
    Replaced { answers: String, captured: String },
    /// Another member, or another moment, may do.
    #[error("{0}")]
    Away(String),
}

impl Lost {
    /// Whether what is due will never come.
    pub fn is_final(&self) -> bool {
        matches!(self, Self::Compacted(_) | Self::Rewound { .. } | Self::Diverged(_))
    }
}

impl Follower {
    /// Watches from the revision after `end`, at a member that is not `avoid`, if there is another.
    pub async fn begin(source: &Source, end: &End, avoid: Option<MemberId>) -> Result<Self, Lost> {
        let away = |error: EtcdError| Lost::Away(error.to_string());
        let giver = source.voter(avoid).await.map_err(|error| Lost::Away(error.to_string()))?;
        let client = giver.client;
        let cluster = giver.status.cluster;
        if cluster.to_string() != end.cluster_id {
            return Err(Lost::Replaced { answers: cluster.to_string(), captured: end.cluster_id.clone() });
        }
        let now = client.probe(Consistency::Linearizable).await.map_err(away)?;
        if now < end.last {
            return Err(Lost::Rewound { captured: end.last, now });
        }
        let overlap = match end.tail {
            Some(tail) if is_whole(&client, end.last).await.map_err(away)? => Some((end.last, tail)),
            _ => None,
        };
        let from = overlap.map_or(end.last + 1, |(revision, _)| revision);
        let events = client.events(from).await.map_err(away)?;
        Ok(Self {
            client,
            events,
            assembler: Assembler::new(from),
            overlap,
            cluster: cluster.0,
            name: giver.name,
            member: giver.status.member,
        })
    }

    /// What comes next; nothing is lost when this is dropped while it waits.
    pub async fn next(&mut self, now: impl Fn() -> Timestamp) -> Result<Vec<Revision>, Lost> {
        let said = match self.events.next().await {
            None => return Err(Lost::Away("the watch ended".to_owned())),
            Some(Err(error)) => return Err(Lost::Away(error.to_string())),
            Some(Ok(said)) => said,
        };
        if said.canceled {
            return Err(match said.compact_revision {
                0 => Lost::Away(format!("etcd ended the watch: {}", said.cancel_reason)),
                compacted => Lost::Compacted(compacted),
            });
        }
        if said.header.as_ref().is_some_and(|header| header.cluster_id != self.cluster) {
            return Err(Lost::Away("another etcd answers".to_owned()));
        }
        let mut whole = self.assembler.take(said.events, said.fragment, now()).map_err(Lost::Hole)?;
        if let (Some((revision, tail)), Some(first)) = (self.overlap, whole.first()) {
            if first.fingerprint() != tail {
                return Err(Lost::Diverged(revision));
            }
            self.overlap = None;
            whole.remove(0);
        }
        Ok(whole)
    }

    /// The revision that the whole cluster has now.
    pub fn head(&self) -> impl Future<Output = etcd_api::Result<i64>> + Send + use<> {
        let client = self.client.clone();
        async move { client.probe(Consistency::Linearizable).await }
    }
}

/// Whether etcd still has all of a revision: compaction at it may have taken some of it.
async fn is_whole(client: &Client, revision: i64) -> etcd_api::Result<bool> {
    let request = pb::RangeRequest {
        key: vec![0].into(),
        count_only: true,
        revision: revision - 1,
        ..pb::RangeRequest::default()
    };
    match client.call(client.kv().range(request)).await {
        Ok(_) => Ok(revision > 1),
        Err(EtcdError::Refused(Refusal::Compacted)) => Ok(false),
        Err(error) => Err(error),
    }
}
