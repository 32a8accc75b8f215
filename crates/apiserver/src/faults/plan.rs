//! Plans: rules of which request and what fault.

use std::time::Duration;

use serde_json::Value;

use crate::{ApiError, Recorded, Verb};

/// What goes wrong in a run. The same plan on the same run gives the same faults.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Plan {
    pub rules: Vec<Rule>,
}

impl Plan {
    pub fn new(rules: impl IntoIterator<Item = (When, Fault)>) -> Self {
        Self { rules: rules.into_iter().map(|(when, fault)| Rule { when, fault }).collect() }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    pub when: When,
    pub fault: Fault,
}

/// Which requests: all that match every field that is set; of those, `times` after the first `skip`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct When {
    /// The place in the server's record: for "crash at request 17".
    pub index: Option<usize>,
    pub client: Option<String>,
    /// Empty: any.
    pub verbs: Vec<Verb>,
    /// Plural, for example `configmaps`.
    pub resource: Option<String>,
    pub subresource: Option<String>,
    pub namespace: Option<String>,
    pub name: Option<String>,
    pub skip: usize,
    pub times: usize,
}

impl When {
    /// The first request that matches what is added to this.
    pub fn any() -> Self {
        Self {
            index: None,
            client: None,
            verbs: Vec::new(),
            resource: None,
            subresource: None,
            namespace: None,
            name: None,
            skip: 0,
            times: 1,
        }
    }

    pub fn index(index: usize) -> Self {
        Self { index: Some(index), ..Self::any() }
    }

    pub fn verb(verb: Verb) -> Self {
        Self { verbs: vec![verb], ..Self::any() }
    }

    /// Any request that changes something.
    pub fn write() -> Self {
        let verbs = vec![Verb::Create, Verb::Update, Verb::Patch, Verb::Delete, Verb::DeleteCollection];
        Self { verbs, ..Self::any() }
    }

    /// Any get, list or watch.
    pub fn read() -> Self {
        Self { verbs: vec![Verb::Get, Verb::List, Verb::Watch], ..Self::any() }
    }

    #[must_use]
    pub fn client(mut self, client: &str) -> Self {
        self.client = Some(client.to_owned());
        self
    }

    #[must_use]
    pub fn resource(mut self, plural: &str) -> Self {
        self.resource = Some(plural.to_owned());
        self
    }

    #[must_use]
    pub fn subresource(mut self, subresource: &str) -> Self {
        self.subresource = Some(subresource.to_owned());
        self
    }

    #[must_use]
    pub fn object(mut self, namespace: &str, name: &str) -> Self {
        self.namespace = Some(namespace.to_owned());
        self.name = Some(name.to_owned());
        self
    }

    /// Not the first `skip` that match.
    #[must_use]
    pub fn skip(mut self, skip: usize) -> Self {
        self.skip = skip;
        self
    }

    #[must_use]
    pub fn times(mut self, times: usize) -> Self {
        self.times = times;
        self
    }

    #[must_use]
    pub fn always(self) -> Self {
        self.times(usize::MAX)
    }

    pub(super) fn matches(&self, request: &Recorded) -> bool {
        fn fits(wanted: Option<&String>, given: &str) -> bool {
            wanted.is_none_or(|wanted| wanted == given)
        }
        self.index.is_none_or(|index| index == request.index)
            && fits(self.client.as_ref(), &request.client)
            && (self.verbs.is_empty() || request.verb.is_some_and(|verb| self.verbs.contains(&verb)))
            && fits(self.resource.as_ref(), &request.resource)
            && fits(self.subresource.as_ref(), &request.subresource)
            && fits(self.namespace.as_ref(), &request.namespace)
            && fits(self.name.as_ref(), &request.name)
    }
}

/// What goes wrong. The letters are those of the fault catalogue (reliability.md §2.2).
#[derive(Debug, Clone, PartialEq)]
pub enum Fault {
    /// Not done; this answer instead: 403 (A12), 404 (A6), 409 (A4, A5), 422 (A13), 429 (A7), 500 (A8), 503 (A9), HTTP 410 (W8).
    Refuse(ApiError),
    /// Not done; the connection breaks.
    Reset,
    /// Done; the connection breaks before the answer (A2 without the crash).
    Lost,
    /// Done; the connection breaks in the middle of the answer (A14).
    Torn,
    /// Done, but later (A15).
    DelayBefore(Duration),
    /// Done; the answer comes later.
    DelayAfter(Duration),
    /// Not done, and no answer ever (A11).
    Hang,
    /// Done, and no answer ever (A10).
    HangAfter,
    /// Somebody else is faster: a real write just before the request (A4, A5, A6).
    Compete(Competitor),
    /// A read shows the world as it was at this revision; a watch starts there and catches up (W11).
    Stale(u64),
    /// The client dies (A1, A2, A3): see [`crate::CrashSwitch`].
    Crash(CrashPoint),
    /// Done, but its events go wrong.
    Watch(WatchFault),
}

impl Fault {
    /// 503, as from a server that is starting.
    pub fn unavailable() -> Self {
        Self::Refuse(ApiError::new(
            503,
            "ServiceUnavailable",
            "the server is currently unable to handle the request",
        ))
    }

    pub fn internal_error() -> Self {
        Self::Refuse(ApiError::internal("Internal error occurred: injected"))
    }

    pub fn too_many_requests(retry_after_seconds: u32) -> Self {
        Self::Refuse(ApiError::too_many_requests(retry_after_seconds))
    }

    /// HTTP 410, as proxies and aggregated servers answer a watch from a forgotten revision.
    pub fn gone() -> Self {
        Self::Refuse(ApiError::expired("too old resource version"))
    }
}

/// What somebody else does to the object of the request just before it.
#[derive(Debug, Clone, PartialEq)]
pub enum Competitor {
    /// Changes an annotation: the request's `resourceVersion` is old now.
    Touch,
    /// Deletes it, finalizers or not.
    Delete,
    /// Deletes it and creates one like it under a new UID.
    Recreate,
    /// Creates or replaces it with this.
    Put(Value),
}

/// When the client dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CrashPoint {
    /// The request was not sent.
    Before,
    /// The request was done, the answer never seen.
    AfterCommit,
    /// The answer was seen, and nothing was done after it.
    AfterResponse,
}

/// What goes wrong with the events of one watch. Events are counted from 0 per stream, bookmarks not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WatchFault {
    /// This event, and all behind it, come later (W1).
    Delay { event: usize, by: Duration },
    /// This event never comes (a broken server: Kubernetes promises otherwise).
    Lose { event: usize },
    /// This event is held back and merged into the next of the same object (W5).
    Coalesce { event: usize },
    /// This event comes twice (W4).
    Repeat { event: usize },
    /// A clean end after so many events (W3, W9).
    Cut { after: usize },
    /// The connection breaks after so many events.
    Break { after: usize },
    /// `410 Gone` as an event, and the end, after so many (W7).
    Gone { after: usize },
    /// Nothing more after so many events, not even an end (W2, W10).
    Silence { after: usize },
}
