//! The images that the lab's nodes hold, each made once from programs of this machine and kept as a tar in the cache.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    Error, Progress, Result,
    binaries::{self, Kubernetes},
    cache,
    error::{At as _, last_component},
    image::{Image, digest_in},
    versions::{COREDNS, Operand},
    whole::children,
};

/// The sandbox of every pod; containerd's configuration names it.
pub const PAUSE: &str = "lab.local/pause:1";
/// A shell.
pub const BUSYBOX: &str = "lab.local/busybox:1";
/// A shell with curl and kubectl, for tests and for looking around.
pub const TOOL: &str = "lab.local/tool:1";

const SHELL: &str = "/bin/busybox";
const PROGRAMS: &str = "/usr/local/bin";

/// What we make ourselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ours {
    /// The one binary, under all the names that it answers to.
    Capstan,
    /// The object store of tests and demo.
    S3,
}

impl Ours {
    /// As containerd resolves what pods call `capstan:dev` and `capstan-s3:dev`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Capstan => "docker.io/library/capstan:dev",
            Self::S3 => "docker.io/library/capstan-s3:dev",
        }
    }
}

/// An image in the cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tar {
    pub name: String,
    pub path: PathBuf,
    pub size: u64,
    /// Of the manifest, `sha256:…`.
    pub digest: String,
}

/// What every lab needs: pod sandbox, shell, tools, cluster DNS.
pub fn base(kubernetes: &Kubernetes, progress: &dyn Progress) -> Result<Vec<PathBuf>> {
    let busybox = on_path("busybox", "install busybox-static")?;
    let curl = on_path("curl", "install curl")?;
    let links = applets(&busybox)?;
    let shell = |name: &str| -> Result<Image> {
        let image = Image::new(name).command(&["/bin/sh"]).program(&busybox, SHELL)?;
        Ok(links.iter().fold(image, |image, applet| image.link(&format!("/bin/{applet}"), SHELL)))
    };
    let dns = format!("{PROGRAMS}/coredns");
    let images = [
        Image::new(PAUSE).entrypoint(&[SHELL, "sleep", "infinity"]).program(&busybox, SHELL)?,
        shell(BUSYBOX)?,
        shell(TOOL)?
            .program(&curl, "/usr/bin/curl")?
            .program(&kubernetes.program("kubectl"), "/usr/bin/kubectl")?,
        Image::new(format!("lab.local/coredns:{}", COREDNS.version))
            .entrypoint(&[&dns])
            .program(&binaries::coredns(progress)?, &dns)?,
    ];
    images.iter().map(|image| Ok(cached(image, progress)?.path)).collect()
}

/// An operand under the name that users know, built if need be. All its programs are in /usr/local/bin.
pub fn operand(operand: Operand, version: &str, progress: &dyn Progress) -> Result<PathBuf> {
    let component = operand.at(version)?;
    let programs = binaries::operand(operand, version, progress)?;
    let name = format!("{}:v{}", operand.image(), component.version);
    let image = Image::new(name).entrypoint(&[&format!("{PROGRAMS}/{}", component.name)]);
    let image = component.programs().try_fold(image, |image, program| {
        image.program(&programs.join(program), &format!("{PROGRAMS}/{program}"))
    })?;
    Ok(cached(&image, progress)?.path)
}

/// What our image has in its environment. Without it mimalloc takes a whole arena from the kernel at once: 80 instead of 51 MiB while a
/// backup is taken.
pub const LEAN_ALLOCATOR: (&str, &str) = ("MIMALLOC_ARENA_EAGER_COMMIT", "0");

