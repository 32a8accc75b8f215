//! The bytes of an image: its layer, and the OCI image layout around it (oci-layout, index.json, blobs by digest).
//!
//! Programs of 100 MB go through here: the layer is hashed while it is written, and never held in memory.

use std::{
    fs::{self, File},
    io::{self, BufWriter, Read, Write},
    path::Path,
    process,
};

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tar::{Builder, EntryType, Header};

use super::{Entry, Image};
use crate::{Error, Result, error::At as _};

/// Counted up when the bytes made from the same image change: cached tars are made anew.
pub(super) const FORMAT: u32 = 1;

const BUFFER: usize = 1 << 20;

pub(super) fn write(image: &Image, out: &Path) -> Result<()> {
    let partial = |what: &str| out.with_extension(format!("{what}-{}", process::id()));
    let (layer_path, tar_path) = (partial("layer"), partial("tar"));
    let written =
        write_layer(image, &layer_path).and_then(|layer| write_layout(image, layer, &layer_path, &tar_path));
    drop(fs::remove_file(&layer_path)); // not there when its creation failed, which `written` says
    match written.and_then(|()| fs::rename(&tar_path, out).at("rename to", out)) {
        Ok(()) => Ok(()),
        Err(error) => {
            drop(fs::remove_file(&tar_path));
            Err(error)
        }
    }
}

/// A blob's place in the documents that refer to it.
struct Blob {
    kind: &'static str,
    digest: String,
    size: u64,
}

impl Blob {
    fn of(kind: &'static str, data: &[u8]) -> Self {
        Self { kind, digest: format!("{:x}", Sha256::digest(data)), size: data.len() as u64 }
    }

    fn reference(&self) -> Value {
        json!({
            "mediaType": format!("application/vnd.oci.image.{}", self.kind),
            "digest": format!("sha256:{}", self.digest),
            "size": self.size,
        })
    }

    fn path(&self) -> String {
        format!("blobs/sha256/{}", self.digest)
    }
}

fn write_layer(image: &Image, path: &Path) -> Result<Blob> {
    let file = File::create(path).at("create", path)?;
    let mut tar = Builder::new(Hashing::new(BufWriter::with_capacity(BUFFER, file)));
    for (name, entry) in &image.entries {
        match entry {
            Entry::Directory { mode } => {
                append(&mut tar, EntryType::Directory, &format!("{name}/"), *mode, 0, io::empty())
                    .at("write", path)?;
            }
            Entry::Text(text) => {
                append(&mut tar, EntryType::Regular, name, 0o644, text.len() as u64, text.as_bytes())
                    .at("write", path)?;
            }
            Entry::File { from, mode } => {
                let file = File::open(from).at("open", from)?;
                let size = file.metadata().at("read", from)?.len();
                let reader = io::BufReader::with_capacity(BUFFER, file.take(size));
                append(&mut tar, EntryType::Regular, name, *mode, size, reader).at("copy", from)?;
            }
            Entry::Link { target } => {
                let mut header = header(EntryType::Symlink, 0o777, 0);
                tar.append_link(&mut header, name, target).at("write", path)?;
            }
        }
    }
    let Hashing { inner, hash, size } = tar.into_inner().at("write", path)?;
    inner.into_inner().map_err(io::IntoInnerError::into_error).at("write", path)?;
    Ok(Blob { kind: "layer.v1.tar", digest: format!("{:x}", hash.finalize()), size })
}

fn write_layout(image: &Image, layer: Blob, layer_path: &Path, out: &Path) -> Result<()> {
    let config = config(image, &layer).to_string().into_bytes();
    let config_blob = Blob::of("config.v1+json", &config);
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": config_blob.reference(),
        "layers": [layer.reference()],
    })
    .to_string()
    .into_bytes();
    let manifest_blob = Blob::of("manifest.v1+json", &manifest);
    let index = json!({"schemaVersion": 2, "manifests": [entry_point(image, &manifest_blob)]}).to_string();

    let file = File::create(out).at("create", out)?;
    let mut tar = Builder::new(BufWriter::with_capacity(BUFFER, file));
    let small = [
        ("oci-layout".to_owned(), br#"{"imageLayoutVersion":"1.0.0"}"#.to_vec()),
        ("index.json".to_owned(), index.into_bytes()),
        (config_blob.path(), config),
        (manifest_blob.path(), manifest),
    ];
    for (name, data) in &small {
        append(&mut tar, EntryType::Regular, name, 0o644, data.len() as u64, data.as_slice())
            .at("write", out)?;
    }
    let reader = io::BufReader::with_capacity(BUFFER, File::open(layer_path).at("open", layer_path)?);
    append(&mut tar, EntryType::Regular, &layer.path(), 0o644, layer.size, reader).at("write", out)?;
    let buffer = tar.into_inner().at("write", out)?;
    buffer.into_inner().map_err(io::IntoInnerError::into_error).at("write", out)?;
    Ok(())
}

