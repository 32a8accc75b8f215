//! Capstan: the operators, their manifests, and what people ask on the command line, in one binary.
//!
//! ```text
//! commands.rs ──> operator.rs      runs the controllers until it is told to stop
//!             ├─> manifests.rs     what `kubectl apply` takes: definitions, installation
//!             ├─> etcd.rs          what people ask about their etcd clusters
//!             ├─> lint.rs          what is wrong with files, before a cluster sees them
//!             ├─> backup.rs        backups of etcd: taken, listed, verified, fetched
//!             ├─> reference.rs     the generated pages of docs/reference
//!             └─> example_app::app the application of the worked example, which is in this image
//! ```

mod backup;
mod commands;
#[cfg(test)]
mod documents;
mod etcd;
mod lint;
mod look;
mod manifests;
mod operator;
mod output;
mod reference;

use std::process::ExitCode;

use clap::Parser as _;
use kit::telemetry;

use commands::{Command, Run};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Each thread keeps memory of its own: on a machine with many cores, a thread for each would break what we say about memory, and nothing
/// here has work for more.
const THREADS: usize = 4;

fn main() -> ExitCode {
    // Two libraries could each bring their own; the process has one, before anybody asks.
    rustls::crypto::aws_lc_rs::default_provider().install_default().ok();
    let Command { run } = Command::parse_from(commands::arguments(std::env::args_os()));
    let threads = std::thread::available_parallelism().map_or(1, |cores| cores.get().min(THREADS));
    match tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_all().build() {
        Ok(runtime) => runtime.block_on(perform(run)),
        Err(error) => {
            output::complain(&anyhow::Error::new(error).context("cannot start threads"));
            ExitCode::FAILURE
        }
    }
}

async fn perform(run: Run) -> ExitCode {
    let done = match run {
        Run::Operator(flags) => operator::run(flags).await,
        Run::Manifests { what, image } => manifests::print(what, &image),
        Run::Etcd(what) => return etcd::run(what).await,
        Run::Lint(what) => return lint::run(&what),
        Run::Backup(what) => return backup::run(what).await,
        Run::Reference { page } => reference::print(page),
        Run::ExampleApp { command } => return example_app(command).await,
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            output::complain(&error);
            ExitCode::FAILURE
        }
    }
}

/// The application of the worked example, with its logs on stderr.
async fn example_app(command: example_app::app::Command) -> ExitCode {
    let logs = telemetry::Options {
        service: "example-app".into(),
        format: telemetry::LogFormat::default(),
        filter: telemetry::Filter::default(),
        otlp_endpoint: None,
    };
    let _telemetry = telemetry::start(&logs);
    example_app::app::run(command).await
}
