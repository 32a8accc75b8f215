//! The server as tests see it: make it, talk to it, break it, ask it what it saw.

mod dump;
mod listen;

use std::{
    sync::{Arc, Weak},
    task::{Context, Poll},
};

use bytes::Bytes;
use futures::future::BoxFuture;
use http::{Request, Response};
use jiff::Timestamp;
use serde_json::Value;
use tower::{BoxError, Service};

use crate::{
    ApiError, Expect, Faults, ObjectId, Requests, Store, User, access,
    clock::Clock,
    cluster::Cluster,
    controllers,
    http::{Body, Incoming, serve},
    install, namespaces,
};

pub use dump::Dump;
pub use listen::Listening;

/// An API server in this process. Clones are the same server.
#[derive(Debug, Clone)]
pub struct Server(pub(crate) Arc<Cluster>);

/// How a server starts.
#[derive(Debug, Clone, Copy)]
pub struct Builder {
    time: Timestamp,
    seed: u64,
    controllers: bool,
}

impl Builder {
    /// What the clock shows at the start; it moves with tokio's.
    #[must_use]
    pub fn time(mut self, time: Timestamp) -> Self {
        self.time = time;
        self
    }

    /// Names and UIDs come from this.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Without garbage collection, namespace deletion and establishing of definitions: a cluster whose controllers are down.
    #[must_use]
    pub fn without_controllers(mut self) -> Self {
        self.controllers = false;
        self
    }

    /// Starts it. Within a tokio runtime, the controllers run there.
    pub fn build(self) -> Server {
        let cluster = Arc::new(Cluster::new(Clock::starting_at(self.time), self.seed));
        let server = Server(cluster);
        for name in namespaces::BOOTSTRAP {
            let namespace =
                serde_json::json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
            server.must_install(namespace);
        }
        for object in access::bootstrap() {
            server.must_install(object);
        }
        if self.controllers && tokio::runtime::Handle::try_current().is_ok() {
            controllers::start(&server.0, server.controller_client());
        }
        server
    }
}

impl Default for Server {
    fn default() -> Self {
        Self::new()
    }
}

impl Server {
    /// A server at 2026-01-01T00:00:00Z with the namespaces and roles that every cluster has.
    pub fn new() -> Self {
        Self::builder().build()
    }

    pub fn builder() -> Builder {
        // 2026-01-01T00:00:00Z
        let time = Timestamp::from_second(1_767_225_600).unwrap_or(Timestamp::UNIX_EPOCH);
        Builder { time, seed: 1, controllers: true }
    }

    /// A client as cluster admin.
    pub fn client(&self) -> kube::Client {
        self.connection("admin", User::admin()).client()
    }

    /// A client as somebody: their name is the connection's name too.
    pub fn client_as(&self, user: &str) -> kube::Client {
        self.connection(user, User::named(user)).client()
    }

    /// A client as cluster admin whose requests are recorded, counted and broken under `client`.
    pub fn client_named(&self, client: &str) -> kube::Client {
        self.connection(client, User::admin()).client()
    }

    /// A connection of its own: what the client is called in records and faults, and who it is.
    pub fn connection(&self, client: &str, user: User) -> Connection {
        let identity = Identity {
            client: client.into(),
            connection: self.0.faults.next_connection(),
            user,
            hidden: false,
        };
        Connection { cluster: Arc::clone(&self.0), identity }
    }

    /// A client for controllers that are part of the simulated cluster: admin, neither recorded nor broken, and it does not
    /// keep the server alive.
    pub fn controller_client(&self) -> kube::Client {
        kube::Client::new(Internal(Arc::downgrade(&self.0)), "default")
    }

    pub fn store(&self) -> &Store {
        &self.0.store
    }

    /// The revision of the last write.
    pub fn revision(&self) -> u64 {
        self.0.store.revision()
    }

    /// Forgets everything but the present: older revisions are answered with 410 from now on.
    pub fn compact(&self) {
        self.0.store.compact(self.revision());
    }

    pub fn faults(&self) -> &Faults {
        &self.0.faults
    }

    /// Every request so far.
    pub fn requests(&self) -> Requests {
        self.0.record.all()
    }

    /// How many requests there were so far: the index of the next.
    pub fn request_count(&self) -> usize {
        self.0.record.len()
    }

    /// What the server's clock shows.
    pub fn now(&self) -> Timestamp {
        self.0.clock.now()
    }

    /// The state in a form in which two runs can be compared.
    pub fn dump(&self) -> Dump {
        Dump::of(&self.0.store)
    }

    /// Creates or replaces objects as they are, given as JSON; definitions are served at once.
    pub fn install(&self, object: Value) -> Result<(), ApiError> {
        install::install(&self.0, object)
    }

    /// Creates or replaces all objects of a YAML text.
    pub fn install_yaml(&self, text: &str) -> Result<(), ApiError> {
        let objects: Vec<Value> = serde_saphyr::from_multiple(text)
            .map_err(|error| ApiError::bad_request(format!("error decoding YAML: {error}")))?;
        objects.into_iter().filter(|object| !object.is_null()).try_for_each(|object| self.install(object))
    }

    /// For objects that this crate wrote itself.
    fn must_install(&self, object: Value) {
        if let Err(error) = self.install(object) {
            tracing::error!(%error, "a bootstrap object was refused");
        }
    }

    /// Removes an object from the store at once, finalizers or not: what etcdctl would do.
    pub fn remove(&self, id: &ObjectId) -> bool {
        self.0.store.commit(id, Expect::Anything, None).is_ok()
    }
}

/// Who is at the other end of a connection.
#[derive(Debug, Clone)]
pub(crate) struct Identity {
    pub(crate) client: Arc<str>,
    pub(crate) connection: u64,
    pub(crate) user: User,
    /// The server's own controllers: neither recorded nor broken.
    pub(crate) hidden: bool,
}

/// What a client talks to: a tower service over HTTP's types, without a socket.
#[derive(Debug, Clone)]
pub struct Connection {
    cluster: Arc<Cluster>,
    identity: Identity,
}

impl Connection {
    pub fn client(self) -> kube::Client {
        kube::Client::new(self, "default")
    }

    fn as_user(&self, user: User) -> Self {
        Self { cluster: Arc::clone(&self.cluster), identity: Identity { user, ..self.identity.clone() } }
    }
}

impl<B> Service<Request<B>> for Connection
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    type Response = Response<Body>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Response<Body>, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let Self { cluster, identity } = self.clone();
        Box::pin(async move { serve(&cluster, &identity, Incoming::read(request).await?).await })
    }
}

/// The controllers' way in. It does not keep the server alive.
#[derive(Debug, Clone)]
struct Internal(Weak<Cluster>);

impl Service<Request<kube::client::Body>> for Internal {
    type Response = Response<Body>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Response<Body>, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<kube::client::Body>) -> Self::Future {
        let cluster = self.0.clone();
        Box::pin(async move {
            let incoming = Incoming::read(request).await?;
            let cluster = cluster.upgrade().ok_or("the server is gone")?;
            let identity =
                Identity { client: "".into(), connection: 0, user: controllers::user(), hidden: true };
            serve(&cluster, &identity, incoming).await
        })
    }
}
