//! Documents tell the truth: every `capstan` command that they name can be given. Tests only.

use clap::Parser as _;

use crate::commands::{Command, arguments};

#[path = "../../../xtask/src/markdown.rs"]
mod markdown;

/// The words of a command of ours, from where it begins; nothing for other text, and for programs that are only named.
fn command(code: &str) -> Option<Vec<&str>> {
    let code = code.split(" #").next()?.trim().trim_start_matches("$ ");
    let code = code.strip_prefix("kubectl ").filter(|rest| rest.starts_with("capstan ")).unwrap_or(code);
    let words: Vec<&str> = code.split_whitespace().collect();
    (words.first() == Some(&"capstan") && words.len() > 1 && !code.contains(['…', '|', '<'])).then_some(words)
}

fn commands(text: &str) -> impl Iterator<Item = Vec<&str>> {
    markdown::code(text).into_iter().filter_map(|(_, code)| command(code))
}

#[test]
fn every_command_of_ours_in_the_documents_exists() {
    let documents = [
        "README.md",
        "docs/etcd.md",
        "docs/etcd-backup.md",
        "docs/kit.md",
        "crates/example-app/README.md",
        "CONTRIBUTING.md",
    ];
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = 0;
    for document in documents {
        let text = std::fs::read_to_string(root.join(document)).unwrap();
        for words in commands(&text) {
            let typed = arguments(words.iter().map(Into::into));
            if let Err(error) = Command::try_parse_from(typed) {
                let asked = matches!(
                    error.kind(),
                    clap::error::ErrorKind::DisplayHelp
                        | clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
                        | clap::error::ErrorKind::DisplayVersion
                );
                assert!(asked, "{document}: `{}`: {error}", words.join(" "));
            }
            found += 1;
        }
    }
    assert!(found > 10, "only {found} commands were looked at");
}

#[test]
fn commands_are_found_wherever_they_are_code() {
    let all = |text: &str| commands(text).map(|words| words.join(" ")).collect::<Vec<_>>();
    assert_eq!(all("see `capstan etcd status` and `capstan`"), ["capstan etcd status"]);
    assert_eq!(all("    kubectl capstan etcd plan db  # why\n"), ["capstan etcd plan db"]);
    assert_eq!(all("```\n$ capstan etcd logs db\n```\ncapstan runs etcd"), ["capstan etcd logs db"]);
}
