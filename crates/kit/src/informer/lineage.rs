//! The life of one watch: list, watch, watch on from where it broke, list anew when there is no other way; for ever.
//!
//! A list is asked for without a resourceVersion, which means "the newest". If the answer is older than what we know all the same
//! (a server behind a partition, a cache in between), it is refused for [`PATIENCE`]: it would bring deleted objects back. After
//! that we believe it, as a server that was restored from a backup really is in the past, and start from there.

use std::{convert::Infallible, panic::AssertUnwindSafe, time::Duration};

use bytes::Bytes;
use futures::FutureExt;
use http::Request;
use http_body_util::BodyExt;
use kube::client::Body;
use tokio::time::{Instant, timeout};

use super::{
    Select,
    lines::Lines,
    object::{Object, Version},
    store::{Origin, Store},
    trouble::{Pace, Trouble},
    wire::{Collection, Event, PAGE, Page},
};
use crate::{KindId, Row, metrics::Metrics, scope::Territory, slim::Meta};

/// How long a page may take, and the beginning of a watch.
const ANSWER_WITHIN: Duration = Duration::from_secs(60);
/// The server is asked to end each watch after so many seconds: a connection that is dead without a word is noticed then at the
/// latest. Each watch draws its own, so that they do not all come back at once.
const WATCH_SECONDS: std::ops::RangeInclusive<u32> = 270..=290;
/// How much later than agreed the server may end it.
const GRACE: Duration = Duration::from_secs(10);
/// A watch that ends sooner than this is not how a server behaves that is well.
const SHORT: Duration = Duration::from_secs(1);
/// How long a server may answer with an older state than we know before we believe it.
const PATIENCE: Duration = Duration::from_secs(60);

pub(super) struct Lineage<R: Row> {
    client: kube::Client,
    store: Store<R>,
    metrics: Metrics,
    kind: KindId,
    /// The namespace; empty for all.
    name: String,
    collection: Collection,
    pace: Pace,
    /// Since when the server answers with an older state than we know.
    stale_since: Option<Instant>,
    /// Whether to ask for the whole list at once: its pages expire before we get to the end.
    in_one_page: bool,
}

impl<R: Row> Lineage<R> {
    pub(super) fn new(
        client: kube::Client,
        store: Store<R>,
        select: &Select,
        territory: &Territory,
        metrics: Metrics,
    ) -> Self {
        let kind = R::kind();
        let fields: Vec<_> = [&select.fields, &territory.fields].into_iter().flatten().cloned().collect();
        let collection = Collection {
            path: kind.path(&territory.namespace),
            projection: R::PROJECTION,
            labels: select.labels.clone(),
            fields: (!fields.is_empty()).then(|| fields.join(",")),
        };
        Self {
            client,
            store,
            metrics,
            kind,
            name: territory.namespace.clone(),
            collection,
            pace: Pace::default(),
            stale_since: None,
            in_one_page: false,
        }
    }

    pub(super) async fn run(mut self) {
        loop {
            let Err(_panic) = AssertUnwindSafe(self.follow()).catch_unwind().await;
            self.wait_after("follow", Trouble::Panicked).await;
        }
    }

    async fn follow(&mut self) -> Infallible {
        loop {
            match self.list().await {
                Ok(()) => {
                    let trouble = self.watch_on().await;
                    self.metrics.informer_relisted(&self.kind.kind);
                    self.wait_after("watch", trouble).await;
                }
                Err(trouble) => self.wait_after("list", trouble).await,
            }
        }
    }

    /// Lists everything into the store, page by page.
    async fn list(&mut self) -> Result<(), Trouble> {
        let known = self.store.version(&self.name);
        let origin = if known.is_some() { Origin::News } else { Origin::FirstList };
        let limit = (!self.in_one_page).then_some(PAGE);
        let round = self.store.begin_list();
        let mut first_version = None;
        let mut token = None;
        loop {
            let continued = token.is_some();
            let body = self.page(limit, token).await.inspect_err(|trouble| {
                self.in_one_page = continued && matches!(trouble, Trouble::Gone(_));
            })?;
            let page = Page::decode(&body)?;
            if first_version.is_none() {
                let version = Version::new(&*page.metadata.resource_version);
                self.refuse_older(&version, known.as_ref())?;
                first_version = Some(version);
                self.answered();
            }
            for json in page.items() {
                match Object::decode(json) {
                    Ok(object) => self.store.listed(object, round, origin),
                    Err(error) => self.nameless(&error),
                }
            }
            self.count();
            token = page.next();
            if token.is_none() {
                break;
            }
        }
        self.in_one_page = false;
        // Pages after the first could be newer; what happened in between comes again with the watch, and is recognised.
        let version = first_version.unwrap_or_else(|| Version::new(""));
        self.store.finish_list(&self.name, round, version);
        self.count();
        tracing::debug!(kind = %self.kind, namespace = self.name, objects = self.store.len(), "listed");
        Ok(())
    }

    async fn page(&self, limit: Option<u32>, token: Option<String>) -> Result<Bytes, Trouble> {
        let request = self.collection.list(limit, token)?;
        let body = async { self.send(request).await?.collect().await.map_err(|error| connection(&error)) };
        let body = timeout(ANSWER_WITHIN, body).await.map_err(|_| Trouble::Silent(ANSWER_WITHIN))??;
        Ok(body.to_bytes())
    }

