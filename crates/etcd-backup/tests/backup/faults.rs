//! A store that fails, lies, or is meddled with; a snapshot that is not whole.

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use bytes::Bytes;
use etcd_backup::{Store, manifest};
use futures::stream::BoxStream;
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    ObjectStoreExt as _, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result, memory::InMemory,
    path::Path,
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
    meddle(&objects, "of/db/a/snapshot.zst", |bytes| bytes[9_000_000] ^= 1).await;
    assert!(refusal(loaded(&store, &manifest, None).await).contains("is damaged"));
    meddle(&objects, "of/db/a/snapshot.zst", |bytes| bytes.truncate(9_000_000)).await;
    assert!(loaded(&store, &manifest, None).await.is_err());

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
    let liar = Store::over(Arc::new(Liar(InMemory::new())), "", "liar");
    let said = refusal(save_whole(&liar, "a", None, &large()).await);
    assert!(said.contains("does not keep what it is given"), "{said}");
    assert!(
        !liar.found().await.unwrap().iter().any(|found| found.objects.contains(&manifest::OBJECT.to_owned()))
    );
}

/// Answers every read with one bit changed.
#[derive(Debug)]
struct Liar(InMemory);

impl fmt::Display for Liar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("liar")
    }
}

#[async_trait]
impl ObjectStore for Liar {
    async fn put_opts(&self, location: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        self.0.put_opts(location, payload, options).await
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.0.put_multipart_opts(location, options).await
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let true_one = self.0.get_opts(location, options.clone()).await?.bytes().await?;
        let mut bytes = true_one.to_vec();
        if let Some(byte) = bytes.get_mut(0) {
            *byte ^= 1;
        }
        self.0.put(location, PutPayload::from_bytes(Bytes::from(bytes))).await?;
        self.0.get_opts(location, options).await
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        self.0.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.0.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.0.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.0.copy_opts(from, to, options).await
    }
}
