//! A store that fails, lies, or is meddled with; a snapshot that is not whole.

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use bytes::Bytes;
use etcd_backup::{Store, manifest};
use futures::{
    StreamExt as _,
    stream::{self, BoxStream},
};
use object_store::{
    CopyOptions, GetOptions, GetResult, GetResultPayload, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, ObjectStoreExt as _, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
    UploadPart, memory::InMemory, path::Path,
};

use super::{chunks, large, listed, loaded, refusal, save_chunks, save_whole};

fn in_memory() -> (Arc<InMemory>, Store) {
    let objects = Arc::new(InMemory::new());
    (objects.clone(), Store::over(objects, "of/db", "memory"))
}

async fn meddle(objects: &InMemory, path: &str, change: impl FnOnce(&mut Vec<u8>)) {
    let path = Path::from(path);
    let mut bytes = objects.get(&path).await.unwrap().bytes().await.unwrap().to_vec();
    change(&mut bytes);
    objects.put(&path, PutPayload::from_bytes(Bytes::from(bytes))).await.unwrap();
}

#[tokio::test]
async fn a_stream_that_breaks_leaves_no_backup() {
    let (_, store) = in_memory();
    let mut broken = chunks(&large());
    broken.truncate(270);
    broken.push(Err("connection reset".to_owned()));
    let error = save_chunks(&store, "a", None, broken).await.unwrap_err();
    assert!(error.to_string().contains("connection reset") && error.is_transient());
    assert!(listed(&store).await.is_empty());
}

#[tokio::test]
async fn a_snapshot_that_is_not_whole_is_never_stored() {
    let (_, store) = in_memory();
    let whole = large();
    for (snapshot, why) in [
        (&whole[..whole.len() - 512], "it was changed"),
        (&whole[..1000], "the end is missing"),
        (&[0; 4128], "does not begin"),
    ] {
        let said = refusal(save_whole(&store, "a", None, snapshot).await);
        assert!(said.contains(why), "{said}");
    }
    assert!(listed(&store).await.is_empty());
}

#[tokio::test]
async fn what_was_changed_in_the_store_is_not_restored() {
    let (objects, store) = in_memory();
    let manifest = save_whole(&store, "a", None, &large()).await.unwrap();
    let path = format!("of/db/a/{}", manifest.stored.object);
    meddle(&objects, &path, |bytes| bytes[9_000_000] ^= 1).await;
    assert!(refusal(loaded(&store, &manifest, None).await).contains("is damaged"));
    meddle(&objects, &path, |bytes| bytes.truncate(9_000_000)).await;
    let said = refusal(loaded(&store, &manifest, None).await);
    assert!(said.contains("is damaged") && said.contains("9000000 bytes"), "{said}");

    // With a manifest that fits the changed bytes, etcd's own hash is left to notice it.
    let other = save_whole(&store, "b", None, &large()).await.unwrap();
    let mut forged = other.clone();
    forged.database.sha256 = etcd_backup::Sha256::of(b"another");
    assert!(refusal(loaded(&store, &forged, None).await).contains("another database"));
}

#[tokio::test]
async fn a_manifest_that_is_none_is_shown_and_harms_no_other() {
    let (objects, store) = in_memory();
    save_whole(&store, "a", None, &large()).await.unwrap();
    save_whole(&store, "b", None, &large()).await.unwrap();
    meddle(&objects, "of/db/a/manifest.json", |text| text.truncate(10)).await;
    let lines = listed(&store).await;
    assert_eq!(lines.len(), 2);
    assert!(lines[0].starts_with("b ") && lines[1].contains("not one of ours"), "{lines:?}");
}

#[tokio::test]
async fn a_store_that_does_not_keep_what_it_is_given_is_found_out() {
    let liar = Store::over(Arc::new(Bad(Fault::Lies, Arc::default())), "", "liar");
    let said = refusal(save_whole(&liar, "a", None, &large()).await);
    assert!(said.contains("does not keep what it is given"), "{said}");
    assert!(
        !liar.found().await.unwrap().iter().any(|found| found.objects.contains(&manifest::OBJECT.to_owned()))
    );
}

