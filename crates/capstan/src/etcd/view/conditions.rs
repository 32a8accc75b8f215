//! What is not the case, by how much it matters: what is wrong, what only takes its time, and what was asked for.

use etcd_core::Why;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use super::Tree;
use crate::look::{
    Look, Paint,
    words::{plain, since},
};

/// The one condition that is no news when it is false.
const PROGRESSING: &str = "Progressing";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Weight {
    /// Something does not work.
    Bad,
    /// It works, and somebody should look at it.
    Warning,
    /// It is being done.
    NotYet,
    /// The spec says so.
    AskedFor,
}

/// The reasons that are not as bad as they stand there.
const WEIGHTS: &[(Why, Weight)] = &[
    (Why::TLSOff, Weight::AskedFor),
    (Why::SingleMember, Weight::AskedFor),
    (Why::Bootstrapping, Weight::NotYet),
    (Why::Outdated, Weight::NotYet),
    (Why::Operating, Weight::NotYet),
    (Why::VolumesGrow, Weight::NotYet),
    (Why::NoSpare, Weight::Warning),
    (Why::QuotaNear, Weight::Warning),
    (Why::CertificateEnds, Weight::Warning),
    (Why::Discouraged, Weight::Warning),
];

/// A heading for each kind that there is, in the order in which they matter.
pub(super) fn trees(conditions: &[Condition], now: Timestamp, paint: Paint) -> Vec<Tree> {
    let groups: [(&str, &[Weight]); 3] = [
        ("not well", &[Weight::Bad, Weight::Warning]),
        ("not yet", &[Weight::NotYet]),
        ("as asked for", &[Weight::AskedFor]),
    ];
    let weighed: Vec<(Weight, &Condition)> =
        conditions.iter().filter_map(|it| Some((weight(it)?, it))).collect();
    let of = |(heading, weights): &(&str, &[Weight])| {
        let own = weighed.iter().filter(|(weight, _)| weights.contains(weight));
        let lines: Vec<String> = own.map(|(weight, it)| line(*weight, it, now, paint)).collect();
        (!lines.is_empty()).then(|| Tree::new(*heading).with(lines))
    };
    groups.iter().filter_map(of).collect()
}

/// Nothing for what is as it should be.
fn weight(condition: &Condition) -> Option<Weight> {
    if condition.type_ == PROGRESSING || condition.status == "True" {
        return None;
    }
    let known = WEIGHTS.iter().find(|(why, _)| why.as_str() == condition.reason);
    let other = if condition.status == "False" { Weight::Bad } else { Weight::Warning };
    Some(known.map_or(other, |(_, weight)| *weight))
}

fn line(weight: Weight, condition: &Condition, now: Timestamp, paint: Paint) -> String {
    let Condition { type_, status, reason, message, .. } = condition;
    let (what, time) = (format!("{type_}={status}"), since(&condition.last_transition_time, now));
    let look = match weight {
        Weight::Bad => Look::Bad,
        Weight::Warning => Look::Warn,
        Weight::NotYet => Look::Busy,
        Weight::AskedFor => {
            return paint.as_(Look::Dim, format!("{what} {} ({reason}, {time})", plain(message)));
        }
    };
    let time = paint.as_(Look::Dim, format!("({reason}, {time})"));
    format!("{} {} {time}", paint.as_(look, what), plain(message))
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::{super::samples, *};

    fn check(conditions: &[(&str, &str, Why, &str)], paint: Paint, expected: Expect) {
        let conditions: Vec<Condition> = conditions
            .iter()
            .map(|(kind, status, why, message)| samples::condition(kind, status, why.as_str(), message))
            .collect();
        let lines: Vec<String> =
            trees(&conditions, samples::now(), paint).iter().flat_map(Tree::lines).collect();
        expected.assert_eq(&lines.join("\n").replace('\x1b', "^"));
    }

    #[test]
    fn a_wish_that_was_granted_is_not_bad_news() {
        let conditions = [
            ("Available", "True", Why::Serving, "a linearizable read succeeded"),
            ("QuorumSafe", "False", Why::SingleMember, "1 of 1 voters serve, 1 are needed"),
            ("TLSValid", "False", Why::TLSOff, "spec.tls.mode is Off"),
        ];
        let plain = expect![[r#"
            as asked for
            ├─ QuorumSafe=False 1 of 1 voters serve, 1 are needed (SingleMember, 9 s)
            └─ TLSValid=False spec.tls.mode is Off (TLSOff, 9 s)"#]];
        check(&conditions, Paint { colours: false }, plain);
        let dim = expect![[r#"
            as asked for
            ├─ ^[2mQuorumSafe=False 1 of 1 voters serve, 1 are needed (SingleMember, 9 s)^[0m
            └─ ^[2mTLSValid=False spec.tls.mode is Off (TLSOff, 9 s)^[0m"#]];
        check(&conditions, Paint { colours: true }, dim);
    }

    #[test]
    fn what_is_wrong_stands_before_what_takes_its_time() {
        let conditions = [
            ("UpToDate", "False", Why::Outdated, "db-1 has another version"),
            ("TLSValid", "False", Why::CertificateEnds, "it ends soon"),
            ("SpaceOK", "False", Why::NoSpace, "db-1 is full"),
            ("NoCorruption", "Unknown", Why::NotReachable, "no member can be asked"),
            ("Progressing", "False", Why::Settled, "nothing is being changed"),
        ];
        let expected = expect![[r#"
            not well
            ├─ ^[1;33mTLSValid=False^[0m it ends soon ^[2m(CertificateEnds, 9 s)^[0m
            ├─ ^[1;31mSpaceOK=False^[0m db-1 is full ^[2m(NoSpace, 9 s)^[0m
            └─ ^[1;33mNoCorruption=Unknown^[0m no member can be asked ^[2m(NotReachable, 9 s)^[0m
            not yet
            └─ ^[36mUpToDate=False^[0m db-1 has another version ^[2m(Outdated, 9 s)^[0m"#]];
        check(&conditions, Paint { colours: true }, expected);
    }
}
