//! What was asked of the server: every request, in order, with its outcome.

use std::{
    ops::Deref,
    sync::{Mutex, PoisonError},
};

use bytes::Bytes;
use jiff::Timestamp;

use crate::Verb;

/// One request, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// Counts all requests to the server from 0.
    pub index: usize,
    pub at: Timestamp,
    /// The name of the connection.
    pub client: String,
    pub user: String,
    /// `None` for discovery, health and the like.
    pub verb: Option<Verb>,
    pub group: String,
    /// Plural; for requests without a resource the path.
    pub resource: String,
    pub namespace: String,
    pub name: String,
    pub subresource: String,
    pub dry_run: bool,
    pub query: String,
    pub body: Bytes,
    /// `None` while it is under way, and when the answer never left.
    pub code: Option<u16>,
    /// The revision that it made.
    pub revision: Option<u64>,
    /// The faults that befell it.
    pub faults: Vec<String>,
}

impl Recorded {
    pub fn is_write(&self) -> bool {
        self.verb.is_some_and(Verb::is_write)
    }

    /// The request as HTTP has it, method and path; nothing for one that is about no resource.
    pub fn http(&self) -> Option<(&'static str, String)> {
        let method = match self.verb? {
            Verb::Get | Verb::List | Verb::Watch => "GET",
            Verb::Create => "POST",
            Verb::Update => "PUT",
            Verb::Patch => "PATCH",
            Verb::Delete | Verb::DeleteCollection => "DELETE",
        };
        let place = match self.namespace.as_str() {
            "" => String::new(),
            namespace => format!("/namespaces/{namespace}"),
        };
        let parts = [&self.resource, &self.name, &self.subresource];
        let path: String =
            parts.into_iter().filter(|part| !part.is_empty()).map(|part| format!("/{part}")).collect();
        let root = match self.group.as_str() {
            "" => "/api".to_owned(),
            group => format!("/apis/{group}"),
        };
        Some((method, format!("{root}/v1{place}{path}?{}", self.query)))
    }

    /// `verb group/resource/subresource namespace/name`: short enough for a test's message.
    pub fn told(&self) -> String {
        let verb = self.verb.map_or("get", Verb::as_str);
        let mut told = format!("{verb} {}", self.resource);
        for (mark, part) in [(".", &self.group), ("/", &self.subresource)] {
            if !part.is_empty() {
                told.push_str(mark);
                told.push_str(part);
            }
        }
        match (self.namespace.as_str(), self.name.as_str()) {
            ("", "") => {}
            ("", name) => told.push_str(&format!(" {name}")),
            (namespace, name) => told.push_str(&format!(" {namespace}/{name}")),
        }
        told
    }
}

/// Requests, to be narrowed down.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Requests(Vec<Recorded>);

impl Requests {
    fn keep(mut self, keep: impl Fn(&Recorded) -> bool) -> Self {
        self.0.retain(keep);
        self
    }

    /// Those that would change something; dry runs do not.
    #[must_use]
    pub fn writes(self) -> Self {
        self.keep(|request| request.is_write() && !request.dry_run)
    }

    #[must_use]
    pub fn of(self, client: &str) -> Self {
        self.keep(|request| request.client == client)
    }

    #[must_use]
    pub fn verb(self, verb: Verb) -> Self {
        self.keep(|request| request.verb == Some(verb))
    }

    #[must_use]
    pub fn resource(self, plural: &str) -> Self {
        self.keep(|request| request.resource == plural)
    }

    #[must_use]
    pub fn since(self, index: usize) -> Self {
        self.keep(|request| request.index >= index)
    }

    /// One line per request.
    pub fn told(&self) -> Vec<String> {
        self.0.iter().map(Recorded::told).collect()
    }
}

impl Deref for Requests {
    type Target = [Recorded];

    fn deref(&self) -> &[Recorded] {
        &self.0
    }
}

/// The record, as it grows.
#[derive(Debug, Default)]
pub(crate) struct Record(Mutex<Vec<Recorded>>);

impl Record {
    fn with<R>(&self, act: impl FnOnce(&mut Vec<Recorded>) -> R) -> R {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Writes down a request; its index.
    pub(crate) fn begin(&self, mut request: Recorded) -> usize {
        self.with(|all| {
            request.index = all.len();
            all.push(request);
            all.len() - 1
        })
    }

    pub(crate) fn change(&self, index: usize, change: impl FnOnce(&mut Recorded)) {
        self.with(|all| {
            if let Some(request) = all.get_mut(index) {
                change(request);
            }
        });
    }

    pub(crate) fn all(&self) -> Requests {
        Requests(self.with(|all| all.clone()))
    }

    pub(crate) fn len(&self) -> usize {
        self.with(|all| all.len())
    }
}
