//! The application as a process: open the data, listen, watch over the data, stop when asked.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use kit::{
    Clock,
    disk::Cache,
    quantity,
    run::Failure,
    serve::{Door, until},
};
use tokio::net::TcpListener;

use super::{
    http::{self, App},
    notes, versions,
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
    #[arg(long, default_value = "64Mi", value_parser = quantity::amount)]
    pub(super) cache: usize,
    #[arg(long = "feature", value_parser = ["exampleFeature1", "exampleFeature2"])]
    pub(super) features: Vec<String>,
}

impl Serve {
    /// The application, and where it will answer.
    pub(super) async fn bind(self, data: &Path, clock: Clock) -> Result<(TcpListener, Arc<App>), Failure> {
        let version = versions::find(&self.app_version)?;
        let door = Arc::new(Door::new("notes", self.password_file)?);
        let notes = notes::open(data, version, Cache::of(self.cache))?;
        let taken = |error| Failure::setup(format!("cannot listen on {}: {error}", self.listen));
        let listener = TcpListener::bind(self.listen).await.map_err(taken)?;
        Ok((listener, Arc::new(App { version, features: self.features, notes, door, clock })))
    }
}

/// Serves until `stop`, then finishes the requests in progress if they are quick.
pub(super) async fn run(
    (listener, app): (TcpListener, Arc<App>),
    stop: impl Future<Output = ()> + Send + 'static,
) {
    tracing::info!(address = ?listener.local_addr().ok(), version = app.version.version, "notes are served");
    let served = until(listener, http::routes(app.clone()), stop, GRACE);
    let watched = async {
        loop {
            // The start has just read everything.
            tokio::time::sleep(CHECK_EVERY).await;
            let app = app.clone();
            if let Err(error) = tokio::task::spawn_blocking(move || app.notes.check()).await {
                tracing::error!("the check of the data failed: {error}");
            }
        }
    };
    tokio::select! {
        () = served => {}
        () = watched => {}
    }
}
