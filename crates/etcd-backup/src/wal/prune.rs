//! What was captured and is of no use any more: everything that every backup that is kept holds already.

use super::shelf::{Listed, Shelf};
use crate::{Manifest, Result, Store};

/// Removes chunks that no backup in `kept` needs, oldest first, and says how many went of which chain. `kept` is all that stays.
///
/// The newest chunk of a chain that goes on always stays: the next one has to follow something.
pub async fn prune(
    store: &Store,
    cluster_uid: &str,
    kept: &[&Manifest],
    dry_run: bool,
) -> Result<Vec<(String, usize)>> {
    let shelf = Shelf { store, cluster_uid };
    let mut gone = Vec::new();
    for listed in shelf.list().await? {
        let count = useless(&shelf, &listed, kept).await?;
        let chunks = listed.sequences.get(..count).unwrap_or_default();
        if !dry_run {
            for sequence in chunks {
                shelf.remove(&listed.chain, *sequence).await?;
            }
            let is_over = count == listed.sequences.len();
            // The word that a chain has ended stays as long as its backup: capture must not begin there again.
            if listed.has_gap && is_over && !kept.iter().any(|it| it.id == listed.chain) {
                shelf.remove_gap(&listed.chain).await?;
            }
        }
        if count > 0 {
            gone.push((listed.chain, count));
        }
    }
    Ok(gone)
}

/// How many of the first chunks no backup needs.
async fn useless(shelf: &Shelf<'_>, listed: &Listed, kept: &[&Manifest]) -> Result<usize> {
    let all = listed.sequences.len();
    let Some(newest) = listed.sequences.last() else { return Ok(0) };
    let newest = shelf.header(&listed.chain, *newest).await?;
    let needed_after = kept
        .iter()
        .filter(|it| it.cluster.uid == shelf.cluster_uid && it.cluster.id == newest.cluster_id)
        .map(|it| it.revision.at_least)
        .min();
    let Some(needed_after) = needed_after else {
        // Of an etcd that no backup is left of. Without a gap it may still be going on, for a backup that is not listed yet.
        return Ok(if listed.has_gap { all } else { all.saturating_sub(1) });
    };
    let (mut from, mut to) = (0, all);
    while from < to {
        let middle = from.midpoint(to);
        let Some(sequence) = listed.sequences.get(middle) else { break };
        let is_needed = shelf.header(&listed.chain, *sequence).await?.last > needed_after;
        if is_needed { to = middle } else { from = middle + 1 }
    }
    Ok(if listed.has_gap { from } else { from.min(all - 1) })
}
