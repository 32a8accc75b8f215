//! Clusters of real etcd processes, with TLS, on ports that are free now; gone with the test.

use std::{
    fs,
    net::TcpListener,
    path::{Path, PathBuf},
    process::Stdio,
    sync::atomic::{AtomicU16, Ordering},
    time::Duration,
};

use etcd_api::{Client, Consistency, Endpoint as _, EtcdError, Status, Tls};
use lab::{binaries, versions::Operand};
use rcgen::{BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair};
use rustix::process::{Pid, Signal, kill_process};
use tokio::{
    process::{Child, Command},
    time::{Instant, MissedTickBehavior, interval},
};

pub(crate) const VERSION: &str = "3.6.16";
pub(crate) const DEADLINE: Duration = Duration::from_secs(5);
const PATIENCE: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Looks until there is an answer; `Err` says what is the case instead.
pub(crate) async fn until<T>(what: &str, mut look: impl AsyncFnMut() -> Result<T, String>) -> T {
    let end = Instant::now() + PATIENCE;
    let mut due = interval(LOOK_EVERY);
    due.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        due.tick().await;
        match look().await {
            Ok(answer) => return answer,
            Err(seen) => assert!(Instant::now() < end, "{what}: never; in the end: {seen}"),
        }
    }
}

struct Quiet;

impl lab::Progress for Quiet {
    fn step(&self, _: &str) {}
}

fn etcd(version: &str) -> PathBuf {
    binaries::operand(Operand::Etcd, version, &Quiet).unwrap().join("etcd")
}

pub(crate) struct Cluster {
    dir: PathBuf,
    pub(crate) tls: Tls,
    pub(crate) members: Vec<Process>,
    /// Of processes that are started from now on.
    pub(crate) version: &'static str,
}

/// One etcd, whether it runs or not. It is killed when it is dropped.
pub(crate) struct Process {
    name: String,
    peer: u16,
    client: u16,
    child: Option<Child>,
}

/// A port that nobody listens on. Below those that the system gives to connections: a member that is away for a moment would lose
/// its port to one of them.
fn free_port() -> u16 {
    static GIVEN: AtomicU16 = AtomicU16::new(0);
    let first = 20_000 + u16::try_from(std::process::id() % 10_000).unwrap();
    let next = || first + GIVEN.fetch_add(1, Ordering::Relaxed);
    std::iter::repeat_with(next).find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok()).unwrap()
}

impl Process {
    fn new(number: usize) -> Self {
        Self { name: format!("m{number}"), peer: free_port(), client: free_port(), child: None }
    }

    pub(crate) fn peer_url(&self) -> String {
        format!("https://127.0.0.1:{}", self.peer)
    }

    pub(crate) fn url(&self) -> String {
        format!("https://127.0.0.1:{}", self.client)
    }

    pub(crate) fn plain_url(&self) -> String {
        format!("http://127.0.0.1:{}", self.client)
    }

    /// `kill -9`: it is gone when this returns.
    pub(crate) async fn kill(&mut self) {
        self.child.as_mut().unwrap().kill().await.unwrap();
    }

    /// Ends it as Kubernetes does: what it knows is on its disk then.
    pub(crate) async fn stop(&mut self) {
        self.signal(Signal::TERM);
        self.child.as_mut().unwrap().wait().await.unwrap();
    }

    /// Its process ID.
    fn signal(&self, signal: Signal) -> u32 {
        let id = self.child.as_ref().unwrap().id().unwrap();
        kill_process(Pid::from_raw(i32::try_from(id).unwrap()).unwrap(), signal).unwrap();
        id
    }

    /// It lives, and does nothing.
    pub(crate) async fn pause(&self) {
        let id = self.signal(Signal::STOP);
        until("all its threads stand still", async || {
            let threads =
                fs::read_dir(format!("/proc/{id}/task")).unwrap().map(|thread| thread.unwrap().path());
            let states: Vec<String> =
                threads.map(|thread| fs::read_to_string(thread.join("stat")).unwrap()).collect();
            let still =
                |stat: &String| stat.rsplit_once(") ").is_some_and(|(_, state)| state.starts_with('T'));
            if states.iter().all(still) { Ok(()) } else { Err(states.join("")) }
        })
        .await;
    }
}

impl Cluster {
    /// Founds a cluster, and waits until it has a leader.
    pub(crate) async fn found(name: &str, size: usize) -> Self {
        Self::found_at(name, size, VERSION).await
    }

