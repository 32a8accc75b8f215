//! Trying again, where it is safe and where it helps; the only place that does. A watch is never retried here: the informer
//! has its own way back.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use http::{Method, Request, Response, StatusCode, header::RETRY_AFTER};
use kube::client::Body;
use tokio::time::{Instant, sleep};
use tower::BoxError;

use super::{
    Hop, Reply,
    budget::{Bucket, RetryBudget},
    metrics::NO_ANSWER,
    request::{is_eviction, is_stream},
    timeout::{Deadline, TimedOut},
};
use crate::metrics::Metrics;

/// The first one and four more: together about 1.5 seconds of waiting, then the caller's queue knows better.
const ATTEMPTS: u32 = 5;
const FIRST_WAIT: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_secs(5);
/// A server that asks for more patience than this gets it from the caller's queue, which can do other things meanwhile.
const LONGEST_RETRY_AFTER: Duration = Duration::from_secs(30);

#[derive(Clone)]
pub(super) struct Retry<H> {
    next: H,
    bucket: Arc<Mutex<Bucket>>,
    metrics: Metrics,
    host: Arc<str>,
}

impl<H> Retry<H> {
    pub(super) fn new(next: H, budget: RetryBudget, metrics: Metrics, host: &str) -> Self {
        let bucket = Arc::new(Mutex::new(Bucket::full(budget, Instant::now())));
        Self { next, bucket, metrics, host: host.into() }
    }

