//! `cargo xtask image`: our images, made from release binaries without a container engine.
#![expect(clippy::print_stdout, reason = "says where they are")]

use anyhow::Result;
use lab::{
    Progress,
    images::{self, Ours, Tar},
};

use crate::release;

/// Builds both programs and packs them. Quick when nothing changed.
pub(crate) fn all(progress: &dyn Progress) -> Result<Vec<Tar>> {
    let built = release::programs(progress)?;
    let capstan = images::ours(Ours::Capstan, &built.join("capstan"), progress)?;
    let s3 = images::ours(Ours::S3, &built.join("s3"), progress)?;
    Ok(vec![capstan, s3])
}

/// The same, for the user.
pub(crate) fn run(progress: &dyn Progress) -> Result<()> {
    for Tar { name, path, size, digest } in all(progress)? {
        println!("{name}\n  {}\n  {:.1} MB, {digest}", path.display(), size as f64 / 1e6);
    }
    Ok(())
}
