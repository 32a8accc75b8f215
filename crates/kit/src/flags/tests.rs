//! What flags mean, and which are refused with which words.

use std::collections::BTreeSet;

use clap::{CommandFactory as _, Parser};
use expect_test::{Expect, expect};

use super::*;
use crate::scope::Scope;

#[derive(Debug, Parser)]
#[command(name = "operator")]
struct Cli {
    #[command(flatten)]
    operator: OperatorFlags,
}

fn parse(args: &[&str]) -> OperatorFlags {
    let args = ["operator"].iter().chain(args).map(OsString::from);
    Cli::try_parse_from(accept_single_dash(args)).unwrap_or_else(|error| panic!("{error}")).operator
}

fn config(args: &[&str]) -> OperatorConfig {
    parse(args).validate("capstan").unwrap_or_else(|errors| panic!("{errors}"))
}

fn refused(args: &[&str], expected: &Expect) {
    expected.assert_eq(&parse(args).validate("capstan").unwrap_err().to_string());
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(ToString::to_string).collect()
}

#[test]
fn without_flags_an_operator_looks_after_everything_and_elects_a_leader() {
    let config = config(&[]);
    assert_eq!(config.scope, Scope::All);
    assert_eq!(config.election.unwrap().lease_duration, Duration::from_secs(15));
    assert_eq!(config.field_manager, "capstan");
    assert_eq!(config.resync, Some(Duration::from_secs(36_000)));
    assert_eq!(config.webhook, None);
}

#[test]
fn the_scope_comes_from_one_of_three_flags() {
    assert_eq!(config(&["--namespaces=a,b"]).scope, Scope::Only(set(&["a", "b"])));
    assert_eq!(config(&["--deny-namespaces", "kube-system"]).scope, Scope::Except(set(&["kube-system"])));
    assert_eq!(config(&["--namespace-selector=team=db"]).scope, Scope::Labelled("team=db".into()));
    assert_eq!(config(&["--namespaces="]).scope, Scope::All, "an empty value means nothing was said");
    refused(
        &["--namespaces=a", "--deny-namespaces=b"],
        &expect![
            "--namespaces: only one of --namespaces, --deny-namespaces and --namespace-selector can say which namespaces are meant. Leave the others out"
        ],
    );
    refused(
        &["--namespaces=a,B_c"],
        &expect![
            "--namespaces: `B_c` is no name of a namespace. Write names of a-z, 0-9 and -, separated by commas"
        ],
    );
}

#[test]
fn flags_can_be_written_as_go_operators_have_them() {
    assert_eq!(config(&["--leader-elect=false"]).election, None);
    assert!(config(&["--leader-elect"]).election.is_some());
    assert_eq!(config(&["-leader-elect=false", "-workers", "3"]).workers.get(), 3);
}

#[test]
fn single_dashes_are_doubled_only_before_long_flags() {
    let args = ["op", "-log-level=debug", "--x", "-v", "-5", "-", "--", "-log-level"].map(OsString::from);
    let expected =
        ["op", "--log-level=debug", "--x", "-v", "-5", "-", "--", "-log-level"].map(OsString::from);
    assert_eq!(accept_single_dash(args), expected);
}

