//! A watch as a sequence of events with a deadline.

use std::time::Duration;

use bytes::{Buf, BytesMut};
use futures::{StreamExt, stream::BoxStream};
use http_body_util::BodyExt;
use kube::client::Body;
use serde_json::Value;
use tokio::time::timeout;

use crate::{Failure, json::Json};

/// One line of a watch.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Event {
    /// `ADDED`, `MODIFIED`, `DELETED`, `BOOKMARK`, `ERROR`.
    pub kind: String,
    pub object: Value,
}

impl Event {
    /// `ADDED name`: how cases compare events.
    pub(crate) fn told(&self) -> String {
        format!("{} {}", self.kind, self.object.name())
    }
}

pub(crate) struct Watch {
    chunks: BoxStream<'static, Result<bytes::Bytes, kube::Error>>,
    buffer: BytesMut,
    patience: Duration,
}

impl Watch {
    pub(crate) fn new(body: Body, patience: Duration) -> Self {
        Self { chunks: body.into_data_stream().boxed(), buffer: BytesMut::new(), patience }
    }

    /// The next event; a failure when none comes in time or the stream ends.
    pub(crate) async fn next(&mut self) -> Result<Event, Failure> {
        match timeout(self.patience, self.line()).await {
            Ok(Ok(Some(event))) => Ok(event),
            Ok(Ok(None)) => Err(Failure::new("the watch ended where an event was expected")),
            Ok(Err(failure)) => Err(failure),
            Err(_) => Err(Failure::new(format!("no event within {:?}", self.patience))),
        }
    }

    /// The next `count` events, as `ADDED name`.
    pub(crate) async fn told(&mut self, count: usize) -> Result<Vec<String>, Failure> {
        let mut told = Vec::new();
        for _ in 0..count {
            told.push(self.next().await?.told());
        }
        Ok(told)
    }

    /// Everything until the server ends the stream.
    pub(crate) async fn rest(&mut self) -> Result<Vec<Event>, Failure> {
        let mut events = Vec::new();
        loop {
            match timeout(self.patience, self.line()).await {
                Ok(Ok(Some(event))) => events.push(event),
                Ok(Ok(None)) => return Ok(events),
                Ok(Err(failure)) => return Err(failure),
                Err(_) => {
                    return Err(Failure::new(format!("the watch did not end within {:?}", self.patience)));
                }
            }
        }
    }

    async fn line(&mut self) -> Result<Option<Event>, Failure> {
        loop {
            if let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
                let line = self.buffer.split_to(end);
                self.buffer.advance(1);
                return event(&line).map(Some);
            }
            match self.chunks.next().await {
                Some(chunk) => self.buffer.extend_from_slice(&chunk?),
                None if self.buffer.iter().all(u8::is_ascii_whitespace) => return Ok(None),
                None => return event(&self.buffer.split()).map(Some),
            }
        }
    }
}

fn event(line: &[u8]) -> Result<Event, Failure> {
    let wrong = || Failure::new(format!("not a watch event: {}", String::from_utf8_lossy(line)));
    let value: Value = serde_json::from_slice(line).map_err(|_| wrong())?;
    if !value.has("object") {
        return Err(wrong());
    }
    Ok(Event { kind: value.text("type").to_owned(), object: value.at("object").clone() })
}
