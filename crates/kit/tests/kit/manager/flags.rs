//! What the flags say is what the operator does.

use std::time::Duration;

use clap::Parser;
use kit::{
    Api, Scope, Setup,
    flags::{OperatorConfig, OperatorFlags},
    serve::Listen,
};

use super::world::*;

#[derive(Parser)]
struct Command {
    #[command(flatten)]
    operator: OperatorFlags,
}

fn config(flags: &[&str]) -> OperatorConfig {
    let command = Command::parse_from(["operator"].iter().chain(flags));
    command.operator.validate("probe").unwrap()
}

fn configured(flags: &[&str]) -> Setup {
    let connection = server().connection("operator", apiserver::User::admin());
    Setup::configured("probe", Api::service(connection), "operators", &config(flags))
}

#[tokio::test(start_paused = true)]
async fn every_flag_arrives_where_it_belongs() {
    let setup = configured(&[
        "--namespaces=a,b",
        "--workers=3",
        "--reconcile-timeout=30s",
        "--resync=1h",
        "--field-manager=somebody",
        "--graceful-shutdown-timeout=5s",
        "--request-timeout=7s",
        "--max-writes-in-flight=4",
        "--metrics-bind-address=127.0.0.1:1",
        "--health-probe-bind-address=0",
        "--leader-elect-namespace=leases",
        "--leader-elect-lease-duration=30s",
        "--leader-elect-renew-deadline=20s",
        "--leader-elect-retry-period=3s",
    ]);
    assert_eq!(setup.scope, Scope::Only(["a", "b"].map(String::from).into()));
    assert_eq!((&*setup.name, &*setup.namespace, &*setup.field_manager), ("probe", "operators", "somebody"));
    let controllers = &setup.controllers;
    assert_eq!(
        (controllers.workers, controllers.reconcile_timeout, controllers.resync),
        (3, seconds(30), seconds(3600))
    );
    assert_eq!(
        (setup.graceful_shutdown_timeout, setup.request_timeout, setup.max_writes_in_flight),
        (seconds(5), seconds(7), 4)
    );
    assert_eq!(setup.metrics_listen, Listen::At { host: "127.0.0.1".into(), port: 1 });
    assert_eq!(setup.health_listen, Listen::Off);
    let election = setup.election.unwrap();
    assert_eq!((&*election.namespace, &*election.name), ("leases", "probe"));
    assert_eq!(
        (election.lease_duration, election.renew_deadline, election.retry_period),
        (seconds(30), seconds(20), seconds(3))
    );
    assert!(!election.identity.is_empty() && election.release_on_stop);
}

#[tokio::test(start_paused = true)]
async fn the_lease_is_in_the_operators_own_namespace_unless_said_otherwise_and_zero_resync_is_never() {
    let setup = configured(&["--resync=0"]);
    assert_eq!(setup.election.unwrap().namespace, "operators");
    assert_eq!(setup.controllers.resync, Duration::ZERO);
    assert!(configured(&["--leader-elect=false"]).election.is_none());
}

#[tokio::test(start_paused = true)]
async fn the_defaults_of_flags_and_code_are_the_same() {
    let (flags, code) = (configured(&[]), setup(&server(), "operator"));
    assert_eq!(flags.controllers.workers, code.controllers.workers);
    assert_eq!(flags.controllers.reconcile_timeout, code.controllers.reconcile_timeout);
    assert_eq!(flags.controllers.resync, kit::ControllerOptions::default().resync);
    assert_eq!(
        (flags.request_timeout, flags.max_writes_in_flight),
        (code.request_timeout, code.max_writes_in_flight)
    );
    assert_eq!(flags.graceful_shutdown_timeout, code.graceful_shutdown_timeout);
    assert_eq!(flags.field_manager, code.field_manager);
}
