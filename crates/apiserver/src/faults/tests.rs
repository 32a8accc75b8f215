//! Which requests a rule meets, how often, and who is dead.

use bytes::Bytes;
use jiff::Timestamp;

use super::*;
use crate::Verb;

fn request(client: &str, verb: Verb, resource: &str, name: &str) -> Recorded {
    Recorded {
        index: 3,
        at: Timestamp::UNIX_EPOCH,
        client: client.into(),
        user: "u".into(),
        verb: Some(verb),
        group: String::new(),
        resource: resource.into(),
        namespace: "n".into(),
        name: name.into(),
        subresource: String::new(),
        dry_run: false,
        query: String::new(),
        body: Bytes::new(),
        code: None,
        revision: None,
        faults: Vec::new(),
    }
}

#[test]
fn a_rule_names_its_requests_by_every_field_that_it_sets() {
    let get = request("operator", Verb::Get, "secrets", "s");
    let rows = [
        (When::any(), true),
        (When::index(3), true),
        (When::index(4), false),
        (When::verb(Verb::Get), true),
        (When::read(), true),
        (When::write(), false),
        (When::any().client("operator"), true),
        (When::any().client("other"), false),
        (When::any().resource("secrets").object("n", "s"), true),
        (When::any().resource("secrets").object("n", "t"), false),
        (When::any().subresource("status"), false),
    ];
    for (when, expected) in rows {
        assert_eq!(when.matches(&get), expected, "{when:?}");
    }
}

#[test]
fn a_rule_skips_fires_and_rests() {
    let faults = Faults::default();
    faults.add(When::verb(Verb::Get).skip(1).times(2), Fault::Lost);
    let get = request("operator", Verb::Get, "secrets", "s");
    let met: Vec<bool> = (0..4).map(|_| !faults.befalling(&get).is_empty()).collect();
    assert_eq!(met, [false, true, true, false]);
    assert_eq!(faults.fired(), [2]);
}

#[test]
fn the_dead_stay_dead_and_the_reborn_live() {
    let faults = Faults::default();
    let (first, other) = (faults.next_connection(), faults.next_connection());
    faults.kill("operator");
    let second = faults.next_connection();
    assert!(faults.is_dead("operator", first));
    assert!(!faults.is_dead("operator", second));
    assert!(!faults.is_dead("other", other));
}
