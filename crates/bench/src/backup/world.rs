//! Where it happens: a directory, an S3 server on it, and etcd.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, bail};
use etcd_backup::{Store, Target};
use lab::{binaries, versions::Operand};
use tokio::process::Command;

use super::etcd::Etcd;

pub(super) const VERSION: &str = "3.6.16";
pub(super) const BUCKET: &str = "backups";
pub(super) const ACCESS_KEY: &str = "bench";
pub(super) const SECRET_KEY: &str = "bench-secret";

pub(super) struct World {
    directory: tempfile::TempDir,
    pub(super) programs: PathBuf,
    pub(super) server: String,
    credentials: PathBuf,
}

struct Quiet;

impl lab::Progress for Quiet {
    fn step(&self, _: &str) {}
}

impl World {
    pub(super) async fn new() -> Result<Self> {
        let directory = tempfile::tempdir()?;
        let programs =
            tokio::task::spawn_blocking(|| binaries::operand(Operand::Etcd, VERSION, &Quiet)).await??;
        let root = directory.path().join("s3");
        fs::create_dir_all(root.join(BUCKET))?;
        let (address, _) = s3::serve(root, ([127, 0, 0, 1], 0).into(), ACCESS_KEY, SECRET_KEY).await?;
        let credentials = directory.path().join("credentials");
        fs::create_dir_all(&credentials)?;
        fs::write(credentials.join("accessKeyID"), ACCESS_KEY)?;
        fs::write(credentials.join("secretAccessKey"), SECRET_KEY)?;
        Ok(Self { directory, programs, server: format!("http://{address}"), credentials })
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(super) fn target(&self, prefix: &str) -> Target {
        Target {
            url: format!("s3://{BUCKET}/{prefix}"),
            endpoint: Some(self.server.clone()),
            credentials: Some(self.credentials.clone()),
            ..Target::default()
        }
    }

    pub(super) fn store(&self, prefix: &str) -> Result<Store> {
        Ok(self.target(prefix).open()?)
    }

    pub(super) async fn filled(&self, bytes: u64) -> Result<Etcd> {
        let etcd = Etcd::start(&self.programs, &self.path("etcd"), &["--unsafe-no-fsync"]).await?;
        etcd.fill(bytes).await?;
        Ok(etcd)
    }

    pub(super) fn forget(&self, id: &str) -> Result<()> {
        Ok(fs::remove_dir_all(self.path("s3").join(BUCKET).join("ours").join(id))?)
    }

    pub(super) fn forget_etcd(&self) -> Result<()> {
        Ok(fs::remove_dir_all(self.path("etcd"))?)
    }

    pub(super) fn forget_restored(&self) -> Result<()> {
        fs::remove_file(self.path("snapshot.db"))?;
        Ok(fs::remove_dir_all(self.path("restored"))?)
    }

    /// What both ways end with.
    pub(super) async fn unpack(&self) -> Result<()> {
        let etcdutl = self.programs.join("etcdutl");
        let mut command = Command::new(&etcdutl);
        command.args(["snapshot", "restore"]).arg(self.path("snapshot.db"));
        command.arg("--data-dir").arg(self.path("restored"));
        command.args(["--name", "m1", "--initial-cluster", "m1=http://127.0.0.1:1"]);
        run(command.args(["--initial-advertise-peer-urls", "http://127.0.0.1:1"]), &etcdutl).await
    }
}

pub(super) async fn run(command: &mut Command, program: &Path) -> Result<()> {
    let said = command.output().await.with_context(|| format!("cannot run {}", program.display()))?;
    if !said.status.success() {
        bail!("{} failed: {}", program.display(), String::from_utf8_lossy(&said.stderr));
    }
    Ok(())
}
