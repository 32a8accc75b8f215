//! Requests to pods, straight to their addresses: the host has a route to every pod of the lab.

use std::time::Duration;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use http::{Method, Request, header::AUTHORIZATION};
use http_body_util::{BodyExt as _, Full};
use hyper_util::{client::legacy::Client, rt::TokioExecutor};

const DEADLINE: Duration = Duration::from_secs(5);

/// What came back: a status below 600, and the body as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) text: String,
}

/// One request on a connection of its own; `Err` when there was no answer at all.
pub(crate) async fn ask(
    method: Method,
    url: &str,
    password: Option<&str>,
    body: &str,
) -> Result<Answer, String> {
    let mut request = Request::builder().method(method).uri(url);
    if let Some(password) = password {
        request =
            request.header(AUTHORIZATION, format!("Basic {}", STANDARD.encode(format!("notes:{password}"))));
    }
    let request = request.body(Full::new(Bytes::from(body.to_owned()))).unwrap();
    let client = Client::builder(TokioExecutor::new()).pool_max_idle_per_host(0).build_http();
    let exchange = async {
        let answer = client.request(request).await.map_err(|error| format!("{url}: {error:?}"))?;
        let status = answer.status().as_u16();
        let body = answer.into_body().collect().await.map_err(|error| format!("{url}: {error}"))?.to_bytes();
        Ok(Answer { status, text: String::from_utf8_lossy(&body).into_owned() })
    };
    tokio::time::timeout(DEADLINE, exchange)
        .await
        .unwrap_or_else(|_| Err(format!("{url}: no answer in {DEADLINE:?}")))
}

pub(crate) async fn get(url: &str, password: Option<&str>) -> Result<Answer, String> {
    ask(Method::GET, url, password, "").await
}
