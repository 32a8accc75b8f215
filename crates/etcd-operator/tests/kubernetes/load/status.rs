//! What the EtcdCluster's status claims while the load goes on, as a watch of the object delivers it.

use std::time::Duration;

use etcd_types::EtcdCluster;
use futures::StreamExt as _;
use kube::{
    Api,
    api::{ListParams, WatchEvent, WatchParams},
};
use lab_tests::oracle::availability::Claim;
use tokio::{
    task::JoinHandle,
    time::{MissedTickBehavior, interval},
};

use super::requests::Clients;
use crate::{cluster::conditions, world::World};

const RELIST_EVERY: Duration = Duration::from_millis(250);

pub(super) fn follow(world: &World, name: String, clients: Clients) -> JoinHandle<()> {
    let api: Api<EtcdCluster> = world.api();
    let this = format!("metadata.name={name}");
    tokio::spawn(async move {
        let mut due = interval(RELIST_EVERY);
        due.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            due.tick().await;
            match api.list(&ListParams::default().fields(&this)).await {
                Ok(list) => {
                    clients.claimed(list.items.first());
                    let from = list.metadata.resource_version.unwrap_or_default();
                    clients.watch_status(&api, &this, &from).await;
                }
                Err(_) => clients.claimed(None),
            }
        }
    })
}

impl Clients {
    async fn watch_status(&self, api: &Api<EtcdCluster>, this: &str, from: &str) {
        let Ok(events) = api.watch(&WatchParams::default().fields(this), from).await else { return };
        let mut events = events.boxed();
        while let Some(Ok(event)) = events.next().await {
            match event {
                WatchEvent::Added(object) | WatchEvent::Modified(object) => self.claimed(Some(&object)),
                WatchEvent::Deleted(_) => self.claimed(None),
                WatchEvent::Bookmark(_) => {}
                WatchEvent::Error(_) => return,
            }
        }
    }

    fn claimed(&self, object: Option<&EtcdCluster>) {
        let available = object.and_then(|it| conditions(it).into_iter().find(|it| it.type_ == "Available"));
        let phase = object.and_then(|it| it.status.as_ref()?.phase);
        let words = match &available {
            None => "not known".to_owned(),
            Some(it) => format!("{}, Available={} ({})", in_words(phase), it.status, it.reason),
        };
        let available = available.map(|it| it.status == "True");
        let at = self.began.elapsed();
        self.history.lock().unwrap().availability.claim(Claim { at, available, words });
    }
}

fn in_words(phase: Option<etcd_types::Phase>) -> String {
    phase.map_or("no phase".to_owned(), |phase| format!("{phase:?}"))
}
