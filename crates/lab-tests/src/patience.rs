//! Waiting, in one place: for a condition, with a deadline, and with words about what was seen last.

use std::{fmt::Debug, time::Duration};

use tokio::time::{Instant, MissedTickBehavior, interval, timeout};

/// Enough for anything that takes one or two starts of pods, on two cores with other scenarios beside it.
pub const PATIENCE: Duration = Duration::from_secs(90);
/// For what takes an operator through several Jobs, or retries of Kubernetes with its growing pauses.
pub const LONG: Duration = Duration::from_secs(240);

const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Looks until there is an answer; `Err` says what is the case instead.
pub async fn until<T>(what: &str, limit: Duration, mut look: impl AsyncFnMut() -> Result<T, String>) -> T {
    let end = Instant::now() + limit;
    let mut due = interval(LOOK_EVERY);
    due.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        due.tick().await;
        let seen = match timeout(limit, look()).await {
            Ok(Ok(answer)) => return answer,
            Ok(Err(instead)) => instead,
            Err(_) => "no answer".to_owned(),
        };
        assert!(Instant::now() < end, "{what}: not within {} s; in the end: {seen}", limit.as_secs());
    }
}

/// `Ok` when `yes`; else a description for [`until`].
pub fn when<T: Debug>(yes: bool, seen: T) -> Result<T, String> {
    if yes { Ok(seen) } else { Err(format!("{seen:?}")) }
}

/// Something done again and again beside a scenario, until it is stopped: load, a look at whether the application serves.
pub struct Beside<T> {
    task: tokio::task::JoinHandle<()>,
    seen: std::sync::Arc<std::sync::Mutex<Vec<T>>>,
}

impl<T: Send + 'static> Beside<T> {
    /// Every `period`; what it gives is kept.
    pub fn every<F: Future<Output = Option<T>> + Send + 'static>(
        period: Duration,
        mut act: impl FnMut() -> F + Send + 'static,
    ) -> Self {
        let seen = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
        let record = seen.clone();
        let task = tokio::spawn(async move {
            let mut due = interval(period);
            due.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                due.tick().await;
                if let Some(it) = act().await {
                    record.lock().unwrap().push(it);
                }
            }
        });
        Self { task, seen }
    }

    /// Ends it, and says what it gave.
    pub fn stop(self) -> Vec<T> {
        self.task.abort();
        std::mem::take(&mut *self.seen.lock().unwrap())
    }
}

impl<T> Drop for Beside<T> {
    fn drop(&mut self) {
        self.task.abort();
    }
}
