//! The command line.

use std::{ffi::OsString, path::Path};

use clap::{Args, Parser, Subcommand, ValueEnum};
use kit::flags::OperatorFlags;

/// Runs applications on Kubernetes as their own operators would.
#[derive(Parser)]
#[command(name = "capstan", version, propagate_version = true)]
pub(crate) struct Command {
    #[command(subcommand)]
    pub(crate) run: Run,
}

#[derive(Subcommand)]
pub(crate) enum Run {
    /// Run the controllers until stopped.
    Operator(Box<Operator>),
    /// Print what `kubectl apply -f -` takes.
    Manifests {
        #[arg(value_enum)]
        what: Manifests,
        /// The image of the operator, and of the pods that it makes from its own image.
        #[arg(long, default_value = IMAGE)]
        image: String,
    },
    /// Print a page of docs/reference.
    #[command(hide = true)]
    Reference {
        #[arg(value_enum)]
        page: Page,
    },
    /// Check files of our kinds without a cluster; one line per finding.
    Lint(crate::lint::Lint),
    /// Ask about etcd clusters, and tell them what to do.
    Etcd(crate::etcd::Etcd),
    /// Take, list, verify and fetch backups of etcd. Kubernetes is not needed for it.
    Backup(crate::backup::Backup),
    /// The application of the worked example: what its operator runs in pods.
    ExampleApp {
        #[command(flatten)]
        command: example_app::app::Command,
    },
}

/// What was typed, as clap takes it. The operator's flags may have one dash, as Go's programs have it; a person at the keyboard
/// writes as for kubectl, where `-ojson` is `-o json`. As kubectl's plugin we say what kubectl's users type.
pub(crate) fn arguments(typed: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut typed: Vec<OsString> = typed.into_iter().collect();
    if typed.get(1).is_none_or(|command| !["etcd", "lint", "backup"].iter().any(|ours| command == ours)) {
        typed = kit::flags::accept_single_dash(typed);
    }
    let program = typed
        .first_mut()
        .filter(|program| Path::new(program).file_name() == Some("kubectl-capstan".as_ref()));
    if let Some(program) = program {
        *program = "kubectl capstan".into();
    }
    typed
}

/// What `cargo xtask image` makes.
pub(crate) const IMAGE: &str = "capstan:dev";

#[derive(Debug, Args)]
pub(crate) struct Operator {
    /// The image that this operator itself is from: pods that need a program of ours get it.
    #[arg(long, env = "CAPSTAN_IMAGE", default_value = IMAGE, value_name = "IMAGE", help_heading = "Work")]
    pub(crate) image: String,

    #[command(flatten)]
    pub(crate) flags: OperatorFlags,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Manifests {
    /// All definitions: those of our kinds, and those of monitoring.coreos.com.
    Crds,
    /// The operator, without the definitions.
    Operator,
    /// The definitions of our kinds, and the operator.
    Install,
    /// The definitions of the monitoring.coreos.com kinds alone, every field explained.
    MonitoringCrds,
    /// The same without explanations.
    MonitoringCrdsSlim,
    /// Alert rules for all etcd clusters, as a PrometheusRule.
    EtcdAlerts,
    /// A Grafana dashboard for all etcd clusters.
    EtcdDashboard,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Page {
    Flags,
    Metrics,
    Etcd,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Command::command().debug_assert();
    }

    #[test]
    fn gos_flags_and_kubectls_are_both_understood() {
        let words = |line: &str| {
            arguments(line.split(' ').map(OsString::from)).join(" ".as_ref()).into_string().unwrap()
        };
        assert_eq!(
            words("/bin/capstan operator -log-level=debug"),
            "/bin/capstan operator --log-level=debug"
        );
        assert_eq!(words("capstan etcd status -ojson"), "capstan etcd status -ojson");
        assert_eq!(words("/usr/bin/kubectl-capstan etcd status"), "kubectl capstan etcd status");
    }

    #[test]
    fn as_a_plugin_help_says_what_kubectls_users_type() {
        let typed = arguments(["/usr/bin/kubectl-capstan", "etcd", "status", "--help"].map(OsString::from));
        let help = Command::try_parse_from(typed).err().unwrap().to_string();
        assert!(help.contains("Usage: kubectl capstan etcd status"), "{help}");
    }
}
