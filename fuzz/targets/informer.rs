//! An informer on a server that answers with given bytes.

use std::{convert::Infallible, time::Duration};

use bytes::Bytes;
use futures::{StreamExt as _, future::Either, stream};
use http::{Request, Response};
use http_body_util::StreamBody;
use k8s_openapi::api::core::v1::ConfigMap;
use kit::{Informer, Row, Scope, Select, metrics::Metrics};
use kube::client::Body;
use tokio_util::sync::CancellationToken;

/// What the server says, in pieces as they arrive. After that it is silent.
pub struct Answers {
    pub list: Vec<Bytes>,
    pub watch: Vec<Bytes>,
}

/// The keys that a cache of ConfigMaps has after these answers.
pub fn cached<R: Row>(answers: Answers) -> Vec<String> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let (list, watch) =
            (std::sync::Mutex::new(Some(answers.list)), std::sync::Mutex::new(Some(answers.watch)));
        let service = tower::service_fn(move |request: Request<Body>| {
            let watching = request.uri().query().is_some_and(|query| query.contains("watch="));
            let answer = if watching { watch.lock().unwrap().take() } else { list.lock().unwrap().take() };
            match answer {
                None => Either::Left(std::future::pending()),
                Some(pieces) => {
                    let frames =
                        stream::iter(pieces).map(|piece| Ok::<_, Infallible>(http_body::Frame::data(piece)));
                    Either::Right(std::future::ready(Ok::<_, Infallible>(Response::new(StreamBody::new(
                        frames,
                    )))))
                }
            }
        });
        let (_scope, scope) = tokio::sync::watch::channel(Scope::All);
        let informer =
            Informer::<R>::new(kube::Client::new(service, "default"), Select::all(), scope, Metrics::new());
        let store = informer.store();
        // Virtual time: it ends as soon as there is nothing left to read.
        tokio::time::timeout(Duration::from_secs(1), informer.run(CancellationToken::new())).await.ok();
        let mut keys: Vec<String> = store.keys().iter().map(ToString::to_string).collect();
        keys.sort();
        keys
    })
}

/// `bytes` in pieces of `size`.
pub fn pieces(bytes: &[u8], size: usize) -> Vec<Bytes> {
    bytes.chunks(size.max(1)).map(Bytes::copy_from_slice).collect()
}

/// Whole objects, and small rows: two decoders.
pub fn both(answers: impl Fn() -> Answers) -> [Vec<String>; 2] {
    [cached::<ConfigMap>(answers()), cached::<kit::Slim<ConfigMap>>(answers())]
}
