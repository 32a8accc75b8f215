//! kube_runtime: its reflector, and its controller with a reconcile that does nothing.

use std::{convert::Infallible, fmt::Debug, future::ready, sync::Arc};

use futures::StreamExt as _;
use kube::{Api, Resource};
use kube_runtime::{
    Controller, WatchStreamExt as _,
    controller::Action,
    reflector::{self, Store},
    watcher,
};
use serde::de::DeserializeOwned;

use crate::{progress::Progress, server::Server};

/// What a reflector or controller can be of.
pub trait Kind:
    Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + Sync + 'static
{
}

impl<K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + Sync + 'static> Kind for K {}

/// What happens to an object before it is stored.
pub type Prepare<K> = fn(&mut K);

/// Nothing: what a program does that was not written with memory in mind.
pub fn keep_all<K>(_: &mut K) {}

/// The advice of kube's documentation.
pub fn drop_managed_fields<K: Kind>(object: &mut K) {
    object.meta_mut().managed_fields = None;
}

/// A cache of the server's objects, kept up to date in the background.
pub fn cache<K: Kind>(server: &Server, prepare: Prepare<K>) -> Store<K> {
    let (store, writer) = reflector::store();
    let events =
        watcher(api(server), watcher::Config::default()).default_backoff().modify(prepare).reflect(writer);
    tokio::spawn(events.for_each(|_| ready(())));
    store
}

/// An operator of the server's objects, in the background.
pub fn operator<K: Kind>(server: &Server, prepare: Prepare<K>, reconciled: Progress) {
    let (store, writer) = reflector::store();
    let events =
        watcher(api(server), watcher::Config::default()).default_backoff().modify(prepare).reflect(writer);
    let reconcile = |_: Arc<K>, reconciled: Arc<Progress>| {
        reconciled.step();
        ready(Ok::<_, Infallible>(Action::await_change()))
    };
    let controller = Controller::for_stream(events.applied_objects(), store);
    let results = controller.run(reconcile, |_, never: &Infallible, _| match *never {}, Arc::new(reconciled));
    tokio::spawn(results.for_each(|_| ready(())));
}

fn api<K: Kind>(server: &Server) -> Api<K> {
    Api::all(kube::Client::new(server.clone(), "default"))
}
