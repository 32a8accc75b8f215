//! Generated files: each is a function of the code, written or compared.

mod block;
mod figures;

use std::{fs, io::ErrorKind};

use anyhow::{Context as _, Result, bail};

use crate::{
    cargo::{self, Target},
    tree,
};

/// What to do with them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Write,
    /// Fail when one differs.
    Check,
}

/// A file of which this program writes all or a part.
struct Generated {
    path: &'static str,
    /// From what it is now (nothing, when there is none) to what it should be.
    make: fn(&str) -> Result<String>,
}

const FILES: &[Generated] = &[
    Generated { path: "docs/reference/flags.md", make: |_| capstan(&["reference", "flags"]) },
    Generated { path: "docs/reference/metrics.md", make: |_| capstan(&["reference", "metrics"]) },
    Generated { path: "docs/reference/etcd.md", make: |_| capstan(&["reference", "etcd"]) },
    Generated { path: "deploy/crds.yaml", make: |_| capstan(&["manifests", "crds"]) },
    Generated { path: "deploy/operator.yaml", make: |_| capstan(&["manifests", "operator"]) },
    Generated { path: "deploy/install.yaml", make: |_| capstan(&["manifests", "install"]) },
    Generated {
        path: "deploy/monitoring/etcd-alerts.yaml",
        make: |_| capstan(&["manifests", "etcd-alerts"]),
    },
    Generated {
        path: "deploy/monitoring/etcd-dashboard.json",
        make: |_| capstan(&["manifests", "etcd-dashboard"]),
    },
    Generated { path: "docs/etcd.md", make: figures::refresh },
    Generated { path: "docs/kit.md", make: |now| block::refresh(now, &tour()?) },
];

/// What our binary prints.
fn capstan(arguments: &[&str]) -> Result<String> {
    cargo::output(Target::Binary("capstan"), arguments)
}

/// What the kit's tour prints, when it prints to no terminal.
fn tour() -> Result<String> {
    cargo::output(Target::Example("tour"), &[])
}

pub(crate) fn run(mode: Mode) -> Result<()> {
    let mut different = Vec::new();
    for Generated { path, make } in FILES {
        let place = tree::root().join(path);
        let now = match fs::read_to_string(&place) {
            Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
            read => read.with_context(|| format!("cannot read {path}"))?,
        };
        let wanted = make(&now).with_context(|| format!("cannot generate {path}"))?;
        match mode {
            _ if now == wanted => {}
            Mode::Check => different.push(format!("{path}: {}", first_difference(&now, &wanted))),
            Mode::Write => {
                let directory = place.parent().unwrap_or_else(|| tree::root());
                fs::create_dir_all(directory)
                    .and_then(|()| fs::write(&place, wanted))
                    .with_context(|| format!("cannot write {path}"))?;
            }
        }
    }
    if !different.is_empty() {
        bail!(
            "not up to date; run `cargo xtask generate` and commit the result\n  {}",
            different.join("\n  ")
        );
    }
    Ok(())
}

/// Where two texts part, in words.
fn first_difference(now: &str, wanted: &str) -> String {
    let same = now.lines().zip(wanted.lines()).take_while(|(now, wanted)| now == wanted).count();
    let line = |text: &str| text.lines().nth(same).map_or("the end".to_owned(), |line| format!("`{line}`"));
    format!("line {} is {}, and should be {}", same + 1, line(now), line(wanted))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_names_the_line_and_both_sides() {
        assert_eq!(first_difference("a\nb\n", "a\nc\n"), "line 2 is `b`, and should be `c`");
        assert_eq!(first_difference("a\n", "a\nb\n"), "line 2 is the end, and should be `b`");
        assert_eq!(first_difference("", "a\n"), "line 1 is the end, and should be `a`");
    }
}
