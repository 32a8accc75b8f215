//! How connections fail, and how soon that is known.

use std::time::Duration;

use etcd_api::{Client, Consistency, Endpoint as _, EtcdError, Health, Tls};
use futures::StreamExt as _;
use tokio::time::{Instant, timeout};

use crate::cluster::{Cluster, DEADLINE, authority, signed};

/// Until the health stream says that it is over.
async fn death(stream: &mut etcd_api::HealthStream) -> EtcdError {
    loop {
        match stream.next().await.unwrap() {
            Ok(_) => {}
            Err(error) => return error,
        }
    }
}

#[tokio::test]
async fn a_health_stream_breaks_within_100_ms_after_kill_9_and_says_nothing_more() {
    let mut cluster = Cluster::found("killed", 1).await;
    let client = cluster.dial(0).await;
    let mut health = client.watch_health();
    assert_eq!(health.next().await, Some(Ok(Health::Serving)));
    let killed = Instant::now();
    cluster.members[0].kill().await;
    let error = timeout(Duration::from_millis(100), death(&mut health)).await.unwrap();
    println!("known {:?} after kill -9: {error}", killed.elapsed());
    assert!(matches!(error, EtcdError::Broken(_)), "{error:?}");
    assert_eq!(health.next().await, None);
    let error = client.status().await.unwrap_err();
    assert!(matches!(error, EtcdError::Unreachable(_)), "{error:?}");
    assert!(!error.leaves_doubt());

    cluster.start(0, "existing", &[0]);
    cluster.dial(0).await;
    client.status().await.expect("the same client, after its server came back");
}

#[tokio::test]
async fn a_process_that_hangs_is_known_by_the_deadline_of_a_call_and_by_the_ping_of_a_stream() {
    let cluster = Cluster::found("paused", 1).await;
    let client = cluster.dial(0).await;
    let (url, soon) = (cluster.members[0].url(), Duration::from_millis(300));
    let short = Client::connect(&url, Some(&cluster.tls), soon).await.unwrap();
    let mut health = client.watch_health();
    assert_eq!(health.next().await, Some(Ok(Health::Serving)));
    cluster.members[0].pause().await;
    let error = short.probe(Consistency::Serializable).await.unwrap_err();
    assert_eq!(error, EtcdError::Deadline(soon));
    assert!(error.leaves_doubt());
    let error = timeout(Duration::from_secs(12), death(&mut health)).await.unwrap();
    assert!(matches!(error, EtcdError::Broken(_)), "{error:?}");
}

#[tokio::test]
async fn only_who_shows_a_certificate_of_the_right_authority_is_served() {
    let cluster = Cluster::found("strangers", 1).await;
    let member = &cluster.members[0];
    let asked = async |url: &str, tls: Option<&Tls>| match Client::connect(url, tls, DEADLINE).await {
        Ok(client) => client.status().await.unwrap_err(),
        Err(error) => error,
    };

    let plain = asked(&member.plain_url(), None).await;
    assert!(matches!(plain, EtcdError::Broken(_) | EtcdError::Unreachable(_)), "{plain:?}");

    let (other_ca, other) = authority();
    let (certificate, key) = signed(&other);
    let untrusted = asked(&member.url(), Some(&Tls::new(other_ca, certificate, key))).await;
    assert!(matches!(untrusted, EtcdError::Tls(_)), "{untrusted:?}");
    println!("plain: {plain}; untrusted: {untrusted}");

    let garbage = asked(&member.url(), Some(&Tls::new("", "", ""))).await;
    assert!(!garbage.leaves_doubt(), "{garbage:?}");
    let nowhere = asked("https://127.0.0.1:1", Some(&cluster.tls)).await;
    assert!(matches!(nowhere, EtcdError::Unreachable(_)), "{nowhere:?}");
    let no_url = asked("not a url", None).await;
    assert!(matches!(no_url, EtcdError::Invalid { .. }), "{no_url:?}");
}
