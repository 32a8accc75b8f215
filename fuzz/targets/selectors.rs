//! Label and field selectors: matched (200) or refused in words (400), nothing else.
#![no_main]

mod server;

use http::Request;
use kube::client::Body;
use libfuzzer_sys::fuzz_target;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

// First of all: the target sees what it should.
fuzz_target!(init: assert_eq!([ask("labelSelector", "app=db"), ask("fieldSelector", "a b")], [200, 400]), |text: &str| {
    for kind in ["labelSelector", "fieldSelector"] {
        let code = ask(kind, text);
        assert!([200, 400].contains(&code), "{code}");
    }
});

fn ask(kind: &str, text: &str) -> u16 {
    let uri = format!("/api/v1/configmaps?{kind}={}", utf8_percent_encode(text, NON_ALPHANUMERIC));
    server::ask(&server::server(), Request::get(uri).body(Body::empty()).unwrap())
}
