//! Nodes whose host name, the label that local volumes are bound to, is not the name of their Node.

use k8s_openapi::api::core::v1::Node;
use kube::{Api, ResourceExt as _};
use serde_json::json;

use crate::{
    cluster::{Clusters as _, spec},
    patience::{LONG, PATIENCE},
    world::scenario,
};

/// A lost pod, a new setting and a new version restart members with local volumes. None of them is replaced.
#[tokio::test]
async fn members_with_local_volumes_keep_them_where_host_names_are_not_node_names() {
    scenario(async |world| {
        let nodes = Api::<Node>::all(world.client.clone()).list(&Default::default()).await.unwrap();
        let differs = |node: &Node| node.labels().get("kubernetes.io/hostname") != Some(&node.name_any());
        assert!(nodes.iter().any(differs), "the lab has no node whose host name is not its name");

        let cluster = world.cluster("db");
        let mut local = spec(3, "3.6.16");
        local["storage"]["storageClassName"] = json!("local");
        cluster.create(local).await;
        cluster.is_well(3, "3.6.16", PATIENCE).await;
        let (load, claims) = (cluster.load().await, cluster.claim_names().await);

        for pod in cluster.pods().await {
            cluster.delete_pod(&pod).await;
            cluster.is_well(3, "3.6.16", PATIENCE).await;
        }
        cluster.patch(json!({"etcd": {"logLevel": "debug"}})).await;
        cluster.is_well(3, "3.6.16", LONG).await;
        cluster.patch(json!({"version": "3.7.3"})).await;
        cluster.is_well(3, "3.7.3", LONG).await;

        let status = cluster.status().await;
        assert_eq!((status.latest_serial, status.replacements), (Some(3), None), "a member was replaced");
        assert_eq!(cluster.claim_names().await, claims);
        load.stop("restarts on local volumes").await;
        cluster.members_agree().await;
    })
    .await;
}
