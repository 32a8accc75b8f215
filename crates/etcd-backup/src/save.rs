//! etcd's snapshot into the store: checked, compressed, sealed and hashed on two threads while parts of it are on their way.
//!
//! The store's own word that it has a part is not believed: in the end the object is read back and hashed. Only then the manifest is written.

use std::{
    io::{self, Write},
    sync::mpsc::sync_channel,
    thread,
};

use bytes::Bytes;
use futures::{Stream, StreamExt as _, TryStreamExt as _, stream::FuturesUnordered};
use jiff::Timestamp;
use object_store::{MultipartUpload, ObjectStoreExt as _, PutPayload};
use tokio::{runtime::Handle, sync::mpsc};

use crate::{
    Error, Key, Manifest, Result, Sha256, Store,
    attempt::Attempt,
    buffers::{Buffer, Buffers},
    fetch,
    manifest::{
        self, Cluster, Compression, Corruption, Database, Encryption, FORMAT, Hash, Revisions, Stored,
    },
    seal::{self, Sealer},
    sha256::Hasher,
    snapshot::{Check, Snapshot},
};

/// What is uploaded at once: the least that S3 takes. It takes at most 10,000 of them: 50 GB, six times what etcd is meant to hold.
pub const PART: usize = 5 << 20;
/// How many are on their way at once; one more is being filled.
const IN_FLIGHT: usize = 3;
/// Chunks of etcd, of 32 KiB or less, that are handed over at once if they are there: threads that wake each other for each one of them do
/// little else.
const BATCH: usize = 16;
const BATCHES: usize = 2;
/// Of a Kubernetes' etcd it leaves 5 %; zstd's own default, 3, leaves 4 %, but takes two and a half times as long for what hardly compresses.
const LEVEL: i32 = 2;

/// What is known of a snapshot before it comes.
#[derive(Debug, Clone)]
pub struct About {
    /// The backup's name in the store.
    pub id: String,
    pub producer: String,
    pub cluster: Cluster,
    pub etcd_version: String,
    pub taken_at: Timestamp,
    /// What etcd holds, by its own hash, if it was asked.
    pub hash: Option<Hash>,
    /// The schedule that it is taken for.
    pub schedule: Option<String>,
    /// With the alarm CORRUPT: which members held the same data.
    pub corruption: Option<Corruption>,
}

/// How far it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// Of the database, taken from etcd.
    pub read: u64,
    /// Of what is stored, accepted by the store.
    pub written: u64,
}

/// Stores the snapshot that comes as `chunks`. `revisions` is asked when the stream has ended. An attempt that fails leaves nothing that
/// could be taken for a backup.
///
/// A backup of this name that is already there is the result of an earlier attempt whose word was lost: it is returned, nothing is stored.
pub async fn save<E: std::fmt::Display>(
    store: &Store,
    about: About,
    key: Option<&Key>,
    chunks: impl Stream<Item = Result<Bytes, E>>,
    revisions: impl AsyncFnOnce() -> Result<Revisions>,
    progress: impl Fn(Progress) + Send + Sync,
) -> Result<Manifest> {
    if let Some(earlier) = earlier(store, &about.id, &about.cluster.uid).await? {
        return Ok(earlier);
    }
    // Before the first part: whatever becomes of this attempt, its marker tells whose object it is.
    let attempt = Attempt::new(&about, key)?;
    attempt.announce(store).await?;
    let object = &attempt.object;
    let uploaded = upload(store, &about.id, object, key, chunks, &progress).await;
    let (snapshot, stored) = match uploaded {
        Ok(done) => done,
        Err(Failed { error, left: Left::Nothing }) => {
            forget(store, &attempt).await;
            return Err(error);
        }
        Err(Failed { error, left: Left::Perhaps }) => return Err(error),
    };
    let revision = revisions().await?;
    let read = match read_back(store, &about.id, object).await {
        Err(error @ Error::Forgot { .. }) => {
            forget(store, &attempt).await;
            return Err(error);
        }
        read => read?,
    };
    if read != stored.sha256 {
        store.remove_object(&about.id, object).await?;
        forget(store, &attempt).await;
        return Err(store.lied(&store.path(&about.id, object), stored.sha256, read));
    }
    let manifest = Manifest {
        format: FORMAT.to_owned(),
        id: about.id,
        producer: about.producer,
        taken_at: about.taken_at,
        schedule: about.schedule,
        cluster: about.cluster,
        etcd_version: about.etcd_version,
        revision,
        hash: about.hash,
        corruption: about.corruption,
        database: Database { bytes: snapshot.bytes, sha256: snapshot.sha256 },
        stored: Stored {
            object: object.to_owned(),
            bytes: stored.bytes,
            sha256: stored.sha256,
            compression: Compression::Zstd,
            encryption: key.map(|key| Encryption { scheme: seal::SCHEME.to_owned(), key_id: key.id() }),
        },
    };
    if store.write_manifest(&manifest).await? {
        return Ok(manifest);
    }
    // Another attempt was faster, and what it stored is the backup; or it was this one, and the first answer was lost.
    let Manifest { id, cluster, .. } = &manifest;
    let earlier = earlier(store, id, &cluster.uid).await?;
    if earlier.as_ref() != Some(&manifest) {
        store.remove_object(id, object).await?;
        forget(store, &attempt).await;
    }
    earlier.ok_or_else(|| store.forgot(&store.path(id, manifest::OBJECT)))
}

