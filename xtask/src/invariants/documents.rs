//! Documents tell the truth: the commands, files and crates that they name exist.

use clap::CommandFactory as _;

use super::makefile;
use crate::{commands, markdown::code, tree::File};

pub(super) fn commands(files: &[File]) -> Vec<String> {
    let makefile = files.iter().find(|file| file.path == "Makefile").map_or("", |file| file.text.as_str());
    let broken = documents(files).flat_map(|document| {
        let code = code(&document.text).into_iter();
        let wrong = code.filter_map(|(line, code)| Some((line, wrong_command(code, makefile, files)?)));
        wrong.map(|(line, wrong)| format!("{}:{line}: {wrong}", document.path))
    });
    broken.collect()
}

pub(super) fn paths(files: &[File]) -> Vec<String> {
    let exists = |wanted: &str| files.iter().any(|file| matches(&file.path, wanted));
    let broken = documents(files).flat_map(|document| {
        let named = code(&document.text).into_iter().filter(|(_, code)| is_path(code));
        let linked = document.lines().flat_map(|(line, text)| links(text).map(move |link| (line, link)));
        let missing = named.chain(linked).filter(|(_, path)| !exists(path));
        missing
            .map(|(line, path)| format!("{}:{line}: there is no {path}", document.path))
            .collect::<Vec<_>>()
    });
    broken.collect()
}

pub(super) fn code_map(files: &[File]) -> Vec<String> {
    let map = files.iter().find(|file| file.path == "ARCHITECTURE.md").map_or("", |file| file.text.as_str());
    let crates = files.iter().filter_map(|file| file.path.strip_suffix("/Cargo.toml"));
    let missing = crates.filter(|path| !map.contains(&format!("`{path}`")));
    missing.map(|path| format!("ARCHITECTURE.md: `{path}` is not in the code map")).collect()
}

fn documents(files: &[File]) -> impl Iterator<Item = &File> {
    files.iter().filter(|file| file.path.ends_with(".md"))
}

/// What is wrong with a command of ours. Other text is not our business.
fn wrong_command(code: &str, makefile: &str, files: &[File]) -> Option<String> {
    let code = code.split(" #").next()?.trim_start_matches("$ ");
    // Settings stand before a command: `NAME=value make test`, the value perhaps in quotes.
    let words: Vec<&str> = match code.find("make ").into_iter().chain(code.find("cargo ")).min() {
        Some(start) if code.get(..start)?.split_whitespace().next().is_none_or(|word| word.contains('=')) => {
            code.get(start..)?.split_whitespace().collect()
        }
        _ => return None,
    };
    match words.as_slice() {
        ["make", targets @ ..] => {
            let known = makefile::targets(makefile);
            let target = targets
                .iter()
                .find(|word| !word.contains('=') && !known.iter().any(|(name, _)| name == *word))?;
            Some(format!("`make {target}`: the Makefile has no such target"))
        }
        ["cargo", "xtask", command, ..] => {
            let known = commands::Command::command().find_subcommand(command).is_some();
            (!known).then(|| format!("`cargo xtask {command}`: there is no such command"))
        }
        ["cargo", rest @ ..] => {
            let value = |flags: [&str; 2]| {
                let (_, value) =
                    rest.iter().zip(rest.iter().skip(1)).find(|(flag, _)| flags.contains(*flag))?;
                Some(*value)
            };
            let package = value(["-p", "--package"])?;
            let exists = |path: &str| files.iter().any(|file| matches(&file.path, path));
            if !exists(&format!("{package}/Cargo.toml")) {
                return Some(format!("`{code}`: there is no crate {package}"));
            }
            let test = value(["--test", "--test"])?;
            let found = exists(&format!("{package}/tests/{test}.rs"))
                || exists(&format!("{package}/tests/{test}/main.rs"));
            (!found).then(|| format!("`{code}`: {package} has no such test"))
        }
        _ => None,
    }
}

