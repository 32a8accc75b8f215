//! A backup that a restore has found bad is never chosen, only named.

use std::sync::Arc;

use etcd_backup::{
    Store,
    catalogue::{self, Entry},
    wal::{Point, point, reach},
};
use object_store::memory::InMemory;

use super::{
    history::{UID, backup, capture_after},
    refusal,
};

async fn world() -> Store {
    let store = Store::over(Arc::new(InMemory::new()), "of/db", "memory");
    let first = backup(&store, "nightly-1", 40).await;
    capture_after(&store, &first).await;
    backup(&store, "nightly-2", 63).await;
    catalogue::record(&store, "nightly-2", false, b"{}".to_vec()).await.unwrap();
    store
}

#[tokio::test]
async fn a_refuted_backup_is_not_chosen() {
    let store = world().await;
    let entries = catalogue::list(&store).await.unwrap();
    let usable: Vec<&str> = entries.iter().filter_map(Entry::usable).map(|it| it.id.as_str()).collect();
    assert_eq!(usable, ["nightly-1"]);
    for point in [Point::Newest, Point::End, Point::Revision(70)] {
        let plan = point::choose(&store, Some(UID), point, None).await.unwrap();
        assert_eq!(plan.manifest.id, "nightly-1", "{point}");
    }
    let reaches = reach::reaches(&store, &entries).await.unwrap();
    assert_eq!(reaches[0].backup.as_deref(), Some("nightly-1"));
}

#[tokio::test]
async fn with_refuted_backups_only_there_is_none() {
    let store = world().await;
    catalogue::record(&store, "nightly-1", false, b"{}".to_vec()).await.unwrap();
    let said = refusal(point::choose(&store, Some(UID), Point::Newest, None).await);
    assert!(said.contains("no whole backup"), "{said}");
}

#[tokio::test]
async fn a_refuted_backup_that_is_named_is_refused_with_the_override() {
    let store = world().await;
    let said = refusal(catalogue::refuse_refuted(&store, "nightly-2").await);
    assert!(said.contains("--allow-refuted") && said.contains("spec.from.allowRefuted"), "{said}");
    catalogue::refuse_refuted(&store, "nightly-1").await.unwrap();
    // A later verification that finds it good takes the verdict back.
    catalogue::record(&store, "nightly-2", true, b"{}".to_vec()).await.unwrap();
    catalogue::refuse_refuted(&store, "nightly-2").await.unwrap();
}
