//! What breaks between an operator and etcd.

use etcd_api::{Health, Role};
use futures::{FutureExt as _, StreamExt as _};
use tokio::time::Instant;

use super::*;

#[tokio::test(start_paused = true)]
async fn a_health_stream_breaks_with_its_process_at_once_and_with_its_network_by_a_ping() {
    let town = Town::founded(&[1, 2, 3]).await;
    let mut first = town.dial(1).await.watch_health();
    let mut second = town.dial(2).await.watch_health();
    assert_eq!(first.next().await, Some(Ok(Health::Serving)));
    assert_eq!(second.next().await, Some(Ok(Health::Serving)));
    assert_eq!(first.next().now_or_never(), None);

    let mut first = town.dial(1).await.watch_health();
    first.next().await;
    let before = Instant::now();
    town.etcd.kill(&url(1));
    assert!(matches!(first.next().await, Some(Err(EtcdError::Broken(_)))));
    assert_eq!(before.elapsed(), Duration::ZERO);
    assert_eq!(first.next().await, None);
    assert!(matches!(town.try_dial(1).await, Err(EtcdError::Unreachable(_))));

    town.etcd.trouble(&url(2), Trouble::CutOff);
    let before = Instant::now();
    assert!(matches!(second.next().await, Some(Err(EtcdError::Broken(_)))));
    assert_eq!(before.elapsed(), Duration::from_secs(8));
    assert!(matches!(town.try_dial(2).await, Err(EtcdError::Unreachable(_))));
}

#[tokio::test(start_paused = true)]
async fn a_paused_process_answers_nothing_and_a_plain_dial_is_refused() {
    let town = Town::founded(&[1]).await;
    let client = town.dial(1).await;
    town.etcd.trouble(&url(1), Trouble::Paused);
    assert_eq!(client.status().await, Err(EtcdError::Deadline(DEADLINE)));
    town.pass(1).await;
    assert_eq!(town.state(1).await, "not ready");
    town.etcd.heal(&url(1));
    assert!(client.status().await.is_ok());
    let plain = town.etcd.dial().dial(&url(1), None, DEADLINE).await;
    assert!(matches!(plain, Err(EtcdError::Broken(_))), "{plain:?}");
}

#[tokio::test(start_paused = true)]
async fn every_write_can_be_lost_refused_or_the_last_one_of_its_operator() {
    let add = async |fault: Option<EtcdFault>| {
        let town = Town::founded(&[1, 2, 3]).await;
        town.etcd.plan(fault.map(|fault| (Nth::Write(0), fault)).into_iter().collect());
        let client = town.dial(1).await;
        client.status().await.unwrap();
        let peer_urls = [peer_url(4)];
        let answer = timeout(Duration::from_secs(60), client.add_member(&peer_urls, Role::Learner)).await;
        let members = town.dial(2).await.members(Consistency::Linearizable).await.unwrap().members.len();
        (answer.map(|answer| answer.map(drop)), members, town.etcd.crashes(), town.etcd.hits())
    };
    let lost = Err(EtcdError::Deadline(DEADLINE));
    let unhealthy = Err(EtcdError::Refused(Refusal::Unhealthy));
    let (answer, members, crashes, hits) = add(None).await;
    assert_eq!((answer.unwrap(), members, crashes, hits), (Ok(()), 4, 0, 0));
    let (answer, members, crashes, hits) = add(Some(EtcdFault::Lost)).await;
    assert_eq!((answer.unwrap(), members, crashes, hits), (lost, 4, 0, 1));
    let (answer, members, crashes, hits) = add(Some(EtcdFault::Refused(Refusal::Unhealthy))).await;
    assert_eq!((answer.unwrap(), members, crashes, hits), (unhealthy, 3, 0, 1));
    let (answer, members, crashes, hits) = add(Some(EtcdFault::CrashBefore)).await;
    assert_eq!((answer.is_err(), members, crashes, hits), (true, 3, 1, 1));
    let (answer, members, crashes, hits) = add(Some(EtcdFault::CrashAfter)).await;
    assert_eq!((answer.is_err(), members, crashes, hits), (true, 4, 1, 1));
}

#[tokio::test(start_paused = true)]
async fn the_dead_hear_nothing_and_who_starts_after_them_does() {
    let town = Town::founded(&[1]).await;
    let before = town.dial(1).await;
    town.etcd.hang_up();
    assert!(timeout(Duration::from_secs(60), before.status()).await.is_err());
    assert!(town.dial(1).await.status().await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn at_rest_nothing_happens() {
    let town = Town::founded(&[1, 2, 3]).await;
    town.stop(3).await;
    town.volumes.erase("default", "db-3");
    town.start(3, &[1, 2, 3], "existing").await;
    town.pass(20 * 60).await;
    let before = town.server.revision();
    town.pass(24 * 3600).await;
    assert_eq!(town.server.revision(), before);
}
