//! A Google Cloud Storage as a process: fake-gcs-server, with a service account that is checked by its signature.

use std::{fs, path::Path, process::Stdio};

use aws_lc_rs::{
    encoding::{AsDer as _, Pkcs8V1Der, PublicKeyX509Der},
    rsa::{KeyPair, KeySize},
    signature::KeyPair as _,
};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use etcd_backup::Target;
use lab::binaries;
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::{Child, Command},
};

use super::{process::Quiet, stores::Server};

/// The token that the metadata service of the tests gives out.
pub(crate) const TOKEN: &str = "of-the-metadata-service";

/// Its bucket is `backups`.
pub(crate) async fn start() -> Server {
    let directory = tempfile::tempdir().unwrap();
    let key = KeyPair::generate(KeySize::Rsa2048).unwrap();
    let public: PublicKeyX509Der<'_> = key.public_key().as_der().unwrap();
    let account = directory.path().join("account.pem");
    fs::write(&account, pem("PUBLIC KEY", public.as_ref())).unwrap();
    let (url, process) = serve(&account).await;

    let credentials = directory.path().join("credentials");
    credentials_of(&key, &credentials);
    let wrong = directory.path().join("wrong");
    credentials_of(&KeyPair::generate(KeySize::Rsa2048).unwrap(), &wrong);
    let target = Target {
        url: "gs://backups/of/db".to_owned(),
        endpoint: Some(url),
        credentials: Some(credentials),
        ..Target::default()
    };
    Server { target, elsewhere: "gs://nowhere/of/db".to_owned(), wrong, directory, _process: process }
}

async fn serve(account: &Path) -> (String, Child) {
    let program = tokio::task::spawn_blocking(|| binaries::gcs(&Quiet).unwrap()).await.unwrap();
    let mut child = Command::new(program)
        .args(["-bucket", "backups", "-token", TOKEN, "-account"])
        .arg(account)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let address = lines.next_line().await.unwrap().expect("it says where it listens");
    (format!("http://{address}"), child)
}

/// What Google gives out for a service account, as far as anybody reads it.
fn credentials_of(key: &KeyPair, directory: &Path) {
    let private: Pkcs8V1Der<'_> = key.as_der().unwrap();
    let account = serde_json::json!({
        "type": "service_account",
        "private_key_id": "1",
        "private_key": pem("PRIVATE KEY", private.as_ref()),
        "client_email": "backup@example.iam.gserviceaccount.com",
    });
    fs::create_dir(directory).unwrap();
    fs::write(directory.join("serviceAccount"), account.to_string()).unwrap();
}

fn pem(label: &str, der: &[u8]) -> String {
    let text = BASE64_STANDARD.encode(der);
    let lines: Vec<&str> =
        text.as_bytes().chunks(64).map(|line| std::str::from_utf8(line).unwrap()).collect();
    format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", lines.join("\n"))
}
