//! Webhooks, served by every replica: with certificates from files, or with its own, which the API server is told to trust.

use std::net::SocketAddr;

use super::{Manager, ManagerError};
use crate::{
    flags::WebhookConfig,
    webhook::{CertSlot, Files, Keeper, Server, Target, service_names},
};

impl Manager {
    /// Serves `server` as the flags say, on standbys too. Without a directory with certificates it makes its own, keeps them in the
    /// Secret `<service>-tls`, and makes `trusted_by` trust them. Opens the port, and returns its address if it is not off.
    pub async fn webhooks(
        &mut self,
        server: Server,
        config: &WebhookConfig,
        trusted_by: impl IntoIterator<Item = Target>,
    ) -> Result<Option<SocketAddr>, ManagerError> {
        let slot = CertSlot::new();
        let Some(bound) = server.bind(&config.address, slot.clone()).await? else { return Ok(None) };
        let address = bound.address();
        let (check, clock) = (slot.clone(), self.tools.clock);
        self.admin.ready("webhook-certificate", move || check.check(clock.now()));
        match &config.cert_dir {
            Some(directory) => {
                let files = Files::new(directory);
                self.background("webhook-certificate", move |stop| files.run(slot, stop));
            }
            None => {
                let service = config.service.as_deref().unwrap_or(&self.name);
                let (secret, names) = (format!("{service}-tls"), service_names(service, &self.namespace));
                let keeper = Keeper::new(self.free.clone(), &self.namespace, &secret, names, clock);
                let keeper = trusted_by.into_iter().fold(keeper, Keeper::trusted_by);
                self.access.extend(keeper.access());
                self.background("webhook-certificate", move |stop| keeper.run(slot, stop));
            }
        }
        self.background("webhooks", move |stop| async move {
            if let Err(error) = bound.run(stop).await {
                tracing::error!(%error, "webhooks cannot be served");
            }
        });
        Ok(address)
    }
}
