//! Which provided certificates are used, with real certificates.

use std::collections::BTreeSet;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, KeyPair, KeyUsagePurpose};

use super::*;
use crate::{certificates::Recorded, tls::Authority};

fn names() -> Names {
    Names { cluster: "db".into(), namespace: "prod".into(), domain: "cluster.local".into() }
}

fn now() -> Timestamp {
    "2026-01-01T00:00:00Z".parse().unwrap()
}

fn ca() -> Authority {
    Authority::new(&names(), now()).unwrap()
}

fn signed(ca: &Authority) -> [Material; 4] {
    Role::ALL.map(|role| ca.sign(role, &names(), now()).unwrap())
}

fn missing() -> Result<Material, Problem> {
    Err(Problem::NoSecret("none".into()))
}

/// What is provided beside copies, role by role.
fn parts(provided: &[Material; 4], copies: Option<&[Material; 4]>) -> Vec<Part> {
    let part = |(at, role): (usize, Role)| Part {
        role,
        provided: Ok(provided[at].clone()),
        copy: copies.map_or_else(missing, |copies| Ok(copies[at].clone())),
    };
    Role::ALL.into_iter().enumerate().map(part).collect()
}

/// Members that were started with this CA.
fn members(ca: &Authority) -> Trust {
    let record = BTreeSet::from([Anchors::of(&ca.certificate).unwrap().record()]);
    Trust::Members(Recorded { client: record.clone(), peer: record, by_none: false })
}

fn made_before_records() -> Trust {
    Trust::Members(Recorded { by_none: true, ..Recorded::default() })
}

fn judged(parts: &[Part], trust: &Trust) -> Review {
    review(parts, trust, &names(), now())
}

/// Per role: `+` where what is provided is copied, `=` where nothing has to be done, `!` where it is held, `-` where nothing can be used.
fn signs(review: &Review) -> String {
    let sign = |(_, verdict): &(Role, Verdict)| match verdict {
        Verdict { used: None, .. } => '-',
        Verdict { refused: Some(_), .. } => '!',
        Verdict { copies: true, .. } => '+',
        Verdict { .. } => '=',
    };
    review.verdicts.iter().map(sign).collect()
}

/// What is used is of this CA, in whatever role.
#[track_caller]
fn uses(review: &Review, ca: &Authority) {
    for (role, verdict) in &review.verdicts {
        let (material, _) = verdict.used.as_ref().unwrap();
        assert_eq!(material.ca, ca.certificate, "{role:?}");
        check(*role, material, &names(), now()).unwrap();
    }
}

#[test]
fn first_copies_are_made_from_what_is_provided() {
    let ca = ca();
    let provided = signed(&ca);
    let review = judged(&parts(&provided, None), &Trust::Nobody);
    assert_eq!(signs(&review), "++++");
    uses(&review, &ca);
    assert_eq!(signs(&judged(&parts(&provided, Some(&provided)), &members(&ca))), "====");
}

#[test]
fn nothing_is_copied_at_first_before_all_of_it_can_be_used() {
    let (ours, other) = (ca(), ca());
    let mut provided = signed(&ours);
    provided[3] = signed(&other)[3].clone();
    let review = judged(&parts(&provided, None), &Trust::Nobody);
    assert!(review.verdicts.iter().all(|(_, verdict)| !verdict.copies));
    let (_, operator) = &review.verdicts[3];
    assert!(operator.used.is_none() && matches!(operator.refused, Some(Refused::AnotherCa { .. })));
}

#[test]
fn a_renewal_from_the_trusted_ca_is_copied() {
    let (ours, other) = (ca(), ca());
    let (before, renewed) = (signed(&ours), signed(&ours));
    let review = judged(&parts(&renewed, Some(&before)), &members(&ours));
    assert_eq!(signs(&review), "++++");
    uses(&review, &ours);
    let bundle = format!("{}{}", other.certificate, ours.certificate);
    let with_bundle = renewed.map(|material| Material { ca: bundle.clone(), ..material });
    let review = judged(&parts(&with_bundle, Some(&before)), &members(&ours));
    assert_eq!(signs(&review), "++++", "a CA that was added to ca.crt");
    uses(&review, &ours);
}

#[test]
fn a_new_ca_is_held_in_every_role() {
    let (ours, other) = (ca(), ca());
    let before = signed(&ours);
    let review = judged(&parts(&signed(&other), Some(&before)), &members(&ours));
    assert_eq!(signs(&review), "!!!!");
    uses(&review, &ours);
    let shown = |ca: &Authority| Anchors::of(&ca.certificate).unwrap().iter().next().unwrap().to_string();
    let expected = Refused::AnotherCa { signers: shown(&other), trusted: shown(&ours) };
    assert!(review.verdicts.iter().all(|(_, verdict)| verdict.refused.as_ref() == Some(&expected)));
    // Also where every member is stopped for a moment, as in a restore.
    assert_eq!(signs(&judged(&parts(&signed(&other), Some(&before)), &Trust::Nobody)), "!!!!");
    // A leaf of the new CA beside the old ca.crt.
    let disguised = signed(&other).map(|material| Material { ca: ours.certificate.clone(), ..material });
    assert_eq!(signs(&judged(&parts(&disguised, Some(&before)), &members(&ours))), "!!!!");
}

