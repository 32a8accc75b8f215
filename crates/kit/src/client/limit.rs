//! Not too much at once: writes and reads each have a limit of their own, so that a wave of lists never holds up a write.
//! Watches are not counted: they last for minutes and would use up any limit.

use std::sync::{Arc, Mutex, PoisonError};

use http::{Request, Response, StatusCode};
use kube::client::Body;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::Instant,
};
use tower::BoxError;

use super::{
    Hop, Reply,
    aimd::Aimd,
    request::{is_eviction, is_read, is_stream},
};

#[derive(Clone)]
pub(super) struct Limit<H> {
    next: H,
    reads: Gate,
    writes: Gate,
}

impl<H> Limit<H> {
    pub(super) fn new(next: H, max_reads: usize, max_writes: usize) -> Self {
        Self { next, reads: Gate::new(max_reads), writes: Gate::new(max_writes) }
    }
}

impl<H: Hop> Hop for Limit<H> {
    async fn send(&self, request: Request<Body>) -> Result<Response<Reply>, BoxError> {
        if is_stream(&request) {
            return self.next.send(request).await;
        }
        let gate = if is_read(&request) { &self.reads } else { &self.writes };
        let eviction = is_eviction(&request);
        let pass = gate.enter().await;
        let began = Instant::now();
        let answer = self.next.send(request).await;
        match answer.as_ref().map(Response::status) {
            Ok(StatusCode::TOO_MANY_REQUESTS) if !eviction => gate.refused(began),
            Ok(status) if !status.is_server_error() => gate.succeeded(),
            _ => {}
        }
        drop(pass);
        answer
    }
}

/// A semaphore whose size follows an [`Aimd`].
#[derive(Clone)]
struct Gate(Arc<Inner>);

struct Inner {
    semaphore: Arc<Semaphore>,
    state: Mutex<State>,
}

struct State {
    aimd: Aimd,
    /// Permits that exist, free or taken. Above the limit, returned ones are destroyed.
    permits: usize,
}

/// The right to have one request under way.
struct Pass {
    gate: Gate,
    permit: Option<OwnedSemaphorePermit>,
}

impl Gate {
    fn new(max: usize) -> Self {
        let aimd = Aimd::new(max);
        let permits = aimd.limit();
        Self(Arc::new(Inner {
            semaphore: Arc::new(Semaphore::new(permits)),
            state: Mutex::new(State { aimd, permits }),
        }))
    }

    async fn enter(&self) -> Pass {
        // The semaphore is never closed, so that a permit always comes.
        let permit = Arc::clone(&self.0.semaphore).acquire_owned().await.ok();
        Pass { gate: self.clone(), permit }
    }

    fn succeeded(&self) {
        self.change(Aimd::succeeded);
    }

    fn refused(&self, began: Instant) {
        self.change(|aimd| aimd.refused(began, Instant::now()));
    }

    fn change(&self, change: impl FnOnce(&mut Aimd)) {
        let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut state.aimd);
        let limit = state.aimd.limit();
        if state.permits < limit {
            self.0.semaphore.add_permits(limit - state.permits);
            state.permits = limit;
        } else {
            state.permits -= self.0.semaphore.forget_permits(state.permits - limit);
        }
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        let mut state = self.gate.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.permits > state.aimd.limit() {
            state.permits -= 1;
            if let Some(permit) = self.permit.take() {
                permit.forget();
            }
        }
    }
}