const ENDS: &[&str] = &[".rs", ".md", ".toml", ".yaml", ".json", "/"];

fn is_path(code: &str) -> bool {
    // `etcd.capstan.dev/` is how labels begin, not a directory.
    let label = code
        .strip_suffix('/')
        .is_some_and(|domain| domain.contains('.') && !domain.contains('/') && !domain.starts_with('.'));
    code.contains('/')
        && !label
        && !code.contains([' ', '<', '$', '(', ':', '…'])
        && ENDS.iter().any(|end| code.ends_with(end))
}

/// The targets of Markdown links that stay in the repository.
fn links(line: &str) -> impl Iterator<Item = &str> {
    let targets = line.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next());
    let ours = targets.filter(|target| !target.is_empty() && !target.contains("://"));
    // From a directory below, a link goes up first; what it leads to must exist all the same.
    ours.map(|target| target.trim_start_matches("../").trim_start_matches('/'))
}

/// Is `wanted` this file or a directory above it? From the root, or from any directory: a document may speak of `src/lib.rs` of the
/// crate it is about. `*` is any text.
fn matches(path: &str, wanted: &str) -> bool {
    let (path, wanted) = (format!("/{path}"), format!("/{wanted}"));
    let (start, end) = wanted.split_once('*').unwrap_or((&wanted, ""));
    path.match_indices(start).any(|(at, _)| {
        let rest = path.get(at + start.len()..).unwrap_or_default();
        if wanted.contains('*') { rest.ends_with(end) } else { rest.is_empty() || wanted.ends_with('/') }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(document: &str) -> Vec<File> {
        vec![
            File::new("Makefile", "test: ## Runs the tests\n"),
            File::new("crates/kit/Cargo.toml", ""),
            File::new("crates/kit/tests/lead/main.rs", ""),
            File::new("README.md", document),
        ]
    }

    #[test]
    fn commands_that_do_not_exist_are_found_wherever_they_are_code() {
        let broken = |document: &str| commands(&tree(document)).len();
        for good in [
            "run `make test`",
            "    make test  # all of it\n",
            "```sh\n$ make test X=1\n```\n",
            "`cargo xtask generate --check`",
            "`A='b c' cargo test -p kit --test lead`",
            "make sense of it",
            "`cargo test`",
        ] {
            assert_eq!(broken(good), 0, "{good}");
        }
        for bad in [
            "run `make nothing`",
            "    make test nothing\n",
            "```sh\n$ make nothing X=1\n```\n",
            "`cargo xtask nothing`",
            "`A='b c' cargo test -p kit --test nothing`",
            "`cargo test -p nothing`",
        ] {
            assert_eq!(broken(bad), 1, "{bad}");
        }
    }

    #[test]
    fn files_that_do_not_exist_are_found() {
        let broken = |document: &str| paths(&tree(document));
        for good in [
            "`crates/kit/`",
            "`app.kubernetes.io/`",
            "`kit/tests/lead*.rs`",
            "[x](Makefile)",
            "[x](https://a/b.rs)",
            "`a/b c.rs`",
        ] {
            assert!(broken(good).is_empty(), "{good}");
        }
        assert_eq!(broken("see `kit/tests/gone.rs`"), ["README.md:1: there is no kit/tests/gone.rs"]);
        assert_eq!(broken("see `kit/tests/gone*.rs`"), ["README.md:1: there is no kit/tests/gone*.rs"]);
        assert_eq!(broken("\nsee [it](docs/gone.md#there)"), ["README.md:2: there is no docs/gone.md"]);
    }

    #[test]
    fn a_crate_that_is_not_in_the_code_map_is_found() {
        let mut files = tree("");
        assert_eq!(code_map(&files), ["ARCHITECTURE.md: `crates/kit` is not in the code map"]);
        files.push(File::new("ARCHITECTURE.md", "| `crates/kit` | x |"));
        assert!(code_map(&files).is_empty());
    }
}
