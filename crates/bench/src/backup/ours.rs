//! What `capstan backup` does, in a process of its own that tells how much memory it needed at most.

use std::{fs::File, path::PathBuf, process::Stdio, time::Duration};

use anyhow::{Context as _, Result, bail};
use clap::Subcommand;
use etcd_backup::{
    Error, Target, load,
    manifest::Cluster,
    save::{self, About},
    source::Source,
    wal::Capture,
};
use jiff::Timestamp;
use tokio::process::{Child, Command};

use super::{etcd::Etcd, world::World};
use crate::measure;

/// What this program does when it is measured.
#[derive(Debug, Clone, Subcommand)]
pub enum Role {
    #[command(hide = true)]
    Take { server: String, url: String, credentials: PathBuf, endpoint: String, id: String },
    #[command(hide = true)]
    Fetch { server: String, url: String, credentials: PathBuf, id: String, to: PathBuf },
    #[command(hide = true)]
    Capture { server: String, url: String, credentials: PathBuf, endpoint: String },
}

pub async fn play(role: Role) -> Result<()> {
    let target = |server: String, url: String, credentials: PathBuf| Target {
        url,
        endpoint: Some(server),
        credentials: Some(credentials),
        ..Target::default()
    };
    match role {
        Role::Take { server, url, credentials, endpoint, id } => {
            let store = target(server, url, credentials).open()?;
            save(&store, endpoint, id).await?;
        }
        Role::Fetch { server, url, credentials, id, to } => {
            let store = target(server, url, credentials).open()?;
            let manifest = store.manifest(&id).await?.context("there is no such backup")?;
            load::load(&store, &manifest, None, File::create(to)?, |_| ()).await?;
        }
        Role::Capture { server, url, credentials, endpoint } => {
            let store = target(server, url, credentials).open()?;
            let source = Source { endpoints: vec![endpoint], tls: None };
            let capture = Capture {
                store: &store,
                source: &source,
                key: None,
                cluster_uid: None,
                flush_every: Duration::from_secs(5),
                flush_bytes: 4 << 20,
                now,
            };
            // Until somebody closes our standard input.
            let closed = async {
                let mut nothing = Vec::new();
                tokio::io::AsyncReadExt::read_to_end(&mut tokio::io::stdin(), &mut nothing).await.ok();
            };
            capture.run(closed, |_| ()).await?;
        }
    }
    say(measure::peak()?)
}

#[allow(clippy::print_stdout, reason = "for the process that started this one")]
fn say(peak: u64) -> Result<()> {
    println!("{peak}");
    Ok(())
}

#[allow(clippy::disallowed_methods, reason = "a real process has the real time")]
pub(super) fn now() -> Timestamp {
    Timestamp::now()
}

pub(super) async fn save(store: &etcd_backup::Store, endpoint: String, id: String) -> Result<()> {
    let giver = Source { endpoints: vec![endpoint], tls: None }.giver().await?;
    let cluster = giver.status.cluster.to_string();
    let about = About {
        id,
        producer: "bench".to_owned(),
        cluster: Cluster {
            namespace: String::new(),
            name: "db".to_owned(),
            uid: cluster.clone(),
            id: cluster,
            member: giver.name.clone(),
        },
        etcd_version: giver.status.version.clone(),
        taken_at: now(),
        hash: None,
        schedule: None,
    };
    let chunks = giver.snapshot().await.map_err(Error::Etcd)?;
    let revisions = async || giver.revisions().await.map_err(Error::Etcd);
    save::save(store, about, None, chunks, revisions, |_| ()).await?;
    Ok(())
}

fn place(world: &World, prefix: &str) -> [String; 3] {
    let target = world.target(prefix);
    let credentials = target.credentials.unwrap_or_default().display().to_string();
    [target.endpoint.unwrap_or_default(), target.url, credentials]
}

async fn measured(arguments: Vec<String>) -> Result<u64> {
    let said =
        Command::new(std::env::current_exe()?).args(arguments).stderr(Stdio::inherit()).output().await?;
    peak(said.status.success(), &said.stdout)
}

fn peak(is_well: bool, said: &[u8]) -> Result<u64> {
    if !is_well {
        bail!("a process that is measured has failed");
    }
    String::from_utf8_lossy(said).trim().parse().context("it does not say what it used")
}

/// Takes a backup; the most that it had in memory.
pub(super) async fn take(world: &World, etcd: &Etcd, id: &str) -> Result<u64> {
    let [server, url, credentials] = place(world, "ours");
    measured(vec!["take".into(), server, url, credentials, etcd.url.clone(), id.into()]).await
}

pub(super) async fn restore(world: &World, id: &str) -> Result<u64> {
    let [server, url, credentials] = place(world, "ours");
    let to = world.path("snapshot.db").display().to_string();
    let peak = measured(vec!["fetch".into(), server, url, credentials, id.into(), to]).await?;
    world.unpack().await?;
    Ok(peak)
}

/// A capture that runs until it is [`stop`]ped.
pub(super) fn capture(world: &World, etcd: &Etcd, prefix: &str) -> Result<Child> {
    let [server, url, credentials] = place(world, prefix);
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["capture", &server, &url, &credentials, &etcd.url]);
    Ok(command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true).spawn()?)
}

pub(super) async fn stop(mut capture: Child) -> Result<u64> {
    drop(capture.stdin.take());
    let said = capture.wait_with_output().await?;
    peak(said.status.success(), &said.stdout)
}
