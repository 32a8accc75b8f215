//! Verifying by restore: the restored etcd must hold what the original held.

use etcd_api::{Endpoint as _, pb};
use etcd_backup::{
    Error,
    ranking::Load,
    restored::{self, By},
    source::Source,
};
use lab::versions::Operand;

use super::{
    point_in_time::{restore, take_as},
    process::Etcd,
    store, write,
};

#[tokio::test]
async fn a_restored_backup_is_compared_by_its_hash_and_another_one_is_found_out() {
    for component in Operand::Etcd.versions() {
        let version = component.version;
        let dir = tempfile::tempdir().unwrap();
        let etcd = Etcd::start(version, &dir.path().join("data")).await;
        let client = etcd.client().await;
        write(&client, 400).await;
        client.compact(200).await.unwrap();
        let store = store(&dir.path().join("store"));
        let giver = Source { endpoints: vec![etcd.url()], tls: None }.giver(Load::Snapshot).await.unwrap();
        let hash = giver.hash().await.unwrap();
        let mut manifest = take_as(&etcd, &store, "a", None).await;
        write(&client, 30).await;
        let again = restore(version, &store, &manifest, None, &dir.path().join("again"), 0).await;
        let again = again.client().await;

        let plain = restored::judge(&again, &manifest).await.unwrap();
        assert_eq!(plain.by, By::Consistency, "{version}");
        manifest.hash = Some(hash);
        let verdict = restored::judge(&again, &manifest).await.unwrap();
        assert_eq!((verdict.by, verdict.hash, verdict.note), (By::HashKv, hash.hash, None), "{version}");
        assert_eq!(verdict.revision, manifest.revision.at_least);

        manifest.hash = Some(etcd_backup::manifest::Hash { compact_revision: 100, ..hash });
        let verdict = restored::judge(&again, &manifest).await.unwrap();
        assert!(verdict.by == By::Consistency && verdict.note.unwrap().contains("compacted"), "{version}");

        manifest.hash = Some(etcd_backup::manifest::Hash { hash: hash.hash ^ 1, ..hash });
        let bad = restored::judge(&again, &manifest).await.unwrap_err();
        assert!(
            matches!(&bad, Error::Bad { why, .. } if why.contains("HashKV")) && !bad.is_transient(),
            "{bad}"
        );

        manifest.hash = Some(hash);
        let put = pb::PutRequest { key: "x".into(), ..pb::PutRequest::default() };
        again.call(again.kv().put(put)).await.unwrap();
        let bad = restored::judge(&again, &manifest).await.unwrap_err();
        assert!(bad.to_string().contains("and was taken between"), "{bad}");
    }
}
