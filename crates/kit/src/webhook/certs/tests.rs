//! Certificates over the years: no caller is ever locked out.

use super::*;

fn names() -> Vec<String> {
    vec!["capstan.default.svc".into(), "capstan.default.svc.cluster.local".into()]
}

fn start() -> Timestamp {
    "2030-01-01T00:00:00Z".parse().unwrap()
}

fn days(days: i64) -> SignedDuration {
    SignedDuration::from_hours(24 * days)
}

/// What becomes of a bundle that is looked after whenever something is due, and nothing else.
fn history(mut bundle: Bundle, until: Timestamp) -> Vec<(i64, Decision)> {
    let mut now = start();
    let mut history = Vec::new();
    while now < until {
        let decision = decide(now, &bundle, &names());
        match &decision {
            Decision::Keep { look_again } => {
                assert!(*look_again > now, "progress");
                now = *look_again;
            }
            _ => {
                history.push((now.duration_since(start()).as_hours() / 24, decision.clone()));
                let before = bundle.clone();
                bundle = carry_out(&decision, &before, &names(), now).unwrap().unwrap();
                overlaps(&before, &bundle, now);
            }
        }
        for name in names() {
            bundle.verify(&name, now).unwrap();
        }
    }
    history
}

/// A client that still has the old trust, and a replica that still has the old leaf, go on working.
fn overlaps(before: &Bundle, after: &Bundle, now: Timestamp) {
    let old_trust =
        Bundle { authority: before.authority.clone(), previous: before.previous.clone(), ..after.clone() };
    let old_leaf = Bundle { leaf: before.leaf.clone(), ..after.clone() };
    for (bundle, what) in [(old_trust, "old trust, new leaf"), (old_leaf, "new trust, old leaf")] {
        bundle.verify("capstan.default.svc", now).unwrap_or_else(|error| panic!("{what}: {error}"));
    }
}

#[test]
fn over_the_years_leaf_and_authority_take_turns_and_nobody_is_ever_locked_out() {
    let bundle = Bundle::new(&names(), start()).unwrap();
    let history = history(bundle, start() + days(500));
    let leaf = Decision::RenewLeaf(Why::Due);
    let authority = Decision::RenewAuthority(Why::Due);
    let expected = [
        (59, leaf.clone()),
        (119, leaf.clone()),
        (179, leaf.clone()),
        (239, leaf.clone()),
        (243, authority.clone()),
        (299, leaf.clone()),
        (359, leaf.clone()),
        (419, leaf.clone()),
        (479, leaf.clone()),
        (486, authority.clone()),
    ];
    assert_eq!(history, expected);
}

#[test]
fn a_leaf_that_is_due_waits_until_the_new_authority_is_known_everywhere() {
    let old = Bundle::new(&names(), start()).unwrap();
    let late = start() + days(80);
    let bundle = carry_out(&Decision::RenewAuthority(Why::Due), &old, &names(), late).unwrap().unwrap();
    let settled = late + SETTLED;
    let keep = decide(late, &bundle, &names());
    assert_eq!(keep, Decision::Keep { look_again: settled });
    assert_eq!(decide(settled, &bundle, &names()), Decision::RenewLeaf(Why::Due));
}

#[test]
fn what_was_forgotten_is_made_anew() {
    let bundle = Bundle::new(&names(), start()).unwrap();
    for (age, expected) in [
        (0, None),
        (59, None),
        (60, Some(Decision::RenewLeaf(Why::Due))),
        (89, Some(Decision::RenewLeaf(Why::Due))),
        (90, Some(Decision::RenewLeaf(Why::Expired))),
        (300, Some(Decision::RenewLeaf(Why::Expired))),
        (365, Some(Decision::Replace(Why::Expired))),
    ] {
        let decision = decide(start() + days(age), &bundle, &names());
        match expected {
            None => assert!(matches!(decision, Decision::Keep { .. }), "{age}: {decision:?}"),
            Some(expected) => assert_eq!(decision, expected, "{age}"),
        }
    }
}

#[test]
fn a_leaf_for_other_names_or_of_another_authority_is_signed_again() {
    let bundle = Bundle::new(&names(), start()).unwrap();
    let renamed = decide(start(), &bundle, &["other.default.svc".into()]);
    assert!(
        matches!(&renamed, Decision::RenewLeaf(Why::NotTrusted(why)) if why.starts_with("other.default.svc: "))
    );
    let foreign = Bundle { authority: Bundle::new(&names(), start()).unwrap().authority, ..bundle };
    assert!(matches!(decide(start(), &foreign, &names()), Decision::RenewLeaf(Why::NotTrusted(_))));
}

#[test]
fn a_clock_behind_ours_takes_a_new_certificate() {
    let bundle = Bundle::new(&names(), start()).unwrap();
    let behind = start() - SignedDuration::from_mins(4);
    bundle.verify("capstan.default.svc", behind).unwrap();
}

#[test]
fn a_leaf_never_outlives_its_authority() {
    let bundle = Bundle::new(&names(), start()).unwrap();
    let late = start() + days(350);
    let renewed = carry_out(&Decision::RenewLeaf(Why::Due), &bundle, &names(), late).unwrap().unwrap();
    assert_eq!(renewed.leaf.until, bundle.authority.until);
}

#[test]
fn what_is_stored_is_read_back_and_mixed_up_keys_are_found() {
    let bundle = Bundle::new(&names(), start()).unwrap();
    let parts = || Parts {
        authority: &bundle.authority.pem,
        authority_key: bundle.authority_key.pem(),
        previous: Some(&bundle.authority.pem),
        leaf: &bundle.leaf.pem,
        leaf_key: bundle.leaf_key.pem(),
    };
    let previous = Some(bundle.authority.clone());
    assert_eq!(Bundle::parse(&parts()).unwrap(), Bundle { previous, ..bundle.clone() });

    let error = |parts: Parts<'_>| Bundle::parse(&parts).unwrap_err().to_string();
    let swapped = Parts { authority_key: bundle.leaf_key.pem(), ..parts() };
    assert_eq!(error(swapped), "cannot read the key of the CA: it is not the key of this CA");
    let swapped = Parts { leaf_key: bundle.authority_key.pem(), ..parts() };
    assert_eq!(error(swapped), "certificate and key do not fit");
    let garbled = Parts { leaf: "garbage", ..parts() };
    assert!(error(garbled).starts_with("cannot read the leaf: "));
}

#[test]
fn nothing_that_can_be_logged_holds_a_key() {
    let bundle = Bundle::new(&names(), start()).unwrap();
    let text = format!("{bundle:?} {bundle:#?}");
    let secret = bundle.leaf_key.pem().lines().nth(1).unwrap();
    assert!(!text.contains("PRIVATE") && !text.contains(secret), "{text}");
    assert!(text.contains("PrivateKey(..)"), "{text}");
}
