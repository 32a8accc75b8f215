//! TLS for servers that know none, with an authority of its own.

use std::{
    fs,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
};

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

/// A certificate, and what it proves.
pub(crate) struct Identity {
    pub(crate) pem: String,
    key: String,
    pub(crate) acceptor: TlsAcceptor,
}

impl Identity {
    /// Puts certificate and key where programs read them.
    pub(crate) fn keep(&self, directory: &Path) -> (PathBuf, PathBuf) {
        let (certificate, key) = (directory.join("tls.crt"), directory.join("tls.key"));
        fs::write(&certificate, &self.pem).unwrap();
        fs::write(&key, &self.key).unwrap();
        (certificate, key)
    }
}

pub(crate) fn identity() -> Identity {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
    let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    Identity {
        pem: made.cert.pem(),
        key: made.signing_key.serialize_pem(),
        acceptor: TlsAcceptor::from(Arc::new(config)),
    }
}

/// Takes TLS off what comes, for a server that knows none, as long as this process runs.
pub(crate) async fn in_front_of(server: SocketAddr, acceptor: TlsAcceptor) -> u16 {
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
