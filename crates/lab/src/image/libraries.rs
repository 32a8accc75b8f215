//! Which shared libraries a program needs, asked of the dynamic linker.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use crate::{Error, Result};

/// Empty for a static program.
pub(super) fn of(program: &Path) -> Result<Vec<PathBuf>> {
    if !program.is_file() {
        return Err(Error::Image(format!("{} is not there: build it first", program.display())));
    }
    let output = Command::new("ldd")
        .arg(program)
        .env("LC_ALL", "C")
        .output()
        .map_err(|source| Error::start("ldd", "install libc-bin", source))?;
    parse(&String::from_utf8_lossy(&output.stdout)).map_err(|library| {
        Error::Image(format!("{}: its library {library} is not installed here", program.display()))
    })
}

/// Lines such as `libc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x…)`, `/lib64/ld-linux-x86-64.so.2 (0x…)`; the kernel's own
/// `linux-vdso.so.1 (0x…)` has no path.
fn parse(output: &str) -> Result<Vec<PathBuf>, String> {
    let mut found = Vec::new();
    for line in output.lines().map(str::trim) {
        let (library, place) = line.split_once(" => ").unwrap_or((line, line));
        if place == "not found" {
            return Err(library.into());
        }
        if let Some((path, _)) = place.split_once(" (0x")
            && path.starts_with('/')
        {
            found.push(path.into());
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_and_the_loader_are_found_and_the_kernels_own_is_not() {
        let output = "\tlinux-vdso.so.1 (0x00007ffd)\n\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f)\n\t/lib64/ld-linux-x86-64.so.2 (0x00007f)\n";
        let expected = ["/lib/x86_64-linux-gnu/libc.so.6", "/lib64/ld-linux-x86-64.so.2"].map(PathBuf::from);
        assert_eq!(parse(output).unwrap(), expected);
    }

    #[test]
    fn a_static_program_needs_none() {
        assert_eq!(parse("\tnot a dynamic executable\n").unwrap(), Vec::<PathBuf>::new());
        assert_eq!(parse("\tstatically linked\n").unwrap(), Vec::<PathBuf>::new());
    }

    #[test]
    fn a_library_that_is_missing_is_named() {
        assert_eq!(parse("\tlibssl.so.3 => not found\n").unwrap_err(), "libssl.so.3");
    }
}