/// The backup that has this name already, if it is of the same cluster.
async fn earlier(store: &Store, id: &str, cluster_uid: &str) -> Result<Option<Manifest>> {
    match store.manifest(id).await? {
        Some(earlier) if earlier.cluster.uid != cluster_uid => Err(Error::Manifest {
            id: id.to_owned(),
            why: format!(
                "the name is taken by a backup of {}/{}",
                earlier.cluster.namespace, earlier.cluster.name
            ),
        }),
        earlier => Ok(earlier),
    }
}

/// Removes the marker of an attempt that has left nothing. One that stays is removed by retention.
async fn forget(store: &Store, attempt: &Attempt) {
    let _ = store.remove_object(&attempt.id, &attempt.marker()).await;
}

/// Why nothing was uploaded.
struct Failed {
    error: Error,
    left: Left,
}

/// What a failed upload has left in the store.
enum Left {
    Nothing,
    /// It could not be taken back, or the store may still complete it.
    Perhaps,
}

/// Hash and length of the object as it was sent.
struct Sent {
    bytes: u64,
    sha256: Sha256,
}

async fn upload<E: std::fmt::Display>(
    store: &Store,
    id: &str,
    object: &str,
    key: Option<&Key>,
    chunks: impl Stream<Item = Result<Bytes, E>>,
    progress: &(impl Fn(Progress) + Send + Sync),
) -> Result<(Snapshot, Sent), Failed> {
    let path = store.path(id, object);
    let mut upload = match store.objects().put_multipart(&path).await {
        Ok(upload) => upload,
        Err(error) => return Err(Failed { error: store.failed("write", &path)(error), left: Left::Nothing }),
    };
    let done = pump(store, &path, upload.as_mut(), key.cloned(), chunks, progress).await;
    let done = match done {
        Ok(done) => upload.complete().await.map(|_| done).map_err(store.failed("write", &path)),
        Err(error) => Err(error),
    };
    match done {
        Ok(done) => Ok(done),
        Err(error) => {
            // The parts would be paid for until somebody finds them. An upload that can be aborted is not completed later.
            let left = if upload.abort().await.is_ok() { Left::Nothing } else { Left::Perhaps };
            Err(Failed { error, left })
        }
    }
}

/// Chunks to the packing thread, parts from it to the store, both at once.
async fn pump<E: std::fmt::Display>(
    store: &Store,
    path: &object_store::path::Path,
    upload: &mut dyn MultipartUpload,
    key: Option<Key>,
    chunks: impl Stream<Item = Result<Bytes, E>>,
    progress: &(impl Fn(Progress) + Send + Sync),
) -> Result<(Snapshot, Sent)> {
    let (to_pack, unpacked) = mpsc::channel::<Vec<Bytes>>(BATCHES);
    let (packed, parts) = mpsc::channel::<Bytes>(IN_FLIGHT);
    let packing = tokio::task::spawn_blocking(move || pack(unpacked, packed, key.as_ref()));
    let so_far = std::sync::Mutex::new(Progress::default());
    let told = |change: &dyn Fn(&mut Progress)| {
        let mut so_far = so_far.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        change(&mut so_far);
        progress(*so_far);
    };

    let feed = async {
        let to_pack = to_pack;
        let mut batches = std::pin::pin!(chunks.ready_chunks(BATCH));
        while let Some(batch) = batches.next().await {
            let batch: Result<Vec<Bytes>, E> = batch.into_iter().collect();
            let batch = batch.map_err(|error| Error::Etcd(error.to_string()))?;
            told(&|so_far| so_far.read += batch.iter().map(|chunk| chunk.len() as u64).sum::<u64>());
            // Refused when packing has failed; its result says why.
            if to_pack.send(batch).await.is_err() {
                break;
            }
        }
        Ok::<_, Error>(())
    };
    // Ends with its first error, and the parts with it: so packing ends, and then what feeds it.
    let drain = async {
        let mut parts = parts;
        let mut on_the_way = FuturesUnordered::new();
        while let Some(part) = parts.recv().await {
            if on_the_way.len() == IN_FLIGHT {
                on_the_way.try_next().await.map_err(store.failed("write", path))?;
            }
            let bytes = part.len() as u64;
            let put = upload.put_part(PutPayload::from_bytes(part));
            let told = &told;
            on_the_way.push(async move { put.await.inspect(|()| told(&|so_far| so_far.written += bytes)) });
        }
        on_the_way.try_collect::<()>().await.map_err(store.failed("write", path))
    };
    // The stream's own error first: packing only sees that it ended early.
    let (fed, drained) = futures::join!(feed, drain);
    let packed = packing.await.map_err(|_| Error::Stopped)?;
    fed?;
    drained?;
    packed
}

