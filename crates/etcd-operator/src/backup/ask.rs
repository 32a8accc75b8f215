//! How a running pod is asked how far it is. A trait, so that tests have pods of their own.

use std::fmt::Debug;

use futures::future::BoxFuture;
use k8s_openapi::api::core::v1::Pod;
use kit::pods;
use serde_json::Value;

/// Where pods of backups tell how far they are.
pub(crate) const PORT: u16 = 8081;

/// Asks pods.
pub trait Ask: Debug + Send + Sync {
    /// What the pod at `address` says under `/progress`; nothing when it does not answer, which is no news.
    fn ask<'a>(&'a self, address: &'a str) -> BoxFuture<'a, Option<Value>>;
}

/// Over the network.
#[derive(Debug, Clone, Copy, Default)]
pub struct OverHttp;

impl Ask for OverHttp {
    fn ask<'a>(&'a self, address: &'a str) -> BoxFuture<'a, Option<Value>> {
        Box::pin(async move { serde_json::from_str(&kit::ask(address, PORT, "/progress").await?).ok() })
    }
}

/// What the first of these pods that runs says.
pub(super) async fn first(ask: &dyn Ask, pods: impl IntoIterator<Item = &Pod>) -> Option<Value> {
    let runs = |pod: &&Pod| {
        pods::may_write(pod) && pod.status.as_ref().and_then(|it| it.phase.as_deref()) == Some("Running")
    };
    let pod = pods.into_iter().find(runs)?;
    ask.ask(pod.status.as_ref()?.pod_ip.as_deref()?).await
}
