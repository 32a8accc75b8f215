//! kit: its informer, and a manager with a controller that does nothing.

use k8s_openapi::jiff::Timestamp;
use kit::{
    Acted, Api, Context, Informer, Key, Manager, Outcome, Reconciler, Result, Row, Scope, Select, Setup,
    Store,
    access::Access,
    client::{ClientOptions, layered},
    metrics::Metrics,
};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::{progress::Progress, server::Server};

/// A cache of the server's objects, kept up to date in the background.
pub fn cache<R: Row>(server: &Server) -> Store<R> {
    let metrics = Metrics::new();
    let client = layered(server.clone(), "default", ClientOptions::new("bench", metrics.clone()));
    let (_, everywhere) = watch::channel(Scope::All);
    let informer = Informer::new(client, Select::all(), everywhere, metrics);
    let store = informer.store();
    tokio::spawn(informer.run(CancellationToken::new()));
    store
}

/// An operator of the server's objects, in the background.
pub fn operator<R: Row>(server: &Server, reconciled: Progress) -> anyhow::Result<()> {
    let mut manager = Manager::new(Setup::new("bench", Api::service(server.clone())))?;
    let store = manager.watch::<R>(Select::all());
    let controller = manager.controller(Idle { store: store.clone(), reconciled }, &store);
    manager.add(controller);
    tokio::spawn(manager.run(CancellationToken::new()));
    Ok(())
}

/// Looks at each object that is due, and leaves it at that.
struct Idle<R> {
    store: Store<R>,
    reconciled: Progress,
}

impl<R: Row> Reconciler for Idle<R> {
    type Kind = R;
    type Picture = Option<std::sync::Arc<R>>;
    type Plan = ();

    const NAME: &'static str = "idle";

    async fn observe(&self, _: &Context, key: &Key) -> Result<Self::Picture> {
        Ok(self.store.get(key))
    }

    fn decide(&self, _: &Self::Picture, _: Timestamp) -> Self::Plan {}

    async fn act(&self, _: &Context, (): &()) -> Result<()> {
        Ok(())
    }

    async fn report(&self, _: &Context, _: &Self::Picture, (): &(), acted: Acted) -> Outcome {
        self.reconciled.step();
        acted.outcome()
    }

    fn access() -> Vec<Access> {
        Vec::new()
    }
}
