//! Time for a blocking program: what the clock says, and a pause between two looks.

use std::{
    thread,
    time::{Duration, Instant},
};

#[expect(
    clippy::disallowed_methods,
    reason = "the lab is a blocking program around real processes: no paused time here"
)]
pub(crate) fn now() -> Instant {
    Instant::now()
}

#[expect(
    clippy::disallowed_methods,
    reason = "between two looks at a process that does not tell us; nothing async runs here"
)]
pub(crate) fn pause(time: Duration) {
    thread::sleep(time);
}
