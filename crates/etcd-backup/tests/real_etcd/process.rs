//! One etcd process, alone and without TLS, on ports that are free now.

use std::{
    net::TcpListener,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use etcd_api::{Client, Consistency, Endpoint as _};
use lab::{binaries, versions::Operand};
use tokio::{
    process::{Child, Command},
    time::{Instant, interval},
};

const PATIENCE: Duration = Duration::from_secs(60);
const DEADLINE: Duration = Duration::from_secs(5);

struct Quiet;

impl lab::Progress for Quiet {
    fn step(&self, _: &str) {}
}

pub(crate) fn program(version: &str, name: &str) -> PathBuf {
    binaries::operand(Operand::Etcd, version, &Quiet).unwrap().join(name)
}

pub(crate) struct Etcd {
    client: u16,
    child: Child,
}

impl Etcd {
    /// Starts it on a data directory, which may have data; waits until it serves.
    pub(crate) async fn start(version: &str, data: &Path) -> Self {
        // Both held until both are known, so that they differ.
        let (peer, client) =
            (TcpListener::bind("127.0.0.1:0").unwrap(), TcpListener::bind("127.0.0.1:0").unwrap());
        let port = |listener: TcpListener| listener.local_addr().unwrap().port();
        let (peer, client) = (port(peer), port(client));
        let (peer_url, url) = (format!("http://127.0.0.1:{peer}"), format!("http://127.0.0.1:{client}"));
        let child = Command::new(program(version, "etcd"))
            .args(["--name", "m1", "--unsafe-no-fsync", "--log-level", "error", "--data-dir"])
            .arg(data)
            .args(["--listen-peer-urls", &peer_url, "--initial-advertise-peer-urls", &peer_url])
            .args(["--listen-client-urls", &url, "--advertise-client-urls", &url])
            .args(["--initial-cluster", &format!("m1={peer_url}")])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let etcd = Self { client, child };
        etcd.client().await;
        etcd
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.client)
    }

    pub(crate) async fn kill(&mut self) {
        self.child.kill().await.unwrap();
    }

    /// A client, once it serves.
    pub(crate) async fn client(&self) -> Client {
        let end = Instant::now() + PATIENCE;
        let mut due = interval(Duration::from_millis(50));
        loop {
            due.tick().await;
            let seen = match Client::connect(&self.url(), None, DEADLINE).await {
                Err(error) => error,
                Ok(client) => match client.probe(Consistency::Linearizable).await {
                    Ok(_) => return client,
                    Err(error) => error,
                },
            };
            assert!(Instant::now() < end, "etcd does not serve: {seen}");
        }
    }
}
