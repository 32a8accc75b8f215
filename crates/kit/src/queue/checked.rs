//! The shell under shuttle: every interleaving of producers and the consumer that a thousand random schedules find.

use std::{collections::HashMap, future::poll_fn, sync::Arc};

use super::{backoff, order};
use crate::queue::{Backoff, Priority};

mod sync {
    pub(super) use std::sync::PoisonError;

    pub(super) use shuttle::sync::Mutex;
}

#[path = "shell.rs"]
#[allow(
    dead_code,
    clippy::duplicate_mod,
    reason = "the same shell on other locks; this check needs a part of it"
)]
mod shell;

/// Producers add while the consumer works: nothing is lost, nothing runs twice at once.
#[test]
fn every_add_is_followed_by_a_run_that_began_after_it() {
    shuttle::check_random(
        || {
            let queue = Arc::new(shell::Queue::new(Backoff::default()));
            // What each key should be seen at: producers raise it before they add.
            let wanted = Arc::new(shuttle::sync::Mutex::new(HashMap::<u8, u32>::new()));
            let producers: Vec<_> = (0..3)
                .map(|producer| {
                    let (queue, wanted) = (queue.clone(), wanted.clone());
                    shuttle::thread::spawn(move || {
                        for step in 0..3u8 {
                            let key = (producer + step) % 2;
                            *wanted.lock().unwrap().entry(key).or_default() += 1;
                            queue.add(key, Priority(i32::from(step) * 100 - 100));
                        }
                    })
                })
                .collect();
            let consumer = {
                let (queue, wanted) = (queue.clone(), wanted.clone());
                shuttle::future::spawn(async move {
                    let mut seen = HashMap::<u8, u32>::new();
                    while seen.values().sum::<u32>() < 9 {
                        let taken = poll_fn(|cx| queue.poll(cx, None)).await.expect("nothing is delayed");
                        // A worker of its own, as in the controller: done() races with the producers' add().
                        let now = wanted.lock().unwrap().get(&taken.key).copied().unwrap_or_default();
                        seen.insert(taken.key, now);
                        let queue = queue.clone();
                        shuttle::future::spawn(async move {
                            queue.done(&taken.key);
                        });
                    }
                })
            };
            for producer in producers {
                producer.join().unwrap();
            }
            shuttle::future::block_on(consumer).unwrap();
        },
        1000,
    );
}
