//! Dialing over the network.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;

use crate::{Client, Dial, Endpoint, Result, Tls};

/// The network: what operators use.
#[derive(Debug, Clone, Copy, Default)]
pub struct Network;

#[async_trait]
impl Dial for Network {
    async fn dial(&self, url: &str, tls: Option<&Tls>, deadline: Duration) -> Result<Arc<dyn Endpoint>> {
        Ok(Arc::new(Client::connect(url, tls, deadline).await?))
    }
}
