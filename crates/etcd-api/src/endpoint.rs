//! The seam between an operator and etcd: a real member behind the network, or a simulated one.

use std::{fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use futures::stream::BoxStream;

use crate::{
    Added, Alarm, Consistency, Downgrade, HashKv, Health, MemberId, Membership, Result, Role, Status, Tls,
};

/// The state of a member's server, whenever it changes. The first error is its end: the connection broke, or the server went.
pub type HealthStream = BoxStream<'static, Result<Health>>;

/// Whoever can reach members.
#[async_trait]
pub trait Dial: fmt::Debug + Send + Sync + 'static {
    /// Connects to the member at `url`; `deadline` is for that, and then for each call.
    async fn dial(&self, url: &str, tls: Option<&Tls>, deadline: Duration) -> Result<Arc<dyn Endpoint>>;
}

/// One member, reached at its client URL. Every call ends within the deadline that it was dialed with.
#[async_trait]
pub trait Endpoint: fmt::Debug + Send + Sync + 'static {
    /// What the member says of itself; learners answer too, and members without a quorum.
    async fn status(&self) -> Result<Status>;

    /// Learners refuse it.
    async fn members(&self, consistency: Consistency) -> Result<Membership>;

    /// Who is there already is refused as [`PeerUrlExists`](crate::Refusal::PeerUrlExists), or in the same second as
    /// [`MemberExists`](crate::Refusal::MemberExists).
    async fn add_member(&self, peer_urls: &[String], role: Role) -> Result<Added>;

    async fn remove_member(&self, member: MemberId) -> Result<Membership>;

    /// Up to 3.5.30 and 3.6.11 this makes a learner a voter.
    async fn update_member(&self, member: MemberId, peer_urls: &[String]) -> Result<Membership>;

    /// Best asked of the leader: some versions fail to pass it on when authentication is on.
    async fn promote_member(&self, member: MemberId) -> Result<Membership>;

    /// Only the leader can.
    async fn move_leader(&self, to: MemberId) -> Result<()>;

    async fn alarms(&self) -> Result<Vec<Alarm>>;

    async fn disarm(&self, alarm: Alarm) -> Result<()>;

    /// Shrinks the file of this member, which serves nothing meanwhile: as long as that takes, so it has its own deadline.
    async fn defragment(&self, deadline: Duration) -> Result<()>;

    /// At `revision`, or at the newest for 0.
    async fn hash_kv(&self, revision: i64) -> Result<HashKv>;

    /// The same with a deadline of its own: the member reads its whole database for it.
    async fn hash_kv_within(&self, revision: i64, deadline: Duration) -> Result<HashKv>;

    /// Answers with the cluster's version.
    async fn downgrade(&self, what: Downgrade<'_>) -> Result<String>;

    /// Reads a key that is not there: does it answer? With the store's revision.
    async fn probe(&self, consistency: Consistency) -> Result<i64>;

    /// Forgets history before `revision`, and waits until the space is free.
    async fn compact(&self, revision: i64) -> Result<()>;

    async fn auth_enabled(&self) -> Result<bool>;

    fn watch_health(&self) -> HealthStream;
}
