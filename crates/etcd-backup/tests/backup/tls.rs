//! A store whose certificate is of an authority of its own: an S3 server behind TLS.

use std::fs;

use etcd_backup::Target;

use super::{
    large, loaded,
    places::bucket,
    refusal, save_whole,
    tls_front::{identity, in_front_of},
};

#[tokio::test]
async fn the_authority_of_a_store_is_the_one_that_was_given() {
    let (target, directory) = bucket().await;
    let server = target.endpoint.as_deref().unwrap().trim_start_matches("http://").parse().unwrap();
    let (ours, other) = (identity(), identity());
    let port = in_front_of(server, ours.acceptor).await;
    let trusting = |name: &str, pem: &str| {
        let file = directory.path().join(name);
        fs::write(&file, pem).unwrap();
        let endpoint = Some(format!("https://localhost:{port}"));
        Target { endpoint, ca_file: Some(file), ..target.clone() }.open().unwrap()
    };
    let store = trusting("ca.crt", &ours.pem);
    let manifest = save_whole(&store, "sealed-on-the-way", None, &large()).await.unwrap();
    assert!(loaded(&store, &manifest, None).await.unwrap() == large());

    let said = refusal(trusting("other.crt", &other.pem).manifest("sealed-on-the-way").await);
    assert!(said.contains("certificate"), "{said}");
}
