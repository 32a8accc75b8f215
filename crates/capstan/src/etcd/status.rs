//! `capstan etcd status` and `members`: asked once, or watched.

use std::time::Duration;

use anyhow::Result;
use clap::Args;
use etcd_types::{EtcdCluster, MemberStatus};
use jiff::Timestamp;
use kit::Clock;
use serde_json::json;

use super::{
    Common, Said,
    healthy::Patience,
    screen::{Frame, Screen},
    server::Server,
    time, view, watch,
};
use crate::{
    look::Paint,
    output::{Output, is_terminal, say, structured},
};

#[derive(Debug, Args)]
pub(super) struct Status {
    /// The EtcdCluster.
    name: Option<String>,
    /// Of all namespaces.
    #[arg(short = 'A', long, conflicts_with_all = ["name", "namespace"])]
    all_namespaces: bool,
    /// Go on, and draw it anew when something changes.
    #[arg(short, long, conflicts_with = "output")]
    watch: bool,
    /// Go on until the cluster is healthy, has all that the spec asks for, and nothing is under way.
    #[arg(long, requires = "name", conflicts_with = "output")]
    until_healthy: bool,
    /// With --until-healthy: when to give up.
    #[arg(long, requires = "until_healthy", value_parser = time, value_name = "TIME")]
    timeout: Option<Duration>,
    #[command(flatten)]
    output: Output,
}

#[derive(Debug, Args)]
pub(super) struct Members {
    /// The EtcdCluster.
    name: String,
    /// Go on, and draw it anew when something changes.
    #[arg(short, long, conflicts_with = "output")]
    watch: bool,
    #[command(flatten)]
    output: Output,
}

pub(super) async fn run(common: &Common, asked: Status) -> Result<()> {
    let (server, paint) = (Server::of(common).await?, paint(common));
    let live = asked.watch || asked.until_healthy;
    // Asked once, also before it is watched: what cannot be had at all is said at once.
    let Some(name) = asked.name else {
        let clusters = server.list(asked.all_namespaces).await?;
        let nobody = nobody(&server, asked.all_namespaces);
        return match asked.output.output {
            _ if live => watch::all(&server, asked.all_namespaces, &nobody, Screen::new(paint)).await,
            Some(format) => structured(
                &json!({ "apiVersion": "v1", "kind": "List", "items": clusters.into_iter().map(plain).collect::<Vec<_>>() }),
                format,
            ),
            None if clusters.is_empty() => say(&format!("{nobody}\n")),
            None => lines(&view::overview(&clusters, Clock::system().now(), paint)),
        };
    };
    let cluster = server.cluster(&name).await?;
    match asked.output.output {
        _ if live => {
            let patience = asked.until_healthy.then(|| Patience::new(asked.timeout));
            watch::one(&server, &name, tree, patience, Screen::new(paint)).await
        }
        Some(format) => structured(&plain(cluster), format),
        None => lines(&view::cluster(&cluster, Clock::system().now(), paint)),
    }
}

pub(super) async fn members(common: &Common, asked: Members) -> Result<()> {
    let (server, paint) = (Server::of(common).await?, paint(common));
    let cluster = server.cluster(&asked.name).await?;
    match asked.output.output {
        _ if asked.watch => watch::one(&server, &asked.name, table, None, Screen::new(paint)).await,
        Some(format) => structured(&members_of(&cluster), format),
        None => lines(&table(&cluster, Clock::system().now(), paint).drawn),
    }
}

fn tree(cluster: &EtcdCluster, now: Timestamp, paint: Paint) -> Frame {
    Frame { drawn: view::cluster(cluster, now, paint), told: vec![view::line(cluster)] }
}

fn table(cluster: &EtcdCluster, now: Timestamp, paint: Paint) -> Frame {
    let members = members_of(cluster);
    if members.is_empty() {
        let (whom, hint) = (view::name(cluster), cluster.metadata.name.as_deref().unwrap_or_default());
        let nobody = format!("EtcdCluster {whom} has no members yet: see `capstan etcd status {hint}`");
        return Frame { drawn: vec![nobody.clone()], told: vec![nobody] };
    }
    Frame { drawn: view::table(members, now, paint), told: members.iter().map(view::member_line).collect() }
}

fn members_of(cluster: &EtcdCluster) -> &[MemberStatus] {
    cluster.status.as_ref().and_then(|status| status.members.as_deref()).unwrap_or_default()
}

/// What the API has, without what only the API server reads.
fn plain(mut cluster: EtcdCluster) -> EtcdCluster {
    cluster.metadata.managed_fields = None;
    cluster
}

fn nobody(server: &Server, everywhere: bool) -> String {
    match everywhere {
        true => "There is no EtcdCluster. examples/etcd.yaml is one.".to_owned(),
        false => format!("There is no EtcdCluster in namespace {}; -A shows those of all.", server.namespace),
    }
}

/// Colours for a person at a terminal who wants them.
pub(super) fn paint(common: &Common) -> Paint {
    Paint { colours: is_terminal() && common.no_color == Said(false) }
}

pub(super) fn lines(lines: &[String]) -> Result<()> {
    say(&format!("{}\n", lines.join("\n")))
}

#[cfg(test)]
mod tests {
    use super::{super::view::samples, *};

    #[test]
    fn a_cluster_without_members_says_so_instead_of_an_empty_table() {
        let plain = Paint { colours: false };
        let frame = table(&samples::untouched(), samples::now(), plain);
        assert_eq!(frame.drawn, ["EtcdCluster shop/db has no members yet: see `capstan etcd status db`"]);
        assert_eq!(table(&samples::healthy(), samples::now(), plain).told.len(), 3);
    }
}
