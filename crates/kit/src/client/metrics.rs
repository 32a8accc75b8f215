//! Counts every attempt, under the names of client-go, so that existing dashboards show us.

use std::sync::Arc;

use http::{Method, Request, Response, StatusCode};
use kube::client::Body;
use tokio::time::Instant;
use tower::BoxError;

use super::{Hop, Reply};
use crate::metrics::Metrics;

/// What client-go writes when there was no answer.
pub(super) const NO_ANSWER: &str = "<error>";

#[derive(Clone)]
pub(super) struct Measured<H> {
    next: H,
    metrics: Metrics,
    host: Arc<str>,
}

impl<H> Measured<H> {
    pub(super) fn new(next: H, metrics: Metrics, host: &str) -> Self {
        Self { next, metrics, host: host.into() }
    }
}

impl<H: Hop> Hop for Measured<H> {
    async fn send(&self, request: Request<Body>) -> Result<Response<Reply>, BoxError> {
        let method = request.method().clone();
        let mut attempt =
            Attempt { metrics: &self.metrics, host: &self.host, method, began: Instant::now(), code: None };
        let answer = self.next.send(request).await;
        attempt.code = answer.as_ref().ok().map(Response::status);
        answer
    }
}

/// Counted when it is dropped, because a timeout gives up in the middle.
struct Attempt<'a> {
    metrics: &'a Metrics,
    host: &'a str,
    method: Method,
    began: Instant,
    code: Option<StatusCode>,
}

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        let code = self.code.as_ref().map_or(NO_ANSWER, StatusCode::as_str);
        self.metrics.request(self.method.as_str(), self.host, code);
        self.metrics.request_took(self.method.as_str(), self.host, self.began.elapsed());
    }
}