#[test]
fn lease_times_that_would_give_two_leaders_are_refused() {
    refused(
        &["--leader-elect-renew-deadline=20s", "--leader-elect-retry-period=19s"],
        &expect![[r#"
        --leader-elect-renew-deadline: 20s is not below --leader-elect-lease-duration 15s: two replicas could lead at once. Set it to about two thirds of the lease duration
        --leader-elect-retry-period: 19s leaves no second try within --leader-elect-renew-deadline 20s. Set it to about a fifth of the renew deadline"#]],
    );
    assert_eq!(config(&["--leader-elect=false", "--leader-elect-renew-deadline=20s"]).election, None);
}

#[test]
fn everything_that_is_wrong_is_told_at_once() {
    refused(
        &[
            "--workers=0",
            "--max-writes-in-flight=0",
            "--request-timeout=0",
            "--field-manager=",
            "--webhook-bind-address=:9443",
        ],
        &expect![[r#"
            --webhook-service: the certificate needs the name that API servers call. Set it to the Service in front of this operator, or give your own certificate with --webhook-cert-dir
            --workers: with 0 nothing would ever be done. Set 1 or more
            --max-writes-in-flight: with 0 nothing would ever be done. Set 1 or more
            --request-timeout: with 0 everything would be given up before it starts. Set a time, as in 15s
            --field-manager: the API server takes 1 to 128 printable characters. Choose a short name and keep it"#]],
    );
}

#[test]
fn a_bad_value_is_refused_with_an_example() {
    let error = |arg: &str| Cli::try_parse_from(["operator", arg]).unwrap_err().to_string();
    expect![[r#"
        error: invalid value 'often' for '--resync <TIME>': this is no time: write it as in 15s, 1m30s, 500ms or 10h

        For more information, try '--help'.
    "#]].assert_eq(&error("--resync=often"));
    expect![[r#"
        error: invalid value '8080' for '--metrics-bind-address <ADDRESS>': `8080` is no address to listen on: write `:8080`, `127.0.0.1:8080`, `[::1]:8080`, or `0` to switch it off

        For more information, try '--help'.
    "#]].assert_eq(&error("--metrics-bind-address=8080"));
    expect![[r#"
        error: invalid value 'verbose' for '--log-level <FILTER>': `verbose` is no log level: write one of off, error, warn, info, debug, trace, and if need be `module=level` after a comma

        For more information, try '--help'.
    "#]].assert_eq(&error("--log-level=verbose"));
}

#[test]
fn an_endpoint_for_traces_is_a_plain_http_url_and_its_password_is_never_repeated() {
    assert!(config(&["--otlp-endpoint=http://collector:4318"]).telemetry.otlp_endpoint.is_some());
    for url in ["collector", "https://collector", "http://user:hunter2@collector"] {
        let errors = parse(&["--otlp-endpoint", url]).validate("capstan").unwrap_err().to_string();
        assert!(errors.starts_with("--otlp-endpoint: ") && !errors.contains("hunter2"), "{errors}");
    }
}

#[test]
fn every_flag_has_an_environment_variable_of_its_name_and_a_sentence() {
    for arg in
        Cli::command().get_arguments().filter(|arg| !matches!(arg.get_id().as_str(), "help" | "version"))
    {
        let long = arg.get_long().unwrap();
        let expected = format!("CAPSTAN_{}", long.replace('-', "_").to_uppercase());
        assert_eq!(arg.get_env().and_then(|name| name.to_str()), Some(expected.as_str()), "--{long}");
        assert!(arg.get_help().is_some() && arg.get_help_heading().is_some(), "--{long}");
        // Kubernetes sets these by itself, after the names of Services.
        assert!(!["_PORT", "_SERVICE_HOST"].iter().any(|end| expected.ends_with(end)), "--{long}");
    }
}

#[test]
fn the_reference_is_made_from_the_flags() {
    let markdown = reference(&Cli::command());
    let wanted = ["## ", "--namespaces", "--leader-elect`", "--leader-elect[", "--log-format", "--workers"];
    let lines: String = markdown
        .lines()
        .filter(|line| wanted.iter().any(|part| line.contains(part)))
        .map(|l| format!("{l}\n"))
        .collect();
    expect![[r#"
        ## Scope
        | `--namespaces NAME,…` | `CAPSTAN_NAMESPACES` |  | Look after these namespaces only, instead of all. |
        ## Leader election
        | `--leader-elect[=false]` | `CAPSTAN_LEADER_ELECT` | `true` | Elect one leader among the replicas; the others stand by with warm caches. Needed with more than one replica. |
        ## Work
        | `--workers NUMBER` | `CAPSTAN_WORKERS` | `8` | How many objects of a kind are worked on at once. |
        ## API server
        ## Metrics, health, logs, traces
        | `--log-format FORMAT` | `CAPSTAN_LOG_FORMAT` | `text` | How log lines look. One of `text`, `json`, `logfmt`. |
        ## Webhooks
    "#]].assert_eq(&lines);
}
