//! The client's hops in virtual time, on servers of a few lines.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, StreamBody, combinators::UnsyncBoxBody};
use kit::{
    client::{ClientOptions, Deadline, RetryBudget, layered},
    lead::{Election, Elector, is_not_leader},
    metrics::Metrics,
};
use kube::client::Body;
use tokio::time::{Instant, sleep};
use tower::BoxError;

type Answer = Response<UnsyncBoxBody<Bytes, BoxError>>;
type Failure = fn() -> Result<Answer, BoxError>;

fn answer(code: u16) -> Answer {
    let body = Full::new(Bytes::from_static(b"{}")).map_err(|never| match never {}).boxed_unsync();
    Response::builder().status(code).body(body).unwrap()
}

fn retry_after(code: u16, seconds: u64) -> Answer {
    let mut response = answer(code);
    response.headers_mut().insert("retry-after", seconds.into());
    response
}

fn io(kind: std::io::ErrorKind) -> BoxError {
    std::io::Error::from(kind).into()
}

fn options() -> ClientOptions {
    ClientOptions::new("test/1", Metrics::new())
}

/// A client of a server that answers its n-th request with `serve(n)`, and the count of requests.
fn client<F>(
    options: ClientOptions,
    serve: impl Fn(usize, Request<Body>) -> F + Send + Sync + 'static,
) -> (kube::Client, Arc<AtomicUsize>)
where
    F: Future<Output = Result<Answer, BoxError>> + Send + 'static,
{
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let service = tower::service_fn(move |request| serve(counted.fetch_add(1, Ordering::SeqCst), request));
    (layered(service, "default", options), count)
}

fn request(method: &str, path: &str) -> Request<Body> {
    Request::builder().method(method).uri(path).body(Body::from(b"{}".to_vec())).unwrap()
}

