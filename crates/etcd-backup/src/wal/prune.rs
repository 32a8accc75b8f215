//! Removes captured history that is of no use any more: everything that every remaining backup holds already.
//!
//! Only chunks whose header names this cluster, this chain and their own number are removed, and `gap.json` only if it can be read. Anything
//! else in the directory of a chain is not ours.

use futures::{StreamExt as _, stream};

use super::{
    chunk::Header,
    shelf::{Listed, Shelf},
};
use crate::{Error, Manifest, Result, Store, removal::Mode};

/// Headers that are read at once.
const AT_ONCE: usize = 8;

/// Removes chunks that no backup in `kept` needs, oldest first, and says how many of which chain. `kept` is every backup that remains: the
/// caller must have been able to read all of them.
///
/// The newest chunk of a chain that goes on always stays: the next one has to follow something.
pub async fn prune(
    store: &Store,
    cluster_uid: &str,
    kept: &[&Manifest],
    mode: Mode,
) -> Result<Vec<(String, usize)>> {
    let shelf = Shelf { store, cluster_uid };
    let mut removed = Vec::new();
    for listed in shelf.list().await? {
        let count = prune_chain(&shelf, &listed, kept, mode).await?;
        if count > 0 {
            removed.push((listed.chain, count));
        }
    }
    Ok(removed)
}

async fn prune_chain(shelf: &Shelf<'_>, listed: &Listed, kept: &[&Manifest], mode: Mode) -> Result<usize> {
    let chain = &listed.chain;
    let is_ended = listed.has_gap && shelf.is_ended(chain).await?;
    let remove = async |sequence| match mode {
        Mode::Delete => shelf.remove(chain, sequence).await,
        Mode::DryRun => Ok(()),
    };
    let read = |sequence: u64| async move { (sequence, shelf.header(chain, sequence).await) };
    let headers = listed.sequences.iter().copied().map(read);
    let mut headers = std::pin::pin!(stream::iter(headers).buffered(AT_ONCE));
    let (mut count, mut is_empty) = (0, true);
    // Useless, and the newest so far.
    let mut useless = None;
    while let Some((sequence, header)) = headers.next().await {
        let header = match header {
            Ok(header) if shelf.is_own(chain, sequence, &header) => header,
            Ok(_) | Err(Error::Chunk { .. }) => {
                is_empty = false;
                continue;
            }
            Err(error) => return Err(error),
        };
        if let Some(older) = useless.take() {
            remove(older).await?;
            count += 1;
        }
        // Revisions only grow: what comes after it is needed, too.
        if is_needed(&header, kept) {
            is_empty = false;
            break;
        }
        useless = Some(sequence);
    }
    if let Some(newest) = useless {
        if is_ended {
            remove(newest).await?;
            count += 1;
        } else {
            is_empty = false;
        }
    }
    // The word that a chain has ended stays as long as its backup: capture must not begin there again.
    if is_ended && is_empty && mode == Mode::Delete && !kept.iter().any(|it| it.id == *chain) {
        shelf.remove_gap(chain).await?;
    }
    Ok(count)
}

/// Whether the chunk has revisions that some backup of the same etcd does not hold.
fn is_needed(header: &Header, kept: &[&Manifest]) -> bool {
    kept.iter()
        .filter(|it| it.cluster.uid == header.cluster_uid && it.cluster.id == header.cluster_id)
        .any(|it| header.last > it.revision.at_least)
}
