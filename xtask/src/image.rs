//! `cargo xtask image`: our images, made from release binaries without a container engine.

use std::path::PathBuf;

use anyhow::Result;
use lab::{Progress, images};

use crate::{cargo, tree};

/// A finished image.
pub(crate) struct Image {
    pub(crate) name: &'static str,
    pub(crate) path: PathBuf,
}

/// Builds both programs and packs them. Quick when nothing changed.
pub(crate) fn all(progress: &dyn Progress) -> Result<Vec<Image>> {
    progress.step("compiling capstan and the demo's S3 server (release)");
    cargo::run(&["build", "--quiet", "--release", "--locked", "--package", "capstan", "--package", "s3"])?;
    let built = tree::root().join("target/release");
    let capstan = images::capstan(&built.join("capstan"), progress)?;
    let s3 = images::s3(&built.join("s3"), progress)?;
    Ok(vec![Image { name: "capstan:dev", path: capstan }, Image { name: "capstan-s3:dev", path: s3 }])
}
