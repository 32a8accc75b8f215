//! What people do without us: etcd's own tools, zstd, and curl with a signature.

use anyhow::Result;
use tokio::process::Command;

use super::{
    etcd::Etcd,
    world::{ACCESS_KEY, BUCKET, SECRET_KEY, World, run},
};

const OBJECT: &str = "by-hand/snapshot.db.zst";

pub(super) async fn take(world: &World, etcd: &Etcd) -> Result<()> {
    let (snapshot, packed) = (world.path("by-hand.db"), world.path("by-hand.db.zst"));
    let etcdctl = world.programs.join("etcdctl");
    let mut save = Command::new(&etcdctl);
    run(
        save.args(["--endpoints", &etcd.url, "--command-timeout", "10m", "snapshot", "save"]).arg(&snapshot),
        &etcdctl,
    )
    .await?;
    run(
        Command::new("zstd").args(["-q", "-f", "--rm"]).arg(&snapshot).arg("-o").arg(&packed),
        "zstd".as_ref(),
    )
    .await?;
    let mut put = curl(world);
    run(put.arg("--upload-file").arg(&packed), "curl".as_ref()).await?;
    Ok(std::fs::remove_file(packed)?)
}

pub(super) async fn restore(world: &World) -> Result<()> {
    let (snapshot, packed) = (world.path("snapshot.db"), world.path("by-hand.db.zst"));
    let mut get = curl(world);
    run(get.arg("--output").arg(&packed), "curl".as_ref()).await?;
    run(
        Command::new("zstd").args(["-q", "-d", "-f", "--rm"]).arg(&packed).arg("-o").arg(&snapshot),
        "zstd".as_ref(),
    )
    .await?;
    world.unpack().await
}

fn curl(world: &World) -> Command {
    let mut curl = Command::new("curl");
    curl.args(["--fail", "--silent", "--show-error", "--aws-sigv4", "aws:amz:us-east-1:s3"]);
    curl.args([
        "--user",
        &format!("{ACCESS_KEY}:{SECRET_KEY}"),
        "-H",
        "x-amz-content-sha256: UNSIGNED-PAYLOAD",
    ]);
    curl.arg(format!("{}/{BUCKET}/{OBJECT}", world.server));
    curl
}
