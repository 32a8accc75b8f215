//! `make bench`: see the crate's front page for how, and docs/benchmarks.md for what it found.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "tables and progress are what this program is for"
)]

use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context as _, Result, ensure};
use bench::{
    objects::Objects,
    report::Report,
    runs::{self, SEED, Subject},
};
use clap::{Parser, Subcommand};
use kit::Projection;
use serde::{Serialize, de::DeserializeOwned};

// All allocate with the same, and it gives back to the kernel what is free: resident is what is used.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Measures kit against kube_runtime.
#[derive(Parser)]
struct Args {
    /// A first look: few objects, seconds instead of minutes, no verdict.
    #[arg(long)]
    quick: bool,
    /// What cargo adds by itself.
    #[arg(long, hide = true)]
    bench: bool,
    #[command(subcommand)]
    measurement: Option<Measurement>,
}

/// One measurement, in a process of its own.
#[derive(Subcommand, Clone, Copy)]
enum Measurement {
    #[command(hide = true)]
    Memory { subject: Subject, objects: usize },
    #[command(hide = true)]
    Cost { subject: Subject, objects: usize, events: usize },
    #[command(hide = true)]
    Server { objects: usize, events: usize },
    #[command(hide = true)]
    Queues { keys: usize },
}

fn main() -> Result<ExitCode> {
    let args = Args::parse();
    match args.measurement {
        Some(measurement) => measure(measurement)?,
        None => {
            let (objects, events) = if args.quick { (5_000, 20_000) } else { (100_000, 200_000) };
            let report = measure_all(objects, events)?;
            println!("{report}");
            if !report.passes() {
                return Ok(ExitCode::FAILURE);
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// As an operator runs: on all cores, but on as many for everyone.
#[tokio::main(worker_threads = 2)]
async fn measure(measurement: Measurement) -> Result<()> {
    match measurement {
        Measurement::Memory { subject, objects } => tell(runs::memory(subject, objects).await?),
        Measurement::Cost { subject, objects, events } => tell(runs::cost(subject, objects, events).await?),
        Measurement::Server { objects, events } => tell(runs::server_cost(objects, events).await?),
        Measurement::Queues { keys } => tell(runs::throughput(keys).await),
    }
}

fn tell(measured: impl Serialize) -> Result<()> {
    println!("{}", serde_json::to_string(&measured)?);
    Ok(())
}

fn measure_all(objects: usize, events: usize) -> Result<Report> {
    let (count, changes) = (objects.to_string(), events.to_string());
    let (mut memory, mut cost) = (Vec::new(), Vec::new());
    for subject in Subject::ALL {
        // Free memory goes back at once, not in a moment: what is resident must not depend on when one looks.
        let purge = Some(("MIMALLOC_PURGE_DELAY", "0"));
        memory.push((subject, in_child(&["memory", &subject.name(), &count], purge)?));
    }
    let server = in_child(&["server", &count, &changes], None)?;
    for subject in Subject::ALL {
        cost.push((subject, in_child(&["cost", &subject.name(), &count, &changes], None)?));
    }
    let queues = in_child(&["queues", &count], None)?;
    let sample = Objects::generate(1_000, SEED);
    let sizes = (sample.mean_size(Projection::Whole), sample.mean_size(Projection::Metadata));
    Ok(Report { objects, events, sizes, memory, server, cost, queues })
}

fn in_child<T: DeserializeOwned>(measurement: &[&str], environment: Option<(&str, &str)>) -> Result<T> {
    let name = measurement.join(" ");
    eprintln!("measuring {name}");
    let mut child = Command::new(std::env::current_exe()?);
    let output = child.args(measurement).envs(environment).stderr(Stdio::inherit()).output()?;
    ensure!(output.status.success(), "{name}: {}", output.status);
    serde_json::from_slice(&output.stdout).with_context(|| format!("{name}: no result"))
}
