//! Where a snapshot comes from: a voter that has everything that was acknowledged, see [`crate::ranking`]. Never a learner; with the alarm
//! CORRUPT only a member of the majority that agrees, see [`crate::corruption`].

use std::{collections::BTreeMap, time::Duration};

use bytes::Bytes;
use etcd_api::{
    AlarmKind, Client, Consistency, Endpoint as _, EtcdError, MemberId, Membership, Role, Status, Tls, pb,
};
use futures::{Stream, StreamExt as _, future::join_all, stream};
use tokio::time::{Instant, sleep};

use crate::{
    corruption::{self, NoMajority, Vote},
    manifest::{Corruption, Hash, Revisions},
    ranking::{self, Load},
    restored::HASHING,
};

/// For each question; the stream itself may take as long as it takes, as long as something comes.
const DEADLINE: Duration = Duration::from_secs(5);
/// etcd sends what it reads from its page cache. A member that is silent for so long is stuck.
const SILENCE: Duration = Duration::from_secs(60);
/// How long a follower may take to apply what the leader has committed.
const CATCH_UP: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(100);

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
    /// With the alarm CORRUPT: which members hold the same data.
    pub corruption: Option<Corruption>,
}

#[derive(Debug, thiserror::Error)]
pub enum NoGiver {
    #[error("no endpoint of etcd answers: {0}")]
    Silent(String),
    #[error(transparent)]
    Corrupt(#[from] NoMajority),
    #[error("no voter answers: {0}")]
    NoVoter(String),
}

impl Source {
    /// Asks every voter, and chooses the one to take a snapshot from.
    pub async fn giver(&self, load: Load) -> Result<Giver, NoGiver> {
        let (first, membership) = self.membership().await?;
        let alarms = first.alarms().await.map_err(silent)?;
        let mut voters = self.voters(&membership).await?;
        let mut corruption = None;
        if alarms.iter().any(|alarm| alarm.kind == AlarmKind::Corrupt) {
            let (agreeing, found) = agreeing(voters, &membership).await?;
            (voters, corruption) = (agreeing, Some(found));
        }
        let best = caught_up(&mut voters, load).await.ok_or_else(no_voter)?;
        Ok(Giver { corruption, ..voters.swap_remove(best) })
    }

    /// A voter to watch: rather not `avoid`, rather not the leader, and else the one that has most.
    pub async fn voter(&self, avoid: Option<MemberId>) -> Result<Giver, NoGiver> {
        let (_, membership) = self.membership().await?;
        let rank = |status: &Status| {
            let leads = status.leader == Some(status.member);
            (Some(status.member) != avoid, status.leader.is_some(), !leads, status.raft_applied_index)
        };
        let voters = self.voters(&membership).await?;
        voters.into_iter().max_by_key(|voter| rank(&voter.status)).ok_or_else(no_voter)
    }

    /// The voters that answer, each once; an error if none does.
    async fn voters(&self, membership: &Membership) -> Result<Vec<Giver>, NoGiver> {
        // Members' own names may mean nothing here, outside of their cluster: the given endpoints are asked as well. A connection to a Service
        // may lead to another member when it is made again, so a member's own URL is preferred.
        let named = membership.members.iter().flat_map(|member| &member.client_urls);
        let mut urls: Vec<String> = Vec::new();
        for url in named.chain(&self.endpoints) {
            if !urls.contains(url) {
                urls.push(url.clone());
            }
        }
        let asked = join_all(urls.iter().map(|url| self.ask(url))).await;
        let mut voters = BTreeMap::new();
        let mut silent = Vec::new();
        for (url, answer) in urls.iter().zip(asked) {
            let (client, status) = match answer {
                Ok((_, status)) if status.role != Role::Voter => continue,
                Ok(answer) => answer,
                Err(error) => {
                    silent.push(format!("{url}: {error}"));
                    continue;
                }
            };
            let member = membership.members.iter().find(|member| member.id == status.member);
            let name = member.map_or_else(|| status.member.to_string(), |member| member.name.clone());
            voters.entry(status.member).or_insert(Giver { client, name, status, corruption: None });
        }
        if voters.is_empty() {
            return Err(NoGiver::NoVoter(silent.join("; ")));
        }
        Ok(voters.into_values().collect())
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

    async fn ask(&self, url: &str) -> Result<(Client, Status), EtcdError> {
        let client = Client::connect(url, self.tls.as_ref(), DEADLINE).await?;
        let status = client.status().await?;
        Ok((client, status))
    }
}

/// The place of the voter to take, once one has applied everything that was committed when this began.
async fn caught_up(voters: &mut [Giver], load: Load) -> Option<usize> {
    let statuses = |voters: &[Giver]| voters.iter().map(|it| it.status.clone()).collect::<Vec<_>>();
    let needed = ranking::committed(&statuses(voters));
    let end = Instant::now() + CATCH_UP;
    loop {
        let now = statuses(voters);
        if let Some(best) = ranking::pick(&now, needed, load) {
            return Some(best);
        }
        if Instant::now() > end {
            return ranking::furthest(&now);
        }
        sleep(PAUSE).await;
        let asked = join_all(voters.iter().map(|voter| voter.client.status())).await;
        for (voter, status) in voters.iter_mut().zip(asked) {
            // One that does not answer now keeps what it said before, and is not taken for caught up.
            if let Ok(status) = status.map_err(silent) {
                voter.status = status;
            }
        }
    }
}

/// The voters of the majority that holds the same data.
async fn agreeing(voters: Vec<Giver>, membership: &Membership) -> Result<(Vec<Giver>, Corruption), NoGiver> {
    let mut all: Vec<_> = membership.members.iter().filter(|member| member.role == Role::Voter).collect();
    // As people list them: etcd orders members by their IDs.
    all.sort_by(|a, b| a.name.cmp(&b.name));
    let revisions: Vec<i64> = voters.iter().map(|voter| voter.status.revision).collect();
    let revision = corruption::common_revision(all.len(), &revisions).ok_or_else(no_voter)?;
    let votes = all.iter().map(async |member| {
        let voter = voters.iter().find(|voter| voter.status.member == member.id);
        let answer = match voter {
            None => Err("it does not answer".to_owned()),
            Some(voter) => {
                let hash = voter.client.with_deadline(HASHING).hash_kv(revision).await;
                hash.map_err(|error| format!("at revision {}: {error}", voter.status.revision))
            }
        };
        // One that has never started has no name.
        let name = if member.has_started() { member.name.clone() } else { member.id.to_string() };
        Vote { member: name, answer }
    });
    let votes = join_all(votes).await;
    let (places, found) = corruption::judge(votes, revision)?;
    let is_agreeing = |voter: &Giver| {
        places.iter().any(|place| all.get(*place).is_some_and(|member| member.id == voter.status.member))
    };
    Ok((voters.into_iter().filter(is_agreeing).collect(), found))
}

fn no_voter() -> NoGiver {
    NoGiver::NoVoter("none has caught up".to_owned())
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
