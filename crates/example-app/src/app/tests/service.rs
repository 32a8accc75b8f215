//! The application over HTTP, on a real socket.

use std::{net::SocketAddr, path::Path, time::Duration};

use super::super::serve::{self, Serve};
use super::*;
use axum::http::{HeaderMap, Method, Request, StatusCode, header};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use expect_test::expect;
use http_body_util::{BodyExt as _, Full};
use hyper_util::{client::legacy::Client, rt::TokioExecutor};
use tokio::sync::oneshot;

struct Server {
    address: SocketAddr,
    app: std::sync::Arc<super::super::http::App>,
    stop: Option<oneshot::Sender<()>>,
    ended: tokio::task::JoinHandle<()>,
    volume: Volume,
}

struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: String,
}

fn options(volume: &Path, version: &str, features: &[&str]) -> Serve {
    fs::write(volume.with_extension("password"), "s3cret\n").unwrap();
    Serve {
        app_version: version.into(),
        listen: SocketAddr::from(([127, 0, 0, 1], 0)),
        password_file: volume.with_extension("password"),
        cache: 1 << 20,
        features: features.iter().map(ToString::to_string).collect(),
    }
}

async fn start(version: &str, features: &[&str]) -> Server {
    let volume = Volume::new();
    let (listener, app) = options(&volume, version, features).bind(&volume, Clock::system()).await.unwrap();
    let (stop, stopped) = oneshot::channel();
    let address = listener.local_addr().unwrap();
    let ended = tokio::spawn(serve::run((listener, app.clone()), async move {
        let _ = stopped.await;
    }));
    Server { address, app, stop: Some(stop), ended, volume }
}

impl Server {
    async fn ask(
        &self,
        method: Method,
        path: &str,
        password: Option<&str>,
        body: impl Into<Bytes>,
    ) -> Answer {
        let mut request = Request::builder().method(method).uri(format!("http://{}{path}", self.address));
        if let Some(password) = password {
            let credentials = STANDARD.encode(format!("anyone:{password}"));
            request = request.header(header::AUTHORIZATION, format!("Basic {credentials}"));
        }
        let client = Client::builder(TokioExecutor::new()).build_http();
        let response = client.request(request.body(Full::new(body.into())).unwrap()).await.unwrap();
        let (parts, body) = response.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        Answer { status: parts.status, headers: parts.headers, body: String::from_utf8(body.into()).unwrap() }
    }

    /// The answer to somebody with the password, as `status body`.
    async fn answer(&self, method: Method, path: &str, body: impl Into<Bytes>) -> String {
        let answer = self.ask(method, path, Some("s3cret"), body).await;
        format!("{} {}", answer.status.as_u16(), answer.body).trim_end().to_owned()
    }

    async fn get(&self, path: &str) -> String {
        self.answer(Method::GET, path, "").await
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = fs::remove_file(self.volume.with_extension("password"));
    }
}

