//! The application as a process: open the data, listen, watch over the data, stop when asked.

use std::{net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use futures::FutureExt as _;
use kit::Clock;
use tokio::net::TcpListener;

use super::{
    Feature,
    failure::Failure,
    http::{self, App},
    metrics::Metrics,
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
    #[arg(long)]
    pub(super) data: PathBuf,
    #[arg(long, default_value = "0.0.0.0:8080")]
    pub(super) listen: SocketAddr,
    /// Its first line is the password; a change is noticed.
    #[arg(long)]
    pub(super) password_file: PathBuf,
    /// How much memory notes may be kept in, such as 64Mi.
    #[arg(long, default_value = "64Mi", value_parser = bytes)]
    pub(super) cache: usize,
    #[arg(long = "feature")]
    pub(super) features: Vec<Feature>,
}

/// An application that listens, and does not answer yet.
pub(super) struct Bound {
    pub(super) address: SocketAddr,
    pub(super) app: Arc<App>,
    listener: TcpListener,
}

impl Serve {
    pub(super) async fn bind(self, clock: Clock) -> Result<Bound, Failure> {
        let version = versions::find(&self.app_version)?;
        let password = Password::open(&self.password_file)?;
        let notes = Notes::open(&self.data, version, self.cache, clock)?;
        let taken = |error| Failure::Setup(format!("cannot listen on {}: {error}", self.listen));
        let listener = TcpListener::bind(self.listen).await.map_err(taken)?;
        let address = listener.local_addr().map_err(taken)?;
        let app =
            Arc::new(App { version, features: self.features, notes, password, metrics: Metrics::new() });
        Ok(Bound { address, app, listener })
    }
}

impl Bound {
    /// Serves until `stop`, then finishes the requests in progress if they are quick.
    pub(super) async fn run(self, stop: impl Future<Output = ()> + Send + 'static) -> Result<(), Failure> {
        let stop = stop.shared();
        tracing::info!(address = %self.address, version = self.app.version.version, "notes are served");
        let watch = tokio::spawn(watch_over(self.app.clone()));
        let server = axum::serve(self.listener, http::routes(self.app)).with_graceful_shutdown(stop.clone());
        let served = tokio::select! {
            served = server => served.map_err(|error| Failure::Setup(error.to_string())),
            () = async { stop.await; tokio::time::sleep(GRACE).await } => Ok(()),
        };
        watch.abort();
        served
    }
}

async fn watch_over(app: Arc<App>) {
    let mut due = tokio::time::interval(CHECK_EVERY);
    // The first tick is now, and the start has just read everything.
    due.tick().await;
    loop {
        due.tick().await;
        let app = app.clone();
        if let Err(error) = tokio::task::spawn_blocking(move || app.notes.check()).await {
            tracing::error!("the check of the data failed: {error}");
        }
    }
}

/// A number of bytes as Kubernetes writes it.
fn bytes(text: &str) -> Result<usize, String> {
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let factor = match text.strip_prefix(digits) {
        Some("") => 1,
        Some("Ki") => 1 << 10,
        Some("Mi") => 1 << 20,
        Some("Gi") => 1 << 30,
        _ => return Err("write a number of bytes, with Ki, Mi or Gi if you like: 64Mi".to_owned()),
    };
    let number: usize = digits.parse().map_err(|_| "write a whole number of bytes: 64Mi".to_owned())?;
    number.checked_mul(factor).ok_or_else(|| "that is more than there is".to_owned())
}

#[cfg(test)]
mod tests {
    use super::bytes;

    #[test]
    fn a_size_is_written_as_in_kubernetes() {
        for (text, expected) in [("0", 0), ("512", 512), ("4Ki", 4096), ("64Mi", 64 << 20), ("2Gi", 2 << 30)]
        {
            assert_eq!(bytes(text), Ok(expected), "{text}");
        }
        for bad in ["", "Mi", "1.5Gi", "64MB", "-1", "99999999999Gi"] {
            assert!(bytes(bad).is_err(), "{bad}");
        }
    }
}