    fn refuse_older(&mut self, listed: &Version, known: Option<&Version>) -> Result<(), Trouble> {
        let (Some(listed), Some(known)) = (listed.number, known.and_then(|version| version.number)) else {
            return Ok(());
        };
        if listed >= known {
            self.stale_since = None;
            return Ok(());
        }
        let since = *self.stale_since.get_or_insert_with(Instant::now);
        if since.elapsed() < PATIENCE {
            return Err(Trouble::Stale { listed, known });
        }
        tracing::warn!(
            kind = %self.kind, namespace = self.name, listed, known,
            "the server insists on a state older than it had: taking it (was it restored from a backup?)"
        );
        self.stale_since = None;
        Ok(())
    }

    /// Watches, again and again from where it got to, until only a list can help.
    async fn watch_on(&mut self) -> Trouble {
        loop {
            let begun = Instant::now();
            let trouble = match self.watch().await {
                Ok(()) if begun.elapsed() >= SHORT => continue,
                Ok(()) => Trouble::Short,
                Err(trouble) => trouble,
            };
            self.metrics.informer_watch_failed(&self.kind.kind);
            if trouble.needs_list() {
                return trouble;
            }
            self.wait_after("watch", trouble).await;
        }
    }

    /// One watch, to its end.
    async fn watch(&self) -> Result<(), Trouble> {
        let version = self.store.version(&self.name).map(|version| version.text).unwrap_or_default();
        let seconds = fastrand::u32(WATCH_SECONDS);
        let request = self.collection.watch(&version, seconds)?;
        let mut body = timeout(ANSWER_WITHIN, self.send(request))
            .await
            .map_err(|_| Trouble::Silent(ANSWER_WITHIN))??;
        self.answered();
        let quiet_for = Duration::from_secs(seconds.into()) + GRACE;
        let mut lines = Lines::default();
        loop {
            let frame = timeout(quiet_for, body.frame()).await.map_err(|_| Trouble::Silent(quiet_for))?;
            let Some(frame) = frame.transpose().map_err(|error| connection(&error))? else {
                return Ok(());
            };
            let Ok(data) = frame.into_data() else { continue };
            lines.push(data);
            while let Some(line) = lines.next().map_err(|error| Trouble::Garbled(error.to_string()))? {
                self.take(&line)?;
            }
            self.count();
        }
    }

    fn take(&self, line: &[u8]) -> Result<(), Trouble> {
        if let Some(Ok(object)) = Event::seems_changed(line).map(Object::decode) {
            self.store.changed(&self.name, object);
            return Ok(());
        }
        match Event::decode(line)? {
            Event::Changed(json) => match Object::decode(json) {
                Ok(object) => self.store.changed(&self.name, object),
                Err(error) => self.nameless(&error),
            },
            Event::Deleted(json) => match Meta::decode(json) {
                Ok(meta) => self.store.deleted(&self.name, meta.key(), meta.resource_version()),
                Err(error) => self.nameless(&error),
            },
            Event::Bookmark(version) => self.store.bookmark(&self.name, Version::new(version)),
            Event::Unknown => tracing::debug!(kind = %self.kind, "an event of an unknown type"),
        }
        Ok(())
    }

    /// Sends a request; an answer that is no success is trouble.
    async fn send(&self, request: Request<Body>) -> Result<Body, Trouble> {
        let (head, body) = self.client.send(request).await.map_err(|error| connection(&error))?.into_parts();
        if head.status.is_success() {
            return Ok(body);
        }
        let body = body.collect().await.map_err(|error| connection(&error))?.to_bytes();
        Err(Trouble::answered(head.status, &head.headers, &body))
    }

    async fn wait_after(&mut self, verb: &str, trouble: Trouble) {
        let wait = self.pace.after(&trouble, Instant::now());
        let sentence = self.sentence(verb, &trouble);
        if self.store.report(&self.name, trouble.state(), Some(sentence.clone())) {
            tracing::warn!(kind = %self.kind, namespace = self.name, "{sentence}");
        } else {
            tracing::debug!(kind = %self.kind, namespace = self.name, ?wait, "{sentence}");
        }
        tokio::time::sleep(wait).await;
    }

    fn answered(&self) {
        if self.store.report(&self.name, None, None) {
            tracing::info!(kind = %self.kind, namespace = self.name, "the server answers");
        }
    }

    /// What went wrong and what to do, for people.
    fn sentence(&self, verb: &str, trouble: &Trouble) -> String {
        let KindId { group, version, plural, .. } = &self.kind;
        let whereabouts = match &*self.name {
            "" => "in the whole cluster".to_owned(),
            namespace => format!("in namespace {namespace}"),
        };
        match trouble {
            Trouble::MissingKind => format!(
                "the server does not know {plural} of {group}/{version}: install the CustomResourceDefinition; going on when it is there"
            ),
            Trouble::Forbidden(message) => format!(
                "may not {verb} {plural} {whereabouts}: grant this operator list and watch on {plural} of API group {group:?} ({message})"
            ),
            trouble => format!("cannot {verb} {plural} {whereabouts}: {trouble}; trying again"),
        }
    }

    fn nameless(&self, error: &serde_json::Error) {
        tracing::error!(kind = %self.kind, namespace = self.name, %error, "skipping an object whose metadata cannot be read");
    }

    fn count(&self) {
        let kind = &self.kind.kind;
        self.metrics.informer_objects(kind, self.store.len());
        self.metrics.informer_undecodable(kind, self.store.count_undecodable());
        self.metrics.informer_resource_version(kind, self.store.resource_version(&self.name));
    }
}

/// kube's message often leaves out what really happened, which is among the sources.
fn connection(error: &kube::Error) -> Trouble {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(error) = source {
        let cause = error.to_string();
        if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
        source = error.source();
    }
    Trouble::Connection(text)
}
