//! TLS of a cluster: who trusts whom, how long certificates live, and when they are renewed.
//!
//! ```text
//! db-ca ──signs──> db-server-tls    what members show to clients (and to themselves: the gateway's loopback)
//!   (10 years)     db-peer-tls      what members show to each other, in both directions
//!                  db-client-tls    what users connect with
//!                  db-operator-tls  what this operator connects with
//! ```
//!
//! Leaves live a year and are renewed when a third of it is left: at any time they are good for at least 121 more days, so an
//! operator may be away for the 90 days that are promised. etcd reads its leaf at every handshake: a renewal restarts
//! nothing. It reads its trust once, at start: another CA is a roll of all members.
//!
//! With modes Secrets and CertManager the Secrets above are copies of what users or cert-manager provide (see `certificates/copied.rs`).
//!
//! Invariants: a CA is made once per cluster, and never replaced by itself; private keys are in Secrets and in this module,
//! never in a log, a status, an event or a metric.

mod anchors;
mod authority;
mod check;
mod material;
mod sans;
mod throwaway;

use etcd_types::{EtcdCluster, Tls, TlsMode};
use jiff::{SignedDuration, Timestamp};
use kube::ResourceExt as _;

pub(crate) use anchors::Anchors;
use authority::common_name;
pub(crate) use authority::{Authority, PEER_COMMON_NAME};
pub(crate) use check::{Problem, check};
pub(crate) use material::{Material, PrivateKey, Validity};
pub(crate) use sans::Names;
pub use throwaway::certificate_of_root;

use crate::names;

pub(crate) const CA_CRT: &str = "ca.crt";
pub(crate) const CA_KEY: &str = "ca.key";
pub(crate) const TLS_CRT: &str = "tls.crt";
pub(crate) const TLS_KEY: &str = "tls.key";

const CA_LIFE: SignedDuration = SignedDuration::from_hours(10 * 365 * 24);
const LEAF_LIFE: SignedDuration = SignedDuration::from_hours(365 * 24);
/// How long an operator may be away, from any moment on, without a certificate running out.
#[cfg(test)]
const ABSENCE: SignedDuration = SignedDuration::from_hours(90 * 24);
/// A member whose clock is behind ours must not find a new certificate "not yet valid".
const SKEW: SignedDuration = SignedDuration::from_mins(5);

/// What a leaf is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Role {
    Server,
    Peer,
    Client,
    Operator,
}

impl Role {
    pub(crate) const ALL: [Self; 4] = [Self::Server, Self::Peer, Self::Client, Self::Operator];

    /// Whether it is shown to those who connect.
    fn serves(self) -> bool {
        matches!(self, Self::Server | Self::Peer)
    }
}

/// The Secret that members, Jobs, clients and the operator take the certificate of `role` from; none without TLS. The operator writes it,
/// whatever the mode. Where a user gives that very name to one of their own Secrets, the operator's has another.
pub(crate) fn secret_name(cluster: &str, tls: &Tls, role: Role) -> Option<String> {
    (tls.mode != TlsMode::Off).then(|| tls.own_secret(names::leaf(cluster, role)))
}

/// The Secret with what the operator and Jobs connect with, where TLS is on. With authentication on, what they ask for needs role root.
pub(crate) fn operator_secret(cluster: &EtcdCluster) -> String {
    cluster.spec.tls.own_secret(names::leaf(&cluster.name_any(), Role::Operator))
}

/// The Secret that a user or cert-manager puts the certificate of `role` into, from where the operator copies it once it was checked.
pub(crate) fn input(cluster: &str, tls: &Tls, role: Role) -> Option<String> {
    match tls.mode {
        TlsMode::Off | TlsMode::SelfManaged => None,
        TlsMode::CertManager => Some(names::issued(cluster, role)),
        TlsMode::Secrets => tls.secrets.as_ref().map(|given| match role {
            Role::Server => given.server.clone(),
            Role::Peer => given.peer.clone(),
            Role::Client | Role::Operator => given.operator.clone(),
        }),
    }
}

/// What is asked of whoever signs a certificate.
pub(crate) struct Request {
    pub(crate) common_name: &'static str,
    pub(crate) dns_names: Vec<String>,
    pub(crate) addresses: Vec<String>,
    /// In cert-manager's words.
    pub(crate) usages: Vec<&'static str>,
    pub(crate) life: SignedDuration,
}

/// What is asked for a certificate of `role`.
pub(crate) fn request(role: Role, names: &Names) -> Request {
    let is_address = |name: &String| name.parse::<std::net::IpAddr>().is_ok();
    let (addresses, dns_names) = names.of(role).into_iter().partition(is_address);
    let mut usages = vec!["digital signature", "client auth"];
    if role.serves() {
        usages.push("server auth");
    }
    Request { common_name: common_name(role), dns_names, addresses, usages, life: LEAF_LIFE }
}

/// Why a leaf must be signed now, if it must.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Due {
    /// There is none.
    Missing,
    /// Two thirds of its life are over.
    Old,
    /// It is of no use: the reason is for the log.
    Unusable(String),
}

/// Whether a leaf that we made is still what we would make: of this CA, for these names.
pub(crate) fn judge(
    role: Role,
    leaf: &Material,
    ca: &str,
    names: &Names,
    now: Timestamp,
) -> Result<Validity, Problem> {
    if leaf.ca != ca {
        return Err(Problem::OfAnotherAuthority);
    }
    let validity = check(role, leaf, names, now)?;
    if names.are_covered(role, leaf) { Ok(validity) } else { Err(Problem::LacksName) }
}

/// Whether a leaf that was judged so has to be signed anew.
pub(crate) fn due(judged: &Result<Validity, Problem>, now: Timestamp) -> Option<Due> {
    match judged {
        Err(Problem::NoSecret(_)) => Some(Due::Missing),
        Err(problem) => Some(Due::Unusable(problem.to_string())),
        Ok(validity) => (now >= renew_at(*validity)).then_some(Due::Old),
    }
}

/// When two thirds of a life are over.
pub(crate) fn renew_at(Validity { from, until }: Validity) -> Timestamp {
    from + until.duration_since(from) * 2 / 3
}

#[cfg(test)]
mod tests;
