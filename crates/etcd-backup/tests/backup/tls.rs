//! A store whose certificate is of an authority of its own: an S3 server behind TLS.

use std::{fs, net::SocketAddr, sync::Arc};

use etcd_backup::Target;
use rustls::{
    ServerConfig,
    crypto::aws_lc_rs,
    pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer},
};
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
};
use tokio_rustls::TlsAcceptor;

use super::{large, loaded, places::bucket, refusal, save_whole};

/// A certificate, and what it proves.
struct Identity {
    pem: String,
    acceptor: TlsAcceptor,
}

fn identity() -> Identity {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
    let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    Identity { pem: made.cert.pem(), acceptor: TlsAcceptor::from(Arc::new(config)) }
}

/// Takes TLS off what comes, for a server that knows none, as long as this process runs.
async fn in_front_of(server: SocketAddr, acceptor: TlsAcceptor) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let Ok(mut client) = acceptor.accept(socket).await else { return };
                let mut server = TcpStream::connect(server).await.unwrap();
                // How a connection ends is the clients' business.
                let _ = copy_bidirectional(&mut client, &mut server).await;
            });
        }
    });
    port
}

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
