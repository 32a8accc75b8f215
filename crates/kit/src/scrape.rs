//! One figure of an application, as its pod says it in `/metrics`: for decisions that need no Prometheus.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Empty, Limited};
use hyper_util::{client::legacy::Client, rt::TokioExecutor};

/// A pod that does not answer in this time says nothing.
const DEADLINE: Duration = Duration::from_secs(2);
/// No more is read of an answer.
const MOST: usize = 1 << 20;

/// The value of `metric`, a series without labels, that the pod at `address` says; nothing when it says none.
pub async fn scrape(address: &str, port: u16, metric: &str) -> Option<f64> {
    let host = if address.contains(':') { format!("[{address}]") } else { address.to_owned() };
    let url = format!("http://{host}:{port}/metrics").parse().ok()?;
    let ask = async {
        let client: Client<_, Empty<Bytes>> = Client::builder(TokioExecutor::new()).build_http();
        let answer = client.get(url).await.ok()?;
        Some(Limited::new(answer.into_body(), MOST).collect().await.ok()?.to_bytes())
    };
    let body = tokio::time::timeout(DEADLINE, ask).await.ok()??;
    read(std::str::from_utf8(&body).ok()?, metric)
}

fn read(text: &str, metric: &str) -> Option<f64> {
    let value = text.lines().find_map(|line| line.strip_prefix(metric)?.strip_prefix(' '))?;
    value.trim().parse().ok().filter(|value: &f64| value.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figure_is_one_line_of_many() {
        let text = "# TYPE rate gauge\nrate_total 3\nrate 12.5\nx 1\n";
        assert_eq!(read(text, "rate"), Some(12.5));
        assert_eq!(read("rate NaN\n", "rate"), None);
        assert_eq!(read("rate_total 3\n", "rate"), None);
    }
}
