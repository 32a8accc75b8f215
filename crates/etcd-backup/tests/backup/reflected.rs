//! A server that sends back what it was sent, and secrets besides: nothing of it gets into a message.

use std::fs;

use etcd_backup::{Target, removal};

use super::{platform::Service, save_whole, small};

#[tokio::test]
async fn a_servers_text_is_in_no_message() {
    for (status, begins) in
        [(403, "<Error><Code>AccessDenied</Code><Message>"), (400, "{\"error\":\""), (404, "")]
    {
        let server = Service::answering(move |question| {
            let sent = question.header("authorization");
            (status, format!("{begins}hunter2 {sent} {}", question.text))
        })
        .await;
        let credentials = tempfile::tempdir().unwrap();
        fs::write(credentials.path().join("accessKeyID"), "key").unwrap();
        fs::write(credentials.path().join("secretAccessKey"), "secret").unwrap();
        let target = Target {
            url: "s3://backups/of/db".to_owned(),
            endpoint: Some(format!("http://{}", server.address)),
            credentials: Some(credentials.path().to_owned()),
            ..Target::default()
        };
        let store = target.open().unwrap();
        let errors = [
            save_whole(&store, "a", None, &small()).await.unwrap_err(),
            store.found().await.unwrap_err(),
            removal::remove_by_id(&store, "a", None).await.unwrap_err(),
        ];
        assert!(!server.asked().is_empty());
        for error in errors {
            let said = error.to_string();
            assert!(!said.contains("hunter2") && !said.contains("AWS4-HMAC-SHA256"), "{said}");
            assert!(said.contains(&format!("HTTP status {status}")), "{said}");
        }
    }
}

/// A document of another service under the name of a manifest.
#[tokio::test]
async fn a_document_that_is_no_manifest_is_in_no_message() {
    for body in [
        "\"hunter2\"",
        "{\"format\":\"hunter2\"}",
        "{\"format\":\"capstan.dev/etcd-backup/v1\",\"id\":7,\"x\":\"hunter2\"}",
        "hunter2",
    ] {
        let server = Service::answering(move |_| (200, body.to_owned())).await;
        let credentials = tempfile::tempdir().unwrap();
        fs::write(credentials.path().join("accessKeyID"), "key").unwrap();
        fs::write(credentials.path().join("secretAccessKey"), "secret").unwrap();
        let target = Target {
            url: "s3://backups".to_owned(),
            endpoint: Some(format!("http://{}", server.address)),
            credentials: Some(credentials.path().to_owned()),
            ..Target::default()
        };
        let store = target.open().unwrap();
        let said = [store.manifest("a").await.unwrap_err(), store.found().await.unwrap_err()];
        for error in said {
            assert!(!error.to_string().contains("hunter2"), "{error}");
        }
    }
}
