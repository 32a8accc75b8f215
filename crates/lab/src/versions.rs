//! Every program that the lab builds, at which version, and how: the one table to read and to change.
//!
//! A component is a Go module directory of ours below `crates/lab/go` that requires the real program at an exact version
//! (`crates/lab/go/pin` writes one). Its go.mod and go.sum pin and verify everything beneath; this table names what is built from it.
//!
//! Invariant: every row has its directory, and that directory's go.mod requires exactly the row's versions.

use std::path::{Path, PathBuf};

use crate::{Error, Result};

/// One Go module directory and what is built from it.
#[derive(Debug)]
pub struct Component {
    pub name: &'static str,
    pub version: &'static str,
    directory: &'static str,
    /// Module and version, as go.mod has to require them.
    #[cfg_attr(not(test), expect(dead_code, reason = "a test compares every go.mod with it"))]
    requires: &'static [(&'static str, &'static str)],
    pub(crate) builds: &'static [Build],
    /// Go's build tags, joined by commas.
    pub(crate) tags: &'static str,
}

/// What one `go build` makes. Packages in the same one share the time that the toolchain takes to look at them.
#[derive(Debug)]
pub(crate) struct Build {
    /// Main package and the name of the program that it becomes.
    pub(crate) programs: &'static [(&'static str, &'static str)],
    /// Variables that the linker sets; `{version}`, `{major}`, `{minor}` are the component's. No spaces: the linker stops at them.
    pub(crate) variables: &'static [(&'static str, &'static str)],
}

/// Applications that run in the cluster, each built and made an image when first asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operand {
    Etcd,
    Prometheus,
    Alertmanager,
    Thanos,
}

/// Programs that judge what we generate for an application. No image is made of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tool {
    Promtool,
    Amtool,
}

/// Newest first: the first row is the default. The control plane's etcd is built in the same module, at the version of its client
/// library there: it compiles few packages more.
///
/// | Kubernetes | why this one |
/// |---|---|
/// | 1.36.3 | 1.36.5 is not in the checksum database |
/// | 1.34.4 | the oldest that users still run whose staging modules are all served |
const KUBERNETES: &[Component] = &[
    kubernetes(
        "1.36.3",
        "kubernetes-1.36",
        &[("k8s.io/kubernetes", "v1.36.3"), ("go.etcd.io/etcd/server/v3", "v3.6.8")],
    ),
    kubernetes(
        "1.34.4",
        "kubernetes-1.34",
        &[("k8s.io/kubernetes", "v1.34.4"), ("go.etcd.io/etcd/server/v3", "v3.6.4")],
    ),
];

/// The cluster's DNS, of every version of Kubernetes. Its module is that of the newest one, whose dependencies it does not raise: the
/// two of them share most packages.
pub(crate) const COREDNS: Component = Component {
    name: "coredns",
    version: "1.14.1",
    directory: "kubernetes-1.36",
    requires: &[("github.com/coredns/coredns", "v1.14.1")],
    builds: &[Build { programs: &[("./coredns", "coredns")], variables: &[] }],
    tags: "",
};

/// Newest patch of every minor that users run, and one older patch of 3.5 and 3.6 to upgrade from.
/// All three programs must be served at the same version, which 3.5.22–.32 and 3.6.9, .12, .13 are not.
const ETCD: &[Component] = &[
    etcd("3.7.3", "etcd-3.7.3", &etcd_modules("v3.7.3")),
    etcd("3.6.16", "etcd-3.6.16", &etcd_modules("v3.6.16")),
    etcd("3.6.8", "etcd-3.6.8", &etcd_modules("v3.6.8")),
    etcd("3.5.35", "etcd-3.5.35", &etcd_modules("v3.5.35")),
    etcd("3.5.21", "etcd-3.5.21", &etcd_modules("v3.5.21")),
];

/// As Go modules their major version is 0: 3.15.0 is v0.315.0, 2.53.4 is v0.53.4. The web page is not in the module: `/` answers 500.
const PROMETHEUS: &[Component] = &[
    prometheus("3.15.0", "prometheus-3.15.0", &[("github.com/prometheus/prometheus", "v0.315.0")], ""),
    prometheus(
        "2.53.4",
        "prometheus-2.53.4",
        &[("github.com/prometheus/prometheus", "v0.53.4")],
        "stringlabels",
    ),
];

