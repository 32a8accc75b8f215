//! At rest an operator asks for nothing; a restart over settled objects writes nothing. Counted at the server.

use std::time::Duration;

use apiserver::{Server, User, Verb};
use kit::{Api, Clock, Manager, Setup, lead::Election};
use kube::CustomResourceExt as _;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::greeter;

const TEN_MINUTES: Duration = Duration::from_secs(600);

/// What costs something per object is seen with a thousand, too; `make campaign` takes ten.
#[expect(clippy::disallowed_methods, reason = "not a setting of the operator")]
fn objects() -> usize {
    if std::env::var_os("CAPSTAN_CAMPAIGN").is_some() { 10_000 } else { 1_000 }
}

fn server_with_greetings() -> Server {
    let server = Server::new();
    server.install(json!(greeter::Greeting::crd())).unwrap();
    for number in 0..objects() {
        let greeting = json!({
            "apiVersion": "kit.capstan.dev/v1", "kind": "Greeting",
            "metadata": {"name": format!("greeting-{number}"), "namespace": "default"},
            "spec": {"text": "hello", "copies": 1}});
        server.install(greeting).unwrap();
    }
    server
}

fn operator(server: &Server) -> Manager {
    let mut setup = Setup::new("greeter", Api::service(server.connection("operator", User::admin())));
    setup.election = Some(Election::new("default", "greeter"));
    // The real clock would go on while virtual time stands still, and close the fence.
    setup.clock = Clock::starting_at(server.now());
    greeter::operator(setup).unwrap()
}

/// Lets virtual time pass; everything that is due meanwhile happens.
async fn pass(time: Duration) {
    let never = std::future::pending::<()>();
    tokio::time::timeout(time, never).await.unwrap_err();
}

/// Waits, in virtual time, until the operator has written nothing but its lease for a minute.
async fn settled(server: &Server) {
    let writes =
        || server.requests().of("operator").writes().iter().filter(|r| r.resource != "leases").count();
    let mut before = usize::MAX;
    while before != writes() {
        before = writes();
        pass(Duration::from_secs(60)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn thousands_of_objects_cost_nothing_at_rest_and_nothing_at_a_restart() {
    let server = server_with_greetings();
    let (stop, first) = (CancellationToken::new(), operator(&server));
    let running = tokio::spawn(first.run(stop.clone()));
    settled(&server).await;
    let copies =
        server.dump().objects().keys().filter(|name| name.starts_with("configmaps default/")).count();
    assert_eq!(copies, objects());

    let rest = server.request_count();
    pass(TEN_MINUTES).await;
    let asked = server.requests().of("operator").since(rest);
    let work: Vec<String> = asked
        .iter()
        .filter(|request| request.verb != Some(Verb::Watch) && request.resource != "leases")
        .map(apiserver::Recorded::told)
        .collect();
    assert!(work.is_empty(), "{} requests at rest, for example {:?}", work.len(), work.first());
    assert!(asked.iter().any(|request| request.resource == "leases"), "the lease is renewed meanwhile");

    stop.cancel();
    running.await.unwrap().unwrap();
    let restart = server.request_count();
    let (stop, second) = (CancellationToken::new(), operator(&server));
    let running = tokio::spawn(second.run(stop.clone()));
    settled(&server).await;
    let wrote: Vec<String> = server
        .requests()
        .of("operator")
        .since(restart)
        .writes()
        .iter()
        .filter(|request| request.resource != "leases")
        .map(apiserver::Recorded::told)
        .collect();
    assert!(wrote.is_empty(), "{} writes after a restart, for example {:?}", wrote.len(), wrote.first());
    stop.cancel();
    running.await.unwrap().unwrap();
}
