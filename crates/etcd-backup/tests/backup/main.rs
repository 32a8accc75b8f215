//! Backups in a directory and on an S3 server, and what becomes of them when the store fails, lies or is meddled with.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod encryption;
mod faults;
mod foreign;
mod history;
mod identity;
mod lies;
mod memory;
mod places;
#[path = "../shared/platform.rs"]
mod platform;
mod reflected;
mod refuted;
mod retention;
mod tls;
#[path = "../shared/tls_front.rs"]
mod tls_front;

use std::{
    io::{self, Write},
    sync::{Arc, Mutex},
};

use bytes::Bytes;
use etcd_backup::{
    Error, Key, Manifest, Result, Store, catalogue, load,
    manifest::{Cluster, Revisions},
    save, snapshot,
};
use futures::{Stream, stream};
use jiff::Timestamp;

/// A snapshot that does not compress well, of several parts.
fn large() -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(7);
    let noise: Vec<u8> = std::iter::repeat_with(|| random.u8(..)).take(18_000 * 512).collect();
    snapshot::example(18_000, |at| noise[at])
}

/// One of a single part.
fn small() -> Vec<u8> {
    snapshot::example(16, |_| 7)
}

fn about(id: &str) -> save::About {
    save::About {
        id: id.to_owned(),
        producer: "test".to_owned(),
        cluster: Cluster {
            namespace: "default".to_owned(),
            name: "db".to_owned(),
            uid: "uid-1".to_owned(),
            id: "8e9e05c52164694d".to_owned(),
            member: "db-1".to_owned(),
        },
        etcd_version: "3.6.16".to_owned(),
        taken_at: Timestamp::from_second(1_795_000_000).unwrap(),
        hash: None,
        schedule: None,
        corruption: None,
    }
}

async fn save_chunks(
    store: &Store,
    id: &str,
    key: Option<&Key>,
    chunks: Vec<Result<Bytes, String>>,
) -> Result<Manifest> {
    let revisions = async || Ok(Revisions { at_least: 40, at_most: 42 });
    save::save(store, about(id), key, stream::iter(chunks), revisions, |_| ()).await
}

async fn save_stream(
    store: &Store,
    id: &str,
    chunks: impl Stream<Item = Result<Bytes, String>>,
) -> Result<Manifest> {
    let revisions = async || Ok(Revisions { at_least: 40, at_most: 42 });
    save::save(store, about(id), None, chunks, revisions, |_| ()).await
}

async fn save_whole(store: &Store, id: &str, key: Option<&Key>, snapshot: &[u8]) -> Result<Manifest> {
    save_chunks(store, id, key, chunks(snapshot)).await
}

fn chunks(snapshot: &[u8]) -> Vec<Result<Bytes, String>> {
    snapshot.chunks(32 * 1024).map(|chunk| Ok(Bytes::copy_from_slice(chunk))).collect()
}

async fn loaded(store: &Store, manifest: &Manifest, key: Option<&Key>) -> Result<Vec<u8>> {
    let file = Kept::default();
    load::load(store, manifest, key, file.clone(), |_| ()).await?;
    Ok(std::mem::take(&mut file.0.lock().unwrap()))
}

#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Everything there is, in a line each.
async fn listed(store: &Store) -> Vec<String> {
    let line = |entry: catalogue::Entry| match entry {
        catalogue::Entry::Backup(manifest, _) => format!("{} {}", manifest.id, manifest.database.bytes),
        catalogue::Entry::Unfinished(found, _) => format!("{} unfinished", found.id),
        catalogue::Entry::Incomplete(manifest, _) => catalogue::incomplete(&manifest).to_string(),
        catalogue::Entry::Foreign(found) => format!("{} foreign", found.id),
        catalogue::Entry::Unreadable(_, why) => why.to_string(),
    };
    catalogue::list(store).await.unwrap().into_iter().map(line).collect()
}

fn refusal<T: std::fmt::Debug>(result: Result<T, Error>) -> String {
    result.unwrap_err().to_string()
}