/// Prometheus' own checker. Not every version is served, so these stand for their neighbours: the oldest minors that are supported,
/// the last of each long-term line, the newest.
const PROMTOOL: &[Component] = &[
    promtool("3.15.0", "prometheus-3.15.0", &[("github.com/prometheus/prometheus", "v0.315.0")]),
    promtool("3.5.1", "prometheus-3.5.1", &[("github.com/prometheus/prometheus", "v0.305.1")]),
    promtool("2.53.4", "prometheus-2.53.4", &[("github.com/prometheus/prometheus", "v0.53.4")]),
    promtool("2.47.2", "prometheus-2.47.2", &[("github.com/prometheus/prometheus", "v0.47.2")]),
];

/// Alertmanager's own checker; unlike Alertmanager it needs no web page to compile.
const AMTOOL: &[Component] = &[
    amtool("0.34.2", "alertmanager-0.34.2", &[("github.com/prometheus/alertmanager", "v0.34.2")]),
    amtool("0.31.1", "alertmanager-0.31.1", &[("github.com/prometheus/alertmanager", "v0.31.1")]),
    amtool("0.27.0", "alertmanager-0.27.0", &[("github.com/prometheus/alertmanager", "v0.27.0")]),
];

/// 0.31 is the last one with its web page in the module; 0.32 does not even compile without.
const ALERTMANAGER: &[Component] = &[Component {
    name: "alertmanager",
    version: "0.31.1",
    directory: "alertmanager-0.31.1",
    requires: &[("github.com/prometheus/alertmanager", "v0.31.1")],
    builds: &[Build {
        programs: &[
            ("github.com/prometheus/alertmanager/cmd/alertmanager", "alertmanager"),
            ("github.com/prometheus/alertmanager/cmd/amtool", "amtool"),
        ],
        variables: PROMETHEUS_VERSION,
    }],
    tags: "",
}];

/// 0.42.5 wants a Go toolchain newer than all the others.
const THANOS: &[Component] = &[Component {
    name: "thanos",
    version: "0.42.4",
    directory: "thanos-0.42.4",
    requires: &[("github.com/thanos-io/thanos", "v0.42.4")],
    builds: &[Build {
        programs: &[("github.com/thanos-io/thanos/cmd/thanos", "thanos")],
        variables: PROMETHEUS_VERSION,
    }],
    tags: "",
}];

/// A Google Cloud Storage for the tests of backups: `gcs` is a program of ours around fake-gcs-server, which knows Google's XML API by half.
/// The tag leaves out what the client in the same module would need for gRPC: 140 packages of 700.
pub(crate) const GCS: Component = Component {
    name: "fake-gcs-server",
    version: "1.56.1",
    directory: "fake-gcs-server-1.56.1",
    requires: &[("github.com/fsouza/fake-gcs-server", "v1.56.1")],
    builds: &[Build { programs: &[("./gcs", "gcs")], variables: &[] }],
    tags: "disable_grpc_modules",
};

/// What the Prometheus family prints as its version; without it, nothing.
const PROMETHEUS_VERSION: &[(&str, &str)] = &[
    ("github.com/prometheus/common/version.Version", "{version}"),
    ("github.com/prometheus/common/version.Branch", "v{version}"),
    ("github.com/prometheus/common/version.Revision", "go-module"),
];

const fn kubernetes(
    version: &'static str,
    directory: &'static str,
    requires: &'static [(&'static str, &'static str)],
) -> Component {
    const BUILDS: &[Build] = &[Build {
        programs: &[
            ("k8s.io/kubernetes/cmd/kube-apiserver", "kube-apiserver"),
            ("k8s.io/kubernetes/cmd/kube-controller-manager", "kube-controller-manager"),
            ("k8s.io/kubernetes/cmd/kube-scheduler", "kube-scheduler"),
            ("k8s.io/kubernetes/cmd/kubelet", "kubelet"),
            ("k8s.io/kubernetes/cmd/kube-proxy", "kube-proxy"),
            ("k8s.io/kubernetes/cmd/kubectl", "kubectl"),
            ("go.etcd.io/etcd/server/v3", "etcd"),
        ],
        // Without these every program says v0.0.0-master.
        variables: &[
            ("k8s.io/component-base/version.gitVersion", "v{version}"),
            ("k8s.io/component-base/version.gitMajor", "{major}"),
            ("k8s.io/component-base/version.gitMinor", "{minor}"),
            ("k8s.io/component-base/version.gitTreeState", "archive"),
            ("k8s.io/component-base/version.gitCommit", "go-module"),
            ("k8s.io/client-go/pkg/version.gitVersion", "v{version}"),
            ("k8s.io/client-go/pkg/version.gitMajor", "{major}"),
            ("k8s.io/client-go/pkg/version.gitMinor", "{minor}"),
            ("k8s.io/client-go/pkg/version.gitTreeState", "archive"),
            ("k8s.io/client-go/pkg/version.gitCommit", "go-module"),
        ],
    }];
    Component { name: "kubernetes", version, directory, requires, builds: BUILDS, tags: "" }
}

