//! Leases: a leased key is there until the lease's TTL has passed since the last renewal, and gone soon after that.
//!
//! Times are the client's, so each bound is taken from the side that is certain. A renewal took effect between the moment it was sent
//! and the moment it was answered: the key must be there until TTL after it was sent, and must be gone a while after TTL since it was
//! answered. A new leader gives every lease its full TTL again (etcd's documentation of leases), so an election moves the second bound.

use std::{collections::BTreeMap, time::Duration};

use super::Stamp;

/// What etcd may need beyond the TTL: it looks for expired leases every half second, and revokes them by consensus. Much of it is for
/// a machine that several scenarios keep busy.
pub const BOUND: Duration = Duration::from_secs(10);

/// A lease and its one key.
#[derive(Debug, Clone, Copy)]
struct Lease {
    cluster: u64,
    ttl: Duration,
    /// Sent at this time, the last renewal that was answered.
    renewed: Duration,
    /// A renewal may have taken effect as late as this.
    latest: Duration,
}

/// From when to when a request was under way, since the load began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct During {
    pub sent: Duration,
    pub ended: Duration,
}

/// The leases of a load, by ID.
#[derive(Debug, Default)]
pub struct Leases {
    leases: BTreeMap<i64, Lease>,
    term: u64,
    /// When an answer carried a new term for the first time.
    elected: Duration,
    renewals: u64,
    expired: u64,
    lapsed: u64,
    wrong: Vec<String>,
}

/// What became of them.
#[derive(Debug)]
pub struct Outcome {
    pub renewals: u64,
    /// Leases that were not renewed, and whose keys went in time.
    pub expired: u64,
    /// Leases that were to be kept, but could not be renewed in time.
    pub lapsed: u64,
    pub wrong: Vec<String>,
}

impl Leases {
    /// Records the header of any answer.
    pub fn answered(&mut self, stamp: Stamp, now: Duration) {
        if stamp.term > self.term {
            (self.term, self.elected) = (stamp.term, now);
        }
    }

    pub fn granted(&mut self, id: i64, ttl: Duration, cluster: u64, during: During) {
        let lease = Lease { cluster, ttl, renewed: during.sent, latest: during.ended };
        self.leases.insert(id, lease);
    }

    pub fn renewed(&mut self, id: i64, cluster: u64, during: During) {
        self.renewals += 1;
        if let Some(lease) = self.leases.get_mut(&id) {
            lease.cluster = cluster;
            lease.renewed = lease.renewed.max(during.sent);
            lease.latest = lease.latest.max(during.ended);
        }
    }

    /// A renewal that got no answer may have taken effect.
    pub fn renewal_failed(&mut self, id: i64, during: During) {
        if let Some(lease) = self.leases.get_mut(&id) {
            lease.latest = lease.latest.max(during.ended);
        }
    }

    /// etcd answered a renewal, or a put, by saying that there is no such lease. The lease is over.
    pub fn unknown_to_etcd(&mut self, id: i64, cluster: u64, during: During) {
        let Some(lease) = self.leases.remove(&id) else { return };
        self.lapsed += 1;
        self.must_not_be_gone(&lease, cluster, during);
    }

    /// The key was there.
    pub fn found(&mut self, id: i64, cluster: u64, during: During) {
        let Some(lease) = self.leases.get(&id) else { return };
        let since = lease.latest.max(self.elected);
        if lease.cluster == cluster && during.sent > since + lease.ttl + BOUND {
            self.wrong.push(format!(
                "a key with a lease of {} s is there {:.1} s after the last renewal or election",
                lease.ttl.as_secs(),
                (during.sent - since).as_secs_f32()
            ));
            self.leases.remove(&id);
        }
    }

    /// The key was not there. The lease is over.
    pub fn gone(&mut self, id: i64, cluster: u64, during: During) {
        let Some(lease) = self.leases.remove(&id) else { return };
        self.expired += 1;
        self.must_not_be_gone(&lease, cluster, during);
    }

    fn must_not_be_gone(&mut self, lease: &Lease, cluster: u64, during: During) {
        if lease.cluster == cluster && during.ended < lease.renewed + lease.ttl {
            self.wrong.push(format!(
                "a lease of {} s was gone {:.1} s after its last renewal",
                lease.ttl.as_secs(),
                during.ended.saturating_sub(lease.renewed).as_secs_f32()
            ));
        }
    }

    pub fn close(self) -> Outcome {
        let Self { renewals, expired, lapsed, wrong, .. } = self;
        Outcome { renewals, expired, lapsed, wrong }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLUSTER: u64 = 1;
    const TTL: Duration = Duration::from_secs(5);

    fn at(seconds: u64) -> During {
        During { sent: Duration::from_secs(seconds), ended: Duration::from_secs(seconds) }
    }

    /// Granted at 0 and renewed at 4; then what is played.
    fn play(story: impl FnOnce(&mut Leases)) -> Vec<String> {
        let mut leases = Leases::default();
        leases.granted(7, TTL, CLUSTER, at(0));
        leases.renewed(7, CLUSTER, at(4));
        story(&mut leases);
        leases.close().wrong
    }

    #[test]
    fn a_good_history_is_accepted() {
        assert_eq!(play(|it| it.found(7, CLUSTER, at(8))), Vec::<String>::new());
        assert_eq!(play(|it| it.gone(7, CLUSTER, at(9))), Vec::<String>::new());
        assert_eq!(play(|it| it.unknown_to_etcd(7, CLUSTER, at(9))), Vec::<String>::new());
    }

    #[test]
    fn a_lease_that_expires_while_it_is_renewed_is_found() {
        let wrong = ["a lease of 5 s was gone 2.0 s after its last renewal"];
        assert_eq!(play(|it| it.gone(7, CLUSTER, at(6))), wrong);
        assert_eq!(play(|it| it.unknown_to_etcd(7, CLUSTER, at(6))), wrong);
    }

    #[test]
    fn a_key_that_outlives_its_lease_is_found() {
        assert_eq!(
            play(|it| it.found(7, CLUSTER, at(20))),
            ["a key with a lease of 5 s is there 16.0 s after the last renewal or election"]
        );
        assert_eq!(play(|it| it.found(7, CLUSTER, at(19))), Vec::<String>::new(), "within the bound");
    }

    #[test]
    fn an_election_and_a_renewal_without_an_answer_give_more_time() {
        let late = |it: &mut Leases| {
            it.answered(Stamp { cluster: CLUSTER, revision: 9, term: 3 }, Duration::from_secs(6));
            it.found(7, CLUSTER, at(20));
        };
        assert_eq!(play(late), Vec::<String>::new());
        let unanswered = |it: &mut Leases| {
            it.renewal_failed(7, at(6));
            it.found(7, CLUSTER, at(20));
        };
        assert_eq!(play(unanswered), Vec::<String>::new());
        let unanswered = |it: &mut Leases| {
            it.renewal_failed(7, at(8));
            it.gone(7, CLUSTER, at(10));
        };
        assert_eq!(play(unanswered), Vec::<String>::new(), "it may not have taken effect either");
    }

    #[test]
    fn a_restored_cluster_need_not_know_a_lease_until_it_renews_it() {
        assert_eq!(play(|it| it.gone(7, CLUSTER + 1, at(6))), Vec::<String>::new());
        let renewed = |it: &mut Leases| {
            it.renewed(7, CLUSTER + 1, at(6));
            it.gone(7, CLUSTER + 1, at(7));
        };
        assert_eq!(play(renewed), ["a lease of 5 s was gone 1.0 s after its last renewal"]);
    }
}
