//! The rules of the queue, one sentence each.

use std::time::Duration;

use proptest::prelude::*;
use tokio::time::Instant;

use super::{
    backoff::Backoff,
    order::{Order, Priority},
    shell::Queue,
};

const LOW: Priority = Priority::LOW;
const NORMAL: Priority = Priority::NORMAL;
const HIGH: Priority = Priority::HIGH;

fn drain(order: &mut Order<&'static str>, now: Instant) -> Vec<&'static str> {
    std::iter::from_fn(|| {
        let taken = order.take(now)?;
        order.done(&taken.key, now);
        Some(taken.key)
    })
    .collect()
}

#[test]
fn higher_priority_first_then_first_come_first_served() {
    let now = Instant::now();
    let mut order = Order::new();
    for (key, priority) in [("a", LOW), ("b", NORMAL), ("c", HIGH), ("d", NORMAL), ("e", LOW)] {
        order.add(key, priority, now);
    }
    assert_eq!(drain(&mut order, now), ["c", "b", "d", "a", "e"]);
}

#[test]
fn a_key_is_queued_once_and_keeps_its_better_place() {
    let now = Instant::now();
    let mut order = Order::new();
    order.add("a", NORMAL, now);
    order.add("b", LOW, now);
    order.add("b", HIGH, now);
    order.add("b", LOW, now);
    order.add("a", NORMAL, now);
    assert_eq!(drain(&mut order, now), ["b", "a"]);
}

#[test]
fn who_waits_long_overtakes_what_is_fresh_and_more_important() {
    let start = Instant::now();
    let mut order = Order::new();
    order.add("old", LOW, start);
    let now = start + Duration::from_secs(9);
    order.add("fresh", NORMAL, now);
    assert_eq!(order.take(now).map(|t| t.key), Some("fresh"));
    order.done(&"fresh", now);
    let now = start + Duration::from_secs(11);
    order.add("fresher", NORMAL, now);
    assert_eq!(drain(&mut order, now), ["old", "fresher"]);
}

#[test]
fn a_raised_priority_keeps_the_age() {
    let start = Instant::now();
    let mut order = Order::new();
    order.add("a", LOW, start);
    let now = start + Duration::from_secs(3);
    order.add("a", NORMAL, now);
    assert_eq!(order.take(now).map(|t| t.waited), Some(Duration::from_secs(3)));
}

#[test]
fn a_running_key_is_not_handed_out_and_comes_again_when_asked_for() {
    let now = Instant::now();
    let mut order = Order::new();
    order.add("a", NORMAL, now);
    assert_eq!(order.take(now).map(|t| t.key), Some("a"));
    order.add("a", LOW, now);
    order.add("a", HIGH, now);
    assert_eq!(order.take(now), None);
    order.done(&"a", now);
    assert_eq!(order.take(now).map(|t| (t.key, t.priority)), Some(("a", HIGH)));
    order.done(&"a", now);
    assert_eq!(order.take(now), None);
}

#[test]
fn a_delayed_key_comes_when_due_the_earlier_of_two_delays_counts() {
    let start = Instant::now();
    let at = |seconds| start + Duration::from_secs(seconds);
    let mut order = Order::new();
    order.add_at("a", at(10));
    order.add_at("a", at(5));
    order.add_at("a", at(20));
    assert_eq!(order.next_due(), Some(at(5)));
    assert_eq!(order.take(at(4)), None);
    assert_eq!(drain(&mut order, at(5)), ["a"]);
    assert_eq!(order.next_due(), None);
}

#[test]
fn work_that_starts_earlier_makes_the_delay_void() {
    let start = Instant::now();
    let mut order = Order::new();
    order.add_at("a", start + Duration::from_secs(10));
    order.add("a", NORMAL, start);
    assert_eq!(drain(&mut order, start), ["a"]);
    assert_eq!(drain(&mut order, start + Duration::from_secs(60)), Vec::<&str>::new());
}

#[test]
fn a_delay_set_while_running_outlives_the_run() {
    let start = Instant::now();
    let mut order = Order::new();
    order.add("a", NORMAL, start);
    assert!(order.take(start).is_some());
    order.add_at("a", start + Duration::from_secs(1));
    order.done(&"a", start);
    assert_eq!(order.take(start), None);
    assert_eq!(drain(&mut order, start + Duration::from_secs(1)), ["a"]);
}

#[test]
fn an_add_counts_once_until_the_key_is_handed_out() {
    let start = Instant::now();
    let mut order = Order::new();
    order.add("a", LOW, start);
    order.add("a", HIGH, start);
    assert_eq!(order.adds(), 1);
    assert!(order.take(start).is_some());
    order.add("a", LOW, start);
    order.add("a", HIGH, start);
    assert_eq!(order.adds(), 2);
    order.done(&"a", start);
    assert_eq!(order.adds(), 2);
    assert_eq!(drain(&mut order, start), ["a"]);
    let later = start + Duration::from_secs(1);
    order.add_at("a", later);
    assert_eq!((order.adds(), drain(&mut order, later)), (2, vec!["a"]));
    assert_eq!(order.adds(), 3);
}

#[test]
fn an_idle_queue_holds_nothing() {
    let now = Instant::now();
    let mut order = Order::new();
    for key in ["a", "b", "c"] {
        order.add(key, LOW, now);
        order.add(key, HIGH, now);
    }
    drain(&mut order, now);
    assert_eq!((order.busy(), order.next_due()), (0, None));
    assert_eq!(order.depth(LOW) + order.depth(HIGH), 0);
}

#[test]
fn backoff_doubles_up_to_its_longest() {
    let backoff = Backoff { first: Duration::from_millis(5), longest: Duration::from_secs(1) };
    let exact = |failures| backoff.delay(failures, 0.5).as_millis();
    assert_eq!([1, 2, 3, 8, 9, 100].map(exact), [5, 10, 20, 640, 1000, 1000]);
    assert!(backoff.delay(100, 0.0) < backoff.delay(100, 1.0));
}

#[tokio::test(start_paused = true)]
async fn a_failing_key_waits_longer_each_time_until_it_succeeds() {
    let queue = Queue::new(Backoff { first: Duration::from_secs(1), longest: Duration::from_secs(60) });
    let start = Instant::now();
    let mut came = Vec::new();
    queue.add("a", NORMAL);
    for _ in 0..3 {
        let taken = queue.next().await;
        came.push(start.elapsed().as_secs());
        queue.retry(taken.key, 0.5);
        queue.done(&"a");
    }
    queue.forget(&"a");
    queue.next().await;
    queue.retry("a", 0.5);
    queue.done(&"a");
    queue.next().await;
    came.push(start.elapsed().as_secs());
    // 0, +1, +2, then +4 (not recorded), and after forget() +1 again.
    assert_eq!(came, [0, 1, 3, 8]);
}

#[tokio::test(start_paused = true)]
async fn a_waiting_consumer_notices_a_shorter_delay() {
    let queue = std::sync::Arc::new(Queue::new(Backoff::default()));
    let start = Instant::now();
    queue.add_after("later", Duration::from_secs(60));
    let consumer = tokio::spawn({
        let queue = queue.clone();
        async move { (queue.next().await.key, start.elapsed().as_secs()) }
    });
    tokio::task::yield_now().await;
    queue.add_after("sooner", Duration::from_secs(2));
    assert_eq!(consumer.await.unwrap(), ("sooner", 2));
}

#[derive(Debug, Clone)]
enum Op {
    Add(u8, i32),
    AddAt(u8, u64),
    Take,
    Done(u8),
    Pass(u64),
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        (0..5u8, -2..3i32).prop_map(|(k, p)| Op::Add(k, p * 50)),
        (0..5u8, 0..100u64).prop_map(|(k, d)| Op::AddAt(k, d)),
        Just(Op::Take),
        (0..5u8).prop_map(Op::Done),
        (0..50u64).prop_map(Op::Pass),
    ]
}

