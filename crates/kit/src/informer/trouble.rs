//! What goes wrong with lists and watches, and how long to wait after it.

use std::time::Duration;

use http::{HeaderMap, StatusCode, header::RETRY_AFTER};
use serde::Deserialize;
use tokio::time::Instant;

use super::health::State;

/// A list or watch that failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Trouble {
    /// The server has forgotten the revisions that were asked for (410), or never had them.
    #[error("the server no longer has the history since the last event: {0}")]
    Gone(String),
    /// The answer to a list is older than what is known already.
    #[error("the server's list is at resourceVersion {listed}, but {known} was seen before")]
    Stale { listed: u64, known: u64 },
    /// The event could not be read at all: asking for it again would change nothing.
    #[error("unreadable event: {0}")]
    Garbled(String),
    #[error("the server does not know the kind")]
    MissingKind,
    #[error("forbidden: {0}")]
    Forbidden(String),
    #[error("the server answered {code}: {message}")]
    Refused { code: u16, message: String, retry_after: Option<Duration> },
    #[error("no answer within {} s", .0.as_secs())]
    Silent(Duration),
    #[error("{0}")]
    Connection(String),
    /// Code of the application, such as a row's, that should not.
    #[error("a bug in this operator: its code panicked")]
    Panicked,
    /// The server ends watches as soon as they begin.
    #[error("the watch ended at once")]
    Short,
}

/// What is read of a `Status`, as the body of an error or as the object of an ERROR event.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Status {
    pub(super) code: u16,
    message: String,
    reason: String,
}

impl Trouble {
    /// What an HTTP status and the `Status` in its body mean.
    pub(super) fn answered(code: StatusCode, headers: &HeaderMap, body: &[u8]) -> Self {
        let status: Status = serde_json::from_slice(body).unwrap_or_else(|_| Status {
            message: String::from_utf8_lossy(body).trim().to_owned(),
            ..Status::default()
        });
        let seconds = headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
        Self::of(Status { code: code.as_u16(), ..status }, seconds.map(Duration::from_secs))
    }

    /// What the `Status` of an ERROR event means.
    pub(super) fn event(status: Status) -> Self {
        Self::of(status, None)
    }

    fn of(Status { code, message, reason }: Status, retry_after: Option<Duration>) -> Self {
        match (code, &*reason) {
            (410, _) | (_, "Expired" | "Gone") => Self::Gone(message),
            // A resourceVersion from the future: etcd was restored from a backup. It stays wrong until we list anew.
            _ if message.contains("Too large resource version") => Self::Gone(message),
            (404, _) => Self::MissingKind,
            (403, _) => Self::Forbidden(message),
            _ => Self::Refused { code, message, retry_after },
        }
    }

    /// Whether watching on from the last resourceVersion is useless.
    pub(super) fn needs_list(&self) -> bool {
        match self {
            Self::Gone(_) | Self::Garbled(_) | Self::MissingKind => true,
            // Not a resourceVersion, the server says; only a list can give us another.
            Self::Refused { code, .. } => matches!(code, 400 | 422),
            _ => false,
        }
    }

    /// The state that an informer is in with this trouble; nothing if it is on its way as before.
    pub(super) fn state(&self) -> Option<State> {
        match self {
            Self::MissingKind => Some(State::MissingKind),
            Self::Forbidden(_) => Some(State::Forbidden),
            _ => None,
        }
    }
}

/// Waits between attempts: the first soon, then each twice as long, up to [`Pace::LONGEST`].
#[derive(Debug, Default)]
pub(super) struct Pace {
    failures: u32,
    last: Option<Instant>,
}

impl Pace {
    const FIRST: Duration = Duration::from_millis(100);
    pub(super) const LONGEST: Duration = Duration::from_secs(30);
    /// A server that names a longer wait than this is not believed.
    const LONGEST_ASKED_FOR: Duration = Duration::from_secs(120);
    /// After so long without trouble, the next trouble is the first again. Counting time and not successes means that a server
    /// that alternates between working and failing is not asked more often than one that only fails.
    const CALM: Duration = Duration::from_secs(60);

