//! What a running command tells over HTTP: a handful of pages, each made when it is asked for.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use anyhow::{Context as _, Result};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

/// The longest request that is read: its first line is all that matters.
const REQUEST: usize = 4096;
const PATIENCE: Duration = Duration::from_secs(5);

/// A page, by its path: its content type and itself.
pub(super) type Pages = Arc<dyn Fn(&str) -> Option<(&'static str, String)> + Send + Sync>;

/// Serves the pages until the process ends or the task is aborted.
pub(super) async fn serve(address: SocketAddr, pages: Pages) -> Result<JoinHandle<()>> {
    let listener = TcpListener::bind(address)
        .await
        .with_context(|| format!("--progress: cannot listen on {address}"))?;
    Ok(tokio::spawn(async move {
        loop {
            // An error here is one of the connection (reset, out of descriptors); the next one may work.
            let Ok((stream, _)) = listener.accept().await else {
                tokio::task::yield_now().await;
                continue;
            };
            let pages = pages.clone();
            // How a connection ends is its client's business.
            tokio::spawn(async move { tokio::time::timeout(PATIENCE, answer(stream, &pages)).await.ok() });
        }
    }))
}

async fn answer(mut stream: TcpStream, pages: &Pages) -> std::io::Result<()> {
    let mut request = Vec::new();
    while !request.windows(4).any(|end| end == b"\r\n\r\n") && request.len() < REQUEST {
        if stream.read_buf(&mut request).await? == 0 {
            break;
        }
    }
    stream.write_all(response(&String::from_utf8_lossy(&request), pages).as_bytes()).await?;
    stream.shutdown().await
}

fn response(request: &str, pages: &Pages) -> String {
    let mut words = request.split_whitespace();
    let path = match (words.next(), words.next()) {
        (Some("GET"), Some(path)) => path.split('?').next().unwrap_or_default(),
        _ => "",
    };
    let (status, (kind, body)) = match pages(path) {
        Some(page) => ("200 OK", page),
        None => ("404 Not Found", ("text/plain", "There is no such page.\n".to_owned())),
    };
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages() -> Pages {
        Arc::new(|path| (path == "/progress").then(|| ("application/json", "{}".to_owned())))
    }

    #[tokio::test]
    async fn a_page_is_served_and_others_are_not() {
        let probe = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = probe.local_addr().unwrap();
        drop(probe);
        let server = serve(address, pages()).await.unwrap();
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(b"GET /progress?now HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).await.unwrap();
        assert!(text.starts_with("HTTP/1.1 200 OK\r\n") && text.ends_with("\r\n\r\n{}"), "{text}");
        assert!(response("GET /else HTTP/1.1\r\n\r\n", &pages()).starts_with("HTTP/1.1 404"));
        assert!(response("POST /progress HTTP/1.1\r\n\r\n", &pages()).starts_with("HTTP/1.1 404"));
        server.abort();
    }
}