/// Everything that costs time of a processor: packing on this thread, checking on one beside it.
fn pack(
    mut batches: mpsc::Receiver<Vec<Bytes>>,
    parts: mpsc::Sender<Bytes>,
    key: Option<&Key>,
) -> Result<(Snapshot, Sent)> {
    let gone = |_: io::Error| Error::Stopped;
    let buffers = Buffers::new(IN_FLIGHT + 1, PART);
    let parts = Parts { to: parts, buffers, part: None, hash: Hasher::default(), bytes: 0 };
    let sink = match key {
        None => Sink::Plain(parts),
        Some(key) => Sink::Sealed(Box::new(Sealer::new(parts, key).map_err(gone)?)),
    };
    let mut zstd = zstd::Encoder::new(sink, LEVEL).map_err(gone)?;
    let (passed, to_check) = sync_channel::<Vec<Bytes>>(BATCHES);
    let check = thread::scope(|scope| {
        let checking = scope.spawn(move || {
            let mut check = Check::default();
            to_check.into_iter().flatten().for_each(|chunk| check.push(&chunk));
            check
        });
        while let Some(batch) = batches.blocking_recv() {
            passed.send(batch.clone()).map_err(|_| Error::Stopped)?;
            batch.iter().try_for_each(|chunk| zstd.write_all(chunk)).map_err(gone)?;
        }
        drop(passed);
        checking.join().map_err(|_| Error::Stopped)
    })?;
    // Before the last part is sent: what is not whole is never completed.
    let snapshot = check.finish().map_err(Error::Source)?;
    let parts = match zstd.finish().map_err(gone)? {
        Sink::Plain(parts) => parts,
        Sink::Sealed(sealer) => sealer.finish().map_err(gone)?,
    };
    Ok((snapshot, parts.finish().map_err(gone)?))
}

enum Sink {
    Plain(Parts),
    Sealed(Box<Sealer<Parts>>),
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(parts) => parts.write(bytes),
            Self::Sealed(sealer) => sealer.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Cuts what is written into parts of one length (some stores insist), and hashes all of it.
struct Parts {
    to: mpsc::Sender<Bytes>,
    buffers: Buffers,
    part: Option<Buffer>,
    hash: Hasher,
    bytes: u64,
}

impl Parts {
    fn send(&mut self, part: Buffer) -> io::Result<()> {
        self.to.blocking_send(part.freeze()).map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))
    }

    fn finish(mut self) -> io::Result<Sent> {
        if let Some(part) = self.part.take() {
            self.send(part)?;
        }
        Ok(Sent { bytes: self.bytes, sha256: self.hash.finish() })
    }
}

impl Write for Parts {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let part = match self.part.take() {
            Some(part) => Some(part),
            // One comes free when a part has arrived, or the upload was given up.
            None => Handle::current().block_on(self.buffers.take()),
        };
        let mut part = part.ok_or(io::ErrorKind::BrokenPipe)?;
        let taken = part.fill(bytes);
        self.hash.update(bytes.get(..taken).unwrap_or_default());
        self.bytes += taken as u64;
        match part.is_full() {
            true => self.send(part)?,
            false => self.part = Some(part),
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The hash of what the store gives back, however much that is.
async fn read_back(store: &Store, id: &str, object: &str) -> Result<Sha256> {
    let path = store.path(id, object);
    let bytes = match store.objects().head(&path).await {
        Ok(found) => found.size,
        Err(object_store::Error::NotFound { .. }) => return Err(store.forgot(&path)),
        Err(error) => return Err(store.failed("read back", &path)(error)),
    };
    let mut parts = std::pin::pin!(fetch::in_order(store, &path, bytes, "read back"));
    let mut hash = Hasher::default();
    while let Some(part) = parts.try_next().await? {
        hash.update(&part);
    }
    Ok(hash.finish())
}
