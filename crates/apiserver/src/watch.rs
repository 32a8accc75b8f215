//! The event stream of one watch: from a revision on, filtered, with bookmarks, to its timeout.
//!
//! Sources: apiserver `storage/cacher/cache_watcher.go` (transitions of a selector), `endpoints/handlers/watch.go` (wire form).

use std::{collections::VecDeque, sync::Arc, time::Duration};

use bytes::{BufMut, Bytes, BytesMut};
use serde_json::json;
use tokio::time::Instant;

use crate::{
    ApiError, Change, Event, Follower, Kind, Object, ObjectId, Scope,
    cluster::Cluster,
    crd,
    faults::{Interference, Step},
    matching::Matcher,
    negotiate::{Shape, Shown, write_value},
};

/// How often a watch that asked for bookmarks gets one.
const BOOKMARK_EVERY: Duration = Duration::from_secs(60);
/// The last bookmark comes this long before the end, so that the next watch starts fresh.
const BOOKMARK_BEFORE_END: Duration = Duration::from_secs(2);
/// Events taken out of the log at a time.
const BATCH: usize = 256;

/// One event as this watch sees it.
#[derive(Debug, Clone)]
pub(crate) struct Sighting {
    pub(crate) id: ObjectId,
    pub(crate) change: Change,
    pub(crate) object: Arc<Object>,
}

/// Where a watch begins.
pub(crate) struct Start {
    /// Shown as ADDED first.
    pub(crate) initial: Vec<(ObjectId, Arc<Object>)>,
    /// Events after this revision follow.
    pub(crate) revision: u64,
    /// A bookmark says when the initial state is complete.
    pub(crate) marks_initial_end: bool,
    /// Nothing but this error.
    pub(crate) refused: Option<ApiError>,
}

/// A watch under way.
pub(crate) struct Feed {
    cluster: Arc<Cluster>,
    kind: Arc<Kind>,
    shape: Shape,
    scope: Scope,
    matcher: Matcher,
    position: u64,
    steps: VecDeque<Step>,
    /// Events that no fault has looked at yet.
    unmet: VecDeque<Sighting>,
    marks_initial_end: bool,
    refused: Option<ApiError>,
    interference: Interference,
    commits: Follower,
    dials: Follower,
    client: String,
    connection: u64,
    deadline: Instant,
    next_bookmark: Option<Instant>,
    over: bool,
}

/// What the consumer of a stream gets.
pub(crate) enum Chunk {
    Line(Bytes),
    Broken,
}

/// What a watch needs besides its start.
pub(crate) struct Options {
    pub(crate) bookmarks: bool,
    pub(crate) timeout: Duration,
}

impl Feed {
    pub(crate) fn new(
        cluster: &Arc<Cluster>,
        kind: &Arc<Kind>,
        shape: Shape,
        scope: Scope,
        matcher: Matcher,
        start: Start,
        options: &Options,
    ) -> Self {
        let now = Instant::now();
        let deadline = now + options.timeout;
        let unmet = start.initial.into_iter();
        Self {
            cluster: Arc::clone(cluster),
            kind: Arc::clone(kind),
            shape,
            scope,
            matcher,
            position: start.revision,
            steps: VecDeque::new(),
            unmet: unmet.map(|(id, object)| Sighting { id, change: Change::Added, object }).collect(),
            marks_initial_end: start.marks_initial_end,
            refused: start.refused,
            interference: Interference::default(),
            commits: cluster.store.subscribe(),
            dials: cluster.faults.subscribe(),
            client: String::new(),
            connection: 0,
            deadline,
            next_bookmark: options.bookmarks.then(|| next_bookmark(now, deadline)),
            over: false,
        }
    }

    /// On whose connection the stream goes, and what goes wrong with it.
    pub(crate) fn on(mut self, client: &str, connection: u64, interference: Interference) -> Self {
        self.client = client.to_owned();
        self.connection = connection;
        self.interference = interference;
        self
    }

    /// The next line; `None` at the end.
    pub(crate) async fn next(&mut self) -> Option<Chunk> {
        loop {
            if self.over {
                return None;
            }
            if self.cluster.faults.is_dead(&self.client, self.connection) {
                std::future::pending::<()>().await;
            }
            if let Some(error) = self.refused.take() {
                self.over = true;
                return Some(Chunk::Line(error_line(&error)));
            }
            match self.steps.pop_front() {
                Some(Step::Show(sighting)) => return Some(Chunk::Line(self.line(&sighting))),
                Some(Step::Wait(time)) => tokio::time::sleep(time).await,
                Some(step) => match self.finish(&step).await {
                    Some(chunk) => return Some(chunk),
                    None => return None,
                },
                None => {
                    if let Some(bookmark) = self.advance().await {
                        return Some(Chunk::Line(bookmark));
                    }
                }
            }
        }
    }

    /// The end of the stream, in one of its forms.
    async fn finish(&mut self, step: &Step) -> Option<Chunk> {
        self.over = true;
        match step {
            Step::Gone => {
                Some(Chunk::Line(error_line(&ApiError::expired("too old resource version: injected"))))
            }
            Step::Break => Some(Chunk::Broken),
            Step::Silence => std::future::pending().await,
            Step::End | Step::Show(_) | Step::Wait(_) => None,
        }
    }

