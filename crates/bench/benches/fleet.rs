//! `make bench`: hundreds of etcd clusters and one operator; docs/benchmarks.md has what it found.
#![allow(clippy::print_stdout, reason = "a table is what this program is for")]

use std::{
    process::{Command, ExitCode},
    time::Duration,
};

use anyhow::Result;
use bench::fleet;
use clap::Parser;

// As in the operator's own binary.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Measures one operator with many clusters.
#[derive(Parser)]
struct Args {
    /// A first look: few clusters, for a few seconds.
    #[arg(long)]
    quick: bool,
    /// What cargo adds by itself.
    #[arg(long, hide = true)]
    bench: bool,
    /// In the process that measures.
    #[arg(long, hide = true)]
    measuring: bool,
}

fn main() -> Result<ExitCode> {
    let args = Args::parse();
    if !args.measuring {
        // Free memory goes back at once: what is resident must not depend on when one looks.
        let mut child = Command::new(std::env::current_exe()?);
        let child =
            child.args(std::env::args_os().skip(1)).arg("--measuring").env("MIMALLOC_PURGE_DELAY", "0");
        return Ok(if child.status()?.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    let (clusters, rest) = if args.quick { (20, 10) } else { (500, 60) };
    let measured = fleet::measure(clusters, Duration::from_secs(rest))?;
    println!("{measured}");
    Ok(if measured.passes() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
