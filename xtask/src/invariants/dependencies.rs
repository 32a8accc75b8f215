//! Which crate may know which.

use std::{collections::BTreeSet, process::Command};

use serde_json::Value;

use crate::tree;

/// For each crate the crates of this workspace that it may depend on; tests may depend on any. Crates that are still to come
/// are here already: this is DESIGN's table.
const MAY: &[(&str, &[&str])] = &[
    ("kit", &[]),
    ("apiserver", &[]),
    ("contract", &[]),
    ("simulation", &["apiserver", "etcd-api"]),
    (
        "bench",
        &[
            "kit",
            "apiserver",
            "simulation",
            "etcd-types",
            "etcd-operator",
            "etcd-api",
            "etcd-backup",
            "lab",
            "s3",
        ],
    ),
    ("etcd-api", &[]),
    ("etcd-backup", &["etcd-api"]),
    ("etcd-types", &[]),
    ("etcd-core", &["etcd-types"]),
    ("etcd-operator", &["kit", "etcd-api", "etcd-types", "etcd-core"]),
    ("prometheus-types", &["go-syntax"]),
    ("rendering", &[]),
    ("go-syntax", &[]),
    ("promql", &["go-syntax", "rendering"]),
    ("tls-assets", &["prometheus-types", "rendering"]),
    ("prometheus-config", &["go-syntax", "prometheus-types", "rendering", "tls-assets"]),
    ("alertmanager-config", &["go-syntax", "prometheus-types", "rendering", "tls-assets"]),
    ("prometheus-rules", &["go-syntax", "prometheus-types", "promql", "rendering"]),
    ("prometheus-workloads", &["prometheus-config", "prometheus-types", "rendering", "tls-assets"]),
    ("prometheus-admission", &["alertmanager-config", "prometheus-rules", "prometheus-types", "promql"]),
    ("prometheus-operator", &["kit", "prometheus-types", "prometheus-config"]),
    ("conformance", &["skipped"]),
    (
        "conformance-run",
        &[
            "alertmanager-config",
            "conformance",
            "prometheus-admission",
            "prometheus-config",
            "prometheus-rules",
            "prometheus-workloads",
        ],
    ),
    ("example-app", &["kit"]),
    (
        "capstan",
        &[
            "kit",
            "etcd-api",
            "etcd-backup",
            "etcd-types",
            "etcd-core",
            "etcd-operator",
            "prometheus-types",
            "prometheus-config",
            "prometheus-rules",
            "prometheus-operator",
            "alertmanager-config",
            "promql",
            "rendering",
            "example-app",
            // Its schemas, no server: `capstan lint` judges files as the API server would.
            "apiserver",
        ],
    ),
    ("lab", &[]),
    ("skipped", &[]),
    ("lab-tests", &["lab"]),
    ("s3", &[]),
    // It asks `capstan` by running it: `cargo xtask lab` and the demo must not wait for the operators to compile twice.
    ("xtask", &["lab"]),
];

/// Pure crates: a function of their input, and nothing else.
const PURE: &[&str] = &["-core", "-config", "-types"];

/// What brings a runtime, a network, or chance. (Time is denied by clippy.toml: a time library is needed to name points in time.)
const IMPURE: &[&str] =
    &["tokio", "hyper", "kube-client", "kube-runtime", "reqwest", "tonic", "rand", "fastrand"];

/// A crate of the workspace, and what it depends on outside its tests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Member {
    pub(super) name: String,
    pub(super) depends: BTreeSet<String>,
}

pub(super) fn is_pure(name: &str) -> bool {
    PURE.iter().any(|end| name.ends_with(end))
}

pub(super) fn layers(members: &[Member]) -> Vec<String> {
    let ours = |name: &String| members.iter().any(|member| member.name == *name);
    let mut broken = Vec::new();
    for Member { name, depends } in members {
        let Some((_, may)) = MAY.iter().find(|(of, _)| of == name) else {
            broken.push(format!("{name}: say in `MAY` what it may depend on"));
            continue;
        };
        let not = depends.iter().filter(|on| ours(on) && !may.contains(&on.as_str()));
        broken.extend(not.map(|on| format!("{name} depends on {on}, and may not")));
    }
    broken
}

/// The ways from a crate to what it must not reach, in the output of `cargo tree --prefix depth`.
pub(super) fn impure(tree: &str) -> Vec<String> {
    let mut way: Vec<&str> = Vec::new();
    let mut broken = Vec::new();
    for line in tree.lines() {
        let Some(depth) = line.find(|c: char| !c.is_ascii_digit()) else { continue };
        let (depth, rest) = line.split_at(depth);
        way.truncate(depth.parse().unwrap_or_default());
        way.push(rest.split(' ').next().unwrap_or(rest));
        if way.last().is_some_and(|name| IMPURE.contains(name)) {
            broken.push(way.join(" → "));
        }
    }
    broken
}

/// The crates of the workspace.
pub(super) fn members() -> Vec<Member> {
    let metadata: Value =
        serde_json::from_str(&cargo(&["metadata", "--no-deps", "--format-version=1", "--offline"])).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let packages = metadata["packages"].as_array().unwrap().iter();
    let member = |package: &Value| Member {
        name: text(&package["name"]),
        depends: package["dependencies"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|dependency| dependency["kind"] != "dev")
            .map(|dependency| text(&dependency["name"]))
            .collect(),
    };
    packages.map(member).collect()
}

/// Everything that a crate brings in, with its depth.
pub(super) fn tree(name: &str) -> String {
    cargo(&["tree", "--offline", "--edges=normal", "--prefix=depth", "--package", name])
}

fn cargo(args: &[&str]) -> String {
    let output = Command::new(env!("CARGO")).args(args).current_dir(tree::root()).output().unwrap();
    assert!(output.status.success(), "cargo {}: {}", args.join(" "), String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(name: &str, depends: &[&str]) -> Member {
        Member { name: name.into(), depends: depends.iter().map(|&name| name.to_owned()).collect() }
    }

    #[test]
    fn an_operator_on_a_test_server_and_a_crate_that_nobody_knows_are_found() {
        let members = [
            member("kit", &["tokio", "apiserver"]),
            member("apiserver", &[]),
            member("simulation", &["apiserver"]),
            member("etcd-core", &["kit"]),
            member("surprise", &[]),
        ];
        assert_eq!(
            layers(&members),
            [
                "kit depends on apiserver, and may not",
                "etcd-core depends on kit, and may not",
                "surprise: say in `MAY` what it may depend on"
            ]
        );
    }

    #[test]
    fn a_pure_crate_that_reaches_a_runtime_is_found_with_the_way_there() {
        let tree = "0etcd-core v0.1.0 (/x)\n1etcd-types v0.1.0\n2kube-core v5\n1other v1\n2h2 v0.4\n3tokio v1.54 (*)\n1serde v1\n";
        assert_eq!(impure(tree), ["etcd-core → other → h2 → tokio"]);
        assert!(is_pure("etcd-core") && is_pure("prometheus-config") && !is_pure("kit"));
    }

    #[test]
    fn the_tree_of_a_crate_that_is_not_pure_says_so() {
        assert!(!impure(&tree("kit")).is_empty());
    }
}
