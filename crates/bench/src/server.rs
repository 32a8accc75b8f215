//! A server that only lists and watches pods, from text made beforehand: what is measured is the clients.

use std::{
    convert::Infallible,
    fmt::Write as _,
    future::{Ready, ready},
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
};

use bytes::Bytes;
use futures::{StreamExt as _, channel::mpsc, future::Either, stream};
use http::{HeaderMap, Request, Response, StatusCode, header::ACCEPT};
use http_body::Frame;
use http_body_util::{BodyExt as _, Empty, StreamBody, combinators::UnsyncBoxBody};
use kit::Projection;
use kube::client::Body;
use tokio::sync::watch;
use tower::Service;

use crate::objects::{FIRST_VERSION, Objects};

type Answer = Response<UnsyncBoxBody<Bytes, Infallible>>;

/// The server. Clones are the same server.
#[derive(Clone)]
pub struct Server(Arc<Shared>);

struct Shared {
    objects: Objects,
    state: Mutex<State>,
    /// How many watches have begun. A watch begins when the list before it was taken in.
    begun: watch::Sender<usize>,
}

struct State {
    /// The resourceVersion of each object.
    versions: Vec<u64>,
    newest: u64,
    watch: Option<Watch>,
}

/// The one watch that is open.
struct Watch {
    view: Projection,
    events: mpsc::UnboundedSender<Bytes>,
}

impl Server {
    pub fn new(objects: Objects) -> Self {
        let versions: Vec<u64> = (FIRST_VERSION..).take(objects.len()).collect();
        let newest = FIRST_VERSION + objects.len() as u64;
        let state = Mutex::new(State { versions, newest, watch: None });
        Self(Arc::new(Shared { objects, state, begun: watch::Sender::new(0) }))
    }

    pub fn len(&self) -> usize {
        self.0.objects.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Waits until the client has taken in its `nth` list, the first being 1.
    pub async fn listed(&self, nth: usize) {
        // It fails only if the sender is gone, and that is ours.
        let _ = self.0.begun.subscribe().wait_for(|begun| *begun >= nth).await;
    }

    /// Changes an object, and tells the watch.
    pub fn modify(&self, index: usize) {
        self.change(|objects, State { versions, newest, watch }| {
            let (Some(version), Some(watch)) = (versions.get_mut(index), watch) else { return };
            *newest += 1;
            *version = *newest;
            let mut line = Vec::with_capacity(8 << 10);
            line.extend_from_slice(br#"{"type":"MODIFIED","object":"#);
            objects.write(index, *version, watch.view, &mut line);
            line.extend_from_slice(b"}\n");
            let _ = watch.events.unbounded_send(line.into());
        });
    }

    /// Ends the watch, with the words of a server that has forgotten where it began.
    pub fn expire(&self) {
        const EXPIRED: &[u8] = br#"{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"too old resource version","reason":"Expired","code":410}}
"#;
        self.change(|_, state| {
            if let Some(watch) = state.watch.take() {
                let _ = watch.events.unbounded_send(Bytes::from_static(EXPIRED));
            }
        });
    }

    fn change<T>(&self, change: impl FnOnce(&Objects, &mut State) -> T) -> T {
        change(&self.0.objects, &mut self.0.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn list(&self, view: Projection, from: usize, limit: usize) -> Bytes {
        self.change(|objects, State { versions, newest, .. }| {
            let page = versions.iter().enumerate().skip(from).take(limit);
            let next = (from + page.len() < versions.len()).then(|| (from + page.len()).to_string());
            let kind = match view {
                Projection::Whole => r#""kind":"PodList","apiVersion":"v1""#,
                Projection::Metadata => r#""kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1""#,
            };
            let mut head = format!(r#"{{{kind},"metadata":{{"resourceVersion":"{newest}""#);
            if let Some(next) = next {
                let _ = write!(head, r#","continue":"{next}""#);
            }
            head.push_str(r#"},"items":["#);
            let mut json = head.into_bytes();
            for (index, version) in page {
                objects.write(index, *version, view, &mut json);
                json.push(b',');
            }
            // The last comma: no page is empty.
            json.pop();
            json.extend_from_slice(b"]}");
            json.into()
        })
    }

    pub(crate) fn watch(&self, view: Projection) -> mpsc::UnboundedReceiver<Bytes> {
        let (events, receiver) = mpsc::unbounded();
        self.change(|_, state| state.watch = Some(Watch { view, events }));
        self.0.begun.send_modify(|begun| *begun += 1);
        receiver
    }

    fn answer(&self, request: &Request<Body>) -> Answer {
        let parameter = |name: &str| {
            let pairs = request.uri().query().unwrap_or_default().split('&');
            pairs
                .filter_map(|pair| pair.split_once('='))
                .find_map(|(key, value)| (key == name).then_some(value))
        };
        let number = |name: &str| parameter(name).and_then(|value| value.parse().ok());
        let view = view(request.headers());
        if request.uri().path() != "/api/v1/pods" {
            let mut answer = Response::new(Empty::new().boxed_unsync());
            *answer.status_mut() = StatusCode::NOT_FOUND;
            return answer;
        }
        let chunks = if parameter("watch").is_some() {
            Either::Left(self.watch(view))
        } else {
            let page =
                self.list(view, number("continue").unwrap_or(0), number("limit").unwrap_or(usize::MAX));
            Either::Right(stream::once(ready(page)))
        };
        Response::new(StreamBody::new(chunks.map(|chunk| Ok(Frame::data(chunk)))).boxed_unsync())
    }
}

fn view(headers: &HeaderMap) -> Projection {
    let accept = headers.get(ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    if accept.contains("as=PartialObjectMetadata") { Projection::Metadata } else { Projection::Whole }
}

impl Service<Request<Body>> for Server {
    type Response = Answer;
    type Error = Infallible;
    type Future = Ready<Result<Answer, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        ready(Ok(self.answer(&request)))
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Pod;
    use kube::{Api, ResourceExt as _, api::ListParams, core::PartialObjectMeta};

    use super::*;

    #[tokio::test]
    async fn pages_have_every_object_once_in_both_views() {
        let client = kube::Client::new(Server::new(Objects::generate(1_001, 7)), "default");
        let page = |limit, token: Option<String>| ListParams {
            continue_token: token,
            ..ListParams::default().limit(limit)
        };
        let pods = Api::<Pod>::all(client.clone());
        let metadata = Api::<PartialObjectMeta<Pod>>::all(client);

        let first = pods.list(&page(1_000, None)).await.unwrap();
        let second = pods.list(&page(1_000, first.metadata.continue_.clone())).await.unwrap();
        let all = metadata.list(&page(2_000, None)).await.unwrap();
        assert_eq!((first.items.len(), second.items.len(), second.metadata.continue_), (1_000, 1, None));
        let pods = first.iter().chain(&second.items).map(|pod| (pod.name_any(), pod.resource_version()));
        assert!(pods.eq(all.iter().map(|pod| (pod.name_any(), pod.resource_version()))));
        assert!(all.iter().all(|pod| !pod.managed_fields().is_empty()));
    }
}
