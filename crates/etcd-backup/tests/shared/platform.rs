//! What a platform has for its pods besides a store: services that give credentials, played here; and a pod, which is a process with an environment
//! of its own.

use std::{
    convert::Infallible,
    net::SocketAddr,
    path::Path,
    process::Output,
    sync::{Arc, Mutex},
};

use http_body_util::{BodyExt as _, Full};
use hyper::{
    HeaderMap, Request, Response,
    body::{Bytes, Incoming},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use tokio::{net::TcpListener, process::Command};

/// A request, as far as anybody looks at it.
#[derive(Debug, Clone)]
pub(crate) struct Question {
    /// Path and query; in the next line the body.
    pub(crate) text: String,
    headers: HeaderMap,
}

impl Question {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map(|value| value.to_str().unwrap()).unwrap_or_default()
    }
}

/// A service that answers every request, with a status and a body, and keeps what it was asked.
pub(crate) struct Service {
    pub(crate) address: SocketAddr,
    asked: Arc<Mutex<Vec<Question>>>,
}

impl Service {
    /// Runs as long as this process does.
    pub(crate) async fn answering(
        answer: impl Fn(&Question) -> (u16, String) + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (asked, answer) = (Arc::new(Mutex::new(Vec::new())), Arc::new(answer));
        let kept = asked.clone();
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let (kept, answer) = (kept.clone(), answer.clone());
                let service = service_fn(move |request: Request<Incoming>| {
                    let (kept, answer) = (kept.clone(), answer.clone());
                    async move {
                        let question = question(request).await;
                        let (status, body) = answer(&question);
                        kept.lock().unwrap().push(question);
                        let body = Full::new(Bytes::from(body));
                        Ok::<_, Infallible>(Response::builder().status(status).body(body).unwrap())
                    }
                });
                tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(socket), service));
            }
        });
        Self { address, asked }
    }

    pub(crate) fn asked(&self) -> Vec<Question> {
        self.asked.lock().unwrap().clone()
    }
}

async fn question(request: Request<Incoming>) -> Question {
    let (parts, body) = request.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    let text = format!("{}\n{}", parts.uri, String::from_utf8_lossy(&body));
    Question { text, headers: parts.headers }
}

/// A program, with this environment and no other.
pub(crate) async fn pod(program: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> Output {
    let mut command = Command::new(program);
    command.args(arguments).env_clear().envs(environment.iter().copied()).kill_on_drop(true);
    command.output().await.unwrap()
}

/// All that it said.
pub(crate) fn said(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned()).concat()
}
