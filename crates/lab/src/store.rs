//! Images on every node without importing them on every node.
//!
//! A throw-away containerd imports and unpacks the tars once; a node's containerd starts from hard links to what it left.
//! Unpacked layers and blobs are never written again, so the links are safe; containerd's databases are, so those are copied.
//!
//! Invariant: a store is whole or not there, and the containerd that fills it never outlives this process.

use std::{
    fs::{self, File},
    os::unix::fs::{PermissionsExt as _, symlink},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use sha2::{Digest as _, Sha256};

use crate::{
    Error, Progress, Result, bound, cache,
    error::{At as _, last_component, last_lines},
    wait::{now, pause},
    whole,
};

const INSTALL: &str = "`scripts/setup kubernetes` installs it";
const READY_LIMIT: Duration = Duration::from_secs(30);
const LOOK: Duration = Duration::from_millis(20);

/// Identifies one containerd among others: every node makes its own.
const IDENTITY: &str = "io.containerd.grpc.v1.introspection";

/// A containerd root directory with `images` (tars) in it, made if it is not there.
pub fn of(images: &[PathBuf], progress: &dyn Progress) -> Result<PathBuf> {
    let target = cache()?.join(format!("store-{}", key(images)?));
    let waiting = || progress.step("another process imports the images, waiting");
    let start = now();
    let made = whole::directory(&target, waiting, |making| fill(making, &state_of(&target), images))?;
    if made {
        progress.step(&format!(
            "{} images imported, once, in {:.1} s",
            images.len(),
            start.elapsed().as_secs_f32()
        ));
    }
    Ok(target)
}

/// A containerd root for one node: it costs neither space nor time worth mentioning.
pub fn clone_to(store: &Path, root: &Path) -> Result<()> {
    if let Some(parent) = root.parent() {
        fs::create_dir_all(parent).at("create", parent)?;
    }
    link_tree(store, root)
}

/// The names of our tars say what is in them; the size is for those of others.
fn key(images: &[PathBuf]) -> Result<String> {
    let mut lines = images
        .iter()
        .map(|path| Ok(format!("{} {}\n", last_component(path), fs::metadata(path).at("read", path)?.len())))
        .collect::<Result<Vec<_>>>()?;
    lines.sort();
    Ok(format!("{:x}", Sha256::digest(lines.concat())).chars().take(12).collect())
}

/// Short, as a socket's path has room for 108 bytes; the same each time, so that what a killed process left is found and removed.
fn state_of(target: &Path) -> PathBuf {
    let hash = format!("{:x}", Sha256::digest(target.as_os_str().as_encoded_bytes()));
    std::env::temp_dir().join(format!("capstan-import-{}", hash.chars().take(12).collect::<String>()))
}

fn fill(root: &Path, state: &Path, images: &[PathBuf]) -> Result<()> {
    if state.exists() {
        fs::remove_dir_all(state).at("remove", state)?;
    }
    let importer = Importer::start(root, state)?;
    for image in images {
        importer.import(image)?;
    }
    importer.stop()
}

/// A containerd of our own that runs nothing.
struct Importer {
    containerd: Child,
    /// Its configuration, log and socket.
    state: PathBuf,
}

impl Importer {
    fn start(root: &Path, state: &Path) -> Result<Self> {
        fs::create_dir_all(state).at("create", state)?;
        let (config, log) = (state.join("config.toml"), state.join("log"));
        fs::write(&config, configuration(root, state)).at("write", &config)?;
        let output = File::create(&log).at("create", &log)?;
        let errors = output.try_clone().at("open", &log)?;
        let mut command = bound::command("containerd");
        let started = command.arg("--config").arg(&config).stdout(output).stderr(errors).spawn();
        let containerd = started.map_err(|source| Error::start("setpriv", "install util-linux", source))?;
        let mut importer = Self { containerd, state: state.into() };
        importer.wait_until_ready()?;
        Ok(importer)
    }

    fn wait_until_ready(&mut self) -> Result<()> {
        let start = now();
        while !self.ctr().arg("version").output().map_err(not_installed)?.status.success() {
            let ended = self.containerd.try_wait().at("wait for", "containerd")?;
            if ended.is_some() || start.elapsed() > READY_LIMIT {
                let output = last_lines(&self.said(), 10);
                return Err(Error::Command {
                    command: "containerd".into(),
                    how: "does not answer".into(),
                    output,
                });
            }
            pause(LOOK);
        }
        Ok(())
    }

    fn said(&self) -> String {
        fs::read_to_string(self.state.join("log")).unwrap_or_default()
    }

    /// Where the CRI plugin looks for images; unpacked too.
    fn import(&self, image: &Path) -> Result<()> {
        let output = self.ctr().args(["images", "import"]).arg(image).output().map_err(not_installed)?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let command = format!("ctr images import {}", image.display());
        Err(Error::Command { command, how: "failed".into(), output: last_lines(&said, 10) })
    }

    fn ctr(&self) -> Command {
        let mut ctr = Command::new("ctr");
        ctr.arg("--address")
            .arg(self.state.join("socket"))
            .args(["--namespace", "k8s.io"])
            .stdin(Stdio::null());
        ctr
    }

    /// Its databases are complete when the process has ended.
    fn stop(mut self) -> Result<()> {
        bound::end(&mut self.containerd).at("end", "containerd")
    }
}

impl Drop for Importer {
    fn drop(&mut self) {
        drop(bound::end(&mut self.containerd));
        drop(fs::remove_dir_all(&self.state));
    }
}

fn not_installed(source: std::io::Error) -> Error {
    Error::start("ctr", INSTALL, source)
}

/// Of containerd 1.6 (version 2), which 2.x still reads.
fn configuration(root: &Path, state: &Path) -> String {
    format!(
        "version = 2\n\
         root = {root:?}\n\
         state = {:?}\n\
         disabled_plugins = [\"io.containerd.grpc.v1.cri\"]\n\
         [grpc]\n\
         address = {:?}\n",
        state.join("state"),
        state.join("socket"),
    )
}

fn link_tree(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir(to).at("create", to)?;
    let mode = fs::metadata(from).at("read", from)?.permissions().mode();
    fs::set_permissions(to, fs::Permissions::from_mode(mode)).at("set the mode of", to)?;
    for path in whole::children(from)? {
        let name = last_component(&path);
        let copy = to.join(&name);
        let kind = fs::symlink_metadata(&path).at("read", &path)?.file_type();
        if name == IDENTITY {
            continue;
        } else if kind.is_dir() {
            link_tree(&path, &copy)?;
        } else if kind.is_symlink() {
            symlink(fs::read_link(&path).at("read", &path)?, &copy).at("create", &copy)?;
        } else if name.ends_with(".db") {
            fs::copy(&path, &copy).at("copy to", &copy)?;
        } else {
            fs::hard_link(&path, &copy).at("link to", &copy)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt as _;

    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn a_clone_shares_layers_and_owns_its_databases() {
        let scratch = Scratch::new("store");
        let (store, node) = (scratch.path().join("store"), scratch.path().join("node/lib/containerd"));
        for directory in ["overlayfs/1/fs/tmp", "bolt", IDENTITY] {
            fs::create_dir_all(store.join(directory)).unwrap();
        }
        fs::write(store.join("overlayfs/1/fs/busybox"), "x").unwrap();
        symlink("/bin/busybox", store.join("overlayfs/1/fs/sh")).unwrap();
        fs::set_permissions(store.join("overlayfs/1/fs/tmp"), fs::Permissions::from_mode(0o1777)).unwrap();
        fs::write(store.join("bolt/meta.db"), "x").unwrap();
        fs::write(store.join(IDENTITY).join("uuid"), "x").unwrap();

        clone_to(&store, &node).unwrap();

        let inode = |path: PathBuf| fs::symlink_metadata(path).unwrap().ino();
        let shared = |name: &str| inode(store.join(name)) == inode(node.join(name));
        assert!(shared("overlayfs/1/fs/busybox"));
        assert!(!shared("bolt/meta.db"));
        assert_eq!(fs::read_link(node.join("overlayfs/1/fs/sh")).unwrap(), Path::new("/bin/busybox"));
        assert_eq!(fs::metadata(node.join("overlayfs/1/fs/tmp")).unwrap().mode() & 0o7777, 0o1777);
        assert!(!node.join(IDENTITY).exists());
    }

    #[test]
    fn the_order_of_images_does_not_matter_and_each_one_does() {
        let scratch = Scratch::new("store");
        let [a, b] = ["a.tar", "b.tar"].map(|name| scratch.path().join(name));
        fs::write(&a, "1").unwrap();
        fs::write(&b, "2").unwrap();
        assert_eq!(key(&[a.clone(), b.clone()]).unwrap(), key(&[b.clone(), a.clone()]).unwrap());
        assert_ne!(key(&[a.clone(), b]).unwrap(), key(&[a]).unwrap());
    }
}