    fn bucket<T>(&self, act: impl FnOnce(&mut Bucket) -> T) -> T {
        act(&mut self.bucket.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<H: Hop> Hop for Retry<H> {
    async fn send(&self, request: Request<Body>) -> Result<Response<Reply>, BoxError> {
        if is_stream(&request) {
            return self.next.send(request).await;
        }
        let method = request.method().clone();
        let eviction = is_eviction(&request);
        let deadline = request.extensions().get::<Deadline>().map(|deadline| deadline.0);
        let mut request = request;
        for attempt in 1.. {
            let again = if attempt < ATTEMPTS { copy(&request) } else { None };
            let answer = self.next.send(request).await;
            let outcome = Outcome::of(&answer);
            if outcome == Outcome::Answered {
                self.bucket(Bucket::succeeded);
            }
            let Some(copy) = again.filter(|_| may_retry(&method, outcome) && !eviction) else {
                return answer;
            };
            let wait = wait(outcome, attempt, fastrand::f64());
            let too_late = deadline.is_some_and(|deadline| Instant::now() + wait >= deadline);
            if too_late
                || outcome.retry_after() > LONGEST_RETRY_AFTER
                || !self.bucket(|b| b.pay(Instant::now()))
            {
                return answer;
            }
            let code = answer.as_ref().map(Response::status);
            self.metrics.request_retried(
                method.as_str(),
                &self.host,
                code.as_ref().map_or(NO_ANSWER, StatusCode::as_str),
            );
            drop(answer);
            sleep(wait).await;
            request = copy;
        }
        Err("no attempt was made".into())
    }
}

/// How an attempt went, as far as trying again goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// Well, or refused for good.
    Answered,
    /// With a status that speaks of the server's state, not of the request.
    Trouble(StatusCode, Option<Duration>),
    /// There was no connection: the server has not seen it.
    NotSent,
    /// The connection broke, or the time was up: the server may have carried it out.
    Broken,
    /// It failed before it got to the wire, and would again.
    Refused,
}

impl Outcome {
    fn of(answer: &Result<Response<Reply>, BoxError>) -> Self {
        match answer {
            Ok(response) => Self::of_status(response),
            Err(error) => Self::of_error(error),
        }
    }

    fn of_status(response: &Response<Reply>) -> Self {
        let seconds = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
        match response.status() {
            status if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS => {
                Self::Trouble(status, seconds.map(Duration::from_secs))
            }
            _ => Self::Answered,
        }
    }

    fn of_error(error: &BoxError) -> Self {
        let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(&**error);
        let mut outcome = Self::Refused;
        while let Some(error) = cause {
            if let Some(error) = error.downcast_ref::<hyper_util::client::legacy::Error>() {
                return if error.is_connect() { Self::NotSent } else { Self::Broken };
            }
            if let Some(error) = error.downcast_ref::<std::io::Error>() {
                let refused = error.kind() == std::io::ErrorKind::ConnectionRefused;
                return if refused { Self::NotSent } else { Self::Broken };
            }
            if error.is::<TimedOut>() || error.is::<hyper::Error>() {
                outcome = Self::Broken;
            }
            cause = error.source();
        }
        outcome
    }

    fn retry_after(self) -> Duration {
        match self {
            Self::Trouble(_, Some(wait)) => wait,
            _ => Duration::ZERO,
        }
    }
}

/// May `method` be sent again after this? A read always may. A write only when the server has said that it did nothing, or
/// has not seen it; then a POST only in the first case, because a second object is worse than an error.
fn may_retry(method: &Method, outcome: Outcome) -> bool {
    let read = matches!(*method, Method::GET | Method::HEAD);
    match outcome {
        Outcome::Trouble(StatusCode::TOO_MANY_REQUESTS, _) => true,
        Outcome::Trouble(StatusCode::SERVICE_UNAVAILABLE, retry_after) => read || retry_after.is_some(),
        Outcome::Trouble(StatusCode::BAD_GATEWAY | StatusCode::GATEWAY_TIMEOUT, _) => read,
        // A plain 500 is a bug somewhere and stays; with Retry-After it is the server's own timeout.
        Outcome::Trouble(_, retry_after) => read && retry_after.is_some(),
        Outcome::NotSent => *method != Method::POST,
        Outcome::Broken => read,
        Outcome::Answered | Outcome::Refused => false,
    }
}

/// What the server asked for, and on top of it a wait that doubles, of which at least half: callers that failed together
/// must not come back together.
fn wait(outcome: Outcome, attempt: u32, random: f64) -> Duration {
    let doubled = FIRST_WAIT.saturating_mul(2_u32.saturating_pow(attempt - 1)).min(LONGEST_WAIT);
    outcome.retry_after() + doubled.mul_f64(0.5 + random / 2.0)
}

/// A second copy, if the body can be sent twice.
fn copy(request: &Request<Body>) -> Option<Request<Body>> {
    let body = request.body().try_clone()?;
    let mut copy = Request::new(body);
    *copy.method_mut() = request.method().clone();
    *copy.uri_mut() = request.uri().clone();
    *copy.version_mut() = request.version();
    *copy.headers_mut() = request.headers().clone();
    *copy.extensions_mut() = request.extensions().clone();
    Some(copy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_safe_is_sent_again() {
        const NOW: Option<Duration> = Some(Duration::ZERO);
        let status = |code, after| Outcome::Trouble(StatusCode::from_u16(code).unwrap(), after);
        // outcome, the methods that may be repeated
        let table = [
            (Outcome::Answered, ""),
            (Outcome::Refused, ""),
            (Outcome::Broken, "GET"),
            (Outcome::NotSent, "GET PUT PATCH DELETE"),
            (status(429, None), "GET PUT PATCH DELETE POST"),
            (status(429, NOW), "GET PUT PATCH DELETE POST"),
            (status(503, NOW), "GET PUT PATCH DELETE POST"),
            (status(503, None), "GET"),
            (status(502, NOW), "GET"),
            (status(504, None), "GET"),
            (status(500, NOW), "GET"),
            (status(500, None), ""),
            (status(501, None), ""),
        ];
        for (outcome, expected) in table {
            let methods = [Method::GET, Method::PUT, Method::PATCH, Method::DELETE, Method::POST];
            let allowed: Vec<_> =
                methods.iter().filter(|m| may_retry(m, outcome)).map(Method::as_str).collect();
            assert_eq!(allowed.join(" "), expected, "{outcome:?}");
        }
    }

    #[test]
    fn waits_double_are_jittered_and_add_to_what_the_server_asks() {
        let millis = |outcome, attempt, random| wait(outcome, attempt, random).as_millis();
        assert_eq!(
            (1..=7).map(|n| millis(Outcome::Broken, n, 1.0)).collect::<Vec<_>>(),
            [100, 200, 400, 800, 1600, 3200, 5000]
        );
        assert_eq!(millis(Outcome::Broken, 1, 0.0), 50);
        let asked = Outcome::Trouble(StatusCode::TOO_MANY_REQUESTS, Some(Duration::from_secs(7)));
        assert_eq!(millis(asked, 1, 0.0), 7050);
    }

    #[test]
    fn the_cause_of_an_error_tells_whether_it_was_sent() {
        let io = |kind: std::io::ErrorKind| {
            BoxError::from(kube::Error::Service(std::io::Error::from(kind).into()))
        };
        let timed_out = TimedOut { request: "GET /".into(), after: Duration::from_secs(1) };
        assert_eq!(Outcome::of_error(&io(std::io::ErrorKind::ConnectionRefused)), Outcome::NotSent);
        assert_eq!(Outcome::of_error(&io(std::io::ErrorKind::ConnectionReset)), Outcome::Broken);
        assert_eq!(Outcome::of_error(&timed_out.into()), Outcome::Broken);
        assert_eq!(Outcome::of_error(&crate::lead::NotLeader::Standby.into()), Outcome::Refused);
    }
}