/// Parts that waited for the failed one, and the stream behind them, once waited for ever.
#[tokio::test]
async fn a_store_that_takes_no_more_parts_ends_the_backup() {
    let full = Store::over(Arc::new(Bad(Fault::Full, Arc::default())), "", "full");
    let mut random = fastrand::Rng::with_seed(7);
    let noise = std::iter::repeat_with(|| {
        let mut chunk = vec![0; 1 << 20];
        random.fill(&mut chunk);
        Ok(Bytes::from(chunk))
    });
    let error = save_chunks(&full, "a", None, noise.take(64).collect()).await.unwrap_err();
    assert!(error.to_string().contains("No space left") && error.is_transient(), "{error}");
    assert!(full.found().await.unwrap().is_empty());
}

/// What is wrong with a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// Answers every read with one bit changed.
    Lies,
    /// Takes no parts.
    Full,
    /// The list of the directory `b` times out.
    ListBreaksOff,
    /// Lists another prefix than was asked for.
    ListsElsewhere,
    /// Lists no manifests, as a list that is behind does.
    ListIsStale,
    /// The manifest of `b` cannot be read.
    ManifestTimesOut,
    /// Deletes nothing.
    RefusesDeletes,
    /// Deletes no snapshots: a removal ends in the middle.
    RefusesSnapshots,
}

#[derive(Debug)]
pub(super) struct Bad(pub(super) Fault, pub(super) Arc<InMemory>);

fn timeout<T>() -> Result<T> {
    let late = std::io::Error::from(std::io::ErrorKind::TimedOut);
    Err(object_store::Error::Generic { store: "bad", source: late.into() })
}

impl fmt::Display for Bad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

#[derive(Debug)]
struct Full(Box<dyn MultipartUpload>);

#[async_trait]
impl MultipartUpload for Full {
    fn put_part(&mut self, _: PutPayload) -> UploadPart {
        let full = std::io::Error::from_raw_os_error(28);
        Box::pin(async { Err(object_store::Error::Generic { store: "full", source: full.into() }) })
    }

    async fn complete(&mut self) -> Result<PutResult> {
        self.0.complete().await
    }

    async fn abort(&mut self) -> Result<()> {
        self.0.abort().await
    }
}

#[async_trait]
impl ObjectStore for Bad {
    async fn put_opts(&self, location: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        self.1.put_opts(location, payload, options).await
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        let upload = self.1.put_multipart_opts(location, options).await?;
        Ok(if self.0 == Fault::Full { Box::new(Full(upload)) } else { upload })
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        if self.0 == Fault::ManifestTimesOut && location.as_ref().ends_with("/b/manifest.json") {
            return timeout();
        }
        let is_head = options.head;
        let found = self.1.get_opts(location, options).await?;
        if self.0 != Fault::Lies || is_head {
            return Ok(found);
        }
        let (meta, range) = (found.meta.clone(), found.range.clone());
        let (attributes, extensions) = (found.attributes.clone(), found.extensions.clone());
        let mut bytes = found.bytes().await?.to_vec();
        bytes[0] ^= 1;
        let payload = GetResultPayload::Stream(stream::iter([Ok(Bytes::from(bytes))]).boxed());
        Ok(GetResult { payload, meta, range, attributes, extensions })
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        let fault = self.0;
        let refused = move |path: &Path| match fault {
            Fault::RefusesDeletes => true,
            Fault::RefusesSnapshots => path.as_ref().ends_with(".zst"),
            _ => false,
        };
        let inner = self.1.clone();
        locations
            .then(move |path| {
                let inner = inner.clone();
                async move {
                    let path = path?;
                    if refused(&path) {
                        let source = "no".into();
                        return Err(object_store::Error::PermissionDenied { path: path.to_string(), source });
                    }
                    inner.delete(&path).await.map(|()| path)
                }
            })
            .boxed()
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.1.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        match self.0 {
            Fault::ListBreaksOff if prefix.is_some_and(|it| it.filename() == Some("b")) => timeout(),
            Fault::ListsElsewhere => self.1.list_with_delimiter(Some(&Path::from("elsewhere"))).await,
            Fault::ListIsStale => {
                let mut listed = self.1.list_with_delimiter(prefix).await?;
                listed.objects.retain(|meta| meta.location.filename() != Some(manifest::OBJECT));
                Ok(listed)
            }
            _ => self.1.list_with_delimiter(prefix).await,
        }
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.1.copy_opts(from, to, options).await
    }
}
