//! One etcd process, alone, on ports that are free now; without TLS unless a directory with certificates is given.

use std::{
    net::TcpListener,
    path::{Path, PathBuf},
    process::Stdio,
    sync::atomic::{AtomicU16, Ordering},
    time::Duration,
};

use etcd_api::{Client, Consistency, Endpoint as _, Tls};
use etcd_backup::source::Source;
use jiff::Timestamp;
use lab::{binaries, versions::Operand};
use tokio::{
    process::{Child, Command},
    time::{Instant, interval},
};

const PATIENCE: Duration = Duration::from_secs(60);
const DEADLINE: Duration = Duration::from_secs(5);

pub(crate) struct Quiet;

impl lab::Progress for Quiet {
    fn step(&self, _: &str) {}
}

#[allow(clippy::disallowed_methods, reason = "real processes have the real time")]
pub(crate) fn now() -> Timestamp {
    Timestamp::now()
}

pub(crate) fn program(version: &str, name: &str) -> PathBuf {
    binaries::operand(Operand::Etcd, version, &Quiet).unwrap().join(name)
}

/// What is in a directory, for a client.
pub(crate) fn credentials(directory: &Path) -> Tls {
    let file = |name: &str| std::fs::read(directory.join(name)).unwrap();
    Tls::new(file("ca.crt"), file("tls.crt"), file("tls.key"))
}

pub(crate) struct Etcd {
    pub(crate) name: String,
    client: u16,
    child: Child,
    tls: Option<PathBuf>,
}

/// Ports that nobody listens on, each given once. Below those that the system gives to connections, which would take them before etcd
/// does; and above those of etcd-api's tests.
fn free_ports(count: usize) -> Vec<u16> {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let begin = 30_000 + u16::try_from(std::process::id() % 200).unwrap() * 10;
    let next = || begin + NEXT.fetch_add(1, Ordering::Relaxed);
    let free = |port: &u16| TcpListener::bind(("127.0.0.1", *port)).is_ok();
    std::iter::repeat_with(next).filter(free).take(count).collect()
}

impl Etcd {
    /// Starts one that is alone, on a data directory, which may have data; waits until it serves.
    pub(crate) async fn start(version: &str, data: &Path) -> Self {
        Self::start_with(version, data, None).await
    }

    /// The same with ca.crt, tls.crt and tls.key of a directory, for the server and for its clients.
    pub(crate) async fn start_with(version: &str, data: &Path, tls: Option<&Path>) -> Self {
        let ports = free_ports(2);
        let etcd = Self::spawn(version, data, "m1", ports[1], &[("m1".to_owned(), ports[0])], tls);
        etcd.client().await;
        etcd
    }

    /// Another one takes its place: other data, the same URL for clients.
    pub(crate) async fn replaced(mut self, version: &str, data: &Path) -> Self {
        self.kill().await;
        let etcd = Self::spawn(
            version,
            data,
            "m1",
            self.client,
            &[("m1".to_owned(), free_ports(1)[0])],
            self.tls.as_deref(),
        );
        etcd.client().await;
        etcd
    }

    /// Starts a cluster of three below the directory.
    pub(crate) async fn start_three(version: &str, directory: &Path) -> Vec<Self> {
        let ports = free_ports(6);
        let peers: Vec<(String, u16)> =
            (1..=3).map(|number| (format!("m{number}"), ports[number - 1])).collect();
        let members: Vec<Self> = peers
            .iter()
            .zip(&ports[3..])
            .map(|((name, _), client)| {
                Self::spawn(version, &directory.join(name), name, *client, &peers, None)
            })
            .collect();
        for member in &members {
            member.client().await;
        }
        members
    }

    /// Starts a cluster of three below the directory, each member on the data of a snapshot of its own: members that differ, if those do.
    pub(crate) async fn start_three_from(
        version: &str,
        directory: &Path,
        snapshots: [&Path; 3],
    ) -> Vec<Self> {
        let ports = free_ports(6);
        let peers: Vec<(String, u16)> =
            (1..=3).map(|number| (format!("m{number}"), ports[number - 1])).collect();
        let all: Vec<String> =
            peers.iter().map(|(name, port)| format!("{name}=http://127.0.0.1:{port}")).collect();
        let mut members = Vec::new();
        for (((name, port), client), snapshot) in peers.iter().zip(&ports[3..]).zip(snapshots) {
            let data = directory.join(name);
            let mut etcdutl = Command::new(program(version, "etcdutl"));
            etcdutl.args(["snapshot", "restore"]).arg(snapshot).arg("--data-dir").arg(&data);
            etcdutl.args(["--name", name, "--initial-cluster", &all.join(",")]);
            etcdutl.args(["--initial-advertise-peer-urls", &format!("http://127.0.0.1:{port}")]);
            let said = etcdutl.output().await.unwrap();
            assert!(said.status.success(), "{version}: {}", String::from_utf8_lossy(&said.stderr));
            members.push(Self::spawn(version, &data, name, *client, &peers, None));
        }
        for member in &members {
            member.client().await;
        }
        members
    }

    fn spawn(
        version: &str,
        data: &Path,
        name: &str,
        client: u16,
        peers: &[(String, u16)],
        tls: Option<&Path>,
    ) -> Self {
        let url_of = |port: u16| format!("http://127.0.0.1:{port}");
        let all: Vec<String> = peers.iter().map(|(name, port)| format!("{name}={}", url_of(*port))).collect();
        let own = peers.iter().find(|(peer, _)| peer == name).unwrap().1;
        let peer_url = url_of(own);
        let url = if tls.is_some() { format!("https://127.0.0.1:{client}") } else { url_of(client) };
        let mut command = Command::new(program(version, "etcd"));
        if let Some(tls) = tls {
            for (flag, file) in
                [("cert-file", "tls.crt"), ("key-file", "tls.key"), ("trusted-ca-file", "ca.crt")]
            {
                command.arg(format!("--{flag}={}", tls.join(file).display()));
            }
            command.arg("--client-cert-auth");
        }
        let child = command
            .args(["--name", name, "--unsafe-no-fsync", "--log-level", "error", "--data-dir"])
            .arg(data)
            .args(["--listen-peer-urls", &peer_url, "--initial-advertise-peer-urls", &peer_url])
            .args(["--listen-client-urls", &url, "--advertise-client-urls", &url])
            .args(["--initial-cluster", &all.join(",")])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        Self { name: name.to_owned(), client, child, tls: tls.map(Path::to_owned) }
    }

    pub(crate) fn url(&self) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://127.0.0.1:{}", self.client)
    }

    pub(crate) fn source(&self) -> Source {
        let tls = self.tls.as_ref().map(|directory| credentials(directory));
        Source { endpoints: vec![self.url()], tls }
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
            let seen = match Client::connect(&self.url(), self.source().tls.as_ref(), DEADLINE).await {
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
