//! Two replicas never both write. Elections in virtual time, with a witness: every replica writes all the time through its
//! fenced client, and the server's record must show one writer after the other.

mod schedules;
mod world;

use std::{
    future::Future,
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use kit::lead::{Ended, Loss};
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use serde_json::json;
use tokio::time::{Instant, sleep};
use world::{Fate, Fault, Replica, World};

/// Runs `story` in virtual time, in a runtime of its own that ends with it; `seed` fixes every jitter.
fn play(seed: u64, story: impl Future<Output = ()>) {
    fastrand::seed(seed);
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap()
        .block_on(story);
}

const GAP: Duration = Duration::from_secs(5);

fn seconds(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds)
}

/// Replica 0 leads, replica 1 stands by, their wall clocks twelve hours apart.
async fn leader_and_standby(world: &std::sync::Arc<World>) -> (Replica, Replica) {
    let leader = Replica::start(world, 0, 6);
    leader.until_it_leads().await;
    let standby = Replica::start(world, 1, -6);
    sleep(seconds(10.0)).await;
    assert!(leader.leads() && !standby.leads());
    (leader, standby)
}

/// Somebody with kubectl changes the lease.
async fn edit(world: &World, patch: serde_json::Value) {
    world.by_hand().patch("capstan", &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn one_leads_and_the_other_waits_however_their_clocks_differ() {
    let world = World::new();
    let (leader, standby) = leader_and_standby(&world).await;
    let refused = leader.refused();
    sleep(seconds(300.0)).await;
    let terms = world.terms();
    assert_eq!(terms.len(), 1);
    assert_eq!((terms[0].writer.as_str(), terms[0].token), ("replica-0-0", Some(0)));
    assert!(standby.refused() > 300, "it tried all the time: {}", standby.refused());
    assert_eq!(leader.refused(), refused);
    assert_eq!(standby.leadership().to_string(), "replica-1-0 stands by, replica-0-0 leads");
    assert_eq!(
        standby.leadership().since.unwrap().to_string(),
        "2026-01-01T18:00:00Z",
        "by the holder's clock"
    );
}

#[tokio::test(start_paused = true)]
async fn a_leader_renews_with_one_request_every_two_seconds() {
    let world = World::new();
    let leader = Replica::start(&world, 0, 0);
    leader.until_it_leads().await;
    let (requests, commits) = (world.requests(), world.commits().len());
    sleep(seconds(100.0)).await;
    let renewals = (world.requests() - requests) - (world.commits().len() - commits);
    assert!((49..=51).contains(&renewals), "{renewals}");
}

#[tokio::test(start_paused = true)]
async fn a_stopped_leader_gives_the_lease_back_and_the_next_need_not_wait() {
    let world = World::new();
    let (leader, standby) = leader_and_standby(&world).await;
    let stopped = Instant::now();
    leader.stop();
    standby.until_it_leads().await;
    assert!(stopped.elapsed() < seconds(4.5), "one retry period with its jitter: {:?}", stopped.elapsed());
    sleep(seconds(5.0)).await;
    assert_eq!(leader.ends()[0], Ended::Released);
    assert_eq!(world.terms().len(), 2);
    assert_eq!(world.lease().await.spec.unwrap().lease_transitions, Some(1));
}

#[test]
fn a_frozen_leader_writes_nothing_when_it_wakes_up_late() {
    for frozen_after in 0..10 {
        play(frozen_after, async {
            let world = World::new();
            let (leader, standby) = leader_and_standby(&world).await;
            sleep(Duration::from_millis(frozen_after * 220)).await;
            leader.freeze();
            standby.until_it_leads().await;
            sleep(seconds(20.0)).await;
            let refused = leader.refused();
            leader.thaw();
            sleep(Duration::from_millis(1)).await;
            assert!(leader.refused() > refused, "its pending write was refused");
            sleep(seconds(30.0)).await;
            let terms = world.terms();
            assert_eq!(terms.len(), 2, "{terms:?}");
            assert!(terms[1].first - terms[0].last >= GAP);
            assert!(matches!(leader.ends()[0], Ended::Lost(_)), "{:?}", leader.ends());
        });
    }
}

#[tokio::test(start_paused = true)]
async fn a_leader_with_a_write_on_the_way_when_it_is_frozen_does_not_send_it_later() {
    // Every write takes a second to get out.
    let world = World::with_faults(|_, request| Fault {
        before: if request.uri().path().ends_with("witness") { seconds(1.0) } else { Duration::ZERO },
        ..Fault::default()
    });
    let (leader, standby) = leader_and_standby(&world).await;
    leader.freeze();
    standby.until_it_leads().await;
    sleep(seconds(20.0)).await;
    leader.thaw();
    sleep(seconds(30.0)).await;
    assert_eq!(world.terms().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_is_cut_off_steps_down_before_another_can_take_over() {
    let world = World::new();
    let (leader, standby) = leader_and_standby(&world).await;
    let cut = Instant::now();
    leader.cut();
    standby.until_it_leads().await;
    let taken_over = cut.elapsed();
    // A lease is 15 s, and the pause between two tries up to 4.4 s: so old may the last renewal be, so late may the standby see it, and so
    // late that it has run out.
    assert!(taken_over >= seconds(15.0 - 4.4) && taken_over < seconds(15.0 + 2.0 * 4.4), "{taken_over:?}");
    assert!(matches!(&leader.ends()[0], Ended::Lost(Loss::NotRenewed { .. })), "{:?}", leader.ends());
    // The line is repaired, and everything that was held arrives.
    sleep(seconds(20.0)).await;
    leader.reconnect();
    sleep(seconds(60.0)).await;
    let terms = world.terms();
    assert_eq!(terms.len(), 2, "{terms:?}");
    assert!(terms[1].first - terms[0].last >= GAP, "{terms:?}");
}

#[tokio::test(start_paused = true)]
async fn a_leader_whose_renewals_fail_stops_in_time_though_its_writes_would_go_through() {
    // Renewals are answered late, then not at all: what counts is when the last good one was sent.
    let began = Instant::now();
    let world = World::with_faults(move |_, request| {
        let renewal = request.method() == "PUT" && request.uri().path().contains("leases");
        let from_leader = request.headers()["user-agent"] == "replica-0";
        match began.elapsed() {
            _ if !(renewal && from_leader) => Fault::default(),
            elapsed if elapsed < seconds(30.0) => Fault { after: seconds(4.5), ..Fault::default() },
            _ => Fault { fate: Fate::RequestLost, ..Fault::default() },
        }
    });
    let (_leader, standby) = leader_and_standby(&world).await;
    standby.until_it_leads().await;
    sleep(seconds(10.0)).await;
    let terms = world.terms();
    assert_eq!(terms.len(), 2, "{terms:?}");
    assert!(terms[0].last > seconds(30.0), "it wrote to the end: {terms:?}");
    assert!(terms[1].first - terms[0].last >= GAP, "{terms:?}");
}

#[tokio::test(start_paused = true)]
async fn of_two_that_find_the_lease_free_at_the_same_moment_one_gets_it() {
    let world = World::with_faults(|_, request| {
        let take = request.method() == "PUT" && request.uri().path().contains("leases");
        Fault { before: if take { seconds(1.0) } else { Duration::ZERO }, ..Fault::default() }
    });
    let free =
        json!({"metadata": {"name": "capstan"}, "spec": {"holderIdentity": "", "leaseTransitions": 7}});
    world.by_hand().create(&PostParams::default(), &serde_json::from_value(free).unwrap()).await.unwrap();
    let replicas =
        [Replica::start(&world, 0, 6), Replica::start(&world, 1, -6), Replica::start(&world, 2, 0)];
    sleep(seconds(60.0)).await;
    let terms = world.terms();
    assert_eq!((terms.len(), terms[0].token), (1, Some(8)), "{terms:?}");
    assert_eq!(replicas.iter().filter(|replica| replica.leads()).count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_short_outage_costs_nothing() {
    let world = World::new();
    let (leader, _standby) = leader_and_standby(&world).await;
    leader.cut();
    sleep(seconds(7.0)).await;
    leader.reconnect();
    sleep(seconds(60.0)).await;
    assert_eq!(world.terms().len(), 1);
    assert!(leader.ends().is_empty(), "{:?}", leader.ends());
}

#[test]
fn one_failure_at_any_request_never_makes_two_leaders_nor_none() {
    for fate in [Fate::AnswerLost, Fate::Hangs, Fate::RequestLost, Fate::Refused(500)] {
        for hit in 0..12 {
            play(hit as u64, one_failure(fate, hit));
        }
    }
}

/// The `hit`-th request of the election meets `fate`: the first is a read, the second or third the creation.
async fn one_failure(fate: Fate, hit: usize) {
    let count = AtomicUsize::new(0);
    let world = World::with_faults(move |_, request| {
        let election = request.uri().path().contains("leases");
        let now = election && count.fetch_add(1, Ordering::SeqCst) == hit;
        Fault { fate: if now { fate } else { Fate::Served }, ..Fault::default() }
    });
    let replicas = [Replica::start(&world, 0, 6), Replica::start(&world, 1, -6)];
    sleep(seconds(30.0)).await;
    let terms = world.terms();
    assert_eq!(terms.len(), 1, "{fate:?} {hit}: one failure costs nobody the lead: {terms:?}");
    assert_eq!(replicas.iter().filter(|replica| replica.leads()).count(), 1);
    assert!(terms[0].last > seconds(29.0), "{fate:?} {hit}: {terms:?}");
}

#[tokio::test(start_paused = true)]
async fn a_deleted_lease_is_put_back_by_its_holder_and_the_count_goes_on() {
    let world = World::new();
    let (leader, standby) = leader_and_standby(&world).await;
    leader.stop();
    standby.until_it_leads().await;
    let next = Replica::start(&world, 2, 0);
    sleep(seconds(20.0)).await;
    world.by_hand().delete("capstan", &DeleteParams::default()).await.unwrap();
    sleep(seconds(60.0)).await;
    assert!(standby.leads() && !next.leads());
    let terms = world.terms();
    assert_eq!((terms.len(), terms[1].token), (2, Some(1)));
    assert_eq!(world.lease().await.spec.unwrap().lease_transitions, Some(1));
}

#[tokio::test(start_paused = true)]
async fn a_standby_does_not_use_the_moment_when_a_lease_is_deleted() {
    // The leader is cut off, so that it cannot put the lease back; but its fence is still open.
    let world = World::new();
    let (leader, standby) = leader_and_standby(&world).await;
    leader.cut();
    world.by_hand().delete("capstan", &DeleteParams::default()).await.unwrap();
    standby.until_it_leads().await;
    sleep(seconds(20.0)).await;
    let terms = world.terms();
    assert_eq!((terms.len(), terms[1].token), (2, Some(1)), "{terms:?}");
    assert!(terms[1].first - terms[0].last >= GAP, "{terms:?}");
}

#[tokio::test(start_paused = true)]
async fn a_lease_taken_by_hand_ends_the_leadership_at_the_next_renewal() {
    let world = World::new();
    let (leader, _standby) = leader_and_standby(&world).await;
    edit(&world, json!({"spec": {"holderIdentity": "somebody"}})).await;
    sleep(seconds(2.1)).await;
    assert_eq!(leader.ends().len(), 1);
    assert_eq!(leader.ends()[0], Ended::Lost(Loss::Taken("somebody".into())));
    // Whoever that was does not renew: one of ours takes over when its time is up.
    sleep(seconds(25.0)).await;
    let terms = world.terms();
    assert_eq!((terms.len(), terms[1].token), (2, Some(1)), "{terms:?}");
}

#[tokio::test(start_paused = true)]
async fn other_edits_of_the_lease_do_no_harm() {
    let world = World::new();
    let (leader, standby) = leader_and_standby(&world).await;
    edit(&world, json!({"metadata": {"labels": {"touched": "yes"}}, "spec": {"leaseDurationSeconds": 1}}))
        .await;
    sleep(seconds(30.0)).await;
    assert!(leader.leads() && !standby.leads());
    let lease = world.lease().await;
    assert_eq!(lease.metadata.labels.unwrap()["touched"], "yes");
    assert_eq!(lease.spec.unwrap().lease_duration_seconds, Some(15));
}

#[test]
fn reads_from_the_past_delay_a_takeover_and_never_hurry_it() {
    for ago in [1, 2, 5, 9] {
        play(ago as u64, async {
            let world = World::with_faults(move |n, _| Fault {
                fate: if n % 3 == 0 { Fate::Stale(ago) } else { Fate::Served },
                ..Fault::default()
            });
            let first = Replica::start(&world, 0, 6);
            let second = Replica::start(&world, 1, -6);
            sleep(seconds(40.0)).await;
            let (leader, standby) = if first.leads() { (first, second) } else { (second, first) };
            leader.freeze();
            sleep(seconds(60.0)).await;
            world.heal();
            standby.until_it_leads().await;
            leader.thaw();
            sleep(seconds(60.0)).await;
            let terms = world.terms();
            assert!(terms.len() >= 2 && terms[1].first - terms[0].last >= GAP, "{ago}: {terms:?}");
        });
    }
}

#[tokio::test(start_paused = true)]
async fn a_missing_permission_is_named_and_when_it_comes_the_replica_leads() {
    let world = World::with_faults(|_, _| Fault { fate: Fate::Refused(403), ..Fault::default() });
    let replica = Replica::start(&world, 0, 0);
    sleep(seconds(10.0)).await;
    assert_eq!(
        replica.leadership().problem.unwrap(),
        "not allowed to get lease ops/capstan: grant get, create and update on leases.coordination.k8s.io \
         in namespace ops to this service account"
    );
    world.heal();
    replica.until_it_leads().await;
    assert_eq!(replica.leadership().problem, None);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_comes_late_is_waited_for() {
    let world = World::with_faults(|_, _| Fault { fate: Fate::RequestLost, ..Fault::default() });
    let replica = Replica::start(&world, 0, 0);
    sleep(seconds(60.0)).await;
    assert!(!replica.leads());
    assert!(replica.leadership().problem.unwrap().starts_with("cannot get lease ops/capstan: "));
    world.heal();
    replica.until_it_leads().await;
}
