//! How busy the pods are: what each of them says in `/metrics`. A trait, so that tests say it instead.

use std::time::Duration;

use bytes::Bytes;
use futures::future::{BoxFuture, join_all};
use http_body_util::{BodyExt as _, Empty, Limited};
use hyper_util::{client::legacy::Client, rt::TokioExecutor};

/// The application's own figure, a moving average.
const METRIC: &str = "notes_requests_per_second ";
/// A pod that does not answer in this time says nothing this time.
const DEADLINE: Duration = Duration::from_secs(2);
/// No more is read of an answer.
const MOST: usize = 1 << 20;

/// Requests per second of pods, by their addresses.
pub trait Load: Send + Sync + 'static {
    /// Asks all of them at once; those that do not answer are left out.
    fn of(&self, addresses: Vec<String>) -> BoxFuture<'_, Vec<f64>>;
}

/// Over HTTP, on the port that the pods listen on.
#[derive(Debug, Clone, Copy, Default)]
pub struct Scrape;

impl Load for Scrape {
    fn of(&self, addresses: Vec<String>) -> BoxFuture<'_, Vec<f64>> {
        let asked = addresses.into_iter().map(|address| async move {
            tokio::time::timeout(DEADLINE, scrape(&address)).await.ok().flatten()
        });
        Box::pin(async { join_all(asked).await.into_iter().flatten().collect() })
    }
}

async fn scrape(address: &str) -> Option<f64> {
    let host = if address.contains(':') { format!("[{address}]") } else { address.to_owned() };
    let url = format!("http://{host}:{}/metrics", super::build::PORT).parse().ok()?;
    let client: Client<_, Empty<Bytes>> = Client::builder(TokioExecutor::new()).build_http();
    let answer = client.get(url).await.ok()?;
    let body = Limited::new(answer.into_body(), MOST).collect().await.ok()?.to_bytes();
    read(std::str::from_utf8(&body).ok()?)
}

fn read(metrics: &str) -> Option<f64> {
    let value: f64 = metrics.lines().find_map(|line| line.strip_prefix(METRIC))?.trim().parse().ok()?;
    value.is_finite().then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figure_is_one_line_of_many() {
        assert_eq!(
            read("# TYPE notes_requests_per_second gauge\nnotes_requests_per_second 12.5\nx 1\n"),
            Some(12.5)
        );
        assert_eq!(read("notes_requests_per_second NaN\n"), None);
        assert_eq!(read("notes_total 3\n"), None);
    }
}
