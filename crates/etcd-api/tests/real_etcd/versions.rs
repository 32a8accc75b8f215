//! Every version that users run speaks the same, and goes only where the simulated etcd lets it go.

use etcd_api::{Consistency, Downgrade, Endpoint as _, EtcdError, Health, Refusal, Role};
use futures::StreamExt as _;
use lab::versions::Operand;

use crate::cluster::{Cluster, until};

#[tokio::test]
async fn every_version_answers_every_question() {
    for component in Operand::Etcd.versions() {
        let version = component.version;
        let cluster = Cluster::found_at(&format!("speaks-{version}"), 1, version).await;
        let client = cluster.dial(0).await;
        let status = client.status().await.unwrap();
        assert_eq!((status.version.as_str(), status.leader), (version, Some(status.member)));
        assert_eq!(status.db_size_quota.is_some(), !version.starts_with("3.5"), "{version}");
        let members = client.members(Consistency::Linearizable).await.unwrap();
        assert_eq!((members.cluster, members.members.len()), (status.cluster, 1));
        assert_eq!(client.alarms().await, Ok(Vec::new()));
        assert_eq!(client.auth_enabled().await, Ok(false));
        assert!(client.hash_kv(0).await.is_ok());
        assert_eq!(client.watch_health().next().await, Some(Ok(Health::Serving)));
        let bad = client.downgrade(Downgrade::Validate("3.1")).await;
        let early = EtcdError::Refused(Refusal::NoClusterVersion);
        assert!(bad == Err(EtcdError::Refused(Refusal::BadDowngradeTarget)) || bad == Err(early), "{bad:?}");
        let added = client.add_member(&["https://127.0.0.1:9".into()], Role::Learner).await.unwrap();
        assert_eq!(added.membership.members.len(), 2);
        client.remove_member(added.member.id).await.unwrap();
    }
}

/// Restarts the only member at another version, on the same disk.
async fn restart(cluster: &mut Cluster, version: &'static str) {
    cluster.members[0].stop().await;
    cluster.version = version;
    cluster.start(0, "existing", &[0]);
}

/// Waits until the only member's storage has this version.
async fn storage(cluster: &Cluster, wanted: &str) {
    let client = cluster.dial(0).await;
    until("the storage has its version", async || match client.status().await {
        Ok(status) if status.storage_version.as_deref() == Some(wanted) => Ok(()),
        other => Err(format!("{other:?}")),
    })
    .await;
}

#[tokio::test]
async fn there_is_no_way_back_but_through_a_downgrade() {
    for (from, storage_from, to, storage_to) in
        [("3.6.16", "3.6.0", "3.5.35", "3.5.0"), ("3.7.3", "3.7.0", "3.6.16", "3.6.0")]
    {
        let mut cluster = Cluster::found_at(&format!("back-to-{to}"), 1, from).await;
        storage(&cluster, storage_from).await;
        restart(&mut cluster, to).await;
        let (ended, said) = cluster.last_words(0).await;
        // 3.5 knows no storage versions, and finds out later.
        let unsupported = said.contains("is not supported") && ended == Some(1);
        let lower =
            said.contains("invalid downgrade; server version is lower than determined cluster version");
        assert!(unsupported || (lower && matches!(ended, Some(1 | 2))), "{ended:?} {said}");

        cluster.version = from;
        cluster.start(0, "existing", &[0]);
        storage(&cluster, storage_from).await;
        let client = cluster.dial(0).await;
        until("a downgrade", async || {
            client.downgrade(Downgrade::Enable(storage_to)).await.map_err(|error| error.to_string())
        })
        .await;
        storage(&cluster, storage_to).await;
        restart(&mut cluster, to).await;
        let client = cluster.dial(0).await;
        until("it serves", async || {
            client.probe(Consistency::Linearizable).await.map_err(|error| error.to_string())
        })
        .await;
        assert_eq!(client.status().await.unwrap().version, to);
    }
}
