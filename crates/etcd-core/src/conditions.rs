//! Conditions: what is (not) the case, as a table of judgements; and the words for why.

use etcd_types::{OperationKind, Phase, TlsMode};
use jiff::SignedDuration;

use crate::{
    AlarmKind, MemberId, Refusal,
    case::{Case, Foreign, Health},
    corrupt, phase,
    quorum::quorum,
    roll,
    rule::Deed,
    volumes,
};

/// Whether it is the case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Truth {
    /// It is.
    True,
    /// It is not.
    False,
    /// We cannot tell.
    Unknown,
}

impl From<bool> for Truth {
    fn from(is: bool) -> Self {
        if is { Self::True } else { Self::False }
    }
}

/// What is (not) the case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// Its type.
    pub kind: &'static str,
    /// Whether it is.
    pub truth: Truth,
    /// Why, in a word.
    pub reason: Why,
    /// Why, in a sentence.
    pub message: String,
}

macro_rules! whys {
    ($($(#[doc = $doc:literal])+ $name:ident),+ $(,)?) => {
        /// The reasons of conditions and events, each with its meaning.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Why { $($(#[doc = $doc])+ $name),+ }

        impl Why {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$name),+];

            /// The word itself.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$name => stringify!($name)),+ }
            }

            /// What it means, and what to do about it.
            pub fn meaning(self) -> &'static str {
                match self { $(Self::$name => concat!($($doc),+).trim_ascii()),+ }
            }
        }
    };
}

whys! {
    /// A linearizable read succeeded.
    Serving,
    /// Too few members serve for anything to be written. Bring the missing ones back; the message names them.
    QuorumLost,
    /// No member could be reached, so nothing is known and nothing is changed. Check the network between operator and members.
    NotReachable,
    /// The first members are starting.
    Bootstrapping,
    /// Every member serves.
    AllServing,
    /// Members do not serve; the message names them, with the cause.
    MembersDown,
    /// Nothing is being changed.
    Settled,
    /// An operation is being carried out; status.operation has its step.
    Operating,
    /// Something waits for a decision; the message says which.
    WaitingForUser,
    /// An operation waits until it is safe to go on; the message says what for.
    Waiting,
    /// All members have the version and the settings of the spec.
    AllUpdated,
    /// Members have another version or other settings than the spec.
    Outdated,
    /// A member does not serve with its new version or settings; the others were left as they are. Revert the spec, or correct it.
    RollFailed,
    /// The backup before another version has failed, and no member was touched. Delete the EtcdBackup to try again, or set spec.version back.
    BackupFailed,
    /// One member can be lost without harm.
    CanLoseOne,
    /// With one member less, nothing could be written.
    NoSpare,
    /// There is one member only, as the spec asks for.
    SingleMember,
    /// Certificates are in order.
    CertificatesValid,
    /// A certificate ends soon, and was not renewed.
    CertificateEnds,
    /// A certificate is missing or cannot be used; the message says which.
    CertificateMissing,
    /// A certificate that was provided is not used: it cannot be, or members do not trust its CA. They keep the ones that they have; the message says which Secret, and what to do.
    CertificateHeld,
    /// TLS is off, as the spec asks for.
    TLSOff,
    /// There is room in every database.
    RoomLeft,
    /// A database is nearly as large as its quota.
    QuotaNear,
    /// A database has reached its quota: nothing can be written.
    NoSpace,
    /// No member has raised an alarm.
    NoAlarm,
    /// Members have different data; the message has each one's hash. The operator replaces the minority by itself; without a majority, restore a backup with an EtcdRestore.
    Corrupt,
    /// All members that answer belong to one cluster.
    OneCluster,
    /// A member answers for another cluster; the message names it. Nothing is changed meanwhile.
    SeveralClusters,
    /// A member has the data of another member; the message names both. It is replaced, and its volume is kept.
    WrongData,
    /// No known fault speaks against the version.
    VersionGood,
    /// Something speaks against the version or the settings; the message says what.
    Discouraged,
    /// The spec can be carried out.
    Valid,
    /// A field of the spec cannot be carried out; the message names it, and what to set instead. What runs stays as it is.
    Refused,
    /// Every volume has the size that the spec asks for, or more.
    SizeAsAsked,
    /// Volumes grow to the size that the spec asks for; the message names them, with what Kubernetes says.
    VolumesGrow,
    /// The user asked to leave it alone.
    Paused,
    /// The user asked to go on.
    Resumed,
    /// The object is being deleted.
    Deleting,
    /// An operation begins.
    Began,
    /// An operation has ended.
    Done,
    /// An operation was ended before it was done: it is not asked for any more.
    GivenUp,
    /// Another member leads.
    LeaderChanged,
    /// A member stopped serving.
    MemberDown,
    /// A member serves again.
    MemberUp,
    /// The cluster exists: its ID is known.
    Founded,
    /// The data of a backup could not be brought in; the message says why, and what to do.
    RestoreFailed,
    /// The data of a backup is served by all members.
    Restored,
}

