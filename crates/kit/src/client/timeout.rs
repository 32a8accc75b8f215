//! No call hangs: a server that stops answering (a black-holed connection, a paused machine) is an error in time.
//!
//! An attempt is timed from the first byte out to the last byte of the answer. A watch is timed until it begins; whether it
//! is still alive afterwards is judged by the informer, which knows what to expect of it.

use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http::{Request, Response};
use http_body::{Frame, SizeHint};
use kube::client::Body;
use tokio::time::{Instant, Sleep, sleep_until, timeout_at};
use tower::BoxError;

use super::{Hop, request::is_stream};

/// Put into a request's extensions: the whole call, with its waits and retries, ends by then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadline(pub Instant);

/// The server did not answer in time. What was asked for may still have been done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{request}: no complete answer after {after:?}")]
pub struct TimedOut {
    /// Method and path.
    pub request: String,
    /// How long it was waited for.
    pub after: Duration,
}

#[derive(Clone)]
pub(super) struct Timeout<H> {
    next: H,
    limit: Duration,
}

impl<H> Timeout<H> {
    pub(super) fn new(next: H, limit: Duration) -> Self {
        Self { next, limit }
    }
}

impl<H: Hop> Hop for Timeout<H> {
    async fn send(&self, request: Request<Body>) -> Result<Response<Reply>, BoxError> {
        let limit = Limit::of(&request, Instant::now() + self.limit);
        limit.apply(self.next.send(request)).await
    }
}

/// Sends `request`, and gives up at the [`Deadline`] in its extensions, if there is one.
pub(super) async fn until_deadline(
    next: &impl Hop,
    request: Request<Body>,
) -> Result<Response<Reply>, BoxError> {
    match request.extensions().get::<Deadline>() {
        Some(Deadline(deadline)) => Limit::of(&request, *deadline).apply(next.send(request)).await,
        None => next.send(request).await,
    }
}

/// When an answer must be there, and what to say when it is not.
struct Limit {
    deadline: Instant,
    error: TimedOut,
    stream: bool,
}

impl Limit {
    fn of(request: &Request<Body>, deadline: Instant) -> Self {
        let name = format!("{} {}", request.method(), request.uri().path());
        let after = deadline.saturating_duration_since(Instant::now());
        Self { deadline, error: TimedOut { request: name, after }, stream: is_stream(request) }
    }

    async fn apply(
        self,
        answer: impl Future<Output = Result<Response<Reply>, BoxError>>,
    ) -> Result<Response<Reply>, BoxError> {
        let Ok(response) = timeout_at(self.deadline, answer).await else {
            return Err(self.error.into());
        };
        let response = response?;
        Ok(if self.stream { response } else { response.map(|body| body.until(self.deadline, self.error)) })
    }
}

/// The body of an answer, which fails when it is not complete in time.
pub struct Reply {
    body: Body,
    limit: Option<(Pin<Box<Sleep>>, TimedOut)>,
}

impl From<Body> for Reply {
    fn from(body: Body) -> Self {
        Self { body, limit: None }
    }
}

impl Reply {
    /// Complete by `deadline`, or by an earlier one that was set before.
    fn until(mut self, deadline: Instant, error: TimedOut) -> Self {
        if self.limit.as_ref().is_none_or(|(sleep, _)| deadline < sleep.deadline()) {
            self.limit = Some((Box::pin(sleep_until(deadline)), error));
        }
        self
    }
}

impl http_body::Body for Reply {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(cx) {
            return Poll::Ready(frame.map(|frame| frame.map_err(BoxError::from)));
        }
        let Some((sleep, error)) = &mut self.limit else { return Poll::Pending };
        sleep.as_mut().poll(cx).map(|()| Some(Err(error.clone().into())))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
