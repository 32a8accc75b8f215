//! The application as a process: open the data, listen, watch over the data, stop when asked.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use kit::{Clock, metrics::Rate, quantity, run::Failure, serve::until};
use tokio::net::TcpListener;

use super::{
    http::{self, App},
    notes::Notes,
    password::Password,
    versions,
};

/// How often the whole volume is read, so that damage is known before somebody asks for the damaged note.
const CHECK_EVERY: Duration = Duration::from_secs(10);
/// How long requests in progress may take after the stop.
const GRACE: Duration = Duration::from_millis(800);

#[derive(clap::Args)]
// The command has the same name, and clap wants one group of a name.
#[group(skip)]
pub struct Serve {
    /// Which release to be.
    #[arg(long)]
    pub(super) app_version: String,
    #[arg(long, default_value = "0.0.0.0:8080")]
    pub(super) listen: SocketAddr,
    /// Its first line is the password; a change is noticed.
    #[arg(long)]
    pub(super) password_file: PathBuf,
    /// How much memory notes may be kept in, such as 64Mi.
    #[arg(long, default_value = "64Mi", value_parser = bytes)]
    pub(super) cache: usize,
    #[arg(long = "feature", value_parser = ["exampleFeature1", "exampleFeature2"])]
    pub(super) features: Vec<String>,
}

/// An application that listens, and does not answer yet.
pub(super) struct Bound {
    pub(super) address: SocketAddr,
    pub(super) app: Arc<App>,
    listener: TcpListener,
}

impl Serve {
    pub(super) async fn bind(self, data: &Path, clock: Clock) -> Result<Bound, Failure> {
        let version = versions::find(&self.app_version)?;
        let password = Password(self.password_file);
        password.digest().map_err(Failure::setup)?;
        let notes = Notes::open(data, version, self.cache, clock)?;
        let taken = |error| Failure::setup(format!("cannot listen on {}: {error}", self.listen));
        let listener = TcpListener::bind(self.listen).await.map_err(taken)?;
        let address = listener.local_addr().map_err(taken)?;
        let app =
            Arc::new(App { version, features: self.features, notes, password, requests: Rate::default() });
        Ok(Bound { address, app, listener })
    }
}

impl Bound {
    /// Serves until `stop`, then finishes the requests in progress if they are quick.
    pub(super) async fn run(self, stop: impl Future<Output = ()> + Send + 'static) {
        tracing::info!(address = %self.address, version = self.app.version.version, "notes are served");
        let watched = watch_over(self.app.clone());
        tokio::select! {
            () = until(self.listener, http::routes(self.app), stop, GRACE) => {}
            () = watched => {}
        }
    }
}

async fn watch_over(app: Arc<App>) {
    loop {
        // The start has just read everything.
        tokio::time::sleep(CHECK_EVERY).await;
        let app = app.clone();
        if let Err(error) = tokio::task::spawn_blocking(move || app.notes.check()).await {
            tracing::error!("the check of the data failed: {error}");
        }
    }
}

/// A number of bytes as Kubernetes writes it.
fn bytes(text: &str) -> Result<usize, String> {
    let bytes = quantity::bytes(text).and_then(|bytes| usize::try_from(bytes).ok());
    bytes.ok_or_else(|| "write a number of bytes, such as 64Mi".to_owned())
}
