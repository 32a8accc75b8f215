//! Runs the contract suite against the cluster of the current kubeconfig:
//! `cargo run -p contract --example contract -- [part of a case's name]`.
//! With `--table FILE` it also runs it against our own server, and writes both beside each other.
#![expect(clippy::print_stdout, reason = "the report is what it is run for")]

use std::{
    error::Error,
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
};

use clap::Parser;
use contract::{Case, Compact, Need, Options, Report, comparison, matching, run};
use futures::FutureExt as _;

#[derive(Parser)]
struct Arguments {
    /// Only cases whose `area/name` contains this.
    #[arg(default_value = "")]
    filter: String,
    /// A shell command that makes the server forget its past: it compacts its database and starts it anew.
    #[arg(long, value_name = "COMMAND")]
    forget: Option<String>,
    /// Where the table of both servers is.
    #[arg(long, value_name = "FILE")]
    table: Option<PathBuf>,
    /// Do not write the table; fail when it would be another.
    #[arg(long, requires = "table")]
    check: bool,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let Arguments { filter, forget, table, check } = Arguments::parse();
    let (name, real) = on_the_cluster(&filter, forget).await?;
    println!("{name}: {real}");
    let mut failed = real.failures().count();
    if let Some(table) = table {
        let ours = on_ours(&filter).await;
        println!("apiserver: {ours}");
        failed += ours.failures().count();
        write(&table, &comparison(&[(&name, &real), ("apiserver", &ours)]), check)?;
    }
    match failed {
        0 => Ok(()),
        failed => Err(format!("{failed} cases failed").into()),
    }
}

/// The cases on the real server; those that make it forget come last and alone, since that concerns all.
async fn on_the_cluster(filter: &str, forget: Option<String>) -> Result<(String, Report), Box<dyn Error>> {
    // The client must not repeat what the server refuses: refusals are what is looked at.
    let mut config = kube::Config::infer().await?;
    config.default_retry = false;
    let client = kube::Client::try_from(config)?;
    let version = client.apiserver_version().await?.git_version;
    let (alone, together): (Vec<Case>, _) =
        matching(filter).into_iter().partition(|case| case.needs.contains(&Need::Compaction));
    // Those that wait for the server's controllers come first: every other case leaves a namespace behind for them to empty.
    let (waiting, quick): (Vec<Case>, _) =
        together.into_iter().partition(|case| case.needs.contains(&Need::GarbageCollector));
    let mut report = run(waiting, &client, &Options::default()).await;
    // The others spend most of their time in waiting for an answer.
    report.rows.extend(run(quick, &client, &Options { parallel: 24, ..Options::default() }).await.rows);
    let options = Options { parallel: 1, compact: forget.map(forgetting), ..Options::default() };
    report.rows.extend(run(alone, &client, &options).await.rows);
    Ok((format!("kube-apiserver {version}"), report))
}

fn forgetting(command: String) -> Compact {
    Arc::new(move || {
        let command = command.clone();
        let done = tokio::task::spawn_blocking(move || Command::new("sh").args(["-c", &command]).status());
        async move {
            let status = done.await;
            assert!(matches!(status, Ok(Ok(status)) if status.success()), "--forget failed: {status:?}");
        }
        .boxed()
    })
}

/// Each case on a server of its own.
async fn on_ours(filter: &str) -> Report {
    let mut report = Report::default();
    for case in matching(filter) {
        let server = apiserver::Server::new();
        let compacting = server.clone();
        let compact = move || {
            compacting.compact();
            std::future::ready(()).boxed()
        };
        let options = Options { compact: Some(Arc::new(compact)), ..Options::default() };
        report.rows.extend(run(vec![case], &server.client(), &options).await.rows);
    }
    report
}

fn write(path: &Path, table: &str, check: bool) -> Result<(), Box<dyn Error>> {
    if !check {
        return Ok(fs::write(path, table)?);
    }
    if fs::read_to_string(path)? == table {
        return Ok(());
    }
    Err(format!("{} is not what was seen now; write it anew without --check", path.display()).into())
}