proptest! {
    /// Whatever happens: a key never runs twice at once, and what was asked for since its last start is handed out at the end.
    #[test]
    fn nothing_is_lost_and_nothing_runs_twice_at_once(ops in prop::collection::vec(op(), 0..200)) {
        let mut now = Instant::now();
        let mut order = Order::new();
        let mut running = std::collections::BTreeSet::new();
        let mut owed = std::collections::BTreeSet::new();
        for op in ops {
            match op {
                Op::Add(key, priority) => {
                    order.add(key, Priority(priority), now);
                    owed.insert(key);
                }
                Op::AddAt(key, millis) => {
                    order.add_at(key, now + Duration::from_millis(millis));
                    owed.insert(key);
                }
                Op::Take => {
                    if let Some(taken) = order.take(now) {
                        prop_assert!(running.insert(taken.key), "{} is running already", taken.key);
                        owed.remove(&taken.key);
                    }
                }
                Op::Done(key) => {
                    if running.remove(&key) {
                        order.done(&key, now);
                    }
                }
                Op::Pass(millis) => now += Duration::from_millis(millis),
            }
        }
        for key in running {
            order.done(&key, now);
        }
        now += Duration::from_secs(1);
        while let Some(taken) = order.take(now) {
            owed.remove(&taken.key);
            order.done(&taken.key, now);
        }
        prop_assert!(owed.is_empty(), "lost: {owed:?}");
        prop_assert_eq!(order.busy(), 0);
    }
}
