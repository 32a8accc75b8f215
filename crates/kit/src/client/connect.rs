//! A client for a real API server.

use std::time::Duration;

use kube::{Config, client::ClientBuilder};

use super::{ClientOptions, over};
use crate::{Error, Result};

/// Longer than a watch that we ask for can be silent: servers send a bookmark about every minute, and end it after five.
const DEAD_CONNECTION: Duration = Duration::from_secs(330);

/// A client for the server of `config`. Needs a tokio runtime.
pub fn connect(config: Config, mut options: ClientOptions) -> Result<kube::Client> {
    options.host = config.cluster_url.authority().map(ToString::to_string).unwrap_or_default();
    let config = tuned(config, options.request_timeout);
    let server = ClientBuilder::try_from(config).map_err(Error::other)?.build();
    Ok(over(server, options))
}

/// Takes from kube what the hops do better, and closes its gaps.
fn tuned(mut config: Config, request_timeout: Duration) -> Config {
    // kube repeats every verb, 15 times, without a budget. Ours is the only retry.
    config.default_retry = false;
    // A connection that does not come about within one attempt is of no use to it.
    config.connect_timeout = Some(request_timeout);
    // Only a backstop against connections that died silently: answers are timed by the timeout hop, silent watches by the
    // informer. Counted from the last write, or a pooled connection would be broken by the time it sat idle.
    config.read_timeout = Some(DEAD_CONNECTION);
    config.reset_reader_on_write = true;
    config
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Metrics;

    #[test]
    fn kubes_own_retry_is_off_and_every_wait_on_the_wire_ends() {
        let config = tuned(Config::new("https://10.0.0.1:6443".parse().unwrap()), Duration::from_secs(15));
        assert!(!config.default_retry);
        assert!(config.reset_reader_on_write);
        assert_eq!(config.connect_timeout, Some(Duration::from_secs(15)));
        assert!(config.read_timeout.is_some() && config.write_timeout.is_some());
    }

    #[tokio::test]
    async fn a_call_to_nobody_fails_and_is_counted_under_the_servers_name() {
        let unused = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let config = Config::new(format!("http://{unused}").parse().unwrap());
        let metrics = Metrics::new();
        let client = connect(config, ClientOptions::new("test", metrics.clone())).unwrap();
        // A POST, because it is not repeated: this test waits for nothing.
        let post = http::Request::post("/api/v1/namespaces").body(kube::client::Body::empty()).unwrap();
        assert!(client.send(post).await.is_err());
        let exposed = metrics.encode();
        assert!(exposed.contains(&unused.to_string()), "{exposed}");
        assert!(exposed.contains("<error>"), "{exposed}");
    }
}
