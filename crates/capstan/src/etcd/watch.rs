//! The live view: drawn anew when the API server tells of a change. Only the times in it move by the clock; nothing is polled.

use std::{collections::BTreeSet, time::Duration};

use anyhow::{Result, anyhow, bail};
use etcd_types::EtcdCluster;
use jiff::Timestamp;
use kit::{Clock, Informer, Key, Row, Scope, Select, Store, Subscription, metrics::Metrics};
use tokio::{
    sync::watch,
    time::{Instant, interval, sleep_until},
};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{
    ending::Stop,
    healthy::{Patience, Standing, standing},
    screen::{Frame, Screen},
    server::Server,
    view,
};
use crate::{
    look::{Paint, words::plain},
    output::Unheard,
};

/// Objects as they change.
pub(super) struct Followed<R: Row> {
    pub(super) store: Store<R>,
    pub(super) changes: Subscription,
    _stop: DropGuard,
}

impl<R: Row> Followed<R> {
    /// Those that `select` chooses, of one namespace or of all.
    pub(super) fn start(server: &Server, select: Select, everywhere: bool) -> Self {
        let scope = match everywhere {
            true => Scope::All,
            false => Scope::Only(BTreeSet::from([server.namespace.clone()])),
        };
        let informer = Informer::new(server.client.clone(), select, watch::channel(scope).1, Metrics::new());
        let (store, stop) = (informer.store(), CancellationToken::new());
        let changes = store.subscribe();
        tokio::spawn(informer.run(stop.clone()));
        Self { store, changes, _stop: stop.drop_guard() }
    }

    /// Why there is no news, if there is none.
    pub(super) fn trouble(&self) -> Option<String> {
        self.store.health().last_error
    }
}

/// One cluster.
pub(super) fn follow(server: &Server, name: &str) -> Followed<EtcdCluster> {
    Followed::start(server, Select::fields(format!("metadata.name={name}")), false)
}

/// That one cluster as it is, or that it is gone.
pub(super) fn present(followed: &Followed<EtcdCluster>, server: &Server, name: &str) -> Result<EtcdCluster> {
    let key = Key::new(server.namespace.clone(), name.to_owned());
    let found = followed.store.get(&key).map(|cluster| EtcdCluster::clone(&cluster));
    found.ok_or_else(|| anyhow!("EtcdCluster {key} is gone"))
}

/// Many clusters as a table, until somebody stops it. `nobody` is what to say if there are none.
pub(super) async fn all(server: &Server, everywhere: bool, nobody: &str, mut screen: Screen) -> Result<()> {
    let mut followed: Followed<EtcdCluster> = Followed::start(server, Select::all(), everywhere);
    followed.store.wait_synced().await;
    let mut stop = Stop::listen()?;
    let mut seconds = interval(Duration::from_secs(1));
    loop {
        let clusters: Vec<EtcdCluster> =
            followed.store.list().iter().map(|cluster| EtcdCluster::clone(cluster)).collect();
        let now = Clock::system().now();
        let frame = match clusters.is_empty() {
            true => Frame { drawn: vec![nobody.to_owned()], told: vec![nobody.to_owned()] },
            false => Frame {
                drawn: view::overview(&clusters, now, screen.paint),
                told: clusters.iter().map(view::line).collect(),
            },
        };
        screen.show(frame, followed.trouble().as_deref(), now)?;
        tokio::select! {
            _ = followed.changes.next() => {}
            _ = seconds.tick() => {}
            stopped = stop.asked() => return Err(stopped.into()),
        }
    }
}

/// How one cluster is shown.
pub(super) type Picture = fn(&EtcdCluster, Timestamp, Paint) -> Frame;

/// One cluster, until somebody stops it or, with patience, there is nothing more to wait for.
pub(super) async fn one(
    server: &Server,
    name: &str,
    picture: Picture,
    mut patience: Option<Patience>,
    mut screen: Screen,
) -> Result<()> {
    let mut followed = follow(server, name);
    followed.store.wait_synced().await;
    let mut stop = Stop::listen()?;
    let mut seconds = interval(Duration::from_secs(1));
    loop {
        let (cluster, now) = (present(&followed, server, name)?, Clock::system().now());
        let mut frame = picture(&cluster, now, screen.paint);
        let standing = patience.as_ref().map(|_| standing(&cluster));
        frame.told.extend(standing.as_ref().and_then(|standing| waits(standing, &frame.told)));
        match screen.show(frame, followed.trouble().as_deref(), now) {
            // Whoever waits wants to know how it ends, and need not look on.
            Err(error) if patience.is_some() && error.is::<Unheard>() => {}
            shown => shown?,
        }
        let end = patience.as_mut().zip(standing);
        let end = end.and_then(|(patience, standing)| patience.judge(standing, Instant::now()));
        match end {
            None => {}
            Some(Ok(())) => return Ok(()),
            Some(Err(why)) => bail!("EtcdCluster {}/{name}: {why}", server.namespace),
        }
        tokio::select! {
            _ = followed.changes.next() => {}
            _ = seconds.tick() => {}
            stopped = stop.asked() => return Err(stopped.into()),
            () = over(patience.as_ref()) => {}
        }
    }
}

/// What is missing, if nothing of what is told says so.
fn waits(standing: &Standing, told: &[String]) -> Option<String> {
    match standing {
        Standing::NotYet(what) if !told.iter().any(|line| line.contains(what)) => {
            Some(format!("waits: {}", plain(what)))
        }
        _ => None,
    }
}

/// Until there is no patience left.
async fn over(patience: Option<&Patience>) {
    match patience {
        Some(patience) => sleep_until(patience.ends()).await,
        None => std::future::pending().await,
    }
}

/// One cluster, as it changes, until `done` has an answer.
pub(super) async fn until<T>(
    server: &Server,
    name: &str,
    patience: Duration,
    mut done: impl FnMut(&EtcdCluster) -> Option<T>,
) -> Result<Option<T>> {
    let mut followed = follow(server, name);
    let ends = Instant::now() + patience;
    loop {
        tokio::select! {
            _ = followed.changes.next() => {
                if let Some(found) = done(&present(&followed, server, name)?) {
                    return Ok(Some(found));
                }
            }
            () = sleep_until(ends) => match followed.trouble() {
                None => return Ok(None),
                Some(trouble) => bail!("no news from the API server: {trouble}"),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_waited_for_is_told_once() {
        let told = ["shop/db Healthy, 3 of 3 serve".to_owned()];
        let missing = Standing::NotYet("UpToDate=False (Outdated): db-2".into());
        assert_eq!(waits(&missing, &told).unwrap(), "waits: UpToDate=False (Outdated): db-2");
        assert_eq!(waits(&Standing::NotYet(told.concat()), &told), None);
        assert_eq!(waits(&Standing::Healthy, &told), None);
    }
}
