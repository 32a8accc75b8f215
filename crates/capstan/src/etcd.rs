//! `capstan etcd …`, also as `kubectl capstan etcd …`: what people ask about their clusters, and the little they tell them.
//!
//! ```text
//! server.rs   which API server and namespace, by kubectl's flags; what its refusals mean
//! view/       status, members, plan: from data to lines, pure; tree.rs says how they hang together
//! watch.rs    the live view: redrawn when something changes, by watches; screen.rs is where
//! healthy.rs  what --until-healthy waits for, and when that is in vain
//! plan.rs     the operator's own decision, on what the user can see
//! status.rs, move_leader.rs, logs.rs, load.rs   what each command takes and does; help.rs has their examples
//! ending.rs   exit codes, and who stopped it
//! ```
//!
//! Nothing here needs more than the Kubernetes API (and for `load` etcd's); nothing runs inside of pods (`pods/exec`).

mod ending;
mod healthy;
mod help;
mod load;
mod logs;
mod move_leader;
#[cfg(test)]
mod on_a_server;
mod plan;
mod screen;
mod server;
mod status;
mod view;
mod watch;

use std::{path::PathBuf, process::ExitCode, time::Duration};

use anyhow::{Result, anyhow};
use clap::{Args, Subcommand};

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
    #[command(after_help = help::STATUS)]
    Status(status::Status),
    /// What the operator would do next, and why; with a file, what it would do if that were applied.
    #[command(after_help = help::PLAN)]
    Plan(plan::Asked),
    /// The members of a cluster, as a table.
    #[command(after_help = help::MEMBERS)]
    Members(status::Members),
    /// Let another member lead.
    #[command(after_help = help::MOVE_LEADER)]
    MoveLeader(move_leader::MoveLeader),
    /// What the members log: all of them, or one.
    #[command(after_help = help::LOGS)]
    Logs(logs::Asked),
    /// Write and read all the time, check the answers, and count what fails: to see what an upgrade or a failure does to clients.
    /// It talks to etcd itself, so it runs where etcd can be reached: in a pod.
    #[command(after_help = help::LOAD)]
    Load(load::Load),
}

fn time(text: &str) -> Result<Duration> {
    etcd_core::text::duration(text).ok_or_else(|| anyhow!("no time such as 30s or 5m"))
}

/// Runs it, and tells how it ended with the exit code, too: see [`ending`].
pub(crate) async fn run(Etcd { what, common }: Etcd) -> ExitCode {
    ending::code(match what {
        What::Status(asked) => status::run(&common, asked).await,
        What::Members(asked) => status::members(&common, asked).await,
        What::Plan(asked) => plan::run(&common, asked).await,
        What::MoveLeader(asked) => move_leader::run(&common, asked).await,
        What::Logs(asked) => logs::run(&common, asked).await,
        What::Load(load) => load::run(load).await,
    })
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
            "logs db --since 1h30m --timestamps",
            "move-leader db --to db-2 -ojson",
            "members db -w",
            "plan db --watch",
        ] {
            assert!(parse(line).is_ok(), "{line}: {}", parse(line).unwrap_err());
        }
        for line in [
            "status -A -n shop",
            "status --until-healthy",
            "plan",
            "plan -f a.yaml --watch",
            "members db --watch -o json",
            "status db -o wide",
            "move-leader",
            "logs db --since yesterday",
            "logs db --tail=-1",
        ] {
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