const fn etcd(
    version: &'static str,
    directory: &'static str,
    requires: &'static [(&'static str, &'static str)],
) -> Component {
    const BUILDS: &[Build] = &[Build {
        programs: &[
            ("go.etcd.io/etcd/server/v3", "etcd"),
            ("go.etcd.io/etcd/etcdctl/v3", "etcdctl"),
            ("go.etcd.io/etcd/etcdutl/v3", "etcdutl"),
        ],
        variables: &[("go.etcd.io/etcd/api/v3/version.GitSHA", "go-module")],
    }];
    Component { name: "etcd", version, directory, requires, builds: BUILDS, tags: "" }
}

const fn etcd_modules(version: &'static str) -> [(&'static str, &'static str); 3] {
    [
        ("go.etcd.io/etcd/server/v3", version),
        ("go.etcd.io/etcd/etcdctl/v3", version),
        ("go.etcd.io/etcd/etcdutl/v3", version),
    ]
}

const fn prometheus(
    version: &'static str,
    directory: &'static str,
    requires: &'static [(&'static str, &'static str)],
    tags: &'static str,
) -> Component {
    const BUILDS: &[Build] = &[Build {
        programs: &[
            ("github.com/prometheus/prometheus/cmd/prometheus", "prometheus"),
            ("github.com/prometheus/prometheus/cmd/promtool", "promtool"),
        ],
        variables: PROMETHEUS_VERSION,
    }];
    Component { name: "prometheus", version, directory, requires, builds: BUILDS, tags }
}

const fn promtool(
    version: &'static str,
    directory: &'static str,
    requires: &'static [(&'static str, &'static str)],
) -> Component {
    const BUILDS: &[Build] = &[Build {
        programs: &[("github.com/prometheus/prometheus/cmd/promtool", "promtool")],
        variables: PROMETHEUS_VERSION,
    }];
    Component { name: "promtool", version, directory, requires, builds: BUILDS, tags: "" }
}

const fn amtool(
    version: &'static str,
    directory: &'static str,
    requires: &'static [(&'static str, &'static str)],
) -> Component {
    const BUILDS: &[Build] = &[Build {
        programs: &[("github.com/prometheus/alertmanager/cmd/amtool", "amtool")],
        variables: PROMETHEUS_VERSION,
    }];
    Component { name: "amtool", version, directory, requires, builds: BUILDS, tags: "" }
}

impl Tool {
    pub const ALL: [Self; 2] = [Self::Promtool, Self::Amtool];

    /// Newest first.
    pub fn versions(self) -> &'static [Component] {
        match self {
            Self::Promtool => PROMTOOL,
            Self::Amtool => AMTOOL,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Promtool => "promtool",
            Self::Amtool => "amtool",
        }
    }
}

impl Operand {
    pub const ALL: [Self; 4] = [Self::Etcd, Self::Prometheus, Self::Alertmanager, Self::Thanos];

    /// Newest first.
    pub fn versions(self) -> &'static [Component] {
        match self {
            Self::Etcd => ETCD,
            Self::Prometheus => PROMETHEUS,
            Self::Alertmanager => ALERTMANAGER,
            Self::Thanos => THANOS,
        }
    }

    /// The name that users' manifests have, without its tag. Nothing is pulled: the image is made here and carries that name.
    pub fn image(self) -> &'static str {
        match self {
            Self::Etcd => "quay.io/coreos/etcd",
            Self::Prometheus => "quay.io/prometheus/prometheus",
            Self::Alertmanager => "quay.io/prometheus/alertmanager",
            Self::Thanos => "quay.io/thanos/thanos",
        }
    }

    /// The operand's component at `version`: exact, or a minor such as `3.6`, of which the newest here is taken.
    pub fn at(self, version: &str) -> Result<&'static Component> {
        find(self.versions(), version)
    }
}

/// Kubernetes at `version`: exact, or a minor such as `1.36`.
pub fn kubernetes_at(version: &str) -> Result<&'static Component> {
    find(KUBERNETES, version)
}

/// What `lab up` takes when nobody says otherwise.
pub const DEFAULT_KUBERNETES: &str = "1.36.3";

