//! A connection whose other end works on threads of its own, so that the CPU time of both can be told apart.

use std::task::{Context, Poll};

use apiserver::Connection;
use bytes::Bytes;
use futures::{StreamExt as _, channel::mpsc, future::BoxFuture};
use http::{Request, Response};
use http_body::Frame;
use http_body_util::{BodyExt as _, BodyStream, StreamBody, combinators::UnsyncBoxBody};
use kube::client::Body;
use tokio::runtime::Handle;
use tower::{BoxError, Service};

/// The server's side is driven by `world`.
#[derive(Clone)]
pub(super) struct Across {
    pub(super) connection: Connection,
    pub(super) world: Handle,
}

impl Service<Request<Body>> for Across {
    type Response = Response<UnsyncBoxBody<Bytes, BoxError>>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Self::Response, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let Self { mut connection, world } = self.clone();
        let answered = world.spawn(async move {
            let (head, body) = connection.call(request).await?.into_parts();
            let (frames, received) = mpsc::unbounded::<Result<Frame<Bytes>, BoxError>>();
            tokio::spawn(async move {
                let mut body = BodyStream::new(body);
                while let Some(frame) = body.next().await {
                    // Who hung up is told nothing more.
                    if frames.unbounded_send(frame).is_err() {
                        break;
                    }
                }
            });
            Ok(Response::from_parts(head, StreamBody::new(received).boxed_unsync()))
        });
        Box::pin(async move { answered.await? })
    }
}
