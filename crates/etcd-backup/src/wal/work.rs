//! Capturing, from the end of a chain on: the loop that reads, stores, asks how far etcd is, and changes members.

use std::{pin::Pin, time::Duration};

use etcd_api::MemberId;
use futures::{FutureExt as _, future::BoxFuture};
use jiff::{SignedDuration, Timestamp};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, timeout};

use super::{
    capture::{Capture, Ended, State},
    chain::End,
    chunk::Revision,
    filling::{Filling, Packed},
    follow::{Follower, Lost},
    reach::Mark,
    shelf::{Gap, Shelf},
};
use crate::{Error, Result};

/// A chunk without revisions is stored so often, to say that nothing has happened.
const NOTHING_NEW: SignedDuration = SignedDuration::from_mins(5);
/// A member that tells nothing for so long, while the cluster has more, is left.
const SILENCE: Duration = Duration::from_secs(15);
/// How often a hole in what etcd tells is taken for a mishap of one watch.
const HOLES: u32 = 3;
const PAUSE: Duration = Duration::from_millis(500);
const STORE_PAUSE: Duration = Duration::from_secs(2);
/// For storing what is left when it is told to stop.
const GRACE: Duration = Duration::from_secs(15);

type Slot<'a, T> = Option<BoxFuture<'a, T>>;

pub(super) struct Work<'a> {
    capture: &'a Capture<'a>,
    /// The end of what is in the store.
    stored: End,
    filling: Filling,
    on_its_way: Option<Packed>,
    state: State,
    /// How far the cluster was when it was asked, until that has come.
    asked: Option<Mark>,
    heard: Instant,
    avoid: Option<MemberId>,
    holes: u32,
    silences: u32,
    last_received: i64,
    /// Another etcd answers: when all that came from the one before is stored, it is looked anew where to go on.
    is_replaced: bool,
    ending: Option<Ending>,
}

/// How the loop ends.
pub(super) enum Left {
    For(Ended),
    /// For another etcd: what this process has done so far.
    Another(Box<State>),
}

enum Ending {
    Stopped,
    Gap(Gap),
}

/// What may happen next.
enum Event {
    Stop,
    Connected(Result<Follower, Lost>),
    Came(Result<Vec<Revision>, Lost>),
    Packed(Result<Packed>),
    Stored(Result<()>),
    Asked(Timestamp, etcd_api::Result<i64>),
    Tick,
}

impl<'a> Work<'a> {
    pub(super) fn new(capture: &'a Capture<'a>, end: End, state: State) -> Self {
        Self {
            capture,
            filling: Filling::after(&end),
            last_received: end.until.as_millisecond(),
            stored: end,
            on_its_way: None,
            state,
            asked: None,
            heard: Instant::now(),
            avoid: None,
            holes: 0,
            silences: 0,
            is_replaced: false,
            ending: None,
        }
    }

