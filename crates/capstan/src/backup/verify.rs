//! Is a backup good? Read from end to end; or restored into an etcd of its own, and compared with the original.

use std::{
    fs::{self, File},
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use anyhow::{Context as _, Result, bail, ensure};
use clap::Args;
use etcd_api::{Client, Consistency, Endpoint as _, EtcdError, Refusal};
use etcd_backup::{Error, Manifest, Store, catalogue, load, restored};
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::{
    Place,
    capture::time,
    certificates, chosen,
    ending::{self, Ending, HOPELESS},
    progress::Progress,
    root,
};
use crate::output::{complain, say};

const DEADLINE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(200);

#[derive(Debug, Args)]
pub(super) struct Verify {
    #[command(flatten)]
    place: Place,
    /// The backup.
    id: String,
    /// Restore it into an etcd on this machine, only to compare what that holds with what the original held. Takes twice its size.
    #[arg(long, requires = "etcd_bin", conflicts_with = "restored")]
    by_restore: bool,
    /// A directory with the programs etcd and etcdutl, of the backup's version or the next.
    #[arg(long, value_name = "DIR")]
    etcd_bin: Option<PathBuf>,
    /// Where to restore it; removed afterwards [default: below the system's directory for temporary files].
    #[arg(long, value_name = "DIR", requires = "by_restore")]
    work: Option<PathBuf>,
    /// Compare with the etcd at this URL, which was restored from the backup, and nobody has written to.
    #[arg(long, value_name = "URL")]
    restored: Option<String>,
    /// For the restored etcd: a directory with ca.crt, tls.crt and tls.key.
    #[arg(long, value_name = "DIR", requires = "restored")]
    tls: Option<PathBuf>,
    /// How long the restored etcd may take until it serves.
    #[arg(long, default_value = "5m", value_name = "TIME", value_parser = time)]
    patience: Duration,
    /// Write the verdict beside the backup, for retention: of those that are known to be good, the newest one stays.
    #[arg(long, help_heading = "For programs")]
    record: bool,
    /// Write how it ended to this file, as JSON.
    #[arg(long, value_name = "FILE", help_heading = "For programs")]
    result: Option<PathBuf>,
}

impl Verify {
    pub(super) async fn run(self) -> Result<()> {
        let began = Instant::now();
        let done = self.verify().await.map(|mut verdict| {
            let took = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
            verdict.extend([
                ("id".to_owned(), json!(self.id)),
                ("verified".to_owned(), json!(true)),
                ("milliseconds".to_owned(), json!(took)),
            ]);
            Value::Object(verdict)
        });
        ending::told(self.result.as_deref(), done.map_err(not_good))
    }

    async fn verify(&self) -> Result<Map<String, Value>> {
        let store = self.place.open()?;
        let manifest = chosen(&store, &self.id).await?;
        let judged = match (&self.restored, &self.etcd_bin) {
            (Some(url), _) => self.compare(url, self.tls.as_deref(), &manifest).await,
            (None, Some(programs)) if self.by_restore => self.restore(&store, &manifest, programs).await,
            _ => return self.read(&store, &manifest).await,
        };
        if self.record
            && let Err(error) = put_on_record(&store, &manifest.id, &judged).await
        {
            complain(&error.context("the verdict could not be put on record"));
        }
        let verdict = judged?;
        let how = serde_json::to_value(&verdict)?;
        let note = verdict.note.as_deref().map(|note| format!(" ({note})")).unwrap_or_default();
        say(&format!(
            "{} is good: restored, it has {} keys at revision {}, checked by {}{note}.\n",
            manifest.id,
            verdict.keys,
            verdict.revision,
            how.get("by").and_then(Value::as_str).unwrap_or_default()
        ))?;
        Ok(how.as_object().cloned().unwrap_or_default())
    }

    async fn read(&self, store: &Store, manifest: &Manifest) -> Result<Map<String, Value>> {
        let progress = Progress::start("reading", manifest.stored.bytes);
        let seen =
            load::verify(store, manifest, self.place.key()?.as_ref(), |it| progress.at(it.read)).await?;
        progress.end(manifest.stored.bytes);
        say(&format!(
            "{} is whole: the database's SHA-256 is {}, as etcd said.\n",
            manifest.id, seen.sha256
        ))?;
        Ok(Map::from_iter([("by".to_owned(), json!("SHA256"))]))
    }

    async fn compare(&self, url: &str, tls: Option<&Path>, manifest: &Manifest) -> Result<restored::Verdict> {
        let client = serving(url, certificates(tls)?.as_ref(), self.patience).await?;
        Ok(restored::judge(&client, manifest).await?)
    }

    /// All of it on this machine: fetched, restored, started, compared, thrown away.
    async fn restore(
        &self,
        store: &Store,
        manifest: &Manifest,
        programs: &Path,
    ) -> Result<restored::Verdict> {
        let base = self.work.clone().unwrap_or_else(std::env::temp_dir);
        let room = Room::make(base.join(format!("capstan-verify-{}-{}", manifest.id, std::process::id())))?;
        let snapshot = room.0.join("snapshot.db");
        let file = File::create(&snapshot).with_context(|| format!("cannot write {}", snapshot.display()))?;
        let progress = Progress::start("reading", manifest.stored.bytes);
        let key = self.place.key()?;
        load::load(store, manifest, key.as_ref(), file, |it| progress.at(it.read)).await?;
        progress.end(manifest.stored.bytes);
        let data = room.0.join("data");
        // Its users came with the backup: without a certificate of root it may answer nothing.
        let tls = room.0.join("tls");
        root::write(&tls)?;
        let (peer, url) = (free_url("http")?, free_url("https")?);
        unpack(programs, &snapshot, &data, &peer)?;
        let etcd = Etcd::start(programs, &data, &peer, &url, &tls)?;
        let verdict = self.compare(&url, Some(&tls), manifest).await;
        drop(etcd);
        verdict
    }
}

/// Only what was found out about the backup itself: an etcd that did not come up says nothing.
async fn put_on_record(store: &Store, id: &str, judged: &Result<restored::Verdict>) -> Result<()> {
    let (good, said) = match judged {
        Ok(verdict) => (true, json!(verdict)),
        Err(error) => match error.downcast_ref::<Error>() {
            Some(bad @ Error::Bad { .. }) => (false, json!({ "error": bad.to_string() })),
            _ => return Ok(()),
        },
    };
    Ok(catalogue::record(store, id, good, said.to_string().into_bytes()).await?)
}

/// A verdict that it is bad says so to programs, too.
fn not_good(error: anyhow::Error) -> anyhow::Error {
    match error.downcast_ref::<Error>() {
        Some(bad) if !bad.is_transient() => {
            let more = Map::from_iter([("verified".to_owned(), json!(false))]);
            Ending { code: HOPELESS, error: bad.to_string(), more }.into()
        }
        _ => error,
    }
}

/// The etcd, once it serves.
async fn serving(url: &str, tls: Option<&etcd_api::Tls>, patience: Duration) -> Result<Client> {
    let began = Instant::now();
    loop {
        let seen = match Client::connect(url, tls, DEADLINE).await {
            Err(error) => error,
            Ok(client) => match client.probe(Consistency::Linearizable).await {
                Ok(_) | Err(EtcdError::Refused(Refusal::UserEmpty | Refusal::PermissionDenied)) => {
                    return Ok(client);
                }
                Err(error) => error,
            },
        };
        if began.elapsed() > patience {
            let why =
                format!("the restored etcd at {url} does not serve within {} s: {seen}", patience.as_secs());
            return Err(Error::Etcd(why).into());
        }
        tokio::time::sleep(PAUSE).await;
    }
}

fn unpack(programs: &Path, snapshot: &Path, data: &Path, peer: &str) -> Result<()> {
    let program = programs.join("etcdutl");
    let said = Command::new(&program)
        .args(["snapshot", "restore"])
        .arg(snapshot)
        .arg("--data-dir")
        .arg(data)
        .args(["--name", "verify", "--initial-cluster", &format!("verify={peer}")])
        .args(["--initial-advertise-peer-urls", peer])
        .output()
        .with_context(|| format!("cannot run {}", program.display()))?;
    let words = String::from_utf8_lossy(&said.stderr);
    ensure!(
        said.status.success(),
        "etcdutl does not restore it: {}",
        words.lines().last().unwrap_or_default()
    );
    Ok(())
}

fn free_url(scheme: &str) -> Result<String> {
    let free = TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr());
    Ok(format!("{scheme}://{}", free.context("no port is free")?))
}

