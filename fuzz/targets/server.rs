//! Requests to the API server that tests use.

use apiserver::Server;
use http::Request;
use kube::client::Body;
use tower::ServiceExt as _;

/// The status of the answer; 0 when there is none.
pub fn ask(server: &Server, request: Request<Body>) -> u16 {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    let connection = server.connection("fuzz", apiserver::User::admin());
    runtime.block_on(async { connection.oneshot(request).await.map_or(0, |answer| answer.status().as_u16()) })
}

/// A server with one ConfigMap.
pub fn server() -> Server {
    let server = Server::new();
    let map = serde_json::json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "a", "namespace": "default", "labels": {"app": "db"}}, "data": {"k": "v"}});
    server.install(map).unwrap();
    server
}
