//! Who signs what, as long as members trust a CA; and what time alone changes.

use std::cell::Cell;

use jiff::SignedDuration;
use serde_json::{Value, json};

use super::*;
use crate::{
    build,
    tls::{Authority, Problem},
};

fn now() -> Timestamp {
    "2026-01-01T00:00:00Z".parse().unwrap()
}

fn cluster(tls: &Value) -> EtcdCluster {
    serde_json::from_value(json!({
        "apiVersion": "etcd.capstan.dev/v1alpha1", "kind": "EtcdCluster",
        "metadata": {"name": "db", "namespace": "prod", "uid": "u-1"},
        "spec": {"version": "3.6.16", "tls": tls},
    }))
    .unwrap()
}

fn self_managed() -> EtcdCluster {
    cluster(&json!({"mode": "SelfManaged"}))
}

/// The Secrets of a cluster whose CA is `ca`, with leaves that `signer` signed.
fn secrets(cluster: &EtcdCluster, ca: &Authority, signer: &Authority) -> Vec<Secret> {
    let names = names::of_certificates(cluster);
    let leaf = |role| {
        let made = signer.sign(role, &names, now()).unwrap();
        build::secret(cluster, names::leaf("db", role), made.data())
    };
    let ca = build::secret(cluster, names::ca("db"), ca.data());
    [ca].into_iter().chain(Role::ALL.map(leaf)).collect()
}

fn authority() -> Authority {
    Authority::new(&names::of_certificates(&self_managed()), now()).unwrap()
}

fn read(secrets: &[Secret], lost: &[&str]) -> Certificates {
    read_beside(secrets, lost, &[])
}

/// Where Secrets of the names `hidden` are there, and not seen.
fn read_beside(secrets: &[Secret], lost: &[&str], hidden: &[&str]) -> Certificates {
    let there = |name: &str| {
        let found = secrets.iter().find(|it| it.name_any() == name && !lost.contains(&name));
        found.cloned().map(Arc::new)
    };
    let sources = Sources { own: &there, given: &BTreeMap::new(), is_taken: &|name| hidden.contains(&name) };
    Certificates::read(&self_managed(), &sources, &Trust::Nobody, now())
}

fn members() -> Trust {
    Trust::Members(Recorded::default())
}

#[track_caller]
fn check(certificates: &Certificates, trust: &Trust, tasks: &[Task], problem: Option<&str>) {
    let told = certificates.standing(trust, now()).problem;
    let is_told = match (problem, &told) {
        (None, None) => true,
        (Some(problem), Some(told)) => told.starts_with(problem),
        _ => false,
    };
    assert!(is_told, "{told:?}");
    assert_eq!(certificates.tasks(trust, now()), tasks);
}

const ALL: [&str; 5] = ["db-ca", "db-server-tls", "db-peer-tls", "db-client-tls", "db-operator-tls"];

fn signed(due: &Due) -> Vec<Task> {
    Role::ALL.map(|role| Task::Sign(role, due.clone())).into()
}

#[test]
fn an_authority_is_made_where_nobody_trusts_another() {
    let ours = authority();
    let secrets = secrets(&self_managed(), &ours, &ours);
    let made: Vec<Task> = [Task::MakeAuthority].into_iter().chain(signed(&Due::Missing)).collect();
    check(&read(&secrets, &ALL), &Trust::Nobody, &made, None);
    check(&read(&secrets, &[]), &members(), &[], None);
    let gone = "all certificates of db are gone, and its members trust no other CA than the one in Secret db-ca: \
                put it back from a backup. Without one: set spec.paused; \
                kubectl delete statefulset,secret -n prod -l etcd.capstan.dev/cluster=db (volumes stay)";
    check(&read(&secrets, &ALL), &members(), &[], Some(gone));
    let hidden = "Secret db-ca is there and does not say that it is ours";
    check(&read_beside(&secrets, &ALL, &ALL), &members(), &[Task::LookForAuthority], Some(hidden));
    let gone = "Secret db-ca is gone: certificates cannot be renewed";
    for trust in [Trust::Nobody, members()] {
        check(&read(&secrets, &["db-ca"]), &trust, &[], Some(gone));
        check(&read(&secrets, &ALL[1..]), &trust, &signed(&Due::Missing), None);
    }
}

#[test]
fn another_authority_signs_nothing_as_long_as_members_trust_the_first() {
    let (ours, other) = (authority(), authority());
    let replaced = secrets(&self_managed(), &other, &ours);
    let told = "Secret db-ca holds another CA than the one that the certificates of db are of";
    check(&read(&replaced, &[]), &members(), &[], Some(told));
    check(&read(&replaced, &["db-server-tls", "db-client-tls"]), &members(), &[], Some(told));
    let anew = signed(&Due::Unusable(Problem::OfAnotherAuthority.to_string()));
    check(&read(&replaced, &[]), &Trust::Nobody, &anew, None);
}

#[test]
fn one_leaf_of_another_authority_among_others_is_signed_anew() {
    let (ours, other) = (authority(), authority());
    let mut all = secrets(&self_managed(), &ours, &ours);
    all[1] = secrets(&self_managed(), &other, &other).swap_remove(1);
    let due = Due::Unusable(Problem::OfAnotherAuthority.to_string());
    check(&read(&all, &[]), &members(), &[Task::Sign(Role::Server, due)], None);
}

#[test]
fn no_pod_is_made_before_its_certificates() {
    let ours = authority();
    let secrets = secrets(&self_managed(), &ours, &ours);
    let is_there = |lost: &[&str], trust: Trust| {
        let certificates = read(&secrets, lost);
        certificates.are_there(&certificates.tasks(&trust, now()))
    };
    assert!(is_there(&[], members()) && is_there(&ALL, Trust::Nobody));
    assert!(is_there(&["db-peer-tls"], members()), "it is signed");
    assert!(!is_there(&ALL, members()));
    assert!(!is_there(&["db-ca", "db-peer-tls"], members()));
}

#[test]
fn a_certificate_that_is_not_valid_yet_is_judged_again() {
    let given = json!({"mode": "Secrets", "secrets": {"peer": "mine", "server": "mine", "operator": "mine"}});
    let (cluster, later) = (cluster(&given), now() + SignedDuration::from_mins(10));
    let names = names::of_certificates(&cluster);
    let leaf = authority().sign(Role::Server, &names, later).unwrap();
    let mut secret = build::secret(&cluster, "mine".to_owned(), leaf.data());
    secret.metadata.resource_version = Some("7".to_owned());
    let given = BTreeMap::from([("mine".to_owned(), Arc::new(secret))]);
    let reads = Cell::new(0);
    let own = |_: &str| {
        reads.set(reads.get() + 1);
        None
    };
    let known = Read::default();
    let problem = |at| {
        let sources = Sources { own: &own, given: &given, is_taken: &|_| false };
        known.get(&cluster, &sources, &Trust::Nobody, at).standing(&Trust::Nobody, at).problem
    };
    let told = problem(now()).unwrap();
    assert!(told.contains("not valid yet"), "{told}");
    assert_eq!(problem(later), None);
    let before = reads.get();
    assert_eq!(problem(later + SignedDuration::from_mins(1)), None);
    assert_eq!(reads.get() - before, 5, "what is good is not read again, only its version");
}
