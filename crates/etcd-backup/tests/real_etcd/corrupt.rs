//! Members that hold different data, and the alarm CORRUPT: what etcd still answers, and which member gives the snapshot.

use std::{
    fs,
    path::{Path, PathBuf},
};

use bytes::Bytes;
use etcd_api::{Client, Endpoint as _, EtcdError, Refusal, pb};
use etcd_backup::{
    ranking::Load,
    source::{NoGiver, Source},
};
use futures::TryStreamExt as _;
use lab::versions::Operand;

use super::{point_in_time::take_as, process::Etcd, store};

async fn put(client: &Client, value: &'static [u8]) -> etcd_api::Result<()> {
    let request = pb::PutRequest {
        key: Bytes::from_static(b"colour"),
        value: value.into(),
        ..pb::PutRequest::default()
    };
    client.call(client.kv().put(request)).await.map(drop)
}

/// A snapshot of an etcd that holds one key with this value.
async fn snapshot(version: &str, directory: &Path, value: &'static [u8]) -> PathBuf {
    fs::create_dir_all(directory).unwrap();
    let etcd = Etcd::start(version, &directory.join("data")).await;
    put(&etcd.client().await, value).await.unwrap();
    let giver = Source { endpoints: vec![etcd.url()], tls: None }.giver(Load::Snapshot).await.unwrap();
    let chunks: Vec<Bytes> = giver.snapshot().await.unwrap().try_collect().await.unwrap();
    let file = directory.join("snapshot.db");
    fs::write(&file, chunks.concat()).unwrap();
    file
}

async fn raise_corrupt(client: &Client, member: u64) {
    let request = pb::AlarmRequest {
        action: pb::alarm_request::AlarmAction::Activate.into(),
        member_id: member,
        alarm: pb::AlarmType::Corrupt.into(),
    };
    client.call(client.maintenance().alarm(request)).await.unwrap();
}

#[tokio::test]
async fn with_the_alarm_corrupt_a_member_of_the_majority_gives_the_snapshot() {
    for component in Operand::Etcd.versions() {
        let version = component.version;
        let dir = tempfile::tempdir().unwrap();
        let right = snapshot(version, &dir.path().join("right"), b"blue").await;
        let wrong = snapshot(version, &dir.path().join("wrong"), b"grey").await;
        let mut members = Etcd::start_three_from(version, dir.path(), [&right, &right, &wrong]).await;
        let client = members[0].client().await;
        let third = members[2].client().await.status().await.unwrap();
        let source = Source { endpoints: members.iter().map(Etcd::url).collect(), tls: None };
        assert_eq!(source.giver(Load::Snapshot).await.unwrap().corruption, None, "{version}: no alarm yet");

        raise_corrupt(&client, third.member.0).await;
        let refused = put(&client, b"red").await;
        assert!(matches!(refused, Err(EtcdError::Refused(Refusal::Corrupt))), "{version}: {refused:?}");
        let giver = source.giver(Load::Snapshot).await.unwrap();
        let found = giver.corruption.clone().unwrap();
        assert_eq!(found.agree, ["m1", "m2"], "{version}");
        assert_eq!(found.differ.iter().map(|it| it.member.as_str()).collect::<Vec<_>>(), ["m3"], "{version}");
        assert!(found.agree.contains(&giver.name), "{version}: {}", giver.name);
        let manifest = take_as(&members[0], &store(&dir.path().join("store")), "a", None).await;
        assert!(manifest.cluster.member != "m3", "{version}");

        members[0].kill().await;
        let refused = source.giver(Load::Snapshot).await.unwrap_err();
        let said = refused.to_string();
        assert!(matches!(&refused, NoGiver::Corrupt(why) if why.may_pass()), "{version}: {said}");
        assert!(
            ["m1: no hash", "m2: hash", "m3: hash"].iter().all(|it| said.contains(it)),
            "{version}: {said}"
        );
    }
}

/// HashKV on the leader would stall every write of the cluster.
#[tokio::test]
async fn a_hash_is_computed_by_a_follower_while_clients_write() {
    let dir = tempfile::tempdir().unwrap();
    let members = Etcd::start_three("3.6.16", dir.path()).await;
    let client = members[0].client().await;
    let source = Source { endpoints: vec![members[0].url()], tls: None };
    let written = async {
        for _ in 0..200 {
            put(&client, b"blue").await.unwrap();
        }
    };
    let (giver, ()) = futures::join!(source.giver(Load::SnapshotAndHash), written);
    let giver = giver.unwrap();
    assert_ne!(giver.status.leader, Some(giver.status.member));
    giver.hash().await.unwrap();
}
