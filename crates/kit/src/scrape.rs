//! What an application's pod says of itself over HTTP: one figure of `/metrics`, for decisions that need no Prometheus, or a whole answer.

use std::time::Duration;

use bytes::Bytes;
use futures::future::join_all;
use http_body_util::{BodyExt as _, Empty, Limited};
use hyper_util::{client::legacy::Client, rt::TokioExecutor};
use k8s_openapi::api::core::v1::Pod;

use crate::readiness::is_ready;

/// A pod that does not answer in this time says nothing.
const DEADLINE: Duration = Duration::from_secs(2);
/// No more is read of an answer.
const MOST: usize = 1 << 20;

/// The value of `metric`, a series without labels, that the pod at `address` says; nothing when it says none.
pub async fn scrape(address: &str, port: u16, metric: &str) -> Option<f64> {
    read(&ask(address, port, "/metrics").await?, metric)
}

/// The value of `metric` that each ready pod of `pods` says. One that does not answer is left out.
pub async fn scrape_all<'a>(pods: impl IntoIterator<Item = &'a Pod>, port: u16, metric: &str) -> Vec<f64> {
    let ready = pods.into_iter().filter(|pod| is_ready(*pod));
    let addresses = ready.filter_map(|pod| pod.status.as_ref()?.pod_ip.as_deref());
    let asked = addresses.map(|address| scrape(address, port, metric));
    join_all(asked).await.into_iter().flatten().collect()
}

/// What the pod at `address` answers to a GET of `path`; nothing when it does not answer well, or not soon.
pub async fn ask(address: &str, port: u16, path: &str) -> Option<String> {
    let host = if address.contains(':') { format!("[{address}]") } else { address.to_owned() };
    let url = format!("http://{host}:{port}{path}").parse().ok()?;
    let ask = async {
        let client: Client<_, Empty<Bytes>> = Client::builder(TokioExecutor::new()).build_http();
        let answer = client.get(url).await.ok()?;
        if !answer.status().is_success() {
            return None;
        }
        Some(Limited::new(answer.into_body(), MOST).collect().await.ok()?.to_bytes())
    };
    let body = tokio::time::timeout(DEADLINE, ask).await.ok()??;
    String::from_utf8(body.into()).ok()
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
