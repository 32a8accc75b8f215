//! Data that differs between members.

use etcd_api::{Alarm, AlarmKind};

use super::*;

#[tokio::test(start_paused = true)]
async fn damaged_data_has_another_hash_and_the_alarm_makes_no_pod_ready() {
    let town = Town::founded(&[1, 2, 3]).await;
    town.etcd.damage(&url(2));
    let mut hashes = Vec::new();
    for serial in 1..=3 {
        hashes.push(town.dial(serial).await.hash_kv(0).await.unwrap());
    }
    assert_eq!(hashes[0], hashes[2]);
    assert_ne!(hashes[0].hash, hashes[1].hash);

    town.etcd.alarm(&url(3), AlarmKind::Corrupt);
    town.pass(1).await;
    for serial in 1..=3 {
        assert_eq!(town.state(serial).await, "not ready");
    }
    let client = town.dial(1).await;
    assert_eq!(town.etcd.put(&url(1)), Err(EtcdError::Refused(Refusal::Corrupt)));
    assert_eq!(refused(client.compact(1).await), Refusal::Corrupt);
    assert_eq!(client.status().await.unwrap().errors.len(), 1);
    assert!(client.members(Consistency::Linearizable).await.is_ok());
    client.remove_member(town.id(2).await).await.unwrap();
    let alarm = Alarm { member: town.id(3).await, kind: AlarmKind::Corrupt };
    assert_eq!(client.alarms().await, Ok(vec![alarm]));
    client.disarm(alarm).await.unwrap();
    town.pass(1).await;
    assert_eq!((town.state(1).await.as_str(), town.state(3).await.as_str()), ("ready", "ready"));
}
