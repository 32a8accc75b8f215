//! The S3 server of a scenario, in its namespace; seen from outside with a client of its own.

use std::time::Duration;

use futures::TryStreamExt as _;
use k8s_openapi::api::core::v1::{Pod, Secret};
use object_store::{ObjectStore as _, ObjectStoreExt as _, aws::AmazonS3Builder, path::Path};
use serde_json::{Value, json};

use crate::{
    patience::{PATIENCE, until, when},
    world::World,
};

const BUCKET: &str = "example-backup";
const USER: (&str, &str) = ("scenario", "not-a-secret");

/// The S3 server of a world.
pub(crate) trait Store {
    /// Starts examples/demo/s3.yaml, and waits until it serves.
    async fn with_store(&self);
    async fn credentials(&self, name: &str, password: &str);
    /// The keys below `prefix`, oldest first.
    async fn objects(&self, prefix: &str) -> Vec<String>;
    /// What an object holds, as text.
    async fn object_text(&self, key: &str) -> String;
    /// Waits for an object below `prefix` that is not in `before`.
    async fn new_object(&self, prefix: &str, before: &[String], limit: Duration) -> String;
}

impl Store for World {
    async fn with_store(&self) {
        self.credentials("backup-credentials", USER.1).await;
        self.kubectl("apply --server-side -f examples/demo/s3.yaml").await.unwrap();
        self.kubectl("rollout status deployment/s3 --timeout=90s").await.unwrap();
    }

    async fn credentials(&self, name: &str, password: &str) {
        let data = json!({"AWS_ACCESS_KEY_ID": USER.0, "AWS_SECRET_ACCESS_KEY": password});
        self.create_object::<Secret>(json!({"metadata": {"name": name}, "stringData": data})).await;
    }

    async fn objects(&self, prefix: &str) -> Vec<String> {
        let found: Vec<_> = bucket(self).await.list(Some(&Path::from(prefix))).try_collect().await.unwrap();
        let mut keys: Vec<String> = found.into_iter().map(|object| object.location.to_string()).collect();
        keys.sort_unstable();
        keys
    }

    async fn object_text(&self, key: &str) -> String {
        let got =
            bucket(self).await.get(&Path::from(key)).await.unwrap_or_else(|error| panic!("{key}: {error}"));
        String::from_utf8(got.bytes().await.unwrap().to_vec()).unwrap()
    }

    async fn new_object(&self, prefix: &str, before: &[String], limit: Duration) -> String {
        until("a new object", limit, async || {
            let now = self.objects(prefix).await;
            let new = now.iter().find(|key| !before.contains(key)).cloned();
            when(new.is_some(), now).map(|_| new.unwrap())
        })
        .await
    }
}

async fn bucket(world: &World) -> object_store::aws::AmazonS3 {
    let address = until("the S3 server has an address", PATIENCE, async || {
        let pods = world.list::<Pod>("app=s3").await;
        let address = pods.first().and_then(|pod| pod.status.as_ref()?.pod_ip.clone());
        address.ok_or_else(|| "none".to_owned())
    })
    .await;
    let store = AmazonS3Builder::new()
        .with_endpoint(format!("http://{address}:9000"))
        .with_virtual_hosted_style_request(false)
        .with_bucket_name(BUCKET)
        .with_region("us-east-1")
        .with_access_key_id(USER.0)
        .with_secret_access_key(USER.1)
        .with_allow_http(true);
    store.build().unwrap()
}

/// spec.backup with the scenario's server.
pub(crate) fn backup() -> Value {
    backup_in("http://s3:9000")
}

/// The same, from another namespace.
pub(crate) fn backup_in(host: &str) -> Value {
    json!({"enabled": true, "storageType": "s3", "host": host, "bucketName": BUCKET, "credentialsSecretName": "backup-credentials"})
}
