//! The S3 server as a process: `s3 --root /data --listen 0.0.0.0:9000 --bucket example-backup`.

use std::{fs, net::SocketAddr, path::PathBuf};

use anyhow::{Context as _, Result};
use clap::Parser;
use tokio::signal::unix::{SignalKind, signal};

/// An S3 server on a directory, for tests and the demo
#[derive(Parser)]
#[command(version)]
struct Options {
    /// Where buckets and objects are; nothing else is written to.
    #[arg(long)]
    root: PathBuf,
    #[arg(long, default_value = "127.0.0.1:9000")]
    listen: SocketAddr,
    /// A bucket to create if it is not there; may be repeated.
    #[arg(long = "bucket")]
    buckets: Vec<String>,
    #[arg(long, env = "S3_ACCESS_KEY", hide_env_values = true)]
    access_key: String,
    #[arg(long, env = "S3_SECRET_KEY", hide_env_values = true)]
    secret_key: String,
}

#[tokio::main]
async fn main() -> Result<()> {
    let options = Options::parse();
    anyhow::ensure!(
        !options.access_key.is_empty() && !options.secret_key.is_empty(),
        "S3_ACCESS_KEY and S3_SECRET_KEY must not be empty"
    );
    for bucket in &options.buckets {
        anyhow::ensure!(s3s::path::check_bucket_name(bucket), "{bucket:?} is not a valid name for a bucket");
        let dir = options.root.join(bucket);
        fs::create_dir_all(&dir).with_context(|| format!("{} cannot be created", dir.display()))?;
    }
    // As process 1 of a container we are stopped by a signal only if we wait for it.
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let (_, server) =
        s3::serve(options.root, options.listen, &options.access_key, &options.secret_key).await?;
    tokio::select! {
        ended = server => ended.context("the server ended"),
        _ = terminate.recv() => Ok(()),
        _ = interrupt.recv() => Ok(()),
    }
}