type Judgement = (Truth, Why, String);
type Judge = fn(&Case<'_>, Option<&Deed>, &[Refusal]) -> Judgement;

/// A row of the table: a type, the judgement on it, and what tells people that it has turned.
struct Row {
    kind: &'static str,
    judge: Judge,
    told: Told,
}

/// What tells people that a condition has turned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Told {
    /// An event of its own.
    Itself,
    /// The events of members that stop or begin to serve.
    ByMembers,
    /// The events of operations that begin, end, or cannot go on.
    ByOperations,
}

/// The conditions of a cluster, in the order of their importance.
const CONDITIONS: &[Row] = &[
    row("Available", available, Told::Itself),
    row("AllMembersHealthy", all_members_healthy, Told::ByMembers),
    row("Progressing", progressing, Told::ByOperations),
    row("UpToDate", up_to_date, Told::ByOperations),
    row("QuorumSafe", quorum_safe, Told::ByMembers),
    row("SpecValid", spec_valid, Told::Itself),
    row("TLSValid", tls_valid, Told::Itself),
    row("SpaceOK", space_ok, Told::Itself),
    row("VolumesReady", volumes_ready, Told::ByOperations),
    row("NoCorruption", no_corruption, Told::Itself),
    row("ClusterIDConsistent", cluster_id_consistent, Told::Itself),
    row("VersionSupported", version_supported, Told::Itself),
];

const fn row(kind: &'static str, judge: Judge, told: Told) -> Row {
    Row { kind, judge, told }
}

/// What tells people that a condition of this type has turned.
pub(crate) fn told(kind: &str) -> Told {
    CONDITIONS.iter().find(|row| row.kind == kind).map_or(Told::Itself, |row| row.told)
}

/// A certificate that ends within this time and was not renewed is a problem. Renewal begins long before.
const ENDS_SOON: SignedDuration = SignedDuration::from_hours(24 * 14);
/// A database that has reached this part of its quota is nearly full.
const NEARLY_FULL: f64 = 0.8;

pub(crate) fn judge(case: &Case<'_>, deed: Option<&Deed>, refusals: &[Refusal]) -> Vec<Condition> {
    let of = |row: &Row| {
        let (truth, reason, message) = (row.judge)(case, deed, refusals);
        Condition { kind: row.kind, truth, reason, message }
    };
    CONDITIONS.iter().map(of).collect()
}

/// Of a cluster that cannot be begun with.
pub(crate) fn invalid(refusals: &[Refusal]) -> Vec<Condition> {
    let message = sentences(refusals);
    let of = |kind, reason| Condition { kind, truth: Truth::False, reason, message: message.clone() };
    vec![of("Available", Why::Refused), of("SpecValid", Why::Refused)]
}

/// Of a cluster that is being deleted.
pub(crate) fn deleting() -> Vec<Condition> {
    let of = |kind, truth: bool| Condition {
        kind,
        truth: truth.into(),
        reason: Why::Deleting,
        message: "the EtcdCluster is being deleted".to_owned(),
    };
    vec![
        of("Available", false),
        of("AllMembersHealthy", false),
        of("QuorumSafe", false),
        of("Progressing", true),
    ]
}

fn available(case: &Case<'_>, _: Option<&Deed>, _: &[Refusal]) -> Judgement {
    let serves = case.members.values().any(|seen| seen.health == Health::Serving);
    let (phase, message) = phase::judge(case, None, &[]);
    let known = case.picture.status.operation.as_ref();
    match phase {
        // Nothing can be written, and every member fails its readiness probe: clients are sent away, though there is a quorum.
        _ if let Some(corrupt) = raised(case, AlarmKind::Corrupt) => (Truth::False, Why::Corrupt, corrupt),
        _ if serves => (Truth::True, Why::Serving, "a linearizable read succeeded".into()),
        Phase::Unknown => (Truth::Unknown, Why::NotReachable, message),
        _ if case.identity.cluster_id.is_none() => {
            (Truth::False, Why::Bootstrapping, "the cluster does not exist yet".into())
        }
        // Whoever has never served has lost nothing.
        _ if known.is_some_and(|it| it.kind == OperationKind::Found) => {
            (Truth::False, Why::Bootstrapping, message)
        }
        _ => (Truth::False, Why::QuorumLost, message),
    }
}