pub(crate) fn find(rows: &'static [Component], version: &str) -> Result<&'static Component> {
    let wanted = version.strip_prefix('v').unwrap_or(version);
    let minor = format!("{wanted}.");
    let row = rows
        .iter()
        .find(|row| row.version == wanted)
        .or_else(|| rows.iter().find(|row| row.version.starts_with(&minor)));
    row.ok_or_else(|| Error::UnknownVersion {
        component: rows.first().map(|row| row.name).unwrap_or_default().into(),
        version: version.into(),
        known: rows.iter().map(|row| row.version).collect::<Vec<_>>().join(", "),
    })
}

impl Component {
    /// The Go module directory of ours.
    pub(crate) fn directory(&self) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("go").join(self.directory)
    }

    pub(crate) fn programs(&self) -> impl Iterator<Item = &'static str> {
        self.builds.iter().flat_map(|build| build.programs).map(|(_, program)| *program)
    }

    /// What the linker is told: no symbol tables, and the variables of `build`.
    pub(crate) fn ldflags(&self, build: &Build) -> String {
        let mut numbers = self.version.split('.');
        let (major, minor) = (numbers.next().unwrap_or_default(), numbers.next().unwrap_or_default());
        let filled = |text: &str| {
            text.replace("{version}", self.version).replace("{major}", major).replace("{minor}", minor)
        };
        let set = build.variables.iter().map(|(variable, value)| format!(" -X {variable}={}", filled(value)));
        format!("-s -w{}", set.collect::<String>())
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs};

    use super::*;

    fn rows() -> impl Iterator<Item = &'static Component> {
        let tools = Tool::ALL.into_iter().flat_map(Tool::versions);
        let operands = Operand::ALL.into_iter().flat_map(Operand::versions);
        KUBERNETES.iter().chain(operands).chain(tools).chain([&COREDNS, &GCS])
    }

    #[test]
    fn every_row_has_its_module_directory_and_go_mod_requires_exactly_its_versions() {
        for row in rows() {
            let text = fs::read_to_string(row.directory().join("go.mod")).expect(row.directory);
            assert!(row.directory().join("go.sum").is_file(), "{}: no go.sum", row.directory);
            let required: BTreeSet<&str> = text
                .lines()
                .map(|line| line.trim().trim_start_matches("require ").trim_end_matches(" // indirect"))
                .collect();
            for (module, version) in row.requires {
                let line = format!("{module} {version}");
                assert!(
                    required.contains(line.as_str()),
                    "{}: go.mod does not require {line}",
                    row.directory
                );
            }
        }
    }

    #[test]
    fn every_module_directory_has_its_row() {
        let go = Path::new(env!("CARGO_MANIFEST_DIR")).join("go");
        let directories = fs::read_dir(go).unwrap().map(Result::unwrap).filter(|entry| entry.path().is_dir());
        let there: BTreeSet<String> =
            directories.map(|entry| entry.file_name().into_string().unwrap()).collect();
        let named: BTreeSet<String> = rows().map(|row| row.directory.to_owned()).collect();
        assert_eq!(there, named);
    }

    #[test]
    fn the_version_in_the_module_is_the_version_of_the_row() {
        for row in rows() {
            let (_, module) = row.requires.first().unwrap();
            let numbers: Vec<&str> = row.version.split('.').collect();
            let expected = match (row.name, &numbers[..]) {
                ("prometheus" | "promtool", ["2", minor, patch]) => format!("v0.{minor}.{patch}"),
                ("prometheus" | "promtool", [major, minor, patch]) => {
                    format!("v0.{major}{minor:0>2}.{patch}")
                }
                _ => format!("v{}", row.version),
            };
            assert_eq!(*module, expected, "{} {}", row.name, row.version);
        }
    }

    #[test]
    fn a_version_is_found_exactly_or_by_its_minor_and_else_the_message_says_which_there_are() {
        let found = |version: &str| {
            Operand::Etcd.at(version).map(|row| row.version).map_err(|error| error.to_string())
        };
        assert_eq!(found("3.6.8").unwrap(), "3.6.8");
        assert_eq!(found("v3.6").unwrap(), "3.6.16");
        assert_eq!(found("3.5").unwrap(), "3.5.35");
        assert_eq!(
            found("3.4.1").unwrap_err(),
            "no etcd 3.4.1 here: there are 3.7.3, 3.6.16, 3.6.8, 3.5.35, 3.5.21; \
             add one with crates/lab/go/pin and a row in versions.rs"
        );
        assert_eq!(kubernetes_at(DEFAULT_KUBERNETES).unwrap().version, KUBERNETES[0].version);
        assert_eq!(kubernetes_at("1.3").map(|row| row.version).ok(), None, "1.3 is not 1.36");
    }

    #[test]
    fn the_linker_is_told_the_version() {
        let row = kubernetes_at("1.36").unwrap();
        let flags = row.ldflags(&row.builds[0]);
        assert!(flags.starts_with("-s -w -X k8s.io/component-base/version.gitVersion=v1.36.3 "), "{flags}");
        assert!(flags.contains(" -X k8s.io/client-go/pkg/version.gitMinor=36 "), "{flags}");
    }
}