    pub(super) async fn run(
        mut self,
        mut stop: Pin<&mut impl Future<Output = ()>>,
        told: impl Fn(&State),
    ) -> Result<Left> {
        let capture = self.capture;
        let mut follower: Option<Follower> = None;
        let mut connecting: Slot<'_, Result<Follower, Lost>> = None;
        let mut packing: Slot<'_, Result<Packed>> = None;
        let mut storing: Slot<'_, Result<()>> = None;
        let mut asking: Slot<'_, (Timestamp, etcd_api::Result<i64>)> = None;
        let mut tick = interval(capture.flush_every);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut is_due = false;
        loop {
            let is_busy = packing.is_some() || storing.is_some();
            if let Some(ending) = self.ending.take() {
                return self.finish(ending, packing, storing).await.map(Left::For);
            }
            if self.is_replaced && !is_busy && self.filling.is_empty() {
                return Ok(Left::Another(Box::new(self.state)));
            }
            let is_full = self.filling.bytes() >= capture.flush_bytes;
            if !is_busy && (is_full || is_due && self.is_worth_storing()) {
                is_due = false;
                packing = Some(self.pack());
            }
            if follower.is_none() && connecting.is_none() {
                connecting = Some(self.connect());
            }
            let may_read = !is_full || !is_busy;

            let event = tokio::select! {
                () = &mut stop => Event::Stop,
                connected = taken(&mut connecting) => Event::Connected(connected),
                came = next(&mut follower, capture.now), if may_read => Event::Came(came),
                packed = taken(&mut packing) => Event::Packed(packed),
                stored = taken(&mut storing) => Event::Stored(stored),
                (at, head) = taken(&mut asking) => Event::Asked(at, head),
                _ = tick.tick() => Event::Tick,
            };
            match event {
                Event::Stop => self.ending = Some(Ending::Stopped),
                Event::Connected(Ok(connected)) => {
                    self.state.member = Some(connected.name.clone());
                    self.heard = Instant::now();
                    self.is_replaced = false;
                    follower = Some(connected);
                }
                Event::Connected(Err(lost)) | Event::Came(Err(lost)) => {
                    self.lost(lost, follower.take().map(|it| it.member));
                }
                Event::Came(Ok(revisions)) => self.take(revisions),
                Event::Packed(packed) => {
                    let packed = packed?;
                    self.on_its_way = Some(packed.clone());
                    storing = Some(self.store(packed, Duration::ZERO));
                }
                Event::Stored(Ok(())) => self.kept(),
                Event::Stored(Err(error)) => match self.on_its_way.clone() {
                    Some(packed) if error.is_transient() && !matches!(error, Error::Overtaken { .. }) => {
                        self.state.problem = Some(error.to_string());
                        storing = Some(self.store(packed, STORE_PAUSE));
                    }
                    _ => return Err(error),
                },
                Event::Asked(at, head) => self.asked(at, head, &mut follower),
                Event::Tick => {
                    is_due = true;
                    if self.is_silent() && may_read {
                        let silent = format!("nothing comes for {} s", SILENCE.as_secs());
                        self.lost(Lost::Away(silent), follower.take().map(|it| it.member));
                    }
                    if let (Some(follower), None) = (&follower, &asking) {
                        let (at, head) = ((capture.now)(), follower.head());
                        asking = Some(async move { (at, head.await) }.boxed());
                    }
                }
            }
            self.tell(&told, packing.is_some() || storing.is_some());
        }
    }

