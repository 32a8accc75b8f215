//! Certificates are good for what they are for, long enough, and are renewed in time.

use super::*;

fn names() -> Names {
    Names { cluster: "db".into(), namespace: "prod".into(), domain: "cluster.local".into() }
}

fn now() -> Timestamp {
    "2026-01-01T00:00:00Z".parse().unwrap()
}

fn due_at(role: Role, leaf: Option<&Material>, ca: &str, names: &Names, now: Timestamp) -> Option<Due> {
    let missing = || Err(Problem::NoSecret("none".into()));
    due(&leaf.map_or_else(missing, |leaf| judge(role, leaf, ca, names, now)), now)
}

fn days(days: i64) -> SignedDuration {
    SignedDuration::from_hours(days * 24)
}

#[test]
fn every_leaf_is_good_for_its_role() {
    let authority = Authority::new(&names(), now()).unwrap();
    for role in Role::ALL {
        let leaf = authority.sign(role, &names(), now()).unwrap();
        let life =
            check(role, &leaf, &names(), now()).unwrap_or_else(|problem| panic!("{role:?}: {problem}"));
        assert_eq!(life.until, now() + LEAF_LIFE);
        assert_eq!(due_at(role, Some(&leaf), &authority.certificate, &names(), now()), None);
    }
    let client = authority.sign(Role::Client, &names(), now()).unwrap();
    let refused = check(Role::Server, &client, &names(), now()).unwrap_err();
    assert!(matches!(refused, Problem::NotGoodFor { .. }), "{refused}");
}

#[test]
fn an_operator_may_be_away_for_ninety_days_from_any_moment_on() {
    let authority = Authority::new(&names(), now()).unwrap();
    let leaf = authority.sign(Role::Server, &names(), now()).unwrap();
    let ca = &authority.certificate;
    let is_due = |at| due_at(Role::Server, Some(&leaf), ca, &names(), at);
    let last_kept = (0..365).rev().map(|day| now() + days(day)).find(|at| is_due(*at).is_none()).unwrap();
    assert!(leaf.validity().unwrap().until.duration_since(last_kept) >= ABSENCE);
    assert_eq!(is_due(last_kept + days(1)), Some(Due::Old));
    assert!(matches!(is_due(now() + days(366)), Some(Due::Unusable(_))));
}

#[test]
fn a_leaf_of_another_ca_or_for_other_names_is_signed_anew() {
    let authority = Authority::new(&names(), now()).unwrap();
    let other = Authority::new(&names(), now()).unwrap();
    let ca = &authority.certificate;
    assert_eq!(due_at(Role::Peer, None, ca, &names(), now()), Some(Due::Missing));
    let foreign = other.sign(Role::Peer, &names(), now()).unwrap();
    assert!(matches!(due_at(Role::Peer, Some(&foreign), ca, &names(), now()), Some(Due::Unusable(_))));
    let pretending = Material { ca: ca.clone(), ..foreign };
    assert!(matches!(due_at(Role::Peer, Some(&pretending), ca, &names(), now()), Some(Due::Unusable(_))));
    let elsewhere = Names { domain: "k8s.example".into(), ..names() };
    let leaf = authority.sign(Role::Peer, &elsewhere, now()).unwrap();
    assert!(matches!(due_at(Role::Peer, Some(&leaf), ca, &names(), now()), Some(Due::Unusable(_))));
}

#[test]
fn what_users_give_is_checked_part_by_part() {
    let authority = Authority::new(&names(), now()).unwrap();
    let good = authority.sign(Role::Server, &names(), now()).unwrap();
    let other = authority.sign(Role::Server, &names(), now()).unwrap();
    let said = |material: &Material| check(Role::Server, material, &names(), now()).unwrap_err().to_string();
    assert_eq!(said(&Material { key: other.key, ..good.clone() }), "tls.key is not the key of tls.crt");
    assert_eq!(
        said(&Material { key: PrivateKey::new("nonsense".into()), ..good.clone() }),
        "tls.key cannot be read: it is no private key in PEM"
    );
    assert!(
        said(&Material { certificate: "nonsense".into(), ..good.clone() })
            .starts_with("tls.crt cannot be read")
    );
    let secret = k8s_openapi::api::core::v1::Secret {
        metadata: kube::core::ObjectMeta { name: Some("mine".into()), ..Default::default() },
        data: Some(good.data()),
        ..Default::default()
    };
    assert_eq!(Material::of(&secret), Ok(good));
    let empty = k8s_openapi::api::core::v1::Secret { data: None, ..secret };
    assert_eq!(Material::of(&empty).unwrap_err().to_string(), "Secret mine has no ca.crt");
}

#[test]
fn a_ca_is_read_back_from_its_secret_and_signs_on() {
    let authority = Authority::new(&names(), now()).unwrap();
    let secret = k8s_openapi::api::core::v1::Secret { data: Some(authority.data()), ..Default::default() };
    let again = Authority::of(&secret).unwrap();
    let leaf = again.sign(Role::Operator, &names(), now()).unwrap();
    check(Role::Operator, &leaf, &names(), now()).unwrap();
    assert!(!format!("{again:?}{leaf:?}").contains("PRIVATE KEY"));
}