    pub(crate) async fn found_at(name: &str, size: usize, version: &'static str) -> Self {
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(&dir).unwrap();
        let tls = certificates(&dir);
        let mut cluster = Self { dir, tls, members: (1..=size).map(Process::new).collect(), version };
        let everybody: Vec<usize> = (0..size).collect();
        for number in 0..size {
            cluster.start(number, "new", &everybody);
        }
        for number in 0..size {
            until("a member serves", async || {
                let client = cluster.try_dial(number).await.map_err(|error| error.to_string())?;
                client.probe(Consistency::Linearizable).await.map_err(|error| error.to_string())
            })
            .await;
        }
        cluster
    }

    /// One more process, with a place of its own; it does not run.
    pub(crate) fn another(&mut self) -> usize {
        self.members.push(Process::new(self.members.len() + 1));
        self.members.len() - 1
    }

    /// Starts a member that is told of these ones.
    pub(crate) fn start(&mut self, number: usize, state: &str, initial: &[usize]) {
        let named = |number: &usize| {
            let member = &self.members[*number];
            format!("{}={}", member.name, member.peer_url())
        };
        let initial = initial.iter().map(named).collect::<Vec<_>>().join(",");
        let dir = &self.dir;
        let member = &mut self.members[number];
        let file = |name: &str| dir.join(name).display().to_string();
        let log = fs::File::create(dir.join(format!("{}.log", member.name))).unwrap();
        let child = Command::new(etcd(self.version))
            .args(["--name", &member.name, "--data-dir", &file(&member.name), "--unsafe-no-fsync"])
            .args(["--listen-peer-urls", &member.peer_url()])
            .args(["--initial-advertise-peer-urls", &member.peer_url()])
            .args(["--listen-client-urls", &member.url(), "--advertise-client-urls", &member.url()])
            .args(["--initial-cluster", &initial, "--initial-cluster-state", state])
            .args(["--cert-file", &file("server.crt"), "--key-file", &file("server.key")])
            .args(["--trusted-ca-file", &file("ca.crt"), "--client-cert-auth"])
            .args(["--peer-cert-file", &file("server.crt"), "--peer-key-file", &file("server.key")])
            .args(["--peer-trusted-ca-file", &file("ca.crt"), "--peer-client-cert-auth"])
            .args(["--logger", "zap", "--log-level", "warn"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        member.child = Some(child);
    }

    /// Empties a member's disk.
    pub(crate) fn erase(&self, number: usize) {
        fs::remove_dir_all(self.dir.join(&self.members[number].name)).unwrap();
    }

    /// Waits until a member's process has ended by itself: its exit code, and what it said.
    pub(crate) async fn last_words(&mut self, number: usize) -> (Option<i32>, String) {
        let member = &mut self.members[number];
        let ended = tokio::time::timeout(PATIENCE, member.child.as_mut().unwrap().wait()).await;
        let log = fs::read_to_string(self.dir.join(format!("{}.log", member.name))).unwrap();
        let code = ended.unwrap_or_else(|_| panic!("it runs on: {log}")).unwrap().code();
        (code, log)
    }

    async fn try_dial(&self, number: usize) -> Result<Client, EtcdError> {
        Client::connect(&self.members[number].url(), Some(&self.tls), DEADLINE).await
    }

    pub(crate) async fn dial(&self, number: usize) -> Client {
        until("a member accepts connections", async || {
            self.try_dial(number).await.map_err(|error| error.to_string())
        })
        .await
    }

    /// The leader's number and status, once it has one.
    pub(crate) async fn leader(&self) -> (usize, Status) {
        until("a leader", async || {
            for number in 0..self.members.len() {
                let Ok(client) = self.try_dial(number).await else { continue };
                let Ok(status) = client.status().await else { continue };
                if status.leader == Some(status.member) {
                    return Ok((number, status));
                }
            }
            Err("nobody leads".to_owned())
        })
        .await
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.members.clear();
        let _ = fs::remove_dir_all(&self.dir);
    }
}

/// An authority that nobody else knows, what it signs for servers, and what it signs for us.
fn certificates(dir: &Path) -> Tls {
    let (ca, issuer) = authority();
    let (certificate, key) = signed(&issuer);
    for (name, content) in [("ca.crt", &ca), ("server.crt", &certificate), ("server.key", &key)] {
        fs::write(dir.join(name), content).unwrap();
    }
    let (certificate, key) = signed(&issuer);
    Tls::new(ca, certificate, key)
}

pub(crate) fn authority() -> (String, Issuer<'static, KeyPair>) {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let certificate = params.self_signed(&key).unwrap();
    (certificate.pem(), Issuer::new(params, key))
}

pub(crate) fn signed(issuer: &Issuer<'static, KeyPair>) -> (String, String) {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(vec!["127.0.0.1".into(), "localhost".into()]).unwrap();
    params.extended_key_usages =
        vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
    (params.signed_by(&key, issuer).unwrap().pem(), key.serialize_pem())
}
