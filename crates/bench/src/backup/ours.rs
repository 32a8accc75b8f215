//! What `capstan backup` does, in a process of its own that tells how much memory it needed at most.

use std::{fs::File, path::PathBuf, process::Stdio, time::Duration};

use anyhow::{Context as _, Result, bail};
use clap::{Args, Subcommand};
use etcd_backup::{
    Error, Key, Manifest, Store, Target, load,
    manifest::Cluster,
    ranking::Load,
    save::{self, About},
    seal::example_key,
    source::Source,
    wal::Capture,
};
use jiff::Timestamp;
use lab::images::LEAN_ALLOCATOR;
use tokio::process::{Child, Command};

use super::{etcd::Etcd, world::World};
use crate::measure;

/// What this program does when it is measured.
#[derive(Debug, Clone, Subcommand)]
pub enum Role {
    #[command(hide = true)]
    Take {
        #[command(flatten)]
        place: Place,
        endpoint: String,
        id: String,
    },
    #[command(hide = true)]
    Fetch {
        #[command(flatten)]
        place: Place,
        id: String,
        to: PathBuf,
    },
    #[command(hide = true)]
    Verify {
        #[command(flatten)]
        place: Place,
        id: String,
    },
    #[command(hide = true)]
    Capture {
        #[command(flatten)]
        place: Place,
        endpoint: String,
    },
}

/// Where backups are, on a command line of our own.
#[derive(Debug, Clone, Args)]
pub struct Place {
    /// Encrypted, too.
    #[arg(long)]
    sealed: bool,
    server: String,
    url: String,
    credentials: PathBuf,
}

impl Place {
    fn open(&self) -> Result<Store> {
        let target = Target {
            url: self.url.clone(),
            endpoint: Some(self.server.clone()),
            credentials: Some(self.credentials.clone()),
            ..Target::default()
        };
        Ok(target.open()?)
    }

    fn key(&self) -> Option<Key> {
        self.sealed.then(|| example_key("bench"))
    }
}

pub async fn play(role: Role) -> Result<()> {
    match role {
        Role::Take { place, endpoint, id } => {
            save(&place.open()?, endpoint, id, place.key().as_ref()).await?;
        }
        Role::Fetch { place, id, to } => {
            let store = place.open()?;
            let manifest = manifest(&store, &id).await?;
            load::load(&store, &manifest, place.key().as_ref(), File::create(to)?, |_| ()).await?;
        }
        Role::Verify { place, id } => {
            let store = place.open()?;
            let manifest = manifest(&store, &id).await?;
            load::verify(&store, &manifest, place.key().as_ref(), |_| ()).await?;
        }
        Role::Capture { place, endpoint } => {
            let store = place.open()?;
            let source = Source { endpoints: vec![endpoint], tls: None };
            let capture = Capture {
                store: &store,
                source: &source,
                key: place.key(),
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

async fn manifest(store: &Store, id: &str) -> Result<Manifest> {
    store.manifest(id).await?.context("there is no such backup")
}

pub(super) async fn save(store: &Store, endpoint: String, id: String, key: Option<&Key>) -> Result<()> {
    let giver = Source { endpoints: vec![endpoint], tls: None }.giver(Load::Snapshot).await?;
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
        corruption: None,
    };
    let chunks = giver.snapshot().await.map_err(Error::Etcd)?;
    let revisions = async || giver.revisions().await.map_err(Error::Etcd);
    save::save(store, about, key, chunks, revisions, |_| ()).await?;
    Ok(())
}

/// Whether what is stored is encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Plain,
    Sealed,
}

fn place(world: &World, prefix: &str, form: Form) -> Vec<String> {
    let target = world.target(prefix);
    let credentials = target.credentials.unwrap_or_default().display().to_string();
    let sealed = (form == Form::Sealed).then(|| "--sealed".to_owned());
    let place = [target.endpoint.unwrap_or_default(), target.url, credentials];
    sealed.into_iter().chain(place).collect()
}

/// As it would run in our image.
fn this_program() -> Result<Command> {
    let (variable, value) = LEAN_ALLOCATOR;
    let mut command = Command::new(std::env::current_exe()?);
    command.env(variable, value);
    Ok(command)
}

/// This program in a role; the most that it had in memory.
async fn measured(role: &str, place: Vec<String>, more: &[&str]) -> Result<u64> {
    let mut command = this_program()?;
    let said = command.arg(role).args(place).args(more).stderr(Stdio::inherit()).output().await?;
    peak(said.status.success(), &said.stdout)
}

fn peak(is_well: bool, said: &[u8]) -> Result<u64> {
    if !is_well {
        bail!("a process that is measured has failed");
    }
    String::from_utf8_lossy(said).trim().parse().context("it does not say what it used")
}

pub(super) async fn take(world: &World, etcd: &Etcd, id: &str, form: Form) -> Result<u64> {
    measured("take", place(world, "ours", form), &[&etcd.url, id]).await
}

pub(super) async fn fetch(world: &World, id: &str, form: Form) -> Result<u64> {
    let to = world.path("snapshot.db").display().to_string();
    measured("fetch", place(world, "ours", form), &[id, &to]).await
}

pub(super) async fn verify(world: &World, id: &str, form: Form) -> Result<u64> {
    measured("verify", place(world, "ours", form), &[id]).await
}

/// A capture that runs until it is [`stop`]ped.
pub(super) fn capture(world: &World, etcd: &Etcd, prefix: &str) -> Result<Child> {
    let mut command = this_program()?;
    command.arg("capture").args(place(world, prefix, Form::Sealed)).arg(&etcd.url);
    Ok(command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true).spawn()?)
}

pub(super) async fn stop(mut capture: Child) -> Result<u64> {
    drop(capture.stdin.take());
    let said = capture.wait_with_output().await?;
    peak(said.status.success(), &said.stdout)
}