    /// How long to wait after `trouble`. History that is gone is listed anew at once, but only once: twice in a row is no luck.
    pub(super) fn after(&mut self, trouble: &Trouble, now: Instant) -> Duration {
        if self.last.is_none_or(|last| now.duration_since(last) > Self::CALM + Self::LONGEST) {
            self.failures = 0;
        }
        self.last = Some(now);
        let failures = self.failures;
        self.failures = failures.saturating_add(1);
        let wait = match trouble {
            Trouble::Gone(_) if failures == 0 => Duration::ZERO,
            _ => {
                let doubled = Self::FIRST.saturating_mul(2_u32.saturating_pow(failures.min(16)));
                doubled.min(Self::LONGEST).mul_f64(0.5 + fastrand::f64() / 2.0)
            }
        };
        match trouble {
            Trouble::Refused { retry_after: Some(asked), .. } => {
                wait.max((*asked).min(Self::LONGEST_ASKED_FOR))
            }
            _ => wait,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_answer_means_one_thing() {
        let check = |code: u16, body: &str, expected: &str| {
            let code = StatusCode::from_u16(code).unwrap();
            let headers = HeaderMap::from_iter([(RETRY_AFTER, "7".parse().unwrap())]);
            assert_eq!(format!("{:?}", Trouble::answered(code, &headers, body.as_bytes())), expected);
        };
        let status = |reason: &str, message: &str| {
            format!(r#"{{"kind":"Status","reason":"{reason}","message":"{message}"}}"#)
        };
        check(410, &status("Expired", "too old"), r#"Gone("too old")"#);
        check(410, "", r#"Gone("")"#);
        check(
            504,
            &status("Timeout", "Too large resource version: 9, current: 3"),
            r#"Gone("Too large resource version: 9, current: 3")"#,
        );
        check(
            400,
            &status("BadRequest", "no version"),
            r#"Refused { code: 400, message: "no version", retry_after: Some(7s) }"#,
        );
        check(404, "404 page not found\n", "MissingKind");
        check(403, &status("Forbidden", "no"), r#"Forbidden("no")"#);
        check(429, "slow down\n", r#"Refused { code: 429, message: "slow down", retry_after: Some(7s) }"#);
        check(
            500,
            &status("InternalError", "oops"),
            r#"Refused { code: 500, message: "oops", retry_after: Some(7s) }"#,
        );
    }

    #[test]
    fn an_error_event_of_history_that_is_gone_needs_a_list() {
        let status =
            r#"{"kind":"Status","code":410,"reason":"Gone","message":"too old resource version: 1 (9)"}"#;
        assert!(Trouble::event(serde_json::from_str(status).unwrap()).needs_list());
        let status = r#"{"kind":"Status","code":500,"message":"etcd event received with PrevKv=nil"}"#;
        assert!(!Trouble::event(serde_json::from_str(status).unwrap()).needs_list());
    }

    #[tokio::test(start_paused = true)]
    async fn waits_grow_with_jitter_to_thirty_seconds_and_shrink_after_a_calm_minute() {
        let mut pace = Pace::default();
        let lost = Trouble::Connection("reset".into());
        for doubled in [100, 200, 400, 800, 1_600, 3_200, 6_400, 12_800, 25_600, 30_000, 30_000] {
            let wait = pace.after(&lost, Instant::now());
            let longest = Duration::from_millis(doubled);
            assert!(wait >= longest / 2 && wait <= longest, "{wait:?} after {longest:?}");
            tokio::time::advance(wait).await;
        }
        tokio::time::advance(Pace::CALM).await;
        assert!(pace.after(&lost, Instant::now()) > Duration::from_secs(10), "a minute is not yet calm");
        tokio::time::advance(Pace::CALM + Pace::LONGEST + Duration::from_secs(1)).await;
        assert!(pace.after(&lost, Instant::now()) <= Duration::from_millis(100));
    }

    #[tokio::test(start_paused = true)]
    async fn lost_history_is_listed_at_once_but_never_in_a_hot_loop() {
        let mut pace = Pace::default();
        let waits = [(); 6].map(|()| pace.after(&Trouble::Gone(String::new()), Instant::now()));
        assert_eq!(waits[0], Duration::ZERO);
        assert!(waits[1..].iter().all(|wait| *wait >= Duration::from_millis(100)), "{waits:?}");
        assert!(waits[5] >= Duration::from_millis(1_600), "{waits:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn what_the_server_asks_for_is_the_least_wait_within_reason() {
        let wait = |seconds| {
            let retry_after = Some(Duration::from_secs(seconds));
            Pace::default()
                .after(&Trouble::Refused { code: 429, message: String::new(), retry_after }, Instant::now())
        };
        assert_eq!(wait(5), Duration::from_secs(5));
        assert_eq!(wait(86_400), Duration::from_secs(120));
        assert!(wait(0) >= Duration::from_millis(50));
    }
}
