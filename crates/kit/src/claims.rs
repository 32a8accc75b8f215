//! What can be asked of a volume that exists: it may grow, but it can neither shrink nor change its class.
//!
//! Each answer is what is in force, and the reason when that is not what was asked for. The API server would refuse it as well,
//! again and again, and with everything that is applied after it.

use k8s_openapi::{api::core::v1::PersistentVolumeClaim, apimachinery::pkg::api::resource::Quantity};

use crate::quantity;

/// How much a claim asks for.
pub fn requested(claim: &PersistentVolumeClaim) -> Option<&Quantity> {
    claim.spec.as_ref()?.resources.as_ref()?.requests.as_ref()?.get("storage")
}

/// The size of a volume; `default` is that of a new one when none is asked for.
pub fn size(
    asked: Option<&Quantity>,
    default: &str,
    live: Option<&PersistentVolumeClaim>,
) -> (Quantity, Option<String>) {
    let live = live.and_then(requested);
    let stays = live.cloned().unwrap_or_else(|| Quantity(default.to_owned()));
    let Some(asked) = asked else { return (stays, None) };
    let have = live.and_then(|live| quantity::bytes(&live.0));
    let why = match quantity::bytes(&asked.0) {
        None | Some(0) => format!("{:?} is no size such as 1Gi; {} it is", asked.0, stays.0),
        want if want < have => format!("a volume cannot shrink to {}; it stays at {}", asked.0, stays.0),
        _ => return (asked.clone(), None),
    };
    (stays, Some(why))
}

/// The class of a volume; the cluster's default one when none is asked for.
pub fn class(
    asked: Option<&String>,
    live: Option<&PersistentVolumeClaim>,
) -> (Option<String>, Option<String>) {
    let Some(claim) = live else { return (asked.cloned(), None) };
    let live = claim.spec.as_ref().and_then(|spec| spec.storage_class_name.clone());
    let why = asked.filter(|asked| live.as_ref() != Some(asked)).map(|asked| {
        let is = live.as_deref().unwrap_or("no class");
        format!("the class of a volume cannot change to {asked}; it stays {is}")
    });
    (live, why)
}

/// How a volume may be used: as `live` says, because it cannot change; one that is new, by pods of one node.
pub fn access_modes(live: Option<&PersistentVolumeClaim>) -> Vec<String> {
    let live = live.and_then(|claim| claim.spec.as_ref()?.access_modes.clone());
    live.unwrap_or_else(|| vec!["ReadWriteOnce".to_owned()])
}

/// Whether pods on several nodes can use a volume at once.
pub fn is_shared(live: Option<&PersistentVolumeClaim>) -> bool {
    access_modes(live).iter().any(|mode| mode == "ReadWriteMany")
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

    use super::*;

    fn check(asked: Option<&str>, live: Option<&str>, want: (&str, Option<&str>)) {
        let quantity = |text: &str| Quantity(text.to_owned());
        let claim =
            live.map(|live| crate::parts::claim(ObjectMeta::default(), Vec::new(), None, quantity(live)));
        let (size, why) = size(asked.map(quantity).as_ref(), "1Gi", claim.as_ref());
        assert_eq!((&*size.0, why.as_deref()), want, "{asked:?} of {live:?}");
    }

    #[test]
    fn a_volume_grows_and_never_shrinks() {
        check(None, None, ("1Gi", None));
        check(None, Some("2Gi"), ("2Gi", None));
        check(Some("3Gi"), None, ("3Gi", None));
        check(Some("3Gi"), Some("2Gi"), ("3Gi", None));
        check(Some("2048Mi"), Some("2Gi"), ("2048Mi", None));
        check(Some("1Gi"), Some("2Gi"), ("2Gi", Some("a volume cannot shrink to 1Gi; it stays at 2Gi")));
        check(Some("much"), Some("2Gi"), ("2Gi", Some("\"much\" is no size such as 1Gi; 2Gi it is")));
        check(Some("0"), None, ("1Gi", Some("\"0\" is no size such as 1Gi; 1Gi it is")));
    }

    #[test]
    fn a_volume_is_bound_to_a_node_unless_it_says_otherwise() {
        let claim = |mode: &str| {
            let (modes, size) = (vec![mode.to_owned()], Quantity("1Gi".into()));
            crate::parts::claim(ObjectMeta::default(), modes, None, size)
        };
        assert_eq!(access_modes(None), ["ReadWriteOnce"]);
        assert_eq!(access_modes(Some(&claim("ReadWriteMany"))), ["ReadWriteMany"]);
        assert!(is_shared(Some(&claim("ReadWriteMany"))) && !is_shared(Some(&claim("ReadOnlyMany"))));
        assert!(!is_shared(None));
    }

    #[test]
    fn the_class_of_a_volume_stays() {
        let fast = "fast".to_owned();
        let claim = |class: Option<&String>| {
            crate::parts::claim(ObjectMeta::default(), Vec::new(), class.cloned(), Quantity("1Gi".into()))
        };
        assert_eq!(class(Some(&fast), None), (Some("fast".into()), None));
        assert_eq!(class(None, Some(&claim(Some(&fast)))), (Some("fast".into()), None));
        assert_eq!(class(Some(&fast), Some(&claim(Some(&fast)))), (Some("fast".into()), None));
        let (is, why) = class(Some(&fast), Some(&claim(None)));
        assert_eq!(
            (is, &*why.unwrap()),
            (None, "the class of a volume cannot change to fast; it stays no class")
        );
    }
}
