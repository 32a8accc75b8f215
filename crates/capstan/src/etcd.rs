//! `capstan etcd …`, also as `kubectl capstan etcd …`: what people ask about their clusters, and the little they tell them.
//!
//! ```text
//! server.rs   which API server and namespace, by kubectl's flags; what its refusals mean
//! view/       status, members, plan: from data to lines, pure; paint.rs and tree.rs say how they look
//! watch.rs    the live view: redrawn when something changes, by watches
//! plan.rs     the operator's own decision, on what the user can see
//! move_leader.rs, logs.rs, load.rs   one command each
//! ```
//!
//! Nothing here needs more than the Kubernetes API (and for `load` etcd's); nothing runs inside of pods (`pods/exec`).

mod load;
mod logs;
mod move_leader;
#[cfg(test)]
mod on_a_server;
mod plan;
mod server;
mod status;
mod view;
mod watch;

use std::{path::PathBuf, time::Duration};

use anyhow::{Result, anyhow};
use clap::{Args, Subcommand};

use crate::output::Output;

#[derive(Debug, Args)]
pub(crate) struct Etcd {
    #[command(subcommand)]
    what: What,
    #[command(flatten)]
    common: Common,
}

/// What every command takes.
#[derive(Debug, Clone, Args)]
pub(crate) struct Common {
    /// The kubeconfig file [default: $KUBECONFIG, else ~/.kube/config].
    #[arg(long, global = true, value_name = "FILE", help_heading = "Where")]
    kubeconfig: Option<PathBuf>,
    /// The kubeconfig's context [default: its current one].
    #[arg(long, global = true, value_name = "NAME", help_heading = "Where")]
    context: Option<String>,
    /// The namespace [default: the context's].
    #[arg(short, long, global = true, value_name = "NAME", help_heading = "Where")]
    namespace: Option<String>,
    /// Without colours; they are also off when NO_COLOR is set, and when nobody looks at a terminal.
    #[arg(long, global = true, env = "NO_COLOR", hide_env = true, value_parser = is_said, help_heading = "How")]
    #[arg(num_args = 0, default_missing_value = "1", default_value = "")]
    no_color: Said,
}

/// Whether a variable that means something by being there is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Said(bool);

#[expect(clippy::unnecessary_wraps, reason = "clap asks for a Result")]
fn is_said(value: &str) -> Result<Said, String> {
    Ok(Said(!value.is_empty()))
}

#[derive(Debug, Subcommand)]
enum What {
    /// How a cluster is, what is being done about it, and why. Without a name, all of the namespace.
    Status(Status),
    /// What the operator would do next, and why; with a file, what it would do if that were applied.
    Plan {
        /// The EtcdCluster.
        #[arg(required_unless_present = "file")]
        name: Option<String>,
        /// An EtcdCluster that is not applied yet; `-` reads it from standard input.
        #[arg(short, long, value_name = "FILE", conflicts_with = "name")]
        file: Option<PathBuf>,
        #[command(flatten)]
        output: Output,
    },
    /// The members of a cluster, as a table.
    Members {
        /// The EtcdCluster.
        name: String,
        #[command(flatten)]
        output: Output,
    },
    /// Let another member lead.
    MoveLeader {
        /// The EtcdCluster.
        name: String,
        /// Who is to lead [default: a member that serves].
        #[arg(long, value_name = "MEMBER")]
        to: Option<String>,
        /// How long to wait for it.
        #[arg(long, default_value = "30s", value_parser = time, value_name = "TIME")]
        timeout: Duration,
    },
    /// What the members log: all of them, or one.
    Logs {
        /// The EtcdCluster.
        name: String,
        /// The member, such as db-1.
        member: Option<String>,
        /// Go on as they write, also through restarts.
        #[arg(short, long)]
        follow: bool,
        /// Only the last lines of each.
        #[arg(long, value_name = "LINES")]
        tail: Option<i64>,
        /// What was logged before the last restart of the container.
        #[arg(short, long, conflicts_with = "follow")]
        previous: bool,
    },
    /// Write and read all the time, check the answers, and count what fails: to see what an upgrade or a failure does to clients.
    /// It talks to etcd itself, so it runs where etcd can be reached: in a pod.
    Load(load::Load),
}

#[derive(Debug, Args)]
struct Status {
    /// The EtcdCluster.
    name: Option<String>,
    /// Of all namespaces.
    #[arg(short = 'A', long, conflicts_with_all = ["name", "namespace"])]
    all_namespaces: bool,
    /// Go on, and draw it anew when something changes.
    #[arg(short, long, conflicts_with = "output")]
    watch: bool,
    /// Go on until the cluster is healthy and nothing is under way.
    #[arg(long, requires = "name", conflicts_with = "output")]
    until_healthy: bool,
    /// With --until-healthy: when to give up.
    #[arg(long, requires = "until_healthy", value_parser = time, value_name = "TIME")]
    timeout: Option<Duration>,
    #[command(flatten)]
    output: Output,
}

fn time(text: &str) -> Result<Duration> {
    etcd_core::text::duration(text).ok_or_else(|| anyhow!("no time such as 30s or 5m"))
}

pub(crate) async fn run(etcd: Etcd) -> Result<()> {
    let Etcd { what, common } = etcd;
    match what {
        What::Status(status) => status::run(&common, status).await,
        What::Members { name, output } => status::members(&common, &name, output).await,
        What::Plan { name, file, output } => plan::run(&common, name, file, output).await,
        What::MoveLeader { name, to, timeout } => move_leader::run(&common, &name, to, timeout).await,
        What::Logs { name, member, follow, tail, previous } => {
            logs::run(&common, &name, member, logs::Lines { follow, tail, previous }).await
        }
        What::Load(load) => load::run(load).await,
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        etcd: Etcd,
    }

    fn parse(line: &str) -> Result<Etcd, clap::Error> {
        Line::try_parse_from(format!("capstan {line}").split(' ')).map(|line| line.etcd)
    }

    #[test]
    fn flags_stand_where_kubectls_users_put_them() {
        for line in [
            "status -n shop db",
            "-n shop status db",
            "status db -nshop -ojson",
            "status -A --watch",
            "status db --until-healthy --timeout 5m",
            "members db -o yaml --context prod --kubeconfig /k",
            "plan -f -",
            "logs db db-1 -f --tail 10",
            "move-leader db --to db-2",
        ] {
            assert!(parse(line).is_ok(), "{line}: {}", parse(line).unwrap_err());
        }
        for line in
            ["status -A -n shop", "status --until-healthy", "plan", "status db -o wide", "move-leader"]
        {
            assert!(parse(line).is_err(), "{line}");
        }
        assert_eq!(parse("-n shop status db").unwrap().common.namespace.as_deref(), Some("shop"));
    }

    #[test]
    fn colours_are_off_when_a_variable_of_any_content_says_so() {
        assert_eq!(is_said("0"), Ok(Said(true)));
        assert_eq!(is_said(""), Ok(Said(false)));
        assert_eq!(parse("status").unwrap().common.no_color, Said(false));
        assert_eq!(parse("status --no-color").unwrap().common.no_color, Said(true));
    }
}