fn config(image: &Image, layer: &Blob) -> Value {
    let mut config = json!({"Env": image.environment});
    if let Some(fields) = config.as_object_mut() {
        let mut set = |key: &str, value: Value| fields.insert(key.into(), value);
        if !image.entrypoint.is_empty() {
            set("Entrypoint", json!(image.entrypoint));
        }
        if !image.command.is_empty() {
            set("Cmd", json!(image.command));
        }
        if !image.user.is_empty() {
            set("User", json!(image.user));
        }
        if !image.labels.is_empty() {
            set("Labels", json!(image.labels));
        }
    }
    json!({
        "architecture": architecture(),
        "os": "linux",
        "config": config,
        "rootfs": {"type": "layers", "diff_ids": [format!("sha256:{}", layer.digest)]},
    })
}

/// The manifest as index.json names it: containerd takes the image's name from here.
fn entry_point(image: &Image, manifest: &Blob) -> Value {
    let tag = image.name.rsplit(':').next().unwrap_or_default();
    let mut reference = manifest.reference();
    if let Some(fields) = reference.as_object_mut() {
        fields.insert("platform".into(), json!({"architecture": architecture(), "os": "linux"}));
        fields.insert(
            "annotations".into(),
            json!({"io.containerd.image.name": image.name, "org.opencontainers.image.ref.name": tag}),
        );
    }
    reference
}

/// In the words of Go, which OCI uses.
fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

fn header(kind: EntryType, mode: u32, size: u64) -> Header {
    let mut header = Header::new_ustar();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_size(size);
    header.set_mtime(0);
    header.set_uid(0);
    header.set_gid(0);
    header
}

fn append(
    tar: &mut Builder<impl Write>,
    kind: EntryType,
    name: &str,
    mode: u32,
    size: u64,
    data: impl Read,
) -> io::Result<()> {
    tar.append_data(&mut header(kind, mode, size), name, data)
}

/// The digest of the manifest in a tar that was written here: what a registry would call the image's digest.
pub(crate) fn digest_in(path: &Path) -> Result<String> {
    let mut tar = tar::Archive::new(File::open(path).at("open", path)?);
    for entry in tar.entries().at("read", path)? {
        let mut entry = entry.at("read", path)?;
        if entry.path_bytes().as_ref() == b"index.json" {
            let mut text = String::new();
            entry.read_to_string(&mut text).at("read", path)?;
            let index: Value = serde_json::from_str(&text).map_err(io::Error::from).at("read", path)?;
            let digest = index.pointer("/manifests/0/digest").and_then(Value::as_str);
            return digest.map(str::to_owned).ok_or_else(|| not_an_image(path));
        }
    }
    Err(not_an_image(path))
}

fn not_an_image(path: &Path) -> Error {
    Error::Image(format!("{} is not an image of ours: remove it, it will be made again", path.display()))
}

/// Counts and hashes what passes.
struct Hashing<W> {
    inner: W,
    hash: Sha256,
    size: u64,
}

impl<W> Hashing<W> {
    fn new(inner: W) -> Self {
        Self { inner, hash: Sha256::new(), size: 0 }
    }
}

impl<W: Write> Write for Hashing<W> {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        let count = self.inner.write(data)?;
        self.hash.update(data.get(..count).unwrap_or_default());
        self.size += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::scratch::Scratch;

    fn example(scratch: &Scratch) -> Image {
        let program = scratch.path().join("program");
        fs::write(&program, "#!/bin/sh\n".repeat(300_000)).unwrap();
        Image::new("lab.local/example:dev")
            .entrypoint(&["/usr/local/bin/program"])
            .user("65532:65532")
            .label("b", "2")
            .label("a", "1")
            .link("/usr/local/bin/alias", "program")
            .program(&program, "/usr/local/bin/program")
            .unwrap()
    }

    /// Every file of the layout by name.
    fn read(path: &Path) -> BTreeMap<String, Vec<u8>> {
        let mut tar = tar::Archive::new(File::open(path).unwrap());
        let files = tar.entries().unwrap().map(|entry| {
            let mut entry = entry.unwrap();
            let mut data = Vec::new();
            entry.read_to_end(&mut data).unwrap();
            (entry.path().unwrap().to_string_lossy().into_owned(), data)
        });
        files.collect()
    }

    fn parsed(files: &BTreeMap<String, Vec<u8>>, reference: &Value) -> Value {
        let digest = reference["digest"].as_str().unwrap().strip_prefix("sha256:").unwrap();
        serde_json::from_slice(&files[&format!("blobs/sha256/{digest}")]).unwrap()
    }

