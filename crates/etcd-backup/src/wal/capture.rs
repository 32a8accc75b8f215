//! The capturing process: finds where to go on, follows etcd, and stores chunks until it is stopped or history is lost.
//!
//! Memory: one chunk that is being filled and one that is on its way. When the store is slower than etcd, etcd is not read.

use std::time::Duration;

use jiff::Timestamp;

use super::{
    chain::End,
    chunk,
    reach::Mark,
    shelf::{Gap, Shelf},
    work::{Left, Work},
};
use crate::{
    Error, Key, Manifest, Result, Store,
    catalogue::{self, Entry},
    source::Source,
};

/// How often it is looked whether there is something to begin at.
const POLL: Duration = Duration::from_secs(2);

/// What is captured, and where to.
pub struct Capture<'a> {
    pub store: &'a Store,
    pub source: &'a Source,
    pub key: Option<Key>,
    /// As backups have it; without it, etcd's own ID.
    pub cluster_uid: Option<String>,
    /// How often what came is stored.
    pub flush_every: Duration,
    /// Or earlier, when it is so much.
    pub flush_bytes: usize,
    pub now: fn() -> Timestamp,
}

/// How capture ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// It was told to, and has stored what it had.
    Stopped,
    /// What comes next was lost. A new backup is needed to begin anew.
    Gap { chain: String, gap: Gap },
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Phase {
    /// There is nothing to begin at, or nobody answers.
    #[default]
    Waiting,
    Capturing,
    /// The newest chain ended, and there is no newer backup.
    Gap,
}

/// What it is doing, for those who ask.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct State {
    pub phase: Phase,
    pub chain: Option<String>,
    /// Whom it watches.
    pub member: Option<String>,
    /// Where the chain began.
    pub from: Option<Mark>,
    /// What can be restored now.
    pub to: Option<Mark>,
    /// etcd's revision when it was last asked.
    pub head: i64,
    /// Chunks, events and bytes that this process has stored.
    pub chunks: u64,
    pub events: u64,
    pub bytes: u64,
    pub problem: Option<String>,
}

/// Where to go on.
enum Beginning {
    At(End),
    /// Not yet, and why.
    Not(Phase, String),
}

impl Capture<'_> {
    /// Runs until `stop` is ready. `told` hears of every change.
    pub async fn run(&self, stop: impl Future<Output = ()>, told: impl Fn(&State)) -> Result<Ended> {
        let mut stop = std::pin::pin!(stop);
        let mut state = State::default();
        loop {
            let end = tokio::select! {
                () = &mut stop => return Ok(Ended::Stopped),
                end = self.beginning(&mut state, &told) => end?,
            };
            state.phase = Phase::Capturing;
            state.problem = None;
            state.chain = Some(end.chain.clone());
            state.to = Some(Mark { revision: end.last, time: end.until });
            state.from = self.store.manifest(&end.chain).await?.map(|manifest| began(&manifest)).or(state.to);
            told(&state);
            state = match Work::new(self, end, state).run(stop.as_mut(), &told).await? {
                Left::For(ended) => return Ok(ended),
                Left::Another(before) => State { chain: None, from: None, to: None, head: 0, ..*before },
            };
        }
    }

    async fn beginning(&self, state: &mut State, told: &impl Fn(&State)) -> Result<End> {
        loop {
            let (phase, problem) = match self.find().await {
                Ok(Beginning::At(end)) => return Ok(end),
                Ok(Beginning::Not(phase, why)) => (phase, why),
                Err(error) if error.is_transient() => (Phase::Waiting, error.to_string()),
                Err(error) => return Err(error),
            };
            (state.phase, state.problem) = (phase, Some(problem));
            told(state);
            tokio::time::sleep(POLL).await;
        }
    }

    /// The chain that goes on, or else the newest backup.
    async fn find(&self) -> Result<Beginning> {
        let giver = self.source.voter(None).await;
        let giver = giver.map_err(|error| Error::Etcd(error.to_string()))?;
        let cluster_id = giver.status.cluster.to_string();
        let cluster_uid = self.cluster_uid.as_deref().unwrap_or(&cluster_id);
        let shelf = Shelf { store: self.store, cluster_uid };
        let chains = shelf.list().await?;
        let mut best: Option<End> = None;
        for listed in chains.iter().filter(|listed| !listed.has_gap) {
            let Some(newest) = listed.sequences.last() else { continue };
            let end = match self.end(&shelf, &listed.chain, *newest).await {
                Ok(end) => end,
                Err(Error::Chunk { why, .. }) => {
                    // Nothing can be appended to what cannot be read. What was before it stays of use.
                    let gap = Gap {
                        after: 0,
                        compacted: None,
                        at: (self.now)(),
                        why: format!("its newest chunk, {newest}, cannot be used: {why}"),
                    };
                    shelf.put_gap(&listed.chain, &gap).await?;
                    continue;
                }
                Err(error) => return Err(error),
            };
            let is_further = best.as_ref().is_none_or(|best| best.last < end.last);
            if end.cluster_id == cluster_id && is_further {
                best = Some(end);
            }
        }
        if let Some(end) = best {
            return Ok(Beginning::At(end));
        }
        let entries = catalogue::list(self.store).await?;
        let newest = begin_at(&entries, cluster_uid, &cluster_id);
        Ok(match newest {
            None => Beginning::Not(
                Phase::Waiting,
                format!("there is no backup of this etcd ({cluster_id}) to begin at: take one"),
            ),
            Some(newest) => match chains.iter().find(|it| it.chain == newest.id && it.has_gap) {
                None => Beginning::At(End::of_backup(newest)),
                Some(ended) => {
                    let gap = shelf.gap(&ended.chain).await?;
                    let why = gap.map_or_else(String::new, |gap| gap.why);
                    Beginning::Not(
                        Phase::Gap,
                        format!(
                            "history was lost after backup {}: {why}. Take a new backup to begin anew",
                            newest.id
                        ),
                    )
                }
            },
        })
    }

    /// The end of a chain, after its newest chunk, which must be whole.
    async fn end(&self, shelf: &Shelf<'_>, chain: &str, sequence: u64) -> Result<End> {
        let bytes = shelf.read(chain, sequence).await?.unwrap_or_default();
        let wrong = |why| Error::Chunk { chain: chain.to_owned(), sequence, why };
        let hash = chunk::hash(&bytes).map_err(wrong)?;
        let header = chunk::header(&bytes).map_err(wrong)?;
        if header.sequence != sequence || header.chain != chain || header.cluster_uid != shelf.cluster_uid {
            return Err(wrong(chunk::NotAChunk::Exchanged));
        }
        Ok(End::after(&header, hash))
    }
}

/// The newest backup of this etcd that no restore has refuted.
fn begin_at<'a>(entries: &'a [Entry], cluster_uid: &str, cluster_id: &str) -> Option<&'a Manifest> {
    let usable = entries.iter().filter_map(Entry::usable);
    usable
        .filter(|it| it.cluster.uid == cluster_uid && it.cluster.id == cluster_id)
        .max_by_key(|it| it.taken_at)
}

fn began(manifest: &Manifest) -> Mark {
    Mark { revision: manifest.revision.at_most, time: manifest.taken_at }
}
