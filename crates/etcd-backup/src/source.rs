//! Where a snapshot comes from: the leader, or the voter that has applied most. Never a learner, never a cluster whose members disagree.

use std::time::Duration;

use bytes::Bytes;
use etcd_api::{
    AlarmKind, Client, Consistency, Endpoint as _, EtcdError, MemberId, Membership, Role, Status, Tls, pb,
};
use futures::{Stream, StreamExt as _, future::join_all, stream};

use crate::{
    manifest::{Hash, Revisions},
    restored::HASHING,
};

/// For each question; the stream itself may take as long as it takes, as long as something comes.
const DEADLINE: Duration = Duration::from_secs(5);
/// etcd sends what it reads from its page cache. A member that is silent for so long is stuck.
const SILENCE: Duration = Duration::from_secs(60);

/// A cluster, as its clients know it.
#[derive(Debug, Clone)]
pub struct Source {
    /// One is enough: the cluster is asked for the others.
    pub endpoints: Vec<String>,
    pub tls: Option<Tls>,
}

/// The member that is to give the snapshot.
#[derive(Debug)]
pub struct Giver {
    pub(crate) client: Client,
    pub name: String,
    pub status: Status,
}

#[derive(Debug, thiserror::Error)]
pub enum NoGiver {
    #[error("no endpoint of etcd answers: {0}")]
    Silent(String),
    #[error(
        "etcd has raised the alarm CORRUPT: its members disagree about the data. A backup now might keep the wrong half: mend the cluster first"
    )]
    Corrupt,
    #[error("no voter answers")]
    NoVoter,
}

impl Source {
    /// Asks everybody, and chooses whom to take a snapshot from.
    pub async fn giver(&self) -> Result<Giver, NoGiver> {
        let (first, membership) = self.membership().await?;
        let alarms = first.alarms().await.map_err(silent)?;
        if alarms.iter().any(|alarm| alarm.kind == AlarmKind::Corrupt) {
            return Err(NoGiver::Corrupt);
        }
        self.best(&membership, rank).await
    }

    /// A voter to watch: rather not `avoid`, rather not the leader, and else the one that has most.
    pub async fn voter(&self, avoid: Option<MemberId>) -> Result<Giver, NoGiver> {
        let (_, membership) = self.membership().await?;
        let rank = |status: &Status| {
            let leads = status.leader == Some(status.member);
            (Some(status.member) != avoid, status.leader.is_some(), !leads, status.raft_applied_index)
        };
        self.best(&membership, rank).await
    }

    /// The voter that ranks highest.
    async fn best<R: Ord>(
        &self,
        membership: &Membership,
        rank: impl Fn(&Status) -> R,
    ) -> Result<Giver, NoGiver> {
        let named = membership.members.iter().flat_map(|member| &member.client_urls);
        // Members' own names may mean nothing here, outside of their cluster: the given endpoints are asked as well.
        let urls: std::collections::BTreeSet<String> = self.endpoints.iter().chain(named).cloned().collect();
        let asked = join_all(urls.into_iter().map(|url| self.ask(url))).await;
        let best = asked
            .into_iter()
            .flatten()
            .filter(|(_, status)| status.role == Role::Voter)
            .max_by_key(|(_, status)| rank(status));
        let (client, status) = best.ok_or(NoGiver::NoVoter)?;
        let member = membership.members.iter().find(|member| member.id == status.member);
        let name = member.map_or_else(|| status.member.to_string(), |member| member.name.clone());
        Ok(Giver { client, name, status })
    }

    /// From the first endpoint that knows it: one that is cut off from the others does not.
    async fn membership(&self) -> Result<(Client, Membership), NoGiver> {
        let mut said = Vec::new();
        for url in &self.endpoints {
            let asked = async {
                let client = Client::connect(url, self.tls.as_ref(), DEADLINE).await?;
                let membership = client.members(Consistency::Linearizable).await?;
                Ok::<_, EtcdError>((client, membership))
            };
            match asked.await {
                Ok(found) => return Ok(found),
                Err(error) => said.push(format!("{url}: {error}")),
            }
        }
        Err(NoGiver::Silent(said.join("; ")))
    }

    async fn ask(&self, url: String) -> Option<(Client, Status)> {
        let client = Client::connect(&url, self.tls.as_ref(), DEADLINE).await.ok()?;
        let status = client.status().await.ok()?;
        Some((client, status))
    }
}

/// The leader has everything that was acknowledged; of the others, the one that has most.
fn rank(status: &Status) -> (bool, u64) {
    (status.leader == Some(status.member), status.raft_applied_index)
}

fn silent(error: EtcdError) -> NoGiver {
    NoGiver::Silent(error.to_string())
}

impl Giver {
    /// The snapshot, as it comes.
    pub async fn snapshot(&self) -> Result<impl Stream<Item = Result<Bytes, String>> + use<>, String> {
        let answer = self.client.maintenance().snapshot(pb::SnapshotRequest {}).await;
        let stream = answer.map_err(|status| status.message().to_owned())?.into_inner();
        Ok(stream::unfold(stream, async |mut stream| {
            let chunk = match tokio::time::timeout(SILENCE, stream.next()).await {
                Err(_) => Err(format!("nothing came for {} s", SILENCE.as_secs())),
                Ok(None) => return None,
                Ok(Some(Err(status))) => Err(status.message().to_owned()),
                Ok(Some(Ok(part))) => Ok(part.blob),
            };
            Some((chunk, stream))
        })
        .boxed())
    }

    /// What it holds at its revision, as a hash. It reads all of its database for that, and applies nothing meanwhile.
    pub async fn hash(&self) -> Result<Hash, String> {
        let revision = self.status.revision;
        let seen = self.client.with_deadline(HASHING).hash_kv(revision).await;
        let seen = seen.map_err(|error| error.to_string())?;
        Ok(Hash { revision, hash: seen.hash, compact_revision: seen.compact_revision })
    }

    /// Between what it had before and what it has now.
    pub async fn revisions(&self) -> Result<Revisions, String> {
        let now = self.client.status().await.map_err(|error| error.to_string())?;
        Ok(Revisions { at_least: self.status.revision, at_most: now.revision })
    }
}
