//! `make bench`: backups of a real etcd against doing it by hand, and what continuous capture costs; docs/benchmarks.md has what it found.
#![allow(clippy::print_stdout, reason = "a table is what this program is for")]

use std::process::ExitCode;

use anyhow::Result;
use bench::backup::{self, Role};
use clap::Parser;

// As in our own binary.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Measures backup, restore and capture of a real etcd.
#[derive(Parser)]
struct Args {
    /// A first look: a small database, for a few seconds.
    #[arg(long)]
    quick: bool,
    /// Another size of the database, in MiB.
    #[arg(long, value_name = "MIB")]
    database: Option<u64>,
    /// How often each is measured; the median counts.
    #[arg(long)]
    rounds: Option<usize>,
    /// What cargo adds by itself.
    #[arg(long, hide = true)]
    bench: bool,
    /// In a process that is measured.
    #[command(subcommand)]
    role: Option<Role>,
}

#[tokio::main]
async fn main() -> Result<ExitCode> {
    let args = Args::parse();
    if let Some(role) = args.role {
        backup::play(role).await?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut size = if args.quick { backup::Size::QUICK } else { backup::Size::FULL };
    if let Some(mebibytes) = args.database {
        size.database = mebibytes << 20;
    }
    size.rounds = args.rounds.unwrap_or(size.rounds).max(1);
    let measured = backup::measure(size).await?;
    println!("{measured}");
    Ok(if measured.passes() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
