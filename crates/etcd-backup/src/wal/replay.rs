//! Captured revisions onto an etcd that was restored from the backup before them: one transaction each, in order, until the point.
//!
//! etcd's own revision says how far it is, so an interrupted replay goes on where it was. Nobody else may write meanwhile: every answer is checked
//! for the revision that it must have.

use std::time::Duration;

use etcd_api::{Client, Consistency, Endpoint as _, EtcdError, Refusal, pb};
use pb::event::EventType;

use super::{
    chunk::Revision,
    point::Plan,
    shelf::Shelf,
    transaction::{changes, shortened, transaction},
    walk::Stop,
};
use crate::{Error, Key, Result, Store};

/// How often a call whose answer is in doubt, or that nobody answered, is tried.
const ATTEMPTS: u32 = 30;
const PAUSE: Duration = Duration::from_secs(1);

/// What came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Replayed {
    /// Where etcd was when this attempt began, as a revision of the backup's.
    pub began_at: i64,
    pub revision: i64,
    /// The same in the restored etcd.
    pub etcd_revision: i64,
    pub applied: u64,
}

#[derive(Debug, thiserror::Error)]
pub enum CannotReplay {
    #[error(
        "etcd is at revision {now}, and backup {id} holds at least {at_least} (bumped by {bumped}): it was not restored from it"
    )]
    NotThisBackup { id: String, now: i64, at_least: i64, bumped: i64 },
    #[error(
        "etcd is at revision {now}, which is after {target} (bumped by {bumped}): restore the backup again"
    )]
    TooFar { now: i64, target: i64, bumped: i64 },
    #[error(
        "etcd does not hold at revision {now} what was captured there: somebody else has written, or it is another backup's. Restore the backup again, and keep clients away meanwhile"
    )]
    Differs { now: i64 },
    #[error(
        "etcd answers with revision {found} where {expected} is due: somebody else writes. Restore the backup again, and keep clients away meanwhile"
    )]
    SomebodyWrites { expected: i64, found: i64 },
    #[error("etcd refuses revision {revision}: {why}")]
    Refused { revision: i64, why: Refusal },
    #[error("etcd does not answer at revision {revision}: {why}")]
    Silent { revision: i64, why: EtcdError },
}

impl CannotReplay {
    /// Whether another attempt may go better.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Silent { .. })
    }
}

/// Writes what is missing up to the plan's target. `bumped` is by how much the restore has raised etcd's revision.
pub async fn replay(
    store: &Store,
    plan: &Plan,
    client: &Client,
    bumped: i64,
    key: Option<&Key>,
    progress: impl Fn(i64),
) -> Result<Replayed> {
    let target = plan.target.revision;
    let now = patient(0, async || client.probe(Consistency::Linearizable).await).await?;
    let began_at = now - bumped;
    let (id, at_least) = (plan.manifest.id.clone(), plan.manifest.revision.at_least);
    if began_at < at_least {
        return Err(CannotReplay::NotThisBackup { id, now, at_least, bumped }.into());
    }
    // A backup may hold more than is wanted only if it was taken while writes went on; the plan has seen to that.
    if began_at > target {
        return Err(CannotReplay::TooFar { now, target, bumped }.into());
    }
    let etcd = Etcd { client, bumped };
    let mut applied = 0;
    if let Some(way) = &plan.way {
        let shelf = Shelf { store, cluster_uid: &plan.manifest.cluster.uid };
        let mut walk = way.walk(&shelf, key);
        'chunks: while let Some(chunk) = walk.next().await {
            let chunk = chunk.map_err(|stop| match stop {
                Stop::Unusable(error) => error,
                // It was whole when the plan was made.
                Stop::Broken(why) => Error::Target {
                    location: store.location().to_owned(),
                    what: why.to_string(),
                    todo: "Plan it again".to_owned(),
                },
            })?;
            for revision in &chunk.revisions {
                if revision.revision > target {
                    break 'chunks;
                }
                if revision.revision == began_at && !etcd.holds(revision).await? {
                    return Err(CannotReplay::Differs { now }.into());
                }
                if revision.revision > began_at {
                    etcd.apply(revision).await?;
                    applied += 1;
                    progress(revision.revision);
                }
            }
        }
    }
    Ok(Replayed { began_at, revision: target, etcd_revision: target + bumped, applied })
}

struct Etcd<'a> {
    client: &'a Client,
    bumped: i64,
}

impl Etcd<'_> {
    async fn apply(&self, revision: &Revision) -> Result<(), CannotReplay> {
        let number = revision.revision;
        let due = number + self.bumped;
        let changes = patient(number, async || shortened(self.client, changes(revision)).await).await?;
        let request = transaction(revision, changes);
        let mut in_doubt = false;
        let answer = patient(number, async || {
            if in_doubt {
                // Did the one before arrive after all? A second one would do nothing, or be somebody else's revision.
                let now = self.client.probe(Consistency::Linearizable).await?;
                if now == due {
                    return Ok(None);
                }
            }
            in_doubt = true;
            self.client.call(self.client.kv().txn(request.clone())).await.map(Some)
        })
        .await?;
        let Some(answer) = answer else {
            return match self.holds(revision).await? {
                true => Ok(()),
                false => Err(CannotReplay::Differs { now: due }),
            };
        };
        let found = answer.header.unwrap_or_default().revision;
        match (answer.succeeded, found == due) {
            (true, true) => Ok(()),
            (true, false) => Err(CannotReplay::SomebodyWrites { expected: due, found }),
            (false, _) => Err(CannotReplay::Differs { now: found }),
        }
    }

    /// Whether etcd's newest revision is this one: what was put has it, what was deleted is gone.
    async fn holds(&self, revision: &Revision) -> Result<bool, CannotReplay> {
        let number = revision.revision;
        // A few of very many say as much.
        for event in revision.events.iter().take(64) {
            let Some(kv) = &event.kv else { continue };
            let request = pb::RangeRequest { key: kv.key.clone(), ..pb::RangeRequest::default() };
            let call = async || self.client.call(self.client.kv().range(request.clone())).await;
            let found = patient(number, call).await?.kvs;
            let holds = match (event.r#type(), found.first()) {
                (EventType::Put, Some(found)) => {
                    // The snapshot's own last revision has not moved when the others were bumped.
                    (found.mod_revision == number + self.bumped || found.mod_revision == number)
                        && found.value == kv.value
                        && found.version == kv.version
                }
                (EventType::Delete, None) => true,
                _ => false,
            };
            if !holds {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Asks again while nobody answers; what etcd refuses stays refused.
async fn patient<T>(
    revision: i64,
    mut call: impl AsyncFnMut() -> etcd_api::Result<T>,
) -> Result<T, CannotReplay> {
    let mut attempt = 1;
    loop {
        match call().await {
            Ok(answer) => return Ok(answer),
            Err(EtcdError::Refused(why)) if !passes(why) => {
                return Err(CannotReplay::Refused { revision, why });
            }
            Err(why) if attempt == ATTEMPTS => return Err(CannotReplay::Silent { revision, why }),
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
        attempt += 1;
    }
}

/// A refusal that is over after a while.
fn passes(refusal: Refusal) -> bool {
    refusal.leaves_doubt() || matches!(refusal, Refusal::NoLeader | Refusal::TooManyRequests)
}
