//! The cluster ID that answers carry. A restore in place gives a cluster another ID and takes its data back to a revision of a backup;
//! a scenario announces it. What was acknowledged after that revision may then be gone, and nothing else.

/// The cluster IDs that were seen, in their order.
#[derive(Debug, Default)]
pub struct Identity {
    clusters: Vec<u64>,
    /// Per change of the ID: the last revision whose data is kept.
    kept: Vec<i64>,
    announced: Option<i64>,
}

impl Identity {
    /// Announces a restore: the next new cluster ID has the data up to and including revision `kept`.
    pub fn announce_restore(&mut self, kept: i64) {
        self.announced = Some(kept);
    }

    /// Records the cluster ID of an answer; `Err` if it is a new one that no restore explains.
    pub fn see(&mut self, cluster: u64) -> Result<(), String> {
        if self.clusters.contains(&cluster) {
            return Ok(());
        }
        let before = self.clusters.last().copied();
        self.clusters.push(cluster);
        match (before, self.announced.take()) {
            (None, announced) => {
                self.announced = announced;
                Ok(())
            }
            (Some(_), Some(kept)) => {
                self.kept.push(kept);
                Ok(())
            }
            (Some(before), None) => {
                self.kept.push(i64::MAX);
                Err(format!(
                    "the cluster ID changed from {before:x} to {cluster:x}, but nothing was restored"
                ))
            }
        }
    }

    /// Whether what `cluster` acknowledged at `revision` must still be there: no later restore went back behind it.
    pub fn survives(&self, cluster: u64, revision: i64) -> bool {
        let life = self.clusters.iter().position(|it| *it == cluster).unwrap_or(self.clusters.len());
        self.kept.iter().skip(life).all(|kept| revision <= *kept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_cluster_id_is_an_error_unless_a_restore_was_announced() {
        let mut identity = Identity::default();
        assert_eq!(identity.see(0xa), Ok(()));
        assert_eq!(
            identity.see(0xb),
            Err("the cluster ID changed from a to b, but nothing was restored".to_owned())
        );
        assert_eq!(identity.see(0xa), Ok(()), "an answer that was under way");
        identity.announce_restore(7);
        assert_eq!(identity.see(0xc), Ok(()));
        assert!(identity.see(0xd).is_err(), "one restore explains one change");
    }

    #[test]
    fn only_what_came_after_the_restored_revision_may_be_lost() {
        let mut identity = Identity::default();
        identity.announce_restore(7);
        identity.see(0xa).unwrap();
        assert!(identity.survives(0xa, 8), "not restored yet");
        identity.see(0xb).unwrap();
        assert!(identity.survives(0xa, 7) && !identity.survives(0xa, 8));
        assert!(identity.survives(0xb, 1_000_000_008), "written after the restore");
    }
}
