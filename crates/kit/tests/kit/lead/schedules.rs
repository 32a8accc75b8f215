//! Random schedules: whatever is delayed, lost, cut or frozen, writers follow one another; and when it is over, somebody leads.

use std::time::Duration;

use proptest::{collection::vec, prelude::*};
use tokio::time::sleep;

use super::{
    play,
    world::{Fate, Fault, Replica, World},
};

#[derive(Debug, Clone)]
enum Event {
    Freeze { replica: usize, seconds: u64 },
    Cut { replica: usize, seconds: u64 },
    Stop { replica: usize },
}

#[derive(Debug, Clone)]
struct Schedule {
    seed: u64,
    skews: Vec<i64>,
    /// Pauses in milliseconds, and what happens after each.
    events: Vec<(u64, Event)>,
    /// The n-th request meets the n-th fault, around and around.
    faults: Vec<Fault>,
}

fn event() -> impl Strategy<Value = Event> {
    let replica = 0..3_usize;
    prop_oneof![
        4 => (replica.clone(), 0..40_u64).prop_map(|(replica, seconds)| Event::Freeze { replica, seconds }),
        4 => (replica.clone(), 0..40_u64).prop_map(|(replica, seconds)| Event::Cut { replica, seconds }),
        1 => replica.prop_map(|replica| Event::Stop { replica }),
    ]
}

fn fault() -> impl Strategy<Value = Fault> {
    let delay =
        || prop_oneof![6 => Just(0), 3 => 0..3_000_u64, 1 => 0..20_000_u64].prop_map(Duration::from_millis);
    let fate = prop_oneof![
        12 => Just(Fate::Served),
        1 => Just(Fate::RequestLost),
        1 => Just(Fate::AnswerLost),
        1 => Just(Fate::Hangs),
        1 => (0..5_usize).prop_map(Fate::Stale),
        1 => prop_oneof![Just(429_u16), Just(500), Just(503)].prop_map(Fate::Refused),
    ];
    (delay(), fate, delay()).prop_map(|(before, fate, after)| Fault { before, fate, after })
}

fn schedule() -> impl Strategy<Value = Schedule> {
    (any::<u64>(), vec(-6..=6_i64, 2..=3), vec((0..20_000_u64, event()), 0..10), vec(fault(), 1..40))
        .prop_map(|(seed, skews, events, faults)| Schedule { seed, skews, events, faults })
}

async fn run(schedule: Schedule) {
    let faults = schedule.faults;
    let world = World::with_faults(move |n, _| faults[n % faults.len()]);
    let replicas: Vec<_> = schedule
        .skews
        .iter()
        .enumerate()
        .map(|(number, skew)| Replica::start(&world, number, *skew))
        .collect();
    let mut running: Vec<_> = (0..replicas.len()).collect();
    for (pause, event) in schedule.events {
        sleep(Duration::from_millis(pause)).await;
        let pick = |replica: usize| replicas[replica % replicas.len()].clone();
        match event {
            Event::Freeze { replica, seconds } => {
                let replica = pick(replica);
                replica.freeze();
                tokio::spawn(async move {
                    sleep(Duration::from_secs(seconds)).await;
                    replica.thaw();
                });
            }
            Event::Cut { replica, seconds } => {
                let replica = pick(replica);
                replica.cut();
                tokio::spawn(async move {
                    sleep(Duration::from_secs(seconds)).await;
                    replica.reconnect();
                });
            }
            Event::Stop { replica } if running.len() > 1 => {
                running.retain(|number| *number != replica % replicas.len());
                pick(replica).stop();
            }
            Event::Stop { .. } => {}
        }
    }
    sleep(Duration::from_secs(60)).await;
    world.heal();
    sleep(Duration::from_secs(60)).await;
    let healed = world.commits().len();
    sleep(Duration::from_secs(10)).await;
    world.terms();
    assert!(world.commits().len() > healed, "somebody leads and writes again");
    assert_eq!(running.iter().filter(|number| replicas[**number].leads()).count(), 1);
}

proptest! {
    // A part of what proptest would do: each case is minutes of virtual time. PROPTEST_CASES raises it.
    #![proptest_config(ProptestConfig {
        cases: ProptestConfig::default().cases / 8,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn writers_follow_one_another_in_every_schedule(schedule in schedule()) {
        play(schedule.seed, run(schedule));
    }
}
