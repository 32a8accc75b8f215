//! How source files look: purpose first, short, named after the domain, no address of a registry.

use crate::tree::File;

/// Files that open otherwise, and why.
const NO_PURPOSE: &[(&str, &str)] =
    &[("crates/kit/examples/greeter.rs", "kit's documentation includes it whole, as a code block")];

const LINES: usize = 600;

/// Longer files, and why.
const LONG: &[(&str, &str)] = &[];

/// They say nothing about what is inside.
const EMPTY_WORDS: &[&str] = &["util", "utils", "common", "helper", "helpers", "misc"];

/// What is downloaded is named (a crate, a package, a Go module, an image); where from is for the machine's own configuration to
/// say: mirrors and machines without a network are the rule in the places where Capstan runs.
const REGISTRIES: &[&str] = &[
    "index.crates.io",
    "static.crates.io",
    "proxy.golang.org",
    "sum.golang.org",
    "deb.debian.org",
    "docker.io",
    "gcr.io",
    "ghcr.io",
    "quay.io",
    "registry.k8s.io",
];

/// The operands' images, by the names under which users have them; a mirror answers to them as well, and `spec.image` is there.
const IMAGES: &[&str] = &["quay.io/coreos/etcd", "quay.io/thanos/thanos"];

/// Files that name one, and why.
const NAME_A_REGISTRY: &[(&str, &str)] = &[
    ("xtask/src/invariants/sources.rs", "the list itself"),
    (
        "crates/lab/src/versions.rs",
        "the names that users' manifests have; images are made here, none is pulled",
    ),
    (
        "crates/prometheus-workloads/src/image.rs",
        "the host that is understood when an image's name has none; a fact of the names' grammar",
    ),
    (
        "crates/lab/src/images.rs",
        "the name to which containerd completes `capstan:dev`; it is made here, not pulled",
    ),
];

pub(super) fn purpose(files: &[File]) -> Vec<String> {
    let silent = |file: &&File| file.is_rust() && !file.text.starts_with("//! ") && !exempt(NO_PURPOSE, file);
    files
        .iter()
        .filter(silent)
        .map(|file| format!("{}: the first line must be `//! <what it is for>`", file.path))
        .collect()
}

pub(super) fn length(files: &[File]) -> Vec<String> {
    let long = |file: &&File| file.is_rust() && file.text.lines().count() > LINES && !exempt(LONG, file);
    let told = |file: &File| {
        format!("{}: {} lines; split it by concept, at {LINES}", file.path, file.text.lines().count())
    };
    files.iter().filter(long).map(told).collect()
}

pub(super) fn names(files: &[File]) -> Vec<String> {
    let empty = |part: &str| EMPTY_WORDS.contains(&part.split('.').next().unwrap_or(part));
    let vague = |file: &&File| file.path.split('/').any(empty);
    files.iter().filter(vague).map(|file| format!("{}: name it after what is inside", file.path)).collect()
}

pub(super) fn registries(files: &[File]) -> Vec<String> {
    let checked = files.iter().filter(|file| !exempt(NAME_A_REGISTRY, file));
    let lines = checked.flat_map(|file| file.lines().map(move |(number, line)| (file, number, line)));
    let found = lines.filter_map(|(file, number, line)| {
        let line = IMAGES.iter().fold(line.to_owned(), |line, image| line.replace(image, ""));
        let host = REGISTRIES.iter().find(|host| line.contains(*host))?;
        Some(format!("{}:{number}: names {host}", file.path))
    });
    found.collect()
}

fn exempt(exemptions: &[(&str, &str)], file: &File) -> bool {
    exemptions.iter().any(|(path, _)| *path == file.path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rules_find_what_breaks_them() {
        let long = "//! Long.\n".repeat(LINES + 1);
        let files = [
            File::new("a/src/good.rs", "//! Good.\n"),
            File::new("a/src/silent.rs", "use std::fs;\n"),
            File::new("a/src/long.rs", &long),
            File::new("a/src/utils/good.rs", "//! Good.\n"),
            File::new("Makefile", "\n\tdocker pull quay.io/x\n"),
            File::new("etcd.yaml", "image: quay.io/coreos/etcd:v3.6.16\n"),
        ];
        assert_eq!(purpose(&files), ["a/src/silent.rs: the first line must be `//! <what it is for>`"]);
        assert_eq!(length(&files), ["a/src/long.rs: 601 lines; split it by concept, at 600"]);
        assert_eq!(names(&files), ["a/src/utils/good.rs: name it after what is inside"]);
        assert_eq!(registries(&files), ["Makefile:2: names quay.io"]);
    }

    #[test]
    fn every_exemption_is_of_a_file_that_is_there() {
        let files = crate::tree::files();
        for (path, why) in NO_PURPOSE.iter().chain(LONG).chain(NAME_A_REGISTRY) {
            assert!(
                files.iter().any(|file| file.path == *path),
                "{path} is exempt ({why}) and does not exist"
            );
        }
    }
}
