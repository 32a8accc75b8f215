//! All notes into one object, read back before we say that it is there.

use std::path::Path;

use bytes::Bytes;
use futures::TryStreamExt as _;
use object_store::buffered::BufWriter;
use sha2::{Digest, Sha256};
use tokio::io::AsyncWriteExt as _;

use super::{
    Done, Object,
    archive::{Encoder, Summary},
    failure::Failure,
    format::hex,
    s3::{self, Bucket},
    tree::Tree,
};

/// What is uploaded at once; a larger archive goes in parts of this size, which is the smallest that S3 allows.
const PART: usize = 5 << 20;

/// Other processes may write meanwhile: every note is in the backup as it was before or after.
pub(super) async fn backup(root: &Path, bucket: &Bucket, key: &str) -> Result<Done, Failure> {
    let tree = Tree::open(root)?
        .ok_or_else(|| Failure::Usage(format!("{} is empty: there is nothing to back up", root.display())))?;
    let path = s3::path(key).map_err(|error| Failure::Usage(error.to_string()))?;
    let mut writer = BufWriter::with_capacity(bucket.store(), path.clone(), PART).with_max_concurrency(2);
    let written = match fill(&tree, bucket, &mut writer).await {
        Ok(written) => written,
        Err(failure) => {
            // Parts that were sent must not stay; if this fails too, the first failure is the one to tell.
            let _ = writer.abort().await;
            return Err(failure);
        }
    };
    writer.shutdown().await.map_err(|error| match error.downcast() {
        Ok(error) => bucket.failure(&error),
        Err(error) => Failure::Again(format!("{bucket}: {error}")),
    })?;
    let (size, sha256) = (bucket.size(&path).await?, digest(bucket, key).await?);
    if (size, &sha256) != (written.bytes, &written.sha256) {
        return Err(Failure::Again(format!(
            "{bucket}: {key} is not what was written: its SHA-256 is {sha256}, not {}",
            written.sha256
        )));
    }
    Ok(Done { notes: written.notes, format: written.format, object: Some(Object::new(key, written)) })
}

async fn fill(tree: &Tree, bucket: &Bucket, writer: &mut BufWriter) -> Result<Summary, Failure> {
    let send = |error| bucket.failure(&error);
    let (mut encoder, first) = Encoder::new(tree.format);
    writer.put(first.into()).await.map_err(send)?;
    for key in tree.keys()? {
        if let Some((_, note)) = tree.read(&key)? {
            writer.put(Bytes::from(encoder.note(&key, note))).await.map_err(send)?;
        }
    }
    let (last, summary) = encoder.end();
    writer.put(last.into()).await.map_err(send)?;
    Ok(summary)
}

async fn digest(bucket: &Bucket, key: &str) -> Result<String, Failure> {
    let object = bucket.get(key).await.map_err(|error| bucket.failure(&error))?;
    let add = |mut hash: Sha256, piece: Bytes| async move {
        hash.update(&piece);
        Ok(hash)
    };
    let hash = object.into_stream().try_fold(Sha256::new(), add).await;
    hash.map(|hash| hex(&hash.finalize())).map_err(|error| bucket.failure(&error))
}
