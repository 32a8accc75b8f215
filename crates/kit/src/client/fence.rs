//! Only the leader writes. This is the last hop before the wire, passed again by every retry.
//!
//! The fence is asked at every step of the request, not only at the first: a request that waits for a connection while the
//! process is frozen, or the network gone, is dropped instead of sent once the lease has lapsed. What has left this machine
//! cannot be called back; the lease's duration is longer than the fence's, to give it time to arrive, and what is
//! destructive carries UID and resourceVersion, so that it cannot hit what a next leader has changed.

use std::{
    future::Future,
    pin::{Pin, pin},
    task::{Context, Poll},
};

use http::{Request, Response};
use kube::client::Body;
use tokio::time::{Sleep, sleep_until};
use tower::BoxError;

use super::{Hop, Reply, request::changes};
use crate::lead::{Fence, NotLeader};

#[derive(Clone)]
pub(super) struct Fenced<H> {
    next: H,
    fence: Fence,
}

impl<H> Fenced<H> {
    pub(super) fn new(next: H, fence: Fence) -> Self {
        Self { next, fence }
    }
}

impl<H: Hop> Hop for Fenced<H> {
    async fn send(&self, request: Request<Body>) -> Result<Response<Reply>, BoxError> {
        if !changes(&request) {
            return self.next.send(request).await;
        }
        let answer = pin!(self.next.send(request));
        While { fence: &self.fence, lapse: None, answer }.await?
    }
}

/// Polls `answer` only while the fence is open.
struct While<'a, F> {
    fence: &'a Fence,
    /// Wakes us when the fence would close, if nothing else does.
    lapse: Option<Pin<Box<Sleep>>>,
    answer: Pin<&'a mut F>,
}

impl<F: Future> Future for While<'_, F> {
    type Output = Result<F::Output, NotLeader>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        loop {
            if let Err(not_leader) = self.fence.check() {
                return Poll::Ready(Err(not_leader));
            }
            let this = &mut *self;
            if let Poll::Ready(answer) = this.answer.as_mut().poll(cx) {
                return Poll::Ready(Ok(answer));
            }
            let Some(lapses_at) = this.fence.lapses_at() else { return Poll::Pending };
            let lapse = this.lapse.get_or_insert_with(|| Box::pin(sleep_until(lapses_at)));
            // Renewed since: the alarm moves with it.
            if lapse.deadline() != lapses_at {
                lapse.as_mut().reset(lapses_at);
            }
            if lapse.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
        }
    }
}
