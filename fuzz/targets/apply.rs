//! Server-side apply of anything, to an object whose managedFields are anything: done or refused, never a 500.
#![no_main]

mod server;

use http::Request;
use kube::client::Body;
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};

const OWNED: &str = r#"{"f:data":{"f:k":{}}}"#;
const APPLIED: &str = r#"{"apiVersion":"v1","kind":"ConfigMap","data":{"k":"w"}}"#;

// First of all: the target sees what it should.
fuzz_target!(init: assert_eq!([apply(OWNED, APPLIED), apply(OWNED, "[]")], [200, 400]), |text: &str| {
    // Two JSON texts, one per line: the fields that another manager owns, and what is applied.
    let Some((owned, applied)) = text.split_once('\n') else { return };
    let code = apply(owned, applied);
    assert!((200..500).contains(&code), "{code}");
});

fn apply(owned: &str, applied: &str) -> u16 {
    let server = server::server();
    if let Ok(owned) = serde_json::from_str::<Value>(owned) {
        let managed = json!([{"manager": "other", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": owned}]);
        let map = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "a", "namespace": "default", "managedFields": managed}, "data": {"k": "v"}});
        server.install(map).ok();
    }
    let request = Request::patch("/api/v1/namespaces/default/configmaps/a?fieldManager=fuzz&force=true")
        .header("content-type", "application/apply-patch+yaml")
        .body(Body::from(applied.as_bytes().to_vec()));
    server::ask(&server, request.unwrap())
}
