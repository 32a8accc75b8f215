//! Decides what may be copied of the certificates that users and cert-manager provide. Pure.
//!
//! ```text
//! provided Secrets ─┐
//! present copies   ─┼─> review ──> per role: what is used, whether it is copied, why what was provided is not used
//! recorded trust   ─┘
//! ```
//!
//! Invariants: while there are members, the CAs in the copies are the ones that the members were started with; a provided certificate is
//! used only if those CAs verify it for its role. So in whatever order the kubelet brings the copies to the members, they and the operator
//! accept each other.
//!
//! A change of the CA (trust both, roll, swap the certificates, roll, trust the new one alone) belongs here: [`trusted`] would return the
//! wider trust, and the records of the StatefulSets tell which members were started with it.

use jiff::Timestamp;

use super::Trust;
use crate::tls::{Anchors, Material, Names, Problem, Role, Validity, check};

/// Whose trust a certificate depends on. One `ca.crt` for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Domain {
    /// Between members and clients, the operator among them.
    Client,
    /// Between members.
    Peer,
}

impl Domain {
    fn of(role: Role) -> Self {
        match role {
            Role::Peer => Self::Peer,
            Role::Server | Role::Client | Role::Operator => Self::Client,
        }
    }

    /// The role whose `ca.crt` etcd trusts.
    fn source(self) -> Role {
        match self {
            Self::Client => Role::Server,
            Self::Peer => Role::Peer,
        }
    }
}

/// What there is for one role.
#[derive(Debug, Clone)]
pub(super) struct Part {
    pub(super) role: Role,
    /// In the Secret of a user or of cert-manager.
    pub(super) provided: Result<Material, Problem>,
    /// In the operator's own Secret.
    pub(super) copy: Result<Material, Problem>,
}

/// What becomes of one role.
#[derive(Debug, Clone)]
pub(super) struct Verdict {
    /// What is used from now on, if something can be.
    pub(super) used: Option<(Material, Validity)>,
    /// It is to be copied from what is provided.
    pub(super) copies: bool,
    /// Why what is provided is not used.
    pub(super) refused: Option<Refused>,
    /// Why the present copy cannot be used.
    pub(super) spoiled: Option<Problem>,
}

/// Why a provided certificate is not used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Refused {
    /// It would be good with the `ca.crt` beside it, but members do not trust that.
    AnotherCa {
        /// As "subject" (fingerprint), separated by commas.
        signers: String,
        trusted: String,
    },
    /// Which CA the members trust is not known any more.
    UnknownTrust,
    Problem(Problem),
}

/// What becomes of all roles.
#[derive(Debug, Clone)]
pub(super) struct Review {
    pub(super) verdicts: Vec<(Role, Verdict)>,
    /// The CAs that members trust from their next start on.
    pub(super) client_trust: Option<String>,
    pub(super) peer_trust: Option<String>,
}

pub(super) fn review(parts: &[Part], trust: &Trust, names: &Names, now: Timestamp) -> Review {
    let client = trusted(Domain::Client, parts, trust, names, now);
    let peer = trusted(Domain::Peer, parts, trust, names, now);
    let of = |role| match Domain::of(role) {
        Domain::Client => client.as_deref(),
        Domain::Peer => peer.as_deref(),
    };
    let mut verdicts: Vec<(Role, Verdict)> =
        parts.iter().map(|part| (part.role, judge(part, of(part.role), names, now))).collect();
    // The first copies are made all at once: each of them fixes what is trusted.
    if *trust == Trust::Nobody && verdicts.iter().any(|(_, verdict)| verdict.used.is_none()) {
        verdicts.iter_mut().for_each(|(_, verdict)| verdict.copies = false);
    }
    Review { verdicts, client_trust: client, peer_trust: peer }
}