/// One of ours from its release binary: nobody but user 65532, no shell, nothing but the binary and its libraries.
pub fn ours(ours: Ours, binary: &Path, progress: &dyn Progress) -> Result<Tar> {
    let image =
        Image::new(ours.name()).user("65532:65532").label("org.opencontainers.image.licenses", "Apache-2.0");
    let image = match ours {
        Ours::Capstan => {
            let path = format!("{PROGRAMS}/capstan");
            let image = image.entrypoint(&[&path]).program(binary, &path)?.certificates()?;
            let image = image.variable(&format!("{}={}", LEAN_ALLOCATOR.0, LEAN_ALLOCATOR.1));
            let names = ["kubectl-capstan", "prometheus-operator", "prometheus-config-reloader"];
            let image =
                names.iter().fold(image, |image, name| image.link(&format!("{PROGRAMS}/{name}"), "capstan"));
            image.label("org.opencontainers.image.title", "capstan")
        }
        Ours::S3 => {
            let path = format!("{PROGRAMS}/s3");
            let image = image.entrypoint(&[&path]).program(binary, &path)?;
            image.label("org.opencontainers.image.title", "capstan-s3")
        }
    };
    let tar = cached(&image, progress)?;
    forget_older(&tar)?;
    Ok(tar)
}

/// The tar of `image`, made unless the same one is there.
fn cached(image: &Image, progress: &dyn Progress) -> Result<Tar> {
    let directory = cache()?.join("images");
    fs::create_dir_all(&directory).at("create", &directory)?;
    let path = directory.join(format!("{}{}.tar", prefix(image.name()), image.key()?));
    let missing = !path.is_file();
    if missing {
        image.write(&path)?;
    }
    let size = fs::metadata(&path).at("read", &path)?.len();
    if missing {
        progress.step(&format!("image {} ({} MB)", image.name(), size / 1_000_000));
    }
    Ok(Tar { name: image.name().into(), size, digest: digest_in(&path)?, path })
}

/// `lab.local/pause:1` becomes `lab.local_pause_1@`: one file name, and no other image's begins with it.
fn prefix(name: &str) -> String {
    format!("{}@", name.replace(['/', ':'], "_"))
}

/// Ours change with every build; the tars of other images only with their versions.
fn forget_older(tar: &Tar) -> Result<()> {
    let directory = tar.path.parent().unwrap_or(Path::new("/"));
    let prefix = prefix(&tar.name);
    let same = |path: &PathBuf| *path != tar.path && last_component(path).starts_with(&prefix);
    for older in children(directory)?.into_iter().filter(same) {
        fs::remove_file(&older).at("remove", &older)?;
    }
    Ok(())
}

/// The commands that busybox can be, which are links to it in an image.
fn applets(busybox: &Path) -> Result<Vec<String>> {
    let output = Command::new(busybox).arg("--list").output();
    let output =
        output.map_err(|source| Error::start(busybox.display(), "install busybox-static", source))?;
    let listed = String::from_utf8_lossy(&output.stdout);
    Ok(listed.lines().filter(|applet| *applet != "busybox").map(str::to_owned).collect())
}

fn on_path(program: &str, remedy: &'static str) -> Result<PathBuf> {
    let places = ["/usr/bin", "/bin", "/usr/local/bin"];
    let found = places.iter().map(|place| Path::new(place).join(program)).find(|path| path.is_file());
    found.ok_or_else(|| Error::NoProgram { program: program.into(), remedy })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn older_tars_of_the_same_image_go_and_others_stay() {
        let scratch = Scratch::new("images");
        let path = |name: &str| scratch.path().join(name);
        let tar = |name: &str, key: &str| path(&format!("{}{key}.tar", prefix(name)));
        let (capstan, s3) = (Ours::Capstan.name(), Ours::S3.name());
        for file in [tar(capstan, "old"), tar(capstan, "new"), tar(s3, "old")] {
            fs::write(file, "").unwrap();
        }
        let new = Tar { name: capstan.into(), path: tar(capstan, "new"), size: 0, digest: String::new() };
        forget_older(&new).unwrap();
        let mut expected = [tar(capstan, "new"), tar(s3, "old")];
        expected.sort();
        assert_eq!(children(scratch.path()).unwrap(), expected);
    }

    #[test]
    fn a_binary_that_was_not_built_is_named() {
        struct Silent;
        impl Progress for Silent {
            fn step(&self, _: &str) {}
        }
        let message = ours(Ours::Capstan, Path::new("/nowhere/capstan"), &Silent).unwrap_err().to_string();
        assert_eq!(message, "/nowhere/capstan is not there: build it first");
    }
}
