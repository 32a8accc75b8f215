//! `make bench`: see the crate's front page, and docs/benchmarks.md for what it found.

use anyhow::Result;
use bench::runs::{self, Subject};
use clap::Parser;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[derive(Parser)]
struct Args {
    #[arg(long)]
    what: String,
    #[arg(long)]
    subject: Option<Subject>,
    #[arg(long, default_value_t = 100_000)]
    objects: usize,
    #[arg(long, default_value_t = 200_000)]
    events: usize,
    #[arg(long, hide = true)]
    bench: bool,
}

#[tokio::main(worker_threads = 2)]
async fn main() -> Result<()> {
    let args = Args::parse();
    match (&*args.what, args.subject) {
        ("memory", Some(s)) => eprintln!("{:?}", runs::memory(s, args.objects).await?),
        ("cost", s) => eprintln!("{:?}", runs::cost(s, args.objects, args.events).await?),
        _ => eprintln!("{:?}", runs::throughput(args.objects).await),
    }
    Ok(())
}
