//! Which points in time can be reached: from names and headers alone, for lists and reports. A restore reads everything.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::shelf::{self, Listed, Shelf};
use crate::{Manifest, Result, Store, catalogue::Entry};

/// A revision, and the time at which it was the newest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    pub revision: i64,
    pub time: Timestamp,
}

/// A stretch of history without a hole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Reach {
    #[serde(rename = "clusterUID")]
    pub cluster_uid: String,
    #[serde(rename = "clusterID")]
    pub cluster_id: String,
    pub chain: String,
    /// The oldest backup that it can be used with; none: it is of no use any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backup: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Mark>,
    pub to: Mark,
    pub chunks: usize,
    /// Why it does not go on; none: it does, or may.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ends: Option<String>,
}

/// Everything that was captured in a store, with the backups that it belongs to.
pub async fn reaches(store: &Store, entries: &[Entry]) -> Result<Vec<Reach>> {
    let manifests: Vec<&Manifest> = entries.iter().filter_map(Entry::usable).collect();
    let mut reaches = Vec::new();
    for cluster_uid in shelf::clusters(store).await? {
        let shelf = Shelf { store, cluster_uid: &cluster_uid };
        for listed in shelf.list().await? {
            of_chain(&shelf, &listed, &manifests, &mut reaches).await?;
        }
    }
    Ok(reaches)
}

async fn of_chain(
    shelf: &Shelf<'_>,
    listed: &Listed,
    manifests: &[&Manifest],
    reaches: &mut Vec<Reach>,
) -> Result<()> {
    let gap = if listed.has_gap { shelf.gap(&listed.chain).await? } else { None };
    let runs = listed.runs();
    for (number, run) in runs.iter().enumerate() {
        let (Some(first), Some(last)) = (run.first(), run.last()) else { continue };
        let is_newest = number + 1 == runs.len();
        let ends = match is_newest {
            true => gap.as_ref().map(|gap| gap.why.clone()),
            false => Some(format!("chunk {} is missing", last + 1)),
        };
        let (Ok(begin), Ok(end)) =
            (shelf.header(&listed.chain, *first).await, shelf.header(&listed.chain, *last).await)
        else {
            // A restore will say what is wrong with it; a list shows the rest.
            continue;
        };
        let oldest = manifests
            .iter()
            .filter(|it| it.cluster.uid == shelf.cluster_uid && it.cluster.id == begin.cluster_id)
            .filter(|it| (begin.first..=end.last + 1).contains(&(it.revision.at_least + 1)))
            .min_by_key(|it| it.revision.at_least);
        reaches.push(Reach {
            cluster_uid: shelf.cluster_uid.to_owned(),
            cluster_id: begin.cluster_id,
            chain: listed.chain.clone(),
            backup: oldest.map(|it| it.id.clone()),
            from: oldest.map(|it| Mark { revision: it.revision.at_most, time: it.taken_at }),
            to: Mark { revision: end.last, time: end.until },
            chunks: run.len(),
            ends,
        });
    }
    Ok(())
}