async fn send(client: &kube::Client, method: &str, path: &str) -> Result<StatusCode, kube::Error> {
    client.send(request(method, path)).await.map(|response| response.status())
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_never_answered_fails_after_the_timeout() {
    let (client, _) = client(options(), |_, _| async { std::future::pending().await });
    let began = Instant::now();
    let error = send(&client, "PUT", "/api/v1/namespaces/a/pods/p").await.unwrap_err();
    assert_eq!(began.elapsed(), Duration::from_secs(15));
    assert_eq!(
        error.to_string(),
        "ServiceError: PUT /api/v1/namespaces/a/pods/p: no complete answer after 15s"
    );
}

/// Headers at once, then two pieces, `gap` before each.
fn slow_body(gap: Duration) -> Answer {
    let pieces = futures::stream::unfold(0, move |n| async move {
        sleep(gap).await;
        (n < 2).then(|| (Ok(http_body::Frame::data(Bytes::from_static(b"piece"))), n + 1))
    });
    Response::new(StreamBody::new(pieces).boxed_unsync())
}

#[tokio::test(start_paused = true)]
async fn the_body_counts_too_unless_it_is_a_watch() {
    let (client, _) = client(options(), |_, _| async { Ok(slow_body(Duration::from_secs(8))) });
    let began = Instant::now();
    let list = client.send(request("GET", "/api/v1/pods")).await.unwrap();
    let error = list.into_body().collect().await.unwrap_err();
    assert!(error.to_string().contains("GET /api/v1/pods: no complete answer after 15s"), "{error}");
    assert_eq!(began.elapsed(), Duration::from_secs(15));

    let watch = client.send(request("GET", "/api/v1/pods?watch=true")).await.unwrap();
    assert_eq!(watch.into_body().collect().await.unwrap().to_bytes().len(), 10);
    assert_eq!(began.elapsed(), Duration::from_secs(15 + 24));
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_does_not_begin_fails_after_the_timeout_and_is_not_retried() {
    let (client, count) = client(options(), |_, _| async { std::future::pending().await });
    let began = Instant::now();
    assert!(send(&client, "GET", "/api/v1/pods?watch=true").await.is_err());
    assert_eq!((began.elapsed(), count.load(Ordering::SeqCst)), (Duration::from_secs(15), 1));
}

#[tokio::test(start_paused = true)]
async fn a_deadline_in_the_request_ends_the_call_with_its_retries_and_waits() {
    let (client, count) = client(options(), |_, _| async {
        sleep(Duration::from_secs(2)).await;
        Ok(retry_after(429, 1))
    });
    let began = Instant::now();
    let mut get = request("GET", "/version");
    get.extensions_mut().insert(Deadline(began + Duration::from_secs(7)));
    let result = client.send(get).await;
    assert!(result.is_err());
    assert_eq!((began.elapsed(), count.load(Ordering::SeqCst)), (Duration::from_secs(7), 3));
}

#[tokio::test(start_paused = true)]
async fn a_busy_server_is_asked_again_when_it_says() {
    let metrics = Metrics::new();
    let (client, count) = client(ClientOptions::new("test/1", metrics.clone()), |n, _| async move {
        Ok(if n < 2 { retry_after(429, 3) } else { answer(201) })
    });
    let began = Instant::now();
    assert_eq!(send(&client, "POST", "/api/v1/namespaces/a/pods").await.unwrap(), StatusCode::CREATED);
    assert_eq!(count.load(Ordering::SeqCst), 3);
    let took = began.elapsed();
    assert!(took >= Duration::from_secs(6) && took < Duration::from_millis(6_300), "{took:?}");
    let exposed = metrics.encode();
    for expected in [
        r#"rest_client_requests_total{code="429",method="POST",host="in-process"} 2"#,
        r#"rest_client_requests_total{code="201",method="POST",host="in-process"} 1"#,
        r#"rest_client_request_retries_total{code="429",verb="POST",host="in-process"} 2"#,
    ] {
        assert!(has_sample(&exposed, expected), "{expected} in\n{exposed}");
    }
}

/// Whether `exposed` has the sample, its labels in any order.
fn has_sample(exposed: &str, sample: &str) -> bool {
    let parts = |line: &str| {
        let (name, rest) = line.split_once('{')?;
        let (labels, value) = rest.split_once('}')?;
        let mut labels: Vec<_> = labels.split(',').map(ToOwned::to_owned).collect();
        labels.sort();
        Some((name.to_owned(), labels, value.trim().to_owned()))
    };
    exposed.lines().any(|line| parts(line) == parts(sample))
}

#[tokio::test(start_paused = true)]
async fn what_may_have_been_done_is_not_sent_twice() {
    // method, failure, how many requests the server sees
    let table: &[(&str, Failure, usize)] = &[
        ("GET", || Err(io(std::io::ErrorKind::ConnectionReset)), 5),
        ("PUT", || Err(io(std::io::ErrorKind::ConnectionReset)), 1),
        ("PUT", || Err(io(std::io::ErrorKind::ConnectionRefused)), 5),
        ("POST", || Err(io(std::io::ErrorKind::ConnectionRefused)), 1),
        ("POST", || Ok(answer(503)), 1),
        ("POST", || Ok(retry_after(503, 1)), 5),
        ("GET", || Ok(answer(503)), 5),
        ("GET", || Ok(answer(404)), 1),
        ("GET", || Ok(answer(500)), 1),
        ("DELETE", || Ok(retry_after(429, 31)), 1),
    ];
    for (method, failure, expected) in table {
        let (client, count) = client(options(), |_, _| async { failure() });
        let _ = send(&client, method, "/api/v1/namespaces/a/pods").await;
        let failure = failure().map(|response| response.status());
        assert_eq!(count.load(Ordering::SeqCst), *expected, "{method} {failure:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_eviction_that_a_budget_forbids_is_the_callers_to_repeat() {
    let (client, count) = client(options(), |_, _| async { Ok(retry_after(429, 1)) });
    let status = send(&client, "POST", "/api/v1/namespaces/a/pods/p/eviction").await.unwrap();
    assert_eq!((status, count.load(Ordering::SeqCst)), (StatusCode::TOO_MANY_REQUESTS, 1));
}

#[tokio::test(start_paused = true)]
async fn a_body_that_cannot_be_sent_twice_is_sent_once() {
    let source = tower::service_fn(|_: Request<Body>| async { Ok::<_, BoxError>(answer(200)) });
    let streamed = kube::Client::new(source, "default").send(request("GET", "/")).await.unwrap().into_body();
    let (client, count) = client(options(), |_, _| async { Ok(retry_after(429, 1)) });
    let put = Request::builder().method("PUT").uri("/api/v1/namespaces/a/pods/p").body(streamed).unwrap();
    assert_eq!(client.send(put).await.unwrap().status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(count.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn a_broken_server_gets_no_storm() {
    let budget = RetryBudget { burst: 10, per_second: 0.0, per_success: 0.1 };
    let options = ClientOptions { retry_budget: budget, ..options() };
    let (client, count) = client(options, |_, _| async { Ok(answer(503)) });
    let calls = (0..100).map(|_| send(&client, "GET", "/version"));
    futures::future::join_all(calls).await;
    assert_eq!(count.load(Ordering::SeqCst), 100 + 10);
}

/// Runs `calls` at once against a server that takes a second each and refuses above `share`; returns the highest number
/// that was under way, and the refusals.
async fn crowd(calls: usize, share: usize, method: &'static str) -> (usize, usize) {
    let busy = Arc::new(AtomicUsize::new(0));
    let (highest, refused) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (seen, counted) = (Arc::clone(&highest), Arc::clone(&refused));
    let (client, _) = client(options(), move |_, _| {
        let (busy, highest, refused) = (Arc::clone(&busy), Arc::clone(&highest), Arc::clone(&refused));
        async move {
            let now = busy.fetch_add(1, Ordering::SeqCst) + 1;
            highest.fetch_max(now, Ordering::SeqCst);
            sleep(Duration::from_secs(1)).await;
            busy.fetch_sub(1, Ordering::SeqCst);
            let too_many = now > share;
            refused.fetch_add(usize::from(too_many), Ordering::SeqCst);
            Ok(answer(if too_many { 429 } else { 200 }))
        }
    });
    futures::future::join_all((0..calls).map(|_| send(&client, method, "/api/v1/namespaces/a/pods"))).await;
    (seen.load(Ordering::SeqCst), counted.load(Ordering::SeqCst))
}

#[tokio::test(start_paused = true)]
async fn at_most_thirty_two_writes_and_sixty_four_reads_are_under_way() {
    assert_eq!(crowd(200, usize::MAX, "PATCH").await, (32, 0));
    assert_eq!(crowd(200, usize::MAX, "GET").await, (64, 0));
}

#[tokio::test(start_paused = true)]
async fn refusals_shrink_what_is_under_way_until_it_fits() {
    let (highest, refused) = crowd(400, 8, "PATCH").await;
    assert_eq!(highest, 32, "the first wave");
    // Unlimited, 392 of the first 400 would be refused, and again.
    assert!(refused < 100, "{refused}");
}

#[tokio::test(start_paused = true)]
async fn reads_and_watches_never_hold_up_a_write() {
    let (client, _) = client(options(), |_, request| async move {
        if request.method() == "GET" { std::future::pending().await } else { Ok(answer(200)) }
    });
    let (lists, watches) = (client.clone(), client.clone());
    tokio::spawn(async move {
        futures::future::join_all((0..200).map(|_| send(&lists, "GET", "/api/v1/pods"))).await
    });
    tokio::spawn(async move {
        futures::future::join_all((0..200).map(|_| send(&watches, "GET", "/api/v1/pods?watch=true"))).await
    });
    sleep(Duration::from_millis(1)).await;
    let began = Instant::now();
    assert_eq!(send(&client, "PATCH", "/api/v1/namespaces/a/pods/p").await.unwrap(), StatusCode::OK);
    assert_eq!(began.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_goes_away_gives_its_place_back() {
    let (client, count) = client(ClientOptions { max_writes_in_flight: 1, ..options() }, |n, _| async move {
        if n == 0 { std::future::pending().await } else { Ok(answer(200)) }
    });
    let gone = tokio::time::timeout(Duration::from_secs(1), send(&client, "PATCH", "/x")).await;
    assert!(gone.is_err());
    assert_eq!(send(&client, "PATCH", "/x").await.unwrap(), StatusCode::OK);
    assert_eq!(count.load(Ordering::SeqCst), 2);
}

#[tokio::test(start_paused = true)]
async fn the_server_is_told_who_calls() {
    let (client, _) = client(options(), |_, request| async move {
        let named = request.headers().get("user-agent").is_some_and(|name| name == "test/1");
        Ok(answer(if named { 200 } else { 400 }))
    });
    assert_eq!(send(&client, "GET", "/version").await.unwrap(), StatusCode::OK);
}

#[tokio::test(start_paused = true)]
async fn a_standby_may_read_ask_and_try_but_not_write() {
    let (unfenced, _) = client(options(), |_, _| async { Ok(answer(404)) });
    let clock = kit::Clock::starting_at(jiff::Timestamp::UNIX_EPOCH);
    let (_, fence) = Elector::new(unfenced, Election::new("ops", "capstan"), clock, Metrics::new()).unwrap();
    let (client, count) = client(options().fenced(fence), |_, _| async { Ok(answer(200)) });
    for (method, path) in [
        ("GET", "/api/v1/namespaces/a/pods"),
        ("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"),
        ("PATCH", "/api/v1/namespaces/a/pods/p?dryRun=All"),
    ] {
        assert_eq!(send(&client, method, path).await.unwrap(), StatusCode::OK, "{method} {path}");
    }
    for method in ["POST", "PUT", "PATCH", "DELETE"] {
        let error = send(&client, method, "/api/v1/namespaces/a/pods/p").await.unwrap_err();
        assert!(is_not_leader(&error), "{method}: {error}");
    }
    assert_eq!(count.load(Ordering::SeqCst), 3, "refused before the server saw it");
}
