//! An object out of the store, from its beginning to its end: in ranges, several on their way at once, each tried again for itself.

use std::{
    fs::File,
    io::{self, Read as _, Seek as _, SeekFrom},
    ops::Range,
};

use bytes::Bytes;
use futures::{Stream, StreamExt as _, TryStreamExt as _, stream};
use object_store::{GetOptions, GetRange, GetResultPayload, ObjectStoreExt as _, path::Path};

use crate::{
    Error, Result, Store,
    answer::Finding,
    buffers::{Buffer, Buffers},
};

const RANGE: usize = 2 << 20;
/// Ranges that are on their way at once; others are read from, or wait for it.
const IN_FLIGHT: usize = 4;
const IN_USE: usize = 2;

/// How many bytes the object at `path` has.
pub(crate) async fn size(store: &Store, path: &Path, action: &'static str) -> Result<u64> {
    Ok(store.objects().head(path).await.map_err(store.failed(action, path))?.size)
}

/// The first `bytes` bytes of the object at `path`, in order. An object that is shorter is an error.
pub(crate) fn in_order<'a>(
    store: &'a Store,
    path: &'a Path,
    bytes: u64,
    action: &'static str,
) -> impl Stream<Item = Result<Bytes>> + Send + 'a {
    // At least one for each that is on its way: the one that is waited for never waits for those that come after it.
    let buffers = Buffers::new(IN_FLIGHT + IN_USE, RANGE);
    let ranges = (0..bytes).step_by(RANGE).map(move |start| {
        let (buffers, range) = (buffers.clone(), start..bytes.min(start + RANGE as u64));
        async move {
            let buffer = buffers.take().await.ok_or(Error::Stopped)?;
            get(store, path, range, buffer).await.map_err(store.failed(action, path))
        }
    });
    stream::iter(ranges).buffered(IN_FLIGHT)
}

async fn get(
    store: &Store,
    path: &Path,
    range: Range<u64>,
    mut buffer: Buffer,
) -> object_store::Result<Bytes> {
    let options = GetOptions { range: Some(GetRange::Bounded(range.clone())), ..GetOptions::default() };
    let found = store.objects().get_opts(path, options).await?;
    let length = range.end - range.start;
    match found.payload {
        GetResultPayload::File(file, _) => {
            let read = tokio::task::spawn_blocking(move || read(file, range.start, length, buffer)).await;
            read.map_err(io::Error::other).flatten().map_err(generic)
        }
        GetResultPayload::Stream(mut pieces) => {
            while let Some(piece) = pieces.try_next().await? {
                if buffer.fill(&piece) < piece.len() {
                    return Err(generic(Finding("the store gives more than it was asked for")));
                }
            }
            match buffer.as_ref().len() as u64 == length {
                true => Ok(buffer.freeze()),
                false => Err(generic(Finding("the store gives less than it was asked for"))),
            }
        }
    }
}

fn read(mut file: File, start: u64, length: u64, mut buffer: Buffer) -> io::Result<Bytes> {
    file.seek(SeekFrom::Start(start))?;
    let read = file.take(length).read_to_end(buffer.get_mut())?;
    match read as u64 == length {
        true => Ok(buffer.freeze()),
        false => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

fn generic(why: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> object_store::Error {
    object_store::Error::Generic { store: "transfer", source: why.into() }
}