/// A directory that is gone when it is done.
struct Room(PathBuf);

impl Room {
    fn make(path: PathBuf) -> Result<Self> {
        use std::os::unix::fs::DirBuilderExt as _;
        if path.exists() {
            bail!("{} exists: remove it, or name another directory with --work", path.display());
        }
        // For nobody else to read: it will hold all that is in etcd.
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(&path);
        made.with_context(|| format!("cannot make {}", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).ok();
    }
}

/// A process that ends with this value.
struct Etcd(Child);

impl Etcd {
    fn start(programs: &Path, data: &Path, peer: &str, url: &str, tls: &Path) -> Result<Self> {
        let program = programs.join("etcd");
        let child = Command::new(&program)
            .args(["--name", "verify", "--log-level", "error", "--data-dir"])
            .arg(data)
            .args(["--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer])
            .args(["--listen-client-urls", url, "--advertise-client-urls", url])
            .arg("--cert-file")
            .arg(tls.join("tls.crt"))
            .arg("--key-file")
            .arg(tls.join("tls.key"))
            .arg("--trusted-ca-file")
            .arg(tls.join("ca.crt"))
            .arg("--client-cert-auth")
            .args(["--initial-cluster", &format!("verify={peer}")])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        Ok(Self(child.with_context(|| format!("cannot run {}", program.display()))?))
    }
}

impl Drop for Etcd {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}
