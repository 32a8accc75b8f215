//! The watch of the load: one that is resumed from the last revision at another member whenever it ends.

use std::{collections::BTreeMap, time::Duration};

use etcd_api::pb::{ResponseHeader, WatchResponse};
use futures::StreamExt as _;
use lab_tests::oracle::events::Event;
use tokio::{
    task::JoinHandle,
    time::{MissedTickBehavior, interval},
};

use super::{client::stamp, requests::Clients};

const RESUME_EVERY: Duration = Duration::from_millis(200);

pub(super) fn follow(clients: Clients) -> JoinHandle<()> {
    tokio::spawn(async move {
        let mut due = interval(RESUME_EVERY);
        due.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            due.tick().await;
            clients.watch_once().await;
            clients.history.lock().unwrap().events.resumed();
        }
    })
}

impl Clients {
    /// Until the stream ends, for whatever reason.
    async fn watch_once(&self) {
        let next = self.history.lock().unwrap().events.next();
        let Some((pod, Ok(mut events))) = self.endpoints.watch(next).await else { return };
        while let Some(Ok(said)) = events.next().await {
            if said.canceled {
                if said.compact_revision > 0 {
                    self.read_anew().await;
                }
                return;
            }
            // What it says when it is created is about nothing yet.
            if !said.created {
                self.delivered(said);
            }
        }
        self.endpoints.shun(&pod);
    }

    fn delivered(&self, said: WatchResponse) {
        let header = said.header.unwrap_or_default();
        let history = &mut *self.history.lock().unwrap();
        history.answered(stamp(Some(&header)), self.began.elapsed());
        let ResponseHeader { cluster_id, revision, .. } = header;
        if said.events.is_empty() {
            history.events.progressed(cluster_id, revision);
        }
        for kv in said.events.into_iter().filter_map(|event| event.kv) {
            let key = String::from_utf8_lossy(&kv.key).into_owned();
            let (revision, version) = (kv.mod_revision, kv.version);
            if key.starts_with(&self.prefix) {
                history.events.delivered(cluster_id, Event { key, revision, version });
            } else {
                history.events.progressed(cluster_id, revision);
            }
        }
    }

    /// As etcd's documentation asks for after a compaction: read everything, and watch from there.
    async fn read_anew(&self) {
        let Ok(there) = self.endpoints.all(&self.prefix).await else { return };
        let stamp = stamp(there.header.as_ref());
        let versions: BTreeMap<String, i64> =
            there.kvs.iter().map(|kv| (String::from_utf8_lossy(&kv.key).into_owned(), kv.version)).collect();
        let history = &mut *self.history.lock().unwrap();
        history.answered(stamp, self.began.elapsed());
        history.events.compacted(stamp.cluster, stamp.revision, versions);
    }
}