    fn connect(&self) -> BoxFuture<'a, Result<Follower, Lost>> {
        let (source, avoid) = (self.capture.source, self.avoid);
        let end = End { last: self.filling.last(), tail: self.filling.tail(), ..self.stored.clone() };
        // Not in a hurry after a failure.
        let pause = if self.state.problem.is_some() { PAUSE } else { Duration::ZERO };
        async move {
            sleep(pause).await;
            Follower::begin(source, &end, avoid).await
        }
        .boxed()
    }

    /// What has come, as the chain's next chunk; what comes now is for the one after.
    fn pack(&mut self) -> BoxFuture<'a, Result<Packed>> {
        let next = Filling::following(&self.filling);
        let full = std::mem::replace(&mut self.filling, next);
        let (end, key) = (self.stored.clone(), self.capture.key.clone());
        async move {
            let packed = tokio::task::spawn_blocking(move || full.pack(&end, key.as_ref())).await;
            packed.map_err(|_| Error::Stopped)?.map_err(Error::Write)
        }
        .boxed()
    }

    fn store(&self, packed: Packed, pause: Duration) -> BoxFuture<'a, Result<()>> {
        let (store, uid) = (self.capture.store, self.stored.cluster_uid.clone());
        async move {
            sleep(pause).await;
            let shelf = Shelf { store, cluster_uid: &uid };
            shelf.put(&packed.header.chain, packed.header.sequence, &packed.bytes).await
        }
        .boxed()
    }

    fn kept(&mut self) {
        let Some(packed) = self.on_its_way.take() else { return };
        self.stored = End::after(&packed.header, packed.hash);
        self.state.chunks += 1;
        self.state.events += packed.header.events;
        self.state.bytes += packed.bytes.len() as u64;
        self.state.problem = None;
    }

    fn take(&mut self, revisions: Vec<Revision>) {
        self.heard = Instant::now();
        self.avoid = None;
        // What was seen twice is no progress.
        if !revisions.is_empty() {
            self.holes = 0;
        }
        if self.on_its_way.is_none() {
            self.state.problem = None;
        }
        for mut revision in revisions {
            // A clock that goes back does not make history go back.
            self.last_received = self.last_received.max(revision.received);
            revision.received = self.last_received;
            self.filling.add(&revision);
        }
        self.confirm();
    }

    /// How far the whole cluster is, for a moment before the answer.
    fn asked(&mut self, at: Timestamp, head: etcd_api::Result<i64>, follower: &mut Option<Follower>) {
        match head {
            Ok(revision) => {
                self.silences = 0;
                self.state.head = revision;
                self.asked.get_or_insert(Mark { revision, time: at });
                self.confirm();
            }
            Err(error) => {
                self.silences += 1;
                if self.silences == 3 {
                    self.silences = 0;
                    self.lost(Lost::Away(error.to_string()), follower.take().map(|it| it.member));
                }
            }
        }
    }

    /// Once all has come that there was when the cluster was asked, nothing from before that moment is missing.
    fn confirm(&mut self) {
        if let Some(mark) = self.asked.filter(|mark| mark.revision <= self.filling.last()) {
            self.filling.until = self.filling.until.max(mark.time);
            self.last_received = self.last_received.max(mark.time.as_millisecond());
            self.asked = None;
            self.heard = Instant::now();
        }
    }

    fn is_silent(&self) -> bool {
        self.asked.is_some() && self.heard.elapsed() > SILENCE
    }

    fn is_worth_storing(&self) -> bool {
        !self.filling.is_empty() || self.filling.until.duration_since(self.stored.until) >= NOTHING_NEW
    }

    fn lost(&mut self, lost: Lost, member: Option<MemberId>) {
        self.state.problem = Some(lost.to_string());
        self.state.member = None;
        self.avoid = member.or(self.avoid);
        self.is_replaced = matches!(lost, Lost::Replaced { .. });
        if let Lost::Hole(_) = lost {
            self.holes += 1;
        }
        if lost.is_final() || self.holes == HOLES {
            let compacted = match lost {
                Lost::Compacted(revision) => Some(revision),
                _ => None,
            };
            let (after, at) = (self.filling.last(), (self.capture.now)());
            let why = format!("revisions after {after} were lost: {lost}");
            self.ending = Some(Ending::Gap(Gap { after, compacted, at, why }));
        }
    }

    /// Stores what is left, and the reason if there is one.
    async fn finish(
        mut self,
        ending: Ending,
        packing: Slot<'_, Result<Packed>>,
        storing: Slot<'_, Result<()>>,
    ) -> Result<Ended> {
        let rest = async {
            if let Some(packing) = packing {
                let packed = packing.await?;
                self.store(packed.clone(), Duration::ZERO).await?;
                self.on_its_way = Some(packed);
                self.kept();
            }
            if let Some(storing) = storing {
                storing.await?;
                self.kept();
            }
            if !self.filling.is_empty() || self.filling.until > self.stored.until {
                let packed = self.pack().await?;
                self.store(packed, Duration::ZERO).await?;
            }
            Ok::<_, Error>(())
        };
        let rest = timeout(GRACE, rest).await.unwrap_or(Err(Error::Stopped));
        match ending {
            // What could not be stored is still in etcd, for the next one who starts.
            Ending::Stopped => Ok(Ended::Stopped),
            Ending::Gap(gap) => {
                rest?;
                let shelf = Shelf { store: self.capture.store, cluster_uid: &self.stored.cluster_uid };
                shelf.put_gap(&self.stored.chain, &gap).await?;
                Ok(Ended::Gap { chain: self.stored.chain.clone(), gap })
            }
        }
    }

    fn tell(&mut self, told: &impl Fn(&State), is_busy: bool) {
        let nothing_waits = self.filling.is_empty() && !is_busy;
        let time = if nothing_waits { self.filling.until } else { self.stored.until };
        self.state.to = Some(Mark { revision: self.stored.last, time });
        told(&self.state);
    }
}

/// The slot's future, which then is empty; for ever, when it is.
async fn taken<T>(slot: &mut Slot<'_, T>) -> T {
    match slot {
        None => std::future::pending().await,
        Some(future) => {
            let done = future.await;
            *slot = None;
            done
        }
    }
}

async fn next(follower: &mut Option<Follower>, now: fn() -> Timestamp) -> Result<Vec<Revision>, Lost> {
    match follower {
        None => std::future::pending().await,
        Some(follower) => follower.next(now).await,
    }
}
