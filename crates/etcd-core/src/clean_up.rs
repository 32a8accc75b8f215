//! Cleaning up: volumes that nobody uses any more, and only where the user agreed to lose them.

use std::time::Duration;

use etcd_types::{OperationKind, VolumePolicy};
use jiff::SignedDuration;

use crate::{
    Claim, ClaimState, Picture, Serial, Step,
    case::Case,
    decide::earlier,
    rule::{Deed, Verdict},
};

/// Of an EtcdCluster that is being deleted: the next volume that goes with it.
pub(crate) fn doomed(picture: &Picture) -> Option<Step> {
    if picture.spec.deletion_policy.volumes != VolumePolicy::Delete {
        return None;
    }
    picture.members.iter().find_map(|(serial, member)| {
        let claim = member.claim.as_ref().filter(|claim| claim.ours && !claim.deleting)?;
        Some(delete_claim(*serial, claim, "the EtcdCluster is deleted, and its policy is to delete volumes"))
    })
}

/// Volumes of members that left, where the user agreed to lose them, after the time that they are kept.
pub(crate) fn clean_up(case: &Case<'_>) -> Verdict {
    if case.wanted.volumes != VolumePolicy::Delete {
        return Verdict::Pass;
    }
    let keep =
        SignedDuration::try_from(case.wanted.remediation.keep_old_volume).unwrap_or(SignedDuration::MAX);
    let mut next: Option<(Duration, String)> = None;
    for seen in case.members.values().filter(|seen| seen.listed.is_none()) {
        let unused = seen.objects.stateful_set.is_none() && seen.objects.pod.is_none();
        let Some(claim) = seen.objects.claim.as_ref().filter(|claim| claim.ours && !claim.deleting && unused)
        else {
            continue;
        };
        let ClaimState::Detached { since } = claim.state else { continue };
        let left = keep - case.now.duration_since(since);
        if let Ok(left) = Duration::try_from(left)
            && !left.is_zero()
        {
            earlier(
                &mut next,
                (left, format!("the old volume of {} is deleted then", case.name(seen.serial))),
            );
            continue;
        }
        let deed =
            Deed::new(OperationKind::CleanUp, case.name(seen.serial), "DeletingVolume").about(seen.serial);
        return Verdict::Do(deed.step(delete_claim(
            seen.serial,
            claim,
            "its member has left, and its policy is to delete volumes",
        )));
    }
    next.map_or(Verdict::Pass, |(after, what)| Verdict::Later(after, what))
}

fn delete_claim(serial: Serial, claim: &Claim, why: &str) -> Step {
    Step::DeleteClaim { serial, uid: claim.uid.clone(), why: why.to_owned() }
}
