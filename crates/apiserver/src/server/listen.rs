//! The same server over HTTP on a socket, for programs in other processes.

use std::{
    net::SocketAddr,
    sync::{Arc, PoisonError},
};

use hyper_util::rt::TokioIo;
use tokio::{net::TcpListener, task::JoinSet};
use tower::Service;

use super::{Connection, Server};
use crate::{ApiError, User, http::refusal};

/// Serves until it is dropped.
#[derive(Debug)]
pub struct Listening {
    /// For example `http://127.0.0.1:40123`.
    pub url: String,
    _accepting: JoinSet<()>,
}

impl Server {
    /// Serves plain HTTP at `address` (port 0: any free one). Who comes without a token is admin.
    pub async fn listen(&self, address: SocketAddr) -> std::io::Result<Listening> {
        let listener = TcpListener::bind(address).await?;
        let url = format!("http://{}", listener.local_addr()?);
        let server = self.clone();
        let mut accepting = JoinSet::new();
        accepting.spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let Ok((stream, _)) = listener.accept().await else { return };
                let connection = server.connection("http", User::admin());
                connections.spawn(serve(server.clone(), connection, stream));
                while connections.try_join_next().is_some() {}
            }
        });
        Ok(Listening { url, _accepting: accepting })
    }

    /// From now on, `Authorization: Bearer <token>` on the listener is that user.
    pub fn accept_token(&self, token: &str, user: User) {
        self.0.tokens.lock().unwrap_or_else(PoisonError::into_inner).insert(token.to_owned(), user);
    }

    /// The user of a request on the socket; `None` for a token that nobody has.
    fn bearer(&self, headers: &http::HeaderMap) -> Option<User> {
        let Some(value) = headers.get(http::header::AUTHORIZATION) else { return Some(User::admin()) };
        let token = value.to_str().ok()?.strip_prefix("Bearer ")?;
        self.0.tokens.lock().unwrap_or_else(PoisonError::into_inner).get(token).cloned()
    }
}

/// A fault has broken the connection.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Broken(tower::BoxError);

async fn serve(server: Server, connection: Connection, stream: tokio::net::TcpStream) {
    let server = Arc::new(server);
    let service = hyper::service::service_fn(move |request: http::Request<hyper::body::Incoming>| {
        let answer = server.bearer(request.headers()).map(|user| connection.as_user(user).call(request));
        async move {
            match answer {
                Some(answer) => answer.await.map_err(Broken),
                None => Ok(refusal(&ApiError::unauthorized())),
            }
        }
    });
    let http = hyper::server::conn::http1::Builder::new();
    // The client went away, or a fault broke the connection: neither is ours to mend.
    if let Err(error) = http.serve_connection(TokioIo::new(stream), service).await {
        tracing::debug!(%error, "connection ended");
    }
}
