//! The wall clock of a program at a terminal: what people are told to have waited.

use std::time::Instant;

#[expect(clippy::disallowed_methods, reason = "a person waits: real seconds are what is shown")]
pub(crate) fn now() -> Instant {
    Instant::now()
}
