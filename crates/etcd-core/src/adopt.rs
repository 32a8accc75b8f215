//! Claims of an earlier cluster of the same name: a cluster that is made again goes on with its data.

use std::collections::{BTreeMap, BTreeSet};

use etcd_types::{ExistingVolumes, Medium, TlsMode};

use crate::{Claim, ClaimState, ClusterId, Picture, Refusal, Serial, identity::Identity};

/// What the data cannot be used with: it was written by members that found each other in another way, or it would be left out.
fn other_than_before(picture: &Picture, found: &BTreeMap<Serial, &Claim>) -> Option<Refusal> {
    const REMEDY: &str = "Set it back, set spec.bootstrap.existingVolumes to Ignore, or use another name";
    let refuse = |field, why: String| Some(Refusal { field, why: format!("{why}. {REMEDY}") });
    let mode = picture.spec.tls.mode;
    let is_on = mode != TlsMode::Off;
    let other = |claim: &&&Claim| claim.tls.is_some_and(|was| was != is_on);
    if let Some(claim) = found.values().find(other) {
        let was = if claim.tls == Some(true) { "with" } else { "without" };
        let why = format!(
            "it is {mode:?}, and the volumes that an earlier cluster of this name left were used {was} TLS"
        );
        return refuse("spec.tls.mode", why);
    }
    if picture.spec.storage.medium == Medium::Memory {
        let why = "it is Memory, and an earlier cluster of this name left volumes with data";
        return refuse("spec.storage.medium", why.to_owned());
    }
    None
}

/// Those that are taken back, unless the user says otherwise; from then on the cluster has their ID.
pub(crate) fn adopt<'a>(
    picture: &'a Picture,
    identity: &mut Identity,
    refusals: &mut Vec<Refusal>,
) -> Result<BTreeMap<Serial, &'a Claim>, ()> {
    let latched = identity.cluster_id.is_some();
    let ignored = picture.spec.bootstrap.existing_volumes == ExistingVolumes::Ignore;
    // Somebody is founding already: what lies around is not asked any more.
    if (ignored || !identity.founders.is_empty()) && !latched {
        return Ok(BTreeMap::new());
    }
    let usable = |claim: &&Claim| claim.ours && !claim.deleting && claim.state == ClaimState::Member;
    let found: BTreeMap<Serial, &Claim> = picture
        .earlier
        .iter()
        .map(|(serial, claim)| (*serial, claim))
        .filter(|(_, claim)| usable(claim) && claim.cluster_id.is_some())
        .filter(|(_, claim)| !latched || claim.cluster_id == identity.cluster_id)
        .collect();
    let ids: BTreeSet<ClusterId> = found.values().filter_map(|claim| claim.cluster_id).collect();
    let ids: Vec<ClusterId> = ids.into_iter().collect();
    match ids.as_slice() {
        [] => Ok(found),
        [_] if let Some(refusal) = other_than_before(picture, &found).filter(|_| !latched) => {
            refusals.push(refusal);
            Err(())
        }
        [id] => {
            if !latched {
                identity.founders = found.keys().copied().collect();
            }
            identity.cluster_id = Some(*id);
            Ok(found)
        }
        several => {
            let several = several.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            let why = format!(
                "volumes of several clusters of this name were left behind ({several}): delete the claims that are not wanted, or set Ignore"
            );
            refusals.push(Refusal { field: "spec.bootstrap.existingVolumes", why });
            Err(())
        }
    }
}
