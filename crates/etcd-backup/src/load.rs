//! A backup out of the store, as the file that `etcdutl snapshot restore` takes; checked four times on the way: hash of the object, seal, zstd's
//! own checksum, etcd's hash.

use std::io::{self, Read, Write};

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
    let mut fetching = Ok(());
    loop {
        match parts.try_next().await {
            Ok(None) => break,
            Ok(Some(part)) => {
                so_far.read += part.len() as u64;
                progress(so_far);
                // Refused when unpacking has failed; its result says why.
                if fetched.send(part).await.is_err() {
                    break;
                }
            }
            Err(error) => {
                fetching = Err(error);
                break;
            }
        }
    }
    drop(fetched);
    let unpacked = unpacking.await.map_err(|_| Error::Stopped)?;
    fetching?;
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
    let mut stored = Ranges { from: ranges, rest: Bytes::new(), hash: Hasher::default() };
    let mut check = Check::default();
    let copied = copy(&mut stored, key, &mut check, &mut to);
    // First the plainest finding: other bytes than were stored explain every later failure.
    let read = stored.finish()?;
    if read != manifest.stored.sha256 {
        return Err(Error::Damaged { id: id(), claimed: manifest.stored.sha256, read });
    }
    copied.map_err(|failed| match failed {
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

fn copy(
    stored: &mut Ranges,
    key: Option<&Key>,
    check: &mut Check,
    to: &mut impl Write,
) -> Result<(), Failed> {
    let opened: Box<dyn Read + '_> = match key {
        None => Box::new(stored),
        Some(key) => Box::new(Opener::new(stored, key).map_err(Failed::Read)?),
    };
    let mut plain = zstd::Decoder::new(opened).map_err(Failed::Read)?;
    let mut buffer = vec![0; BUFFER];
    loop {
        let length = plain.read(&mut buffer).map_err(Failed::Read)?;
        let chunk = buffer.get(..length).unwrap_or_default();
        if chunk.is_empty() {
            return Ok(());
        }
        check.push(chunk);
        to.write_all(chunk).map_err(Failed::Write)?;
    }
}

/// What was fetched, as something to read from; hashed on the way.
struct Ranges {
    from: mpsc::Receiver<Bytes>,
    rest: Bytes,
    hash: Hasher,
}

impl Ranges {
    /// Hashes what nobody wanted to read, too.
    fn finish(mut self) -> Result<crate::Sha256> {
        while let Some(part) = self.from.blocking_recv() {
            self.hash.update(&part);
        }
        Ok(self.hash.finish())
    }
}

impl Read for Ranges {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.rest.is_empty() {
            let Some(part) = self.from.blocking_recv() else { return Ok(0) };
            self.hash.update(&part);
            self.rest = part;
        }
        // A slice is something to read from, and copies as much as fits.
        let taken = Read::read(&mut &*self.rest, into)?;
        self.rest.advance(taken);
        Ok(taken)
    }
}
