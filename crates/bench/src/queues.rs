//! The queues on their own: every key is added, handed out and done, in one thread.

use futures::{StreamExt as _, stream};
use kit::Key;
use kube_runtime::scheduler::{ScheduleRequest, scheduler};
use tokio::time::Instant;

use self::{backoff::Backoff, order::Priority, shell::Queue};

// kit's queue is none of its interfaces; its source is compiled in here, as kit's own check with shuttle does.
#[path = "../../kit/src/queue/order.rs"]
#[allow(dead_code, reason = "all of the file; a part of it is needed")]
mod order;
#[path = "../../kit/src/queue/shell.rs"]
#[allow(dead_code, reason = "all of the file; a part of it is needed")]
mod shell;
mod backoff {
    pub(super) use kit::Backoff;
}
mod sync {
    pub(super) use std::sync::{Mutex, PoisonError};
}

/// Keys per second through kit's queue.
pub(crate) async fn kit(count: usize) -> u64 {
    let (queue, keys) = (Queue::new(Backoff::default()), keys(count));
    let begun = Instant::now();
    for key in keys {
        queue.add(key, Priority::NORMAL);
    }
    for _ in 0..count {
        let taken = queue.next().await;
        queue.done(&taken.key);
    }
    per_second(count, begun)
}

/// Keys per second through kube_runtime's scheduler. It ends with its input, so the input must not end.
pub(crate) async fn peer(count: usize) -> u64 {
    let keys = keys(count);
    let begun = Instant::now();
    let requests = keys.into_iter().map(|message| ScheduleRequest { message, run_at: Instant::now() });
    let scheduled = scheduler(stream::iter(requests).chain(stream::pending()));
    scheduled.take(count).for_each(|_| std::future::ready(())).await;
    per_second(count, begun)
}

fn keys(count: usize) -> Vec<Key> {
    (0..count).map(|number| Key::new("default", format!("pod-{number}"))).collect()
}

fn per_second(count: usize, begun: Instant) -> u64 {
    (count as f64 / begun.elapsed().as_secs_f64()) as u64
}
