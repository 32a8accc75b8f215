//! The way to an API server: a kubeconfig or in-cluster configuration, or (in tests) a service in this process.

use http::{Request, Response};
use kube::client::Body;
use tower::{BoxError, Service};

use crate::client::{ClientOptions, connect, layered};

/// Where the API server is. A manager opens several connections to it, so that a lease renewal never queues behind other writes.
pub struct Api(Box<dyn Fn(ClientOptions) -> crate::Result<kube::Client> + Send + Sync>);

impl Api {
    /// The server of a kubeconfig, or of the cluster that we run in.
    pub fn at(config: kube::Config) -> Self {
        Self(Box::new(move |options| connect(config.clone(), options)))
    }

    /// A service that answers as an API server does.
    pub fn service<S, B>(service: S) -> Self
    where
        S: Service<Request<Body>, Response = Response<B>> + Clone + Send + Sync + 'static,
        S::Future: Send + 'static,
        S::Error: Into<BoxError>,
        B: http_body::Body<Data = bytes::Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        Self(Box::new(move |options| Ok(layered(service.clone(), "default", options))))
    }

    pub(super) fn client(&self, options: ClientOptions) -> crate::Result<kube::Client> {
        (self.0)(options)
    }
}