    #[test]
    fn the_same_input_gives_the_same_bytes() {
        let scratch = Scratch::new("image");
        let (first, second) = (scratch.path().join("1.tar"), scratch.path().join("2.tar"));
        example(&scratch).write(&first).unwrap();
        example(&scratch).write(&second).unwrap();
        assert!(fs::read(&first).unwrap() == fs::read(&second).unwrap());
        let left = crate::whole::children(scratch.path()).unwrap();
        assert_eq!(left.len(), 3, "the program and two tars, nothing in between: {left:?}");
    }

    #[test]
    fn every_blob_is_where_its_digest_says_and_as_long_as_it_says() {
        let scratch = Scratch::new("image");
        let path = scratch.path().join("image.tar");
        example(&scratch).write(&path).unwrap();
        let files = read(&path);
        let blobs = files.iter().filter_map(|(name, data)| Some((name.strip_prefix("blobs/sha256/")?, data)));
        for (digest, data) in blobs.clone() {
            assert_eq!(format!("{:x}", Sha256::digest(data)), digest);
        }
        assert_eq!(blobs.count(), 3);
        let index: Value = serde_json::from_slice(&files["index.json"]).unwrap();
        let manifest = parsed(&files, &index["manifests"][0]);
        let config = parsed(&files, &manifest["config"]);
        let layer = &manifest["layers"][0];
        assert_eq!(config["rootfs"]["diff_ids"][0], layer["digest"]);
        let name = layer["digest"].as_str().unwrap().replace("sha256:", "blobs/sha256/");
        assert_eq!(layer["size"].as_u64().unwrap(), files[&name].len() as u64);
        assert_eq!(index["manifests"][0]["digest"], digest_in(&path).unwrap());
    }

    #[test]
    fn name_user_entrypoint_and_labels_are_in_it() {
        let scratch = Scratch::new("image");
        let path = scratch.path().join("image.tar");
        example(&scratch).write(&path).unwrap();
        let files = read(&path);
        let index: Value = serde_json::from_slice(&files["index.json"]).unwrap();
        let annotations = &index["manifests"][0]["annotations"];
        assert_eq!(annotations["io.containerd.image.name"], "lab.local/example:dev");
        assert_eq!(annotations["org.opencontainers.image.ref.name"], "dev");
        let config = parsed(&files, &parsed(&files, &index["manifests"][0])["config"]);
        assert_eq!(
            config["config"],
            json!({
                "Entrypoint": ["/usr/local/bin/program"],
                "Env": ["PATH=/usr/local/bin:/usr/bin:/bin"],
                "Labels": {"a": "1", "b": "2"},
                "User": "65532:65532",
            })
        );
    }

    #[test]
    fn the_layers_entries_are_sorted_and_carry_neither_time_nor_owner() {
        let scratch = Scratch::new("image");
        let path = scratch.path().join("layer");
        write_layer(&example(&scratch), &path).unwrap();
        let mut tar = tar::Archive::new(File::open(&path).unwrap());
        let seen: Vec<String> = tar
            .entries()
            .unwrap()
            .map(|entry| {
                let entry = entry.unwrap();
                let header = entry.header();
                assert_eq!(
                    (header.mtime().unwrap(), header.uid().unwrap(), header.gid().unwrap()),
                    (0, 0, 0)
                );
                let link = entry.link_name().unwrap().map(|target| format!(" -> {}", target.display()));
                let name = entry.path().unwrap().to_string_lossy().into_owned();
                format!("{:o} {name}{}", header.mode().unwrap(), link.unwrap_or_default())
            })
            .collect();
        let expected = [
            "755 etc/",
            "644 etc/group",
            "644 etc/nsswitch.conf",
            "644 etc/passwd",
            "1777 tmp/",
            "755 usr/",
            "755 usr/local/",
            "755 usr/local/bin/",
            "777 usr/local/bin/alias -> program",
            "755 usr/local/bin/program",
        ];
        assert_eq!(seen, expected);
    }

    #[test]
    fn a_failure_leaves_no_tar() {
        let scratch = Scratch::new("image");
        let image = example(&scratch);
        fs::remove_file(scratch.path().join("program")).unwrap();
        let message = image.write(&scratch.path().join("image.tar")).unwrap_err().to_string();
        assert!(message.starts_with("cannot open "), "{message}");
        assert!(crate::whole::children(scratch.path()).unwrap().is_empty());
    }

    #[test]
    fn the_key_changes_with_a_file_and_with_the_configuration() {
        let scratch = Scratch::new("image");
        let image = example(&scratch);
        let before = image.key().unwrap();
        assert_eq!(before, image.key().unwrap());
        let other = Image { user: "0:0".into(), ..example(&scratch) };
        assert_ne!(before, other.key().unwrap());
        fs::write(scratch.path().join("program"), "shorter").unwrap();
        assert_ne!(before, image.key().unwrap());
    }
}