fn all_members_healthy(case: &Case<'_>, _: Option<&Deed>, _: &[Refusal]) -> Judgement {
    let members = case.members.values().filter(|seen| seen.is_member(case));
    let all = members.clone().count() > 0 && members.clone().all(|seen| seen.health == Health::Serving);
    if all && case.strangers.is_empty() {
        return (Truth::True, Why::AllServing, phase::health(case));
    }
    if let Some(stranger) = case.strangers.first() {
        return (Truth::Unknown, Why::MembersDown, phase::not_ours(stranger));
    }
    (Truth::False, Why::MembersDown, phase::health(case))
}

fn progressing(case: &Case<'_>, deed: Option<&Deed>, _: &[Refusal]) -> Judgement {
    if case.picture.spec.paused {
        return (Truth::False, Why::Paused, "spec.paused is set".into());
    }
    let Some(deed) = deed else { return (Truth::False, Why::Settled, "nothing is being changed".into()) };
    let message =
        deed.message.clone().or_else(|| deed.step.as_ref().map(ToString::to_string)).unwrap_or_default();
    match deed.stuck {
        Some(why) => (Truth::False, why, message),
        None => (Truth::True, Why::Operating, message),
    }
}

fn up_to_date(case: &Case<'_>, deed: Option<&Deed>, _: &[Refusal]) -> Judgement {
    let members: Vec<_> = case.members.values().filter(|seen| seen.is_member(case)).collect();
    let outdated = members
        .iter()
        .filter(|seen| roll::last(case, seen).is_none_or(|last| Some(last.fingerprint()) != seen.running()));
    let names: Vec<String> = outdated.map(|seen| case.name(seen.serial)).collect();
    if let Some(deed) = deed.filter(|deed| deed.stuck == Some(Why::RollFailed)) {
        return (Truth::False, Why::RollFailed, deed.message.clone().unwrap_or_default());
    }
    let rolls = |deed: &&Deed| {
        matches!(deed.kind, OperationKind::Upgrade | OperationKind::Downgrade | OperationKind::Configure)
    };
    if let Some(deed) = deed.filter(rolls).filter(|_| names.is_empty()) {
        return (Truth::False, Why::Operating, deed.message.clone().unwrap_or_default());
    }
    if names.is_empty() && members.len() == case.wanted.size {
        return (
            Truth::True,
            Why::AllUpdated,
            "all members have the version and the settings of the spec".into(),
        );
    }
    let message = if names.is_empty() {
        format!("there are {} members, and the spec asks for {}", members.len(), case.wanted.size)
    } else {
        format!("members without the version and settings of the spec: {}", names.join(", "))
    };
    (Truth::False, Why::Outdated, message)
}

fn quorum_safe(case: &Case<'_>, _: Option<&Deed>, _: &[Refusal]) -> Judgement {
    if !case.has_list() {
        return (Truth::Unknown, Why::NotReachable, "there is no live member list".into());
    }
    let (serving, all) = (case.voters.serving(), case.voters.0.len());
    let message = format!("{serving} of {all} voters serve, {} are needed", quorum(all));
    match () {
        () if case.voters.can_lose_one() => (Truth::True, Why::CanLoseOne, message),
        () if case.wanted.size == 1 && all == 1 => (Truth::False, Why::SingleMember, message),
        () => (Truth::False, Why::NoSpare, message),
    }
}

fn spec_valid(_: &Case<'_>, _: Option<&Deed>, refusals: &[Refusal]) -> Judgement {
    match refusals.is_empty() {
        true => (Truth::True, Why::Valid, "the spec can be carried out".into()),
        false => (Truth::False, Why::Refused, sentences(refusals)),
    }
}

fn volumes_ready(case: &Case<'_>, _: Option<&Deed>, _: &[Refusal]) -> Judgement {
    match volumes::growing(case) {
        Some(growing) => (Truth::False, Why::VolumesGrow, growing),
        None => (Truth::True, Why::SizeAsAsked, "every volume has the size that is asked for".into()),
    }
}

