//! An Azure Blob Storage as a process: Azurite.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Stdio,
    sync::Arc,
};

use aws_lc_rs::hmac;
use base64::{Engine as _, prelude::BASE64_STANDARD};
use etcd_backup::Target;
use lab::binaries;
use rustls::{
    ClientConfig, RootCertStore,
    crypto::aws_lc_rs as provider,
    pki_types::{CertificateDer, pem::PemObject as _},
};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader},
    net::TcpStream,
    process::{Child, Command},
};
use tokio_rustls::{TlsConnector, client::TlsStream};

use super::{
    process::{Quiet, now},
    stores::Server,
    tls_front::Identity,
};

pub(crate) const ACCOUNT: &str = "backup";
const KEY: &[u8] = b"an account's key, which is to be long enough";

/// Its container is `backups`. By plain HTTP, with the account's key.
pub(crate) async fn start() -> Server {
    let directory = tempfile::tempdir().unwrap();
    let (port, process) = serve(directory.path(), &[]).await;
    create_container(port, TcpStream::connect(("127.0.0.1", port)).await.unwrap()).await;
    let (credentials, wrong) = (directory.path().join("credentials"), directory.path().join("wrong"));
    credentials_of(KEY, &credentials);
    credentials_of(b"another key of the same length as the account's", &wrong);
    let target = Target {
        url: "az://backups/of/db".to_owned(),
        endpoint: Some(format!("http://127.0.0.1:{port}/{ACCOUNT}")),
        credentials: Some(credentials),
        ..Target::default()
    };
    Server { target, elsewhere: "az://nowhere/of/db".to_owned(), wrong, directory, _process: process }
}

/// One that takes the tokens of identities, too, which Azurite does only with TLS. They say who they are for, and by whom; nobody checks who
/// has signed them.
pub(crate) async fn start_for_identities(ours: &Identity) -> Server {
    let directory = tempfile::tempdir().unwrap();
    let (certificate, key) = ours.keep(directory.path());
    let path = |path: &Path| path.display().to_string();
    let options = ["--oauth", "basic", "--cert", &path(&certificate), "--key", &path(&key)];
    let (port, process) = serve(directory.path(), &options).await;
    create_container(port, with_tls(port, &certificate).await).await;
    let target = Target {
        url: format!("az://backups@{ACCOUNT}/of/db"),
        endpoint: Some(format!("https://localhost:{port}/{ACCOUNT}")),
        ca_file: Some(certificate),
        ..Target::default()
    };
    Server { target, elsewhere: String::new(), wrong: PathBuf::new(), directory, _process: process }
}

fn credentials_of(key: &[u8], directory: &Path) {
    fs::create_dir(directory).unwrap();
    fs::write(directory.join("accountName"), ACCOUNT).unwrap();
    fs::write(directory.join("accountKey"), BASE64_STANDARD.encode(key)).unwrap();
}

async fn serve(directory: &Path, options: &[&str]) -> (u16, Child) {
    let program = tokio::task::spawn_blocking(|| binaries::azurite(&Quiet).unwrap()).await.unwrap();
    let mut child = Command::new("node")
        .arg(program)
        .args(["--blobHost", "127.0.0.1", "--blobPort", "0", "--inMemoryPersistence"])
        .args(["--silent", "--disableTelemetry"])
        .args(options)
        .current_dir(directory)
        .env("AZURITE_ACCOUNTS", format!("{ACCOUNT}:{}", BASE64_STANDARD.encode(KEY)))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    loop {
        let line = lines.next_line().await.unwrap().expect("it says where it listens");
        if let Some((_, port)) = line.rsplit_once(':').filter(|_| line.contains("successfully listens on")) {
            let port = port.trim().parse().unwrap();
            // It goes on talking, and would wait for somebody who listens.
            tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
            return (port, child);
        }
    }
}

async fn with_tls(port: u16, certificate: &Path) -> TlsStream<TcpStream> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(certificate).unwrap()).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(provider::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let socket = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    TlsConnector::from(Arc::new(config)).connect("localhost".try_into().unwrap(), socket).await.unwrap()
}

/// A container is not ours to make, so our client cannot: one request of the REST API, signed with the account's key.
/// <https://learn.microsoft.com/rest/api/storageservices/authorize-with-shared-key>
async fn create_container(port: u16, mut stream: impl AsyncRead + AsyncWrite + Unpin) {
    let date = now().strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
    let version = "2023-11-03";
    let headers = format!("x-ms-date:{date}\nx-ms-version:{version}\n");
    let resource = format!("/{ACCOUNT}/{ACCOUNT}/backups\nrestype:container");
    let to_sign = format!("PUT\n\n\n\n\n\n\n\n\n\n\n\n{headers}{resource}");
    let key = hmac::Key::new(hmac::HMAC_SHA256, KEY);
    let signature = BASE64_STANDARD.encode(hmac::sign(&key, to_sign.as_bytes()));
    let request = format!(
        "PUT /{ACCOUNT}/backups?restype=container HTTP/1.1\r\nhost: localhost:{port}\r\nx-ms-date: {date}\r\n\
         x-ms-version: {version}\r\nauthorization: SharedKey {ACCOUNT}:{signature}\r\ncontent-length: 0\r\n\
         connection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    // Node ends a connection without a farewell of TLS.
    let _ = stream.read_to_end(&mut answer).await;
    let answer = String::from_utf8_lossy(&answer);
    assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
}
