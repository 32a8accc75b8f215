//! What ARCHITECTURE.md promises of the tree, as tests.
//!
//! A rule is data and one function that returns what breaks it, in words. Beside each rule is a test in which it fails: a check that
//! cannot fail is none.

mod dependencies;
mod documents;
mod makefile;
mod skipping;
mod sources;
mod waiting;

use crate::tree::{File, files};

type Rule = fn(&[File]) -> Vec<String>;

const RULES: &[(&str, Rule)] = &[
    ("a source file opens with what it is for", sources::purpose),
    ("files are short", sources::length),
    ("names come from the domain", sources::names),
    ("downloads are named, and come from where the machine is told to get them", sources::registries),
    ("no test is ignored", waiting::ignored),
    ("no test returns early without being reported as skipped", skipping::silent),
    ("no test waits for a wall clock", waiting::sleeping),
    ("every target of the Makefile is in its help", makefile::help),
    ("every command in the documents exists", documents::commands),
    ("every file that the documents name exists", documents::paths),
    ("every crate is in the code map", documents::code_map),
];

fn demand_nothing(rule: &str, broken: &[String]) {
    assert!(broken.is_empty(), "{rule}; but not here:\n  {}", broken.join("\n  "));
}

#[test]
fn the_tree_keeps_its_rules() {
    let files = files();
    let mut broken = Vec::new();
    for (rule, find) in RULES {
        broken.extend(find(&files).iter().map(|place| format!("{place}\n    rule: {rule}")));
    }
    demand_nothing("ARCHITECTURE.md lists the rules of the tree", &broken);
}

#[test]
fn crates_depend_only_on_what_they_may() {
    let members = dependencies::members();
    demand_nothing("a crate depends on the crates that `MAY` lists for it", &dependencies::layers(&members));
    for member in members.iter().filter(|member| dependencies::is_pure(&member.name)) {
        let tree = dependencies::tree(&member.name);
        demand_nothing("a pure crate has no client, no runtime and no chance", &dependencies::impure(&tree));
    }
}