fn tls_valid(case: &Case<'_>, _: Option<&Deed>, _: &[Refusal]) -> Judgement {
    if case.wanted.tls.mode == TlsMode::Off {
        return (Truth::False, Why::TLSOff, "spec.tls.mode is Off: everything is sent in clear text".into());
    }
    let certificates = &case.picture.certificates;
    if !certificates.problems.is_empty() {
        return (Truth::False, Why::CertificateMissing, certificates.problems.join("; "));
    }
    let Some((end, secret)) = &certificates.first_to_end else {
        return (Truth::Unknown, Why::CertificateMissing, "there are no certificates yet".into());
    };
    let message = format!("the certificate in Secret {secret} ends at {end}");
    if !certificates.held.is_empty() {
        return (Truth::False, Why::CertificateHeld, format!("{}; {message}", certificates.held.join("; ")));
    }
    if end.duration_since(case.now) < ENDS_SOON {
        return (Truth::False, Why::CertificateEnds, format!("{message}, and was not renewed"));
    }
    (Truth::True, Why::CertificatesValid, message)
}

/// What an alarm that is raised means, in a sentence: what is corrupt before what is full.
pub(crate) fn alarm(case: &Case<'_>) -> Option<String> {
    raised(case, AlarmKind::Corrupt).or_else(|| raised(case, AlarmKind::NoSpace))
}

fn raised(case: &Case<'_>, kind: AlarmKind) -> Option<String> {
    let alarm = case.picture.etcd.alarms.iter().flatten().find(|alarm| alarm.kind == kind)?;
    let who = who(case, alarm.member);
    Some(match kind {
        AlarmKind::NoSpace => format!("{who} has reached its quota: only reads and deletes are served"),
        AlarmKind::Corrupt => {
            corrupt::explain(case).unwrap_or_else(|| format!("{who} has raised the alarm CORRUPT"))
        }
    })
}

fn space_ok(case: &Case<'_>, _: Option<&Deed>, _: &[Refusal]) -> Judgement {
    if let Some(full) = raised(case, AlarmKind::NoSpace) {
        return (Truth::False, Why::NoSpace, full);
    }
    let parts = case.members.values().filter_map(|seen| {
        let endpoint = seen.endpoint?;
        let quota = endpoint
            .db_quota
            .filter(|quota| *quota > 0)
            .map_or(case.wanted.quota as f64, |quota| quota as f64);
        Some((endpoint.db_size as f64 / quota, seen.serial))
    });
    match parts.max_by(|a, b| a.0.total_cmp(&b.0)) {
        None => (Truth::Unknown, Why::NotReachable, "no member can be asked".into()),
        Some((part, serial)) => {
            let message =
                format!("the database of {} has {:.0} % of its quota", case.name(serial), part * 100.0);
            if part >= NEARLY_FULL {
                (Truth::False, Why::QuotaNear, message)
            } else {
                (Truth::True, Why::RoomLeft, message)
            }
        }
    }
}

fn no_corruption(case: &Case<'_>, _: Option<&Deed>, _: &[Refusal]) -> Judgement {
    // Also while a member does not start because its data differs, which raises no alarm.
    if let Some(corrupt) = corrupt::explain(case).or_else(|| raised(case, AlarmKind::Corrupt)) {
        return (Truth::False, Why::Corrupt, corrupt);
    }
    match case.picture.etcd.alarms {
        Some(_) => (Truth::True, Why::NoAlarm, "no member has raised an alarm".into()),
        None => (Truth::Unknown, Why::NotReachable, "no member can be asked".into()),
    }
}

fn cluster_id_consistent(case: &Case<'_>, _: Option<&Deed>, _: &[Refusal]) -> Judgement {
    let copied = matches!(case.strays.first(), Some((_, Foreign::OfMember(_))));
    match (phase::conflict(case), case.identity.cluster_id) {
        (Some(conflict), _) if copied && case.identity.contradictions.is_empty() => {
            (Truth::False, Why::WrongData, conflict)
        }
        (Some(conflict), _) => (Truth::False, Why::SeveralClusters, conflict),
        (None, Some(id)) => (Truth::True, Why::OneCluster, format!("all who answer belong to {id}")),
        (None, None) => (Truth::Unknown, Why::Bootstrapping, "the cluster does not exist yet".into()),
    }
}

fn version_supported(case: &Case<'_>, _: Option<&Deed>, _: &[Refusal]) -> Judgement {
    match case.wanted.warnings.as_slice() {
        [] => (Truth::True, Why::VersionGood, "nothing is known to speak against it".into()),
        warnings => (Truth::False, Why::Discouraged, warnings.join("; ")),
    }
}

fn who(case: &Case<'_>, id: MemberId) -> String {
    let ours = case.members.values().find(|seen| seen.listed.is_some_and(|listed| listed.id == id));
    ours.map_or_else(|| format!("member {id}"), |seen| case.name(seen.serial))
}

fn sentences(refusals: &[Refusal]) -> String {
    refusals.iter().map(ToString::to_string).collect::<Vec<_>>().join(". ")
}