#[test]
fn one_role_of_another_ca_does_not_hold_the_others() {
    let (ours, other) = (ca(), ca());
    for (at, role) in Role::ALL.into_iter().enumerate() {
        let mut provided = signed(&ours);
        provided[at] = other.sign(role, &names(), now()).unwrap();
        let review = judged(&parts(&provided, Some(&signed(&ours))), &members(&ours));
        let expected: String = (0..4).map(|it| if it == at { '!' } else { '+' }).collect();
        assert_eq!(signs(&review), expected);
        uses(&review, &ours);
    }
}

#[test]
fn lost_copies_are_made_again_from_the_trusted_ca_alone() {
    let (ours, other) = (ca(), ca());
    assert_eq!(signs(&judged(&parts(&signed(&ours), None), &members(&ours))), "++++");
    assert_eq!(signs(&judged(&parts(&signed(&other), None), &members(&ours))), "----");
    let bundle = format!("{}{}", other.certificate, ours.certificate);
    let with_bundle = |ca: &Authority| signed(ca).map(|it| Material { ca: bundle.clone(), ..it });
    let review = judged(&parts(&with_bundle(&ours), None), &members(&ours));
    assert_eq!(signs(&review), "++++");
    assert_eq!(
        review.client_trust.as_deref().map(str::trim),
        Some(ours.certificate.trim()),
        "not the other one"
    );
    assert_eq!(signs(&judged(&parts(&with_bundle(&other), None), &members(&ours))), "----");
    // Pods that have lost their StatefulSets, which had the record.
    let no_record = Trust::Members(Recorded::default());
    assert_eq!(signs(&judged(&parts(&signed(&ours), None), &no_record)), "----");
}

#[test]
fn a_copy_that_was_edited_is_replaced_by_what_is_provided() {
    let (ours, other) = (ca(), ca());
    let mut copies = signed(&ours);
    copies[0] = signed(&other)[0].clone();
    let provided = signed(&ours);
    let review = judged(&parts(&provided, Some(&copies)), &members(&ours));
    assert_eq!(signs(&review), "++++");
    uses(&review, &ours);
    let review = judged(&parts(&signed(&other), Some(&copies)), &members(&ours));
    assert_eq!(signs(&review), "-!!!", "there is nothing that could be used");
}

#[test]
fn members_made_before_trust_was_recorded_keep_their_ca() {
    let (ours, other) = (ca(), ca());
    // Mode Secrets: they mount what is provided.
    assert_eq!(signs(&judged(&parts(&signed(&ours), None), &made_before_records())), "++++");
    // Mode CertManager: the Secret that they mount is the copy from now on.
    let review = judged(&parts(&signed(&other), Some(&signed(&ours))), &made_before_records());
    assert_eq!(signs(&review), "!!!!");
}

#[test]
fn a_provided_certificate_that_is_not_good_is_held_with_its_reason() {
    let ours = ca();
    let before = signed(&ours);
    let mut all = parts(&signed(&ours), Some(&before));
    all[0].provided = Err(Problem::NoSecret("own-server".into()));
    let elsewhere = Names { cluster: "other".into(), ..names() };
    all[1].provided = Ok(ours.sign(Role::Peer, &elsewhere, now()).unwrap());
    let review = judged(&all, &members(&ours));
    assert_eq!(signs(&review), "!!++");
    assert!(matches!(review.verdicts[1].1.refused, Some(Refused::Problem(Problem::NotGoodFor { .. }))));
}

#[test]
fn a_ca_certificate_renewed_with_its_key_is_the_same_ca() {
    let key = KeyPair::generate().unwrap();
    let certificate = |year| {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "the company's CA");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        params.not_after = rcgen::date_time_ymd(year, 1, 1);
        params.self_signed(&key).unwrap().pem()
    };
    let authority = |certificate: String| {
        let data = [("ca.crt", certificate), ("ca.key", key.serialize_pem())];
        let data = data.map(|(name, text)| (name.to_owned(), k8s_openapi::ByteString(text.into_bytes())));
        let secret = k8s_openapi::api::core::v1::Secret { data: Some(data.into()), ..Default::default() };
        Authority::of(&secret).unwrap()
    };
    let (old, new) = (authority(certificate(2030)), authority(certificate(2040)));
    assert_ne!(old.certificate, new.certificate);
    let review = judged(&parts(&signed(&new), Some(&signed(&old))), &members(&old));
    assert_eq!(signs(&review), "++++");
    uses(&review, &new);
}
