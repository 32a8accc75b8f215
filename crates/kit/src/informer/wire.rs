//! What lists and watches look like on the wire: requests, pages, events.

use std::borrow::Cow;

use http::{HeaderValue, Request, header::ACCEPT_ENCODING};
use kube::{
    client::Body,
    core::{
        Request as Requests,
        params::{ListParams, WatchParams},
    },
};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::trouble::{Status, Trouble};
use crate::Projection;

/// How many objects are asked for at a time: client-go's number.
pub(super) const PAGE: u32 = 500;

/// Builds the requests of one list and watch.
#[derive(Debug, Clone)]
pub(super) struct Collection {
    pub(super) path: String,
    pub(super) projection: Projection,
    pub(super) labels: Option<String>,
    pub(super) fields: Option<String>,
}

impl Collection {
    /// A page of the list. Without a resourceVersion the server answers with its newest state, never with an old one.
    pub(super) fn list(&self, limit: Option<u32>, token: Option<String>) -> Result<Request<Body>, Trouble> {
        let params = ListParams {
            label_selector: self.labels.clone(),
            field_selector: self.fields.clone(),
            limit,
            continue_token: token,
            ..ListParams::default()
        };
        let requests = Requests::new(&*self.path);
        sendable(match self.projection {
            Projection::Whole => requests.list(&params),
            Projection::Metadata => requests.list_metadata(&params),
        })
    }

    /// The watch from `version` on.
    pub(super) fn watch(&self, version: &str, seconds: u32) -> Result<Request<Body>, Trouble> {
        let params = WatchParams {
            label_selector: self.labels.clone(),
            field_selector: self.fields.clone(),
            timeout: Some(seconds),
            bookmarks: true,
            send_initial_events: false,
        };
        let requests = Requests::new(&*self.path);
        let mut request = sendable(match self.projection {
            Projection::Whole => requests.watch(&params, version),
            Projection::Metadata => requests.watch_metadata(&params, version),
        })?;
        // Kubernetes 1.37 compresses watches, each event for itself; kube's decompression ends with the first.
        request.headers_mut().insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        Ok(request)
    }
}

fn sendable(request: Result<Request<Vec<u8>>, kube::core::request::Error>) -> Result<Request<Body>, Trouble> {
    Ok(request.map_err(|error| Trouble::Connection(error.to_string()))?.map(Body::from))
}

/// A page of a list, its objects not yet decoded: one of them that is broken must not break the others.
#[derive(Deserialize)]
pub(super) struct Page<'a> {
    pub(super) metadata: PageMeta,
    #[serde(borrow)]
    items: Option<Vec<&'a RawValue>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
pub(super) struct PageMeta {
    pub(super) resource_version: String,
    #[serde(rename = "continue")]
    token: Option<String>,
}

impl<'a> Page<'a> {
    pub(super) fn decode(json: &'a [u8]) -> Result<Self, Trouble> {
        serde_json::from_slice(json).map_err(|error| Trouble::Connection(format!("unreadable list: {error}")))
    }

    /// Each object's JSON.
    pub(super) fn items(&self) -> impl Iterator<Item = &'a [u8]> {
        self.items.iter().flatten().map(|item| item.get().as_bytes())
    }

    /// Where the next page begins, if there is one.
    pub(super) fn next(&self) -> Option<String> {
        self.metadata.token.clone().filter(|token| !token.is_empty())
    }
}

/// One event of a watch, its object not yet decoded.
#[derive(Debug)]
pub(super) enum Event<'a> {
    /// Added or modified: we cannot tell the difference after a gap, and need not.
    Changed(&'a [u8]),
    Deleted(&'a [u8]),
    Bookmark(String),
    /// A type that came after us.
    Unknown,
}

impl<'a> Event<'a> {
    /// What seems to be the object of an addition or change, if the line is written as API servers write it. The line was not
    /// read, which takes as long as reading the object: only if that can be decoded, this is what the line says.
    pub(super) fn seems_changed(line: &'a [u8]) -> Option<&'a [u8]> {
        const HEADS: [&[u8]; 2] = [br#"{"type":"MODIFIED","object":"#, br#"{"type":"ADDED","object":"#];
        HEADS.iter().find_map(|head| line.strip_prefix(*head))?.strip_suffix(b"}")
    }

    /// Reads an event. An ERROR event is an error.
    pub(super) fn decode(line: &'a [u8]) -> Result<Self, Trouble> {
        #[derive(Deserialize)]
        struct Line<'a> {
            #[serde(rename = "type", borrow)]
            kind: Cow<'a, str>,
            #[serde(borrow)]
            object: &'a RawValue,
        }

        #[derive(Deserialize)]
        struct Bookmark {
            metadata: PageMeta,
        }

        let garbled = |error: serde_json::Error| Trouble::Garbled(error.to_string());
        let Line { kind, object } = serde_json::from_slice(line).map_err(garbled)?;
        let object = object.get();
        match &*kind {
            "ADDED" | "MODIFIED" => Ok(Self::Changed(object.as_bytes())),
            "DELETED" => Ok(Self::Deleted(object.as_bytes())),
            "BOOKMARK" => {
                let Bookmark { metadata } = serde_json::from_str(object).map_err(garbled)?;
                Ok(Self::Bookmark(metadata.resource_version))
            }
            "ERROR" => Err(Trouble::event(serde_json::from_str::<Status>(object).map_err(garbled)?)),
            _ => Ok(Self::Unknown),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_in_the_usual_order_is_cut_and_any_other_is_read() {
        let check = |line: &str, cut: Option<&str>| {
            assert_eq!(Event::seems_changed(line.as_bytes()), cut.map(str::as_bytes), "{line}");
        };
        check(r#"{"type":"ADDED","object":{"a":1}}"#, Some(r#"{"a":1}"#));
        check(r#"{"type":"MODIFIED","object":{"a":{}}}"#, Some(r#"{"a":{}}"#));
        check(r#"{"object":{"a":1},"type":"ADDED"}"#, None);
        check(r#"{"type": "ADDED", "object": {"a":1}}"#, None);
        check(r#"{"type":"DELETED","object":{"a":1}}"#, None);
        check(r#"{"type":"BOOKMARK","object":{"a":1}}"#, None);
    }

    #[test]
    fn what_is_cut_out_of_a_line_that_only_seems_usual_cannot_be_decoded() {
        use crate::slim::Meta;

        for line in [
            r#"{"type":"ADDED","object":{"metadata":{"name":"a"}},"more":{}}"#,
            r#"{"type":"ADDED","object":{"metadata":{"name":"a"}}, broken }"#,
            r#"{"type":"ADDED","object":{"metadata":{"name":"a"}}"#,
            r#"{"type":"ADDED","object":{"metadata":{"name":"a"}}}}"#,
        ] {
            let cut = Event::seems_changed(line.as_bytes()).unwrap();
            assert!(Meta::decode(cut).is_err(), "{line}");
        }
    }
}
