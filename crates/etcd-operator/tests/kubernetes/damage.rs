//! What happens to members' disks: emptied, replaced by another cluster's, damaged. All of it behind the back of Kubernetes.

use std::{
    fs::{self, OpenOptions},
    io::{Seek as _, SeekFrom, Write as _},
    path::{Path, PathBuf},
    process::Command,
};

use etcd_api::{
    Client, MemberId,
    pb::{AlarmRequest, AlarmType, alarm_request::AlarmAction},
};
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod};
use kube::{ResourceExt as _, api::DeleteParams};

use crate::{
    cluster::{Cluster, member_of},
    ground::{self, Signal},
};

/// Where the data of the member in `pod` is on this machine.
async fn data(cluster: &Cluster<'_>, pod: &Pod) -> PathBuf {
    ground::volume(cluster.world, &member_of(pod)).await.join("data")
}

/// Deletes claim and pod: the volume is gone for good.
pub(crate) async fn lose_volume(cluster: &Cluster<'_>, pod: &Pod) {
    let claims = cluster.world.api::<PersistentVolumeClaim>();
    // It goes when nobody uses it any more.
    claims.delete(&member_of(pod), &DeleteParams::default()).await.unwrap();
    cluster.delete_pod(pod).await;
}

/// Its data directory is gone when the process starts again.
pub(crate) async fn empty(cluster: &Cluster<'_>, pod: &Pod) {
    let data = data(cluster, pod).await;
    fs::rename(&data, aside(&data)).unwrap();
    ground::signal(pod, Signal::KILL);
}

/// Another cluster's data is there when the process starts again.
pub(crate) async fn foreign(cluster: &Cluster<'_>, pod: &Pod, other: &Cluster<'_>, of: &Pod) {
    let (mine, theirs) = (data(cluster, pod).await, data(other, of).await);
    fs::rename(&mine, aside(&mine)).unwrap();
    let copied = Command::new("cp").arg("-a").args([&theirs, &mine]).status().unwrap();
    assert!(copied.success());
    ground::signal(pod, Signal::KILL);
}

/// The first pages of its database are nonsense when the process starts again.
pub(crate) async fn corrupt(cluster: &Cluster<'_>, pod: &Pod) {
    let file = data(cluster, pod).await.join("member/snap/db");
    ground::signal(pod, Signal::KILL);
    let mut database = OpenOptions::new().write(true).open(&file).unwrap();
    database.seek(SeekFrom::Start(0)).unwrap();
    database.write_all(&[0xa5; 64 * 1024]).unwrap();
    database.sync_all().unwrap();
}

/// Replaces `from` wherever its database has it, under the running process.
pub(crate) async fn alter(cluster: &Cluster<'_>, pod: &Pod, from: &[u8], to: &[u8]) {
    assert_eq!(from.len(), to.len(), "nothing else moves");
    let file = data(cluster, pod).await.join("member/snap/db");
    let content = fs::read(&file).unwrap();
    let mut database = OpenOptions::new().write(true).open(&file).unwrap();
    for (at, _) in content.windows(from.len()).enumerate().filter(|(_, window)| *window == from) {
        database.seek(SeekFrom::Start(at as u64)).unwrap();
        database.write_all(to).unwrap();
    }
    database.sync_all().unwrap();
}

/// Raises the alarm CORRUPT, as one of etcd's checks does.
pub(crate) async fn raise_corrupt(client: &Client, member: MemberId) {
    let request = AlarmRequest {
        action: AlarmAction::Activate.into(),
        member_id: member.0,
        alarm: AlarmType::Corrupt.into(),
    };
    client.call(client.maintenance().alarm(request)).await.unwrap();
}

fn aside(data: &Path) -> PathBuf {
    data.with_file_name("data-aside")
}

/// The number at the end of a member's name.
pub(crate) fn serial(pod: &Pod) -> u64 {
    let member = member_of(pod);
    member.rsplit('-').next().and_then(|it| it.parse().ok()).unwrap_or_else(|| panic!("{}", pod.name_any()))
}