/// The `ca.crt` of a domain, unless nobody knows any more which one members trust.
fn trusted(domain: Domain, parts: &[Part], trust: &Trust, names: &Names, now: Timestamp) -> Option<String> {
    let source = parts.iter().find(|part| part.role == domain.source())?;
    let provided = source.provided.as_ref().ok().map(|material| material.ca.clone());
    let copied = source.copy.as_ref().ok().map(|material| material.ca.clone());
    let known = match trust {
        Trust::Nobody if are_whole(parts, names, now) => copied,
        Trust::Nobody => return provided,
        Trust::Members(recorded) => {
            let recorded_here = match domain {
                Domain::Client => &recorded.client,
                Domain::Peer => &recorded.peer,
            };
            if recorded_here.is_empty() {
                // Members that were made before trust was recorded mount what is provided, or a Secret that was adopted as a copy.
                copied.or_else(|| provided.clone().filter(|_| recorded.by_none))
            } else {
                let copies = parts.iter().filter(|part| Domain::of(part.role) == domain);
                let copies = copies.filter_map(|part| part.copy.as_ref().ok());
                let is_trusted = |material: &&Material| {
                    Anchors::of(&material.ca).is_ok_and(|it| recorded_here.contains(&it.record()))
                };
                let among_provided = || {
                    let provided = Anchors::of(provided.as_ref()?).ok()?;
                    recorded_here.iter().find_map(|record| provided.only(record))
                };
                copies.into_iter().find(is_trusted).map(|copy| copy.ca.clone()).or_else(among_provided)
            }
        }
    }?;
    // A CA certificate that was renewed with the same key: verifiers take one for the other.
    let is_same = |other: &String| record(other).is_some_and(|other| Some(other) == record(&known));
    Some(provided.filter(is_same).unwrap_or(known))
}

fn record(ca: &str) -> Option<String> {
    Some(Anchors::of(ca).ok()?.record())
}

/// Whether there is a good copy for every role: then the cluster was started with them, even if there is no member at the moment.
fn are_whole(parts: &[Part], names: &Names, now: Timestamp) -> bool {
    parts
        .iter()
        .all(|part| part.copy.as_ref().is_ok_and(|material| check(part.role, material, names, now).is_ok()))
}

fn judge(part: &Part, trusted: Option<&str>, names: &Names, now: Timestamp) -> Verdict {
    let with_trust = |material: &Material, ca: &str| Material { ca: ca.to_owned(), ..material.clone() };
    let candidate = match (&part.provided, trusted) {
        (Err(problem), _) => Err(Refused::Problem(problem.clone())),
        (Ok(_), None) => Err(Refused::UnknownTrust),
        (Ok(provided), Some(ca)) => {
            let candidate = with_trust(provided, ca);
            match check(part.role, &candidate, names, now) {
                Ok(validity) => Ok((candidate, validity)),
                Err(problem) if check(part.role, provided, names, now).is_err() => {
                    Err(Refused::Problem(problem))
                }
                Err(_) => Err(another_ca(&provided.ca, ca)),
            }
        }
    };
    let current = match (&part.copy, trusted) {
        (Err(problem), _) => Err(problem.clone()),
        (Ok(_), None) => Err(Problem::OfAnotherAuthority),
        (Ok(copy), Some(ca)) if record(&copy.ca) != record(ca) => Err(Problem::OfAnotherAuthority),
        (Ok(copy), Some(_)) => check(part.role, copy, names, now).map(|validity| (copy.clone(), validity)),
    };
    let spoiled = current.as_ref().err().cloned();
    match candidate {
        Ok((candidate, validity)) => {
            let copies = part.copy.as_ref().ok() != Some(&candidate);
            Verdict { used: Some((candidate, validity)), copies, refused: None, spoiled }
        }
        Err(refused) => Verdict { used: current.ok(), copies: false, refused: Some(refused), spoiled },
    }
}

fn another_ca(provided: &str, trusted: &str) -> Refused {
    let (Ok(provided), Ok(trusted)) = (Anchors::of(provided), Anchors::of(trusted)) else {
        return Refused::Problem(Problem::OfAnotherAuthority);
    };
    let list = |anchors: &mut dyn Iterator<Item = String>| anchors.collect::<Vec<_>>().join(", ");
    Refused::AnotherCa {
        signers: list(&mut provided.beside(&trusted).map(ToString::to_string)),
        trusted: list(&mut trusted.iter().map(ToString::to_string)),
    }
}

#[cfg(test)]
mod tests;
