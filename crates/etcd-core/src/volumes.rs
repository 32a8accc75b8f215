//! Volumes: what of `spec.storage` can be carried out for claims that exist. They grow where their class allows it, never shrink,
//! and keep their class.

use etcd_types::{Medium, Storage};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use crate::{Claim, ClaimPhase, case::Case, text::bytes};

/// Takes back what cannot be done to `claims`.
pub(crate) fn judge(storage: &mut Storage, claims: &[&Claim], refuse: &mut impl FnMut(&'static str, String)) {
    if let Some(class) = claims.iter().find_map(|claim| claim.class.as_ref()) {
        if let Some(other) = storage.storage_class_name.as_ref().filter(|asked| *asked != class) {
            let why = format!("the class of volumes cannot change to {other}: members keep {class}");
            refuse(
                "spec.storage.storageClassName",
                format!("{why}. Set it back, or create another EtcdCluster"),
            );
        }
        storage.storage_class_name = Some(class.clone());
    }
    let wanted = bytes(&storage.size.0);
    if let Some(larger) =
        claims.iter().find(|claim| wanted < size(&claim.asked) && wanted < size(&claim.capacity))
    {
        let keeps = larger.asked.clone().unwrap_or_else(|| storage.size.clone());
        let why = format!("volumes cannot shrink to {}: members keep {}", storage.size.0, keeps.0);
        refuse("spec.storage.size", format!("{why}. Set it back, or create another EtcdCluster"));
        storage.size = keeps;
    } else if let Some(fixed) = claims.iter().find(|claim| size(&claim.asked) < wanted && !claim.can_grow) {
        let class = fixed.class.as_deref().unwrap_or("(none)");
        let keeps = fixed.asked.clone().unwrap_or_else(|| storage.size.clone());
        let why = format!(
            "volumes of the storage class {class} cannot grow to {}: members keep {}",
            storage.size.0, keeps.0
        );
        refuse("spec.storage.size", format!("{why}. Set allowVolumeExpansion in the class, or set it back"));
        storage.size = keeps;
    }
}

/// What a claim is to ask for from now on, if that is not what it asks for already. Less than before only where a volume has not
/// grown yet: so a size that nobody can provide can be taken back.
pub(crate) fn resize(claim: &Claim, storage: &Storage) -> Option<Quantity> {
    let (wanted, asked) = (bytes(&storage.size.0)?, size(&claim.asked)?);
    let larger = wanted > asked;
    let taken_back = wanted < asked && size(&claim.capacity).is_some_and(|has| has < wanted);
    let can = claim.ours && !claim.deleting && claim.can_grow && claim.phase == ClaimPhase::Bound;
    (can && (larger || taken_back)).then(|| storage.size.clone())
}

/// The smallest volume that there is, where that is known.
pub(crate) fn smallest(claims: &[&Claim]) -> Option<u64> {
    claims.iter().filter_map(|claim| size(&claim.capacity)).min()
}

/// Who has less than what is asked for, and what Kubernetes says about it.
pub(crate) fn growing(case: &Case<'_>) -> Option<String> {
    if case.wanted.storage.medium == Medium::Memory {
        return None;
    }
    let wanted = &case.wanted.storage.size;
    let members = case.members.values().filter(|seen| seen.is_member(case));
    let behind = members.filter_map(|seen| {
        let claim = seen.objects.claim.as_ref().filter(|claim| claim.ours)?;
        let has = claim.capacity.as_ref().filter(|has| bytes(&has.0) < bytes(&wanted.0))?;
        let said = claim.resizing.as_deref().map_or_else(String::new, |said| format!(" ({said})"));
        Some(format!("{} has {}{said}", case.name(seen.serial), has.0))
    });
    let behind: Vec<String> = behind.collect();
    (!behind.is_empty()).then(|| format!("volumes grow to {}: {}", wanted.0, behind.join("; ")))
}

fn size(quantity: &Option<Quantity>) -> Option<u64> {
    bytes(&quantity.as_ref()?.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ClaimState;

    fn claim(asked: &str, capacity: &str, can_grow: bool) -> Claim {
        Claim {
            uid: "c".into(),
            deleting: false,
            phase: ClaimPhase::Bound,
            ours: true,
            state: ClaimState::Member,
            cluster_id: None,
            version: None,
            started: None,
            tls: None,
            node: None,
            class: Some("fast".into()),
            asked: Some(Quantity(asked.into())),
            capacity: Some(Quantity(capacity.into())),
            can_grow,
            resizing: None,
        }
    }

    fn storage(size: &str, class: Option<&str>) -> Storage {
        Storage {
            size: Quantity(size.into()),
            storage_class_name: class.map(str::to_owned),
            ..Storage::default()
        }
    }

    #[test]
    fn volumes_grow_where_their_class_allows_it_and_never_shrink() {
        let cases = [
            (claim("8Gi", "8Gi", true), "16Gi", Some("16Gi"), None),
            (claim("8Gi", "8Gi", true), "8192Mi", None, None),
            (
                claim("8Gi", "8Gi", false),
                "16Gi",
                None,
                Some("volumes of the storage class fast cannot grow to 16Gi: members keep 8Gi"),
            ),
            (claim("8Gi", "8Gi", true), "4Gi", None, Some("volumes cannot shrink to 4Gi: members keep 8Gi")),
            // What a provisioner rounds up is no reason to refuse what was asked for.
            (claim("8G", "8Gi", true), "8G", None, None),
            // It asked for more than there is, and takes it back.
            (claim("100Ti", "8Gi", true), "16Gi", Some("16Gi"), None),
            (claim("100Ti", "8Gi", true), "8Gi", None, None),
        ];
        for (claim, asked, resized, refused) in cases {
            let mut wanted = storage(asked, None);
            let mut told: Vec<String> = Vec::new();
            judge(&mut wanted, &[&claim], &mut |field, why| told.push(format!("{field}: {why}")));
            match refused {
                Some(refused) => {
                    assert!(
                        told[0].contains(refused) && told[0].starts_with("spec.storage.size"),
                        "{told:?}"
                    );
                }
                None => assert_eq!(told, Vec::<String>::new(), "{asked}"),
            }
            assert_eq!(resize(&claim, &wanted).map(|size| size.0).as_deref(), resized, "{asked}");
        }
    }

    #[test]
    fn a_claim_keeps_its_class() {
        let claim = claim("8Gi", "8Gi", true);
        for (asked, refused) in [(None, 0), (Some("fast"), 0), (Some("slow"), 1)] {
            let mut wanted = storage("8Gi", asked);
            let mut told: Vec<String> = Vec::new();
            judge(&mut wanted, &[&claim], &mut |field, why| told.push(format!("{field}: {why}")));
            assert_eq!(told.len(), refused, "{told:?}");
            assert_eq!(wanted.storage_class_name.as_deref(), Some("fast"));
        }
    }

    #[test]
    fn a_claim_without_a_volume_waits_until_it_has_one() {
        let pending = Claim { phase: ClaimPhase::Pending, capacity: None, ..claim("8Gi", "8Gi", true) };
        assert_eq!(resize(&pending, &storage("16Gi", None)), None);
    }
}
