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
    cluster.members[0].kill().await;
    cluster.version = version;
    cluster.start(0, "existing", &[0]);
}

#[tokio::test]
async fn there_is_no_way_back_but_through_a_downgrade() {
    let mut cluster = Cluster::found_at("way-back", 1, "3.6.16").await;
    let storage = async |cluster: &Cluster, wanted: &str| {
        let client = cluster.dial(0).await;
        until("the storage has its version", async || match client.status().await {
            Ok(status) if status.storage_version.as_deref() == Some(wanted) => Ok(()),
            other => Err(format!("{other:?}")),
        })
        .await;
    };
    storage(&cluster, "3.6.0").await;
    restart(&mut cluster, "3.5.35").await;
    let (code, said) = cluster.last_words(0).await;
    assert_ne!(code, Some(0), "{said}");
    println!("3.5.35 on a disk of 3.6: exit {code:?}: {}", said.lines().last().unwrap_or_default());

    cluster.version = "3.6.16";
    cluster.start(0, "existing", &[0]);
    storage(&cluster, "3.6.0").await;
    let client = cluster.dial(0).await;
    until("a downgrade", async || {
        client.downgrade(Downgrade::Enable("3.5")).await.map_err(|e| e.to_string())
    })
    .await;
    storage(&cluster, "3.5.0").await;
    restart(&mut cluster, "3.5.35").await;
    let client = cluster.dial(0).await;
    until("3.5 serves", async || client.probe(Consistency::Linearizable).await.map_err(|e| e.to_string()))
        .await;
    assert_eq!(client.status().await.unwrap().version, "3.5.35");
}