    /// Finds the next steps, or waits until there are some; a bookmark when its time has come.
    async fn advance(&mut self) -> Option<Bytes> {
        if let Some(step) = self.interference.before_next() {
            self.steps.push_back(step);
            return None;
        }
        if let Some(sighting) = self.unmet.pop_front() {
            self.steps = self.interference.meet(sighting);
            return None;
        }
        if std::mem::take(&mut self.marks_initial_end) {
            return Some(self.bookmark(true));
        }
        // Marked as seen before looking, so that a change in between is not slept through.
        self.commits.mark_unchanged();
        self.dials.mark_unchanged();
        if self.fetch() {
            return None;
        }
        if self.kind_is_gone() {
            self.over = true;
            return None;
        }
        let bookmark = self.next_bookmark.unwrap_or(self.deadline);
        tokio::select! {
            biased;
            _ = self.commits.changed() => None,
            _ = self.dials.changed() => None,
            () = tokio::time::sleep_until(bookmark.min(self.deadline)) => {
                if Instant::now() >= self.deadline {
                    self.over = true;
                    return None;
                }
                self.next_bookmark = Some(next_bookmark(Instant::now(), self.deadline));
                Some(self.bookmark(false))
            }
        }
    }

    /// The definition of the kind is deleted: its watches end.
    fn kind_is_gone(&self) -> bool {
        let definition = || ObjectId::new(crd::GROUP, crd::PLURAL, "", &self.kind.resource());
        self.kind.custom && self.cluster.store.get(&definition()).is_none()
    }

    /// Takes new events out of the log; were there any?
    fn fetch(&mut self) -> bool {
        let ceiling = self.cluster.faults.view_of(&self.client).unwrap_or(u64::MAX);
        let events = match self.cluster.store.events_since(self.position, BATCH) {
            Ok(events) => events,
            Err(compacted) => {
                self.refused = Some(too_old(self.position, compacted.compacted));
                return true;
            }
        };
        let mut some = false;
        for event in events.into_iter().take_while(|event| event.revision <= ceiling) {
            some = true;
            self.position = event.revision;
            self.unmet.extend(self.see(event));
        }
        some
    }

    /// How this watch sees an event: what comes into a selector's view is added, what leaves it is deleted.
    fn see(&self, event: Event) -> Option<Sighting> {
        if !self.scope.holds(&event.id) {
            return None;
        }
        if self.matcher.is_everything() {
            return Some(Sighting { id: event.id, change: event.change, object: event.object });
        }
        let before = event.previous.as_ref().is_some_and(|previous| self.matcher.matches(previous.value()));
        let after = event.change != Change::Deleted && self.matcher.matches(event.object.value());
        let (change, object) = match (before, after) {
            (false, false) => return None,
            (false, true) => (Change::Added, event.object),
            (true, true) => (Change::Modified, event.object),
            (true, false) => {
                let last = event.previous.filter(|_| event.change != Change::Deleted);
                let object = last.map_or(event.object, |last| Arc::new(last.as_of(event.revision)));
                (Change::Deleted, object)
            }
        };
        Some(Sighting { id: event.id, change, object })
    }

    fn line(&self, sighting: &Sighting) -> Bytes {
        let kind = match sighting.change {
            Change::Added => "ADDED",
            Change::Modified => "MODIFIED",
            Change::Deleted => "DELETED",
        };
        let mut out = BytesMut::with_capacity(512);
        out.put_slice(format!("{{\"type\":\"{kind}\",\"object\":").as_bytes());
        Shown::Stored(sighting.object.seen_as(&self.kind)).write(&self.kind, self.shape, &mut out);
        out.put_slice(b"}\n");
        out.freeze()
    }

    fn bookmark(&self, initial_end: bool) -> Bytes {
        let mut metadata = json!({"resourceVersion": self.position.to_string(), "creationTimestamp": null});
        if let (Some(metadata), true) = (metadata.as_object_mut(), initial_end) {
            metadata.insert("annotations".into(), json!({"k8s.io/initial-events-end": "true"}));
        }
        let (api_version, kind) = match self.shape {
            Shape::Whole => (self.kind.api_version(), self.kind.kind.clone()),
            Shape::Metadata => ("meta.k8s.io/v1".into(), "PartialObjectMetadata".into()),
        };
        let object = json!({"kind": kind, "apiVersion": api_version, "metadata": metadata});
        let mut out = BytesMut::new();
        write_value(&json!({"type": "BOOKMARK", "object": object}), &mut out);
        out.put_u8(b'\n');
        out.freeze()
    }
}

/// What a watch from a forgotten revision gets.
pub(crate) fn too_old(asked: u64, compacted: u64) -> ApiError {
    ApiError::expired(format!("too old resource version: {asked} ({compacted})"))
}

fn next_bookmark(now: Instant, deadline: Instant) -> Instant {
    let last = deadline - BOOKMARK_BEFORE_END;
    let regular = now + BOOKMARK_EVERY;
    if now < last { regular.min(last) } else { deadline }
}

fn error_line(error: &ApiError) -> Bytes {
    let mut out = BytesMut::new();
    write_value(&json!({"type": "ERROR", "object": error.to_status()}), &mut out);
    out.put_u8(b'\n');
    out.freeze()
}
