//! Backup, restore and verification of something much larger than what a process may have in memory. Each is a process of its own: this test
//! program again, with its work in a variable.

use std::{env, fs, io, process::Command};

use bytes::Bytes;
use etcd_backup::{Target, load, manifest::Revisions, save, seal, sha256::Hasher, snapshot};
use futures::stream;

use super::{about, places::bucket};

const WORK: &str = "ETCD_BACKUP_TEST_WORK";
const MOST: u64 = 64 << 20;
const CHUNK: usize = 32 << 10;
const CHUNKS: usize = (96 << 20) / CHUNK;

#[expect(clippy::disallowed_methods, reason = "how this program tells itself what to do")]
#[tokio::test(flavor = "multi_thread")]
async fn what_is_large_takes_little_memory() {
    if let Ok(work) = env::var(WORK) {
        return play(&work).await;
    }
    let (target, _directory) = bucket().await;
    let place = [target.endpoint.unwrap(), target.credentials.unwrap().display().to_string()].join(" ");
    for work in ["save plain", "load plain", "save sealed", "load sealed"] {
        let name = "memory::what_is_large_takes_little_memory";
        let mut child = Command::new(env::current_exe().unwrap());
        child.args(["--exact", name, "--nocapture"]).env(WORK, format!("{work} {place}"));
        let said = tokio::task::spawn_blocking(move || child.output()).await.unwrap().unwrap();
        assert!(said.status.success(), "{work}: {}", String::from_utf8_lossy(&said.stderr));
    }
}

async fn play(work: &str) {
    let [what, form, endpoint, credentials] = work.split(' ').collect::<Vec<_>>().try_into().unwrap();
    let target = Target {
        url: "s3://backups/of/db".to_owned(),
        endpoint: Some(endpoint.to_owned()),
        credentials: Some(credentials.into()),
        ..Target::default()
    };
    let store = target.open().unwrap();
    let key = (form == "sealed").then(|| seal::example_key("a"));
    match what {
        "save" => {
            let revisions = async || Ok(Revisions { at_least: 40, at_most: 42 });
            save::save(&store, about(form), key.as_ref(), noise(), revisions, |_| ()).await.unwrap();
        }
        _ => {
            let manifest = store.manifest(form).await.unwrap().unwrap();
            load::load(&store, &manifest, key.as_ref(), io::sink(), |_| ()).await.unwrap();
        }
    }
    let most = peak();
    assert!(most <= MOST, "{} MiB were in memory", most >> 20);
}

/// A snapshot that does not compress, made while it is read.
fn noise() -> impl stream::Stream<Item = Result<Bytes, String>> {
    let head = snapshot::example(CHUNK / 512, |_| 7);
    let mut random = fastrand::Rng::with_seed(7);
    let mut hash = Some(Hasher::default());
    stream::iter((0..=CHUNKS).map(move |number| {
        let chunk = match number {
            0 => head[..CHUNK].to_vec(),
            CHUNKS => return Ok(Bytes::copy_from_slice(&hash.take().unwrap().finish().0)),
            _ => {
                let mut chunk = vec![0; CHUNK];
                random.fill(&mut chunk);
                chunk
            }
        };
        hash.as_mut().unwrap().update(&chunk);
        Ok(chunk.into())
    }))
}

/// The most that was resident, in bytes. proc(5): VmHWM, in kB.
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.split_whitespace().next().unwrap().parse::<u64>().unwrap() * 1024
}