#[tokio::test]
async fn notes_are_written_read_listed_and_deleted() {
    let server = start("0.0.2", &[]).await;
    assert_eq!(server.answer(Method::PUT, "/notes/milk", "2 litres").await, "201");
    assert_eq!(server.answer(Method::PUT, "/notes/milk", "3 litres").await, "204");
    assert_eq!(server.answer(Method::PUT, "/notes/k%C3%A4se%20%3F", "").await, "201");
    assert_eq!(server.get("/notes/milk").await, "200 3 litres");
    assert_eq!(server.get("/notes").await, r#"200 ["käse ?","milk"]"#);
    assert_eq!(server.answer(Method::DELETE, "/notes/milk", "").await, "204");
    assert_eq!(
        server.answer(Method::DELETE, "/notes/milk", "").await,
        r#"404 {"error":"there is no note \"milk\""}"#
    );
    assert_eq!(server.get("/notes/milk").await, r#"404 {"error":"there is no note \"milk\""}"#);
}

#[tokio::test]
async fn what_cannot_be_a_note_is_refused_clearly() {
    let server = start("0.0.1", &[]).await;
    let put = async |path: &str, body: Vec<u8>| server.answer(Method::PUT, path, body).await;
    let long = "x".repeat(121);
    expect![[r#"400 {"error":"a key has 1 to 120 bytes; this one has 0"}"#]]
        .assert_eq(&put("/notes/", vec![]).await);
    expect![[r#"400 {"error":"a key has 1 to 120 bytes; this one has 121"}"#]]
        .assert_eq(&put(&format!("/notes/{long}"), vec![]).await);
    expect![[r#"400 {"error":"a key has no '/' in it"}"#]].assert_eq(&put("/notes/a/b", vec![]).await);
    expect![[r#"400 {"error":"a key has no '/' in it"}"#]]
        .assert_eq(&put("/notes/..%2F..%2Fetc", vec![]).await);
    expect![[r#"400 {"error":"a note is UTF-8 text"}"#]].assert_eq(&put("/notes/a", vec![0xff]).await);
    expect![[r#"413 {"error":"a note has at most 1048576 bytes"}"#]]
        .assert_eq(&put("/notes/a", vec![b'x'; (1 << 20) + 1]).await);
    assert_eq!(put("/notes/a", vec![b'x'; 1 << 20]).await, "201");
    assert_eq!(server.get("/notes").await, r#"200 ["a"]"#);
}

#[tokio::test]
async fn notes_need_the_password_and_a_new_one_counts_at_once() {
    let server = start("0.0.2", &["exampleFeature1", "exampleFeature2"]).await;
    for path in ["/notes", "/notes/milk", "/search?q=x", "/export"] {
        for password in [None, Some(""), Some("s3cre"), Some("s3crets"), Some("s3cret\n")] {
            let answer = server.ask(Method::GET, path, password, "").await;
            assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{path} with {password:?}");
            assert_eq!(answer.headers[header::WWW_AUTHENTICATE], "Basic realm=\"notes\"");
        }
    }
    let file = server.volume.with_extension("password");
    fs::write(&file, "changed, and longer\n").unwrap();
    assert_eq!(server.ask(Method::GET, "/notes", Some("s3cret"), "").await.status, StatusCode::UNAUTHORIZED);
    assert_eq!(
        server.ask(Method::GET, "/notes", Some("changed, and longer"), "").await.status,
        StatusCode::OK
    );
    fs::write(&file, "").unwrap();
    let answer = server.ask(Method::GET, "/notes", Some(""), "").await;
    assert_eq!(
        answer.status,
        StatusCode::SERVICE_UNAVAILABLE,
        "an emptied file lets nobody in: {}",
        answer.body
    );
}

#[tokio::test]
async fn features_are_off_unless_switched_on() {
    let off = start("0.0.2", &[]).await;
    assert_eq!(off.get("/search?q=litre").await, r#"404 {"error":"the feature exampleFeature1 is off"}"#);
    assert_eq!(off.get("/export").await, r#"404 {"error":"the feature exampleFeature2 is off"}"#);

    let on = start("0.0.1", &["exampleFeature1", "exampleFeature2"]).await;
    on.answer(Method::PUT, "/notes/milk", "2 litres").await;
    on.answer(Method::PUT, "/notes/bread", "1 loaf").await;
    assert_eq!(on.get("/search?q=litre").await, r#"200 ["milk"]"#);
    assert_eq!(on.get("/search?q=bre").await, r#"200 ["bread"]"#);
    assert_eq!(on.get("/search").await, r#"400 {"error":"say what to search for: /search?q=milk"}"#);
    let export = on.get("/export").await;
    assert!(export.starts_with("200 {\"format\":1,\"notes\":[[\"bread\",{\"text\":\"1 loaf\""), "{export}");
}

#[tokio::test]
async fn health_and_metrics_need_no_password() {
    let server = start("0.0.2", &[]).await;
    server.answer(Method::PUT, "/notes/milk", "2 litres").await;
    server.get("/notes/milk").await;
    server.get("/notes/milk").await;
    let open = async |path| server.ask(Method::GET, path, None, "").await;
    for path in ["/healthz", "/readyz"] {
        assert_eq!(open(path).await.body, r#"{"format":2,"version":"0.0.2"}"#);
    }
    let metrics = open("/metrics").await.body;
    for row in [
        "notes_total 1",
        "notes_healthy 1",
        "notes_requests_total 3",
        "notes_requests_per_second 0.3",
        "notes_cache_hits_total 1",
        "notes_build_info{version=\"0.0.2\",format=\"2\"} 1",
    ] {
        assert!(metrics.lines().any(|line| line == row), "{row} is not in\n{metrics}");
    }
}

#[tokio::test]
async fn damage_makes_it_unhealthy() {
    let server = start("0.0.2", &[]).await;
    server.answer(Method::PUT, "/notes/milk", "2 litres").await;
    fs::write(server.volume.file_of("milk"), "").unwrap();
    assert_eq!(server.get("/healthz").await, r#"200 {"format":2,"version":"0.0.2"}"#);
    let app = server.app.clone();
    tokio::task::spawn_blocking(move || app.notes.check()).await.unwrap();
    let health = server.get("/healthz").await;
    assert!(health.starts_with(r#"503 {"error":"corrupt: note \"milk\" in "#), "{health}");
    assert!(server.get("/notes/milk").await.starts_with("500 "));
}

#[tokio::test(start_paused = true)]
async fn the_volume_is_checked_every_ten_seconds() {
    let server = start("0.0.2", &[]).await;
    fs::write(server.volume.join("tree-1/stray"), "").unwrap();
    let mut passed = Duration::ZERO;
    // Virtual time: the check itself runs in a thread of its own, so several seconds may pass before it is done.
    while server.app.notes.health().is_ok() && passed < Duration::from_secs(600) {
        tokio::time::sleep(Duration::from_secs(1)).await;
        passed += Duration::from_secs(1);
    }
    assert!(server.app.notes.health().is_err(), "after {passed:?}");
}

#[tokio::test]
async fn the_broken_release_never_becomes_healthy() {
    let server = start("0.0.3", &[]).await;
    for path in ["/healthz", "/readyz"] {
        assert!(server.get(path).await.starts_with(r#"503 {"error":"0.0.3 was shipped broken"#));
    }
}

#[tokio::test]
async fn it_stops_when_asked_also_with_a_client_that_never_finishes() {
    let mut server = start("0.0.2", &[]).await;
    let idle = tokio::net::TcpStream::connect(server.address).await.unwrap();
    idle.try_write(b"PUT /notes/a HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\n").unwrap();
    server.get("/notes").await;
    server.stop.take().unwrap().send(()).unwrap();
    tokio::time::timeout(Duration::from_secs(20), &mut server.ended).await.unwrap().unwrap();
}

#[tokio::test]
async fn it_does_not_start_without_a_password_or_on_bad_data() {
    let volume = Volume::with("0.0.2", &[("milk", "2 litres")]);
    let refused =
        async |serve: Serve| message(serve.bind(&volume, Clock::system()).await.map(|_| ()), &volume);
    let with = |change: fn(&mut Serve)| {
        let mut serve = options(&volume, "0.0.2", &[]);
        change(&mut serve);
        serve
    };
    expect!["78: the password file /nowhere cannot be read: No such file or directory (os error 2)"]
        .assert_eq(&refused(with(|serve| serve.password_file = "/nowhere".into())).await);
    expect!["78: the password file /data.password is empty: write the password into its first line"]
        .assert_eq(&refused(with(|serve| fs::write(&serve.password_file, "\n").unwrap())).await);
    expect!["64: version 9 is not known; the known ones are 0.0.1, 0.0.2, 0.0.3, 0.1.0"]
        .assert_eq(&refused(with(|serve| serve.app_version = "9".into())).await);
    fs::remove_file(volume.join("FORMAT")).unwrap();
    expect!["65: corrupt: /data/FORMAT is missing, and the volume is not empty"]
        .assert_eq(&refused(with(|_| ())).await);
    fs::remove_file(volume.with_extension("password")).unwrap();
}
