//! The live view: drawn anew when the API server tells of a change. Only the times in it move by the clock; nothing is polled.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use anyhow::{Result, bail};
use etcd_types::{EtcdCluster, Phase};
use jiff::Timestamp;
use kit::{Clock, Informer, Key, Row, Scope, Select, Store, Subscription, metrics::Metrics};
use tokio::{
    signal,
    sync::watch,
    time::{Instant, interval, sleep_until},
};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{server::Server, view};
use crate::{
    look::{Look, Paint},
    output::{is_terminal, say},
};

/// How long is as good as for ever.
const FOR_EVER: Duration = Duration::from_secs(365 * 86_400);

/// When to end by itself.
#[derive(Debug, Clone, Copy)]
pub(super) struct UntilHealthy {
    pub(super) patience: Option<Duration>,
}

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
}

pub(super) async fn run(
    server: &Server,
    name: Option<&str>,
    everywhere: bool,
    until: Option<UntilHealthy>,
    paint: Paint,
) -> Result<()> {
    // Asked once first: what cannot be had at all is said at once.
    match name {
        Some(name) => drop(server.cluster(name).await?),
        None => drop(server.list(everywhere).await?),
    }
    let select = name.map_or_else(Select::all, |name| Select::fields(format!("metadata.name={name}")));
    let mut followed: Followed<EtcdCluster> = Followed::start(server, select, everywhere);
    followed.store.wait_synced().await;
    let mut screen = Screen::new(is_terminal())?;
    let ends = Instant::now() + until.and_then(|until| until.patience).unwrap_or(FOR_EVER);
    let mut seconds = interval(Duration::from_secs(1));
    loop {
        let clusters: Vec<EtcdCluster> =
            followed.store.list().iter().map(|cluster| EtcdCluster::clone(cluster)).collect();
        let trouble = followed.store.health().last_error;
        screen.show(&clusters, name.is_some(), trouble.as_deref(), Clock::system().now(), paint)?;
        match (clusters.as_slice(), name) {
            ([], Some(name)) => bail!("EtcdCluster {}/{name} is gone", server.namespace),
            ([cluster], Some(name)) if until.is_some() => match end(cluster) {
                None => {}
                Some(Ok(())) => return Ok(()),
                Some(Err(why)) => bail!("EtcdCluster {}/{name}: {why}", server.namespace),
            },
            _ => {}
        }
        tokio::select! {
            _ = followed.changes.next() => {}
            _ = seconds.tick() => {}
            interrupted = signal::ctrl_c() => return Ok(interrupted?),
            () = sleep_until(ends) => {
                let told = clusters.first().map(view::line).unwrap_or_default();
                bail!("not healthy in time: {told}");
            }
        }
    }
}

/// Whether there is nothing more to wait for: it is healthy with nothing under way, or what was asked for is refused. All of that
/// about the spec as it is now.
fn end(cluster: &EtcdCluster) -> Option<Result<(), String>> {
    let status = cluster.status.as_ref()?;
    if status.observed_generation != cluster.metadata.generation {
        return None;
    }
    let mut conditions = status.conditions.iter().flatten();
    if let Some(refused) =
        conditions.find(|condition| condition.type_ == "SpecValid" && condition.status == "False")
    {
        return Some(Err(refused.message.clone()));
    }
    (status.phase == Some(Phase::Healthy) && status.operation.is_none()).then_some(Ok(()))
}

/// Where it is shown: on a terminal drawn over, elsewhere a line whenever something has changed.
struct Screen {
    terminal: bool,
    last: Vec<String>,
}

/// The other screen of the terminal, the cursor hidden, lines cut instead of wrapped; and all that back.
const ENTER: &str = "\x1b[?1049h\x1b[?25l\x1b[?7l";
const LEAVE: &str = "\x1b[?7h\x1b[?25h\x1b[?1049l";

impl Screen {
    fn new(terminal: bool) -> Result<Self> {
        if terminal {
            say(ENTER)?;
        }
        Ok(Self { terminal, last: Vec::new() })
    }

    fn show(
        &mut self,
        clusters: &[EtcdCluster],
        one: bool,
        trouble: Option<&str>,
        now: Timestamp,
        paint: Paint,
    ) -> Result<()> {
        if !self.terminal {
            let lines: Vec<String> = clusters.iter().map(view::line).collect();
            let news = lines.iter().filter(|line| !self.last.contains(line));
            let text: String = news.map(|line| format!("{} {line}\n", now.strftime("%H:%M:%S"))).collect();
            self.last = lines;
            return if text.is_empty() { Ok(()) } else { say(&text) };
        }
        let mut lines = match clusters {
            [cluster] if one => view::cluster(cluster, now, paint),
            all => view::overview(all, now, paint),
        };
        if let Some(trouble) = trouble {
            lines.push(paint.as_(Look::Bad, format!("no news from the API server: {trouble}")));
        }
        let text: String = lines.iter().map(|line| format!("{line}\x1b[K\n")).collect();
        self.last = lines;
        say(&format!("\x1b[H{text}\x1b[J"))
    }
}

/// The terminal is left as it was, with the last picture on it.
impl Drop for Screen {
    fn drop(&mut self) {
        if self.terminal {
            say(&format!("{LEAVE}{}\n", self.last.join("\n"))).ok();
        }
    }
}

/// One cluster, as it changes, until `done` has an answer.
pub(super) async fn until<T>(
    server: &Server,
    name: &str,
    patience: Duration,
    mut done: impl FnMut(&EtcdCluster) -> Option<T>,
) -> Result<Option<T>> {
    let mut followed: Followed<EtcdCluster> =
        Followed::start(server, Select::fields(format!("metadata.name={name}")), false);
    let key = Key::new(server.namespace.clone(), name.to_owned());
    let ends = Instant::now() + patience;
    loop {
        tokio::select! {
            changed = followed.changes.next() => {
                let cluster: Option<Arc<EtcdCluster>> = followed.store.get(&key);
                match cluster {
                    Some(cluster) => if let Some(found) = done(&cluster) { return Ok(Some(found)) },
                    None => bail!("EtcdCluster {changed} is gone"),
                }
            }
            () = sleep_until(ends) => return Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::view::samples, *};

    #[test]
    fn it_ends_when_the_spec_as_it_is_now_is_carried_out_or_refused() {
        assert_eq!(end(&samples::healthy()), Some(Ok(())));
        assert_eq!(end(&samples::upgrading()), None);
        assert_eq!(end(&samples::untouched()), None);
        let mut edited = samples::healthy();
        edited.metadata.generation = Some(3);
        assert_eq!(end(&edited), None);
        assert_eq!(end(&samples::refused()), Some(Err("spec.version: 3.7.3 cannot follow 3.5.35".into())));
    }
}
