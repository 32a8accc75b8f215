//! Label and field selectors: matched (200) or refused in words (400), nothing else.
#![no_main]

mod server;

use http::Request;
use kube::client::Body;
use libfuzzer_sys::fuzz_target;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

fuzz_target!(|text: &str| {
    let server = server::server();
    let text = utf8_percent_encode(text, NON_ALPHANUMERIC);
    for kind in ["labelSelector", "fieldSelector"] {
        let uri = format!("/api/v1/configmaps?{kind}={text}");
        let code = server::ask(&server, Request::get(uri).body(Body::empty()).unwrap());
        assert!([200, 400].contains(&code), "{code}");
    }
});
