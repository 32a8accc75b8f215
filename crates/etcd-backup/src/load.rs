//! A backup out of the store, as the file that `etcdutl snapshot restore` takes; checked four times on the way: hash of the object, seal, zstd's
//! own checksum, etcd's hash.

use std::{
    io::{self, Read, Write},
    sync::mpsc::{channel, sync_channel},
    thread,
};

use bytes::{Buf as _, Bytes};
use futures::TryStreamExt as _;
use tokio::sync::mpsc;

use crate::{
    Error, Key, Manifest, Result, Store, fetch,
    save::Progress,
    seal::{self, Opener},
    sha256::Hasher,
    snapshot::{Check, Snapshot},
};

const WAITING: usize = 1;
const BUFFER: usize = 128 * 1024;

/// Writes the snapshot to `to`, with etcd's hash at its end. What was written counts only if this returns `Ok`.
pub async fn load(
    store: &Store,
    manifest: &Manifest,
    key: Option<&Key>,
    to: impl Write + Send + 'static,
    progress: impl Fn(Progress) + Send + Sync,
) -> Result<Snapshot> {
    let key = fitting(manifest, key)?;
    let path = store.path(&manifest.id, &manifest.stored.object);
    let (claimed, found) = (manifest.stored.bytes, fetch::size(store, &path, "read").await?);
    if found != claimed {
        return Err(Error::Size { id: manifest.id.clone(), claimed, found });
    }
    let (fetched, ranges) = mpsc::channel::<Bytes>(WAITING);
    let unpacking = {
        let (manifest, key) = (manifest.clone(), key.cloned());
        tokio::task::spawn_blocking(move || unpack(&manifest, key.as_ref(), ranges, to))
    };

    let mut parts = std::pin::pin!(fetch::in_order(store, &path, claimed, "read"));
    let mut so_far = Progress::default();
    let mut hash = Hasher::default();
    let fetching = loop {
        match parts.try_next().await {
            Ok(None) => break Ok(()),
            Ok(Some(part)) => {
                so_far.read += part.len() as u64;
                progress(so_far);
                hash.update(&part);
                // Refused when unpacking has failed. The rest is hashed all the same: it may say why.
                let _ = fetched.send(part).await;
            }
            Err(error) => break Err(error),
        }
    };
    drop(fetched);
    let unpacked = unpacking.await.map_err(|_| Error::Stopped)?;
    fetching?;
    // First the plainest finding: other bytes than were stored explain every later failure.
    let read = hash.finish();
    if read != manifest.stored.sha256 {
        return Err(Error::Damaged { id: manifest.id.clone(), claimed: manifest.stored.sha256, read });
    }
    unpacked
}

/// Reads everything and keeps nothing.
pub async fn verify(
    store: &Store,
    manifest: &Manifest,
    key: Option<&Key>,
    progress: impl Fn(Progress) + Send + Sync,
) -> Result<Snapshot> {
    load(store, manifest, key, io::sink(), progress).await
}

/// The key that opens it, if it needs one.
fn fitting<'a>(manifest: &Manifest, key: Option<&'a Key>) -> Result<Option<&'a Key>> {
    let Some(encryption) = &manifest.stored.encryption else { return Ok(None) };
    let wrong =
        |given: String| Error::Key { id: manifest.id.clone(), wanted: encryption.key_id.clone(), given };
    if encryption.scheme != seal::SCHEME {
        let why = format!("it is encrypted with {}, which this program does not know", encryption.scheme);
        return Err(Error::Manifest { id: manifest.id.clone(), why });
    }
    match key {
        None => Err(wrong("no key is given".to_owned())),
        Some(key) if key.id() != encryption.key_id => Err(wrong(format!("the key {} is given", key.id()))),
        Some(key) => Ok(Some(key)),
    }
}

fn unpack(
    manifest: &Manifest,
    key: Option<&Key>,
    ranges: mpsc::Receiver<Bytes>,
    mut to: impl Write,
) -> Result<Snapshot> {
    let id = || manifest.id.clone();
    let check =
        copy(Ranges { from: ranges, rest: Bytes::new() }, key, &mut to).map_err(|failed| match failed {
            Failed::Read(why) => Error::Unpack { id: id(), why },
            Failed::Write(why) => Error::Write(why),
        })?;
    to.flush().map_err(Error::Write)?;
    let snapshot = check.finish().map_err(|why| Error::NotWhole { id: id(), why })?;
    if snapshot.sha256 != manifest.database.sha256 {
        let why = format!("its manifest speaks of another database (SHA-256 {})", manifest.database.sha256);
        return Err(Error::Manifest { id: id(), why });
    }
    Ok(snapshot)
}

enum Failed {
    Read(io::Error),
    Write(io::Error),
}

/// Unpacks and writes, while another thread hashes what was written: either is as much work as the other.
fn copy(stored: Ranges, key: Option<&Key>, to: &mut impl Write) -> Result<Check, Failed> {
    let opened: Box<dyn Read> = match key {
        None => Box::new(stored),
        Some(key) => Box::new(Opener::new(stored, key).map_err(Failed::Read)?),
    };
    let mut plain = zstd::Decoder::new(opened).map_err(Failed::Read)?;
    let (written, to_check) = sync_channel::<(Vec<u8>, usize)>(WAITING);
    let (checked, free) = channel();
    thread::scope(|scope| {
        let checking = scope.spawn(move || {
            let mut check = Check::default();
            for (buffer, length) in to_check {
                check.push(buffer.get(..length).unwrap_or_default());
                // Nobody needs it any more in the end.
                let _ = checked.send(buffer);
            }
            check
        });
        loop {
            let mut buffer = free.try_recv().unwrap_or_else(|_| vec![0; BUFFER]);
            let length = plain.read(&mut buffer).map_err(Failed::Read)?;
            if length == 0 {
                break;
            }
            to.write_all(buffer.get(..length).unwrap_or_default()).map_err(Failed::Write)?;
            written.send((buffer, length)).map_err(stopped)?;
        }
        drop(written);
        checking.join().map_err(stopped)
    })
}

fn stopped<T>(_: T) -> Failed {
    Failed::Read(io::Error::other("the thread that checks has stopped"))
}

/// What was fetched, as something to read from.
struct Ranges {
    from: mpsc::Receiver<Bytes>,
    rest: Bytes,
}

impl Read for Ranges {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.rest.is_empty() {
            let Some(part) = self.from.blocking_recv() else { return Ok(0) };
            self.rest = part;
        }
        // A slice is something to read from, and copies as much as fits.
        let taken = Read::read(&mut &*self.rest, into)?;
        self.rest.advance(taken);
        Ok(taken)
    }
}
