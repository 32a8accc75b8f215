//! `capstan etcd status` and `members`: asked once, or watched.

use anyhow::Result;
use etcd_types::EtcdCluster;
use kit::Clock;
use serde_json::json;

use super::{Common, Said, Status, server::Server, view, watch};
use crate::{
    look::Paint,
    output::{Output, is_terminal, say, structured},
};

pub(super) async fn run(common: &Common, asked: Status) -> Result<()> {
    let server = Server::of(common).await?;
    if asked.watch || asked.until_healthy {
        let until = asked.until_healthy.then_some(watch::UntilHealthy { patience: asked.timeout });
        return watch::run(&server, asked.name.as_deref(), asked.all_namespaces, until, paint(common)).await;
    }
    let Some(name) = asked.name else {
        let clusters = server.list(asked.all_namespaces).await?;
        return match asked.output.output {
            Some(format) => structured(
                &json!({ "apiVersion": "v1", "kind": "List", "items": clusters.into_iter().map(plain).collect::<Vec<_>>() }),
                format,
            ),
            None if clusters.is_empty() => say(&format!("{}\n", nobody(&server, asked.all_namespaces))),
            None => lines(&view::overview(&clusters, Clock::system().now(), paint(common))),
        };
    };
    let cluster = server.cluster(&name).await?;
    match asked.output.output {
        Some(format) => structured(&plain(cluster), format),
        None => lines(&view::cluster(&cluster, Clock::system().now(), paint(common))),
    }
}

pub(super) async fn members(common: &Common, name: &str, output: Output) -> Result<()> {
    let cluster = Server::of(common).await?.cluster(name).await?;
    let members = cluster.status.unwrap_or_default().members.unwrap_or_default();
    match output.output {
        Some(format) => structured(&members, format),
        None => lines(&view::table(&members, Clock::system().now(), paint(common))),
    }
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
