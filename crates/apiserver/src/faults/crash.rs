//! The crash switch: the server says "the client dies here", the harness drops the client and starts a new one.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;

use crate::Recorded;

/// Tripped by [`super::Fault::Crash`]. Clones are the same switch.
///
/// From the moment it trips, the client's connections are dead: a crash takes effect at once, however late the harness comes to
/// drop the client's tasks.
#[derive(Debug, Clone, Default)]
pub struct CrashSwitch(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    tripped: Mutex<Vec<Recorded>>,
    notify: Notify,
}

impl CrashSwitch {
    /// Waits for the next crash; the request at which it happened. Crashes that nobody waited for are not lost.
    pub async fn tripped(&self) -> Recorded {
        loop {
            let notified = self.0.notify.notified();
            if let Some(request) = self.take() {
                return request;
            }
            notified.await;
        }
    }

    /// A crash that nobody has seen yet.
    pub fn take(&self) -> Option<Recorded> {
        let mut tripped = self.0.tripped.lock().unwrap_or_else(PoisonError::into_inner);
        if tripped.is_empty() { None } else { Some(tripped.remove(0)) }
    }

    pub(super) fn trip(&self, request: &Recorded) {
        self.0.tripped.lock().unwrap_or_else(PoisonError::into_inner).push(request.clone());
        self.0.notify.notify_waiters();
    }
}
