//! Runs the contract suite against the cluster of the current kubeconfig:
//! `cargo run -p contract --example contract -- [part of a case's name]`.
#![expect(clippy::print_stdout, reason = "the report is what it is run for")]

use std::error::Error;

use contract::{Options, matching, run};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let filter = std::env::args().nth(1).unwrap_or_default();
    // The client must not repeat what the server refuses: refusals are what is looked at.
    let mut config = kube::Config::infer().await?;
    config.default_retry = false;
    let client = kube::Client::try_from(config)?;
    let report = run(matching(&filter), &client, &Options::default()).await;
    println!("{report}");
    match report.failures().count() {
        0 => Ok(()),
        failed => Err(format!("{failed} cases failed").into()),
    }
}
