//! A real etcd, alone, and something to keep in it.

use std::{net::TcpListener, path::Path, process::Stdio, time::Duration};

use anyhow::{Context as _, Result, bail};
use bytes::Bytes;
use etcd_api::{Client, Consistency, Endpoint as _, pb};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use tokio::{
    process::{Child, Command},
    time::{Instant, sleep},
};

const PATIENCE: Duration = Duration::from_secs(60);
const VALUE: usize = 32 << 10;
const AT_ONCE: usize = 32;

pub(super) struct Etcd {
    pub(super) url: String,
    child: Child,
}

impl Etcd {
    pub(super) async fn start(programs: &Path, data: &Path, flags: &[&str]) -> Result<Self> {
        let held = [TcpListener::bind("127.0.0.1:0")?, TcpListener::bind("127.0.0.1:0")?];
        let [peer, url] = held.each_ref().map(|it| it.local_addr().map(|at| format!("http://{at}")));
        let (peer, url) = (peer?, url?);
        drop(held);
        let child = Command::new(programs.join("etcd"))
            .args([
                "--name",
                "m1",
                "--log-level",
                "error",
                "--quota-backend-bytes",
                "8589934592",
                "--data-dir",
            ])
            .arg(data)
            .args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer])
            .args(["--listen-client-urls", &url, "--advertise-client-urls", &url])
            .args(["--initial-cluster", &format!("m1={peer}")])
            .args(flags)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()?;
        let etcd = Self { url, child };
        etcd.client().await?;
        Ok(etcd)
    }

    pub(super) async fn client(&self) -> Result<Client> {
        let began = Instant::now();
        loop {
            let seen = match Client::connect(&self.url, None, PATIENCE).await {
                Err(error) => error,
                Ok(client) => match client.probe(Consistency::Linearizable).await {
                    Ok(_) => return Ok(client),
                    Err(error) => error,
                },
            };
            if began.elapsed() > PATIENCE {
                bail!("etcd does not serve: {seen}");
            }
            sleep(Duration::from_millis(100)).await;
        }
    }

    /// Values of which a half is noise: about what Kubernetes' objects compress to.
    pub(super) async fn fill(&self, bytes: u64) -> Result<()> {
        let client = self.client().await?;
        let mut random = fastrand::Rng::with_seed(1);
        let puts = (0..bytes / VALUE as u64).map(|number| {
            let mut value = vec![b'v'; VALUE];
            value.chunks_mut(64).for_each(|chunk| {
                if let Some(noise) = chunk.get_mut(..32) {
                    random.fill(noise);
                }
            });
            pb::PutRequest {
                key: Bytes::from(format!("/registry/pods/default/{number:08}")),
                value: Bytes::from(value),
                ..pb::PutRequest::default()
            }
        });
        let puts = stream::iter(puts.map(|put| {
            let client = client.clone();
            async move { client.call(client.kv().put(put)).await }
        }));
        puts.buffer_unordered(AT_ONCE).try_for_each(async |_| Ok(())).await?;
        Ok(())
    }

    pub(super) async fn database(&self) -> Result<u64> {
        let size = self.client().await?.status().await?.db_size;
        u64::try_from(size).context("a size below nothing")
    }

    pub(super) async fn stop(mut self) -> Result<()> {
        Ok(self.child.kill().await?)
    }

    /// The CPU time that it has used.
    pub(super) fn cpu(&self) -> Result<Duration> {
        cpu_of(self.child.id().context("etcd has ended")?)
    }
}

/// The CPU time of a process, with the kernel's for it. proc(5): fields 14 and 15, in hundredths of a second.
pub(super) fn cpu_of(process: u32) -> Result<Duration> {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat"))?;
    let after = text.rsplit_once(')').map(|(_, after)| after).context("no stat")?;
    let fields: Vec<&str> = after.split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<u64>().ok()).unwrap_or_default();
    Ok(Duration::from_millis(10 * (ticks(11) + ticks(12))))
}
