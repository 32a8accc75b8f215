//! The status that a plan comes with.

use etcd_types::{
    ClusterRestoreStatus, Connection, EtcdClusterStatus, MemberStatus, OperationKind, Phase, RestorePhase,
    Role, TlsMode, TlsStatus, VersionStatus,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use crate::{
    Picture, Record, Stage, Why,
    case::{Case, Health, Seen},
    hand_over,
    identity::Identity,
    phase, repair, restore, roll,
    rule::Deed,
};

/// The whole status but for the conditions.
pub(crate) fn status(
    case: &Case<'_>,
    deed: Option<&Deed>,
    (phase, message): (Phase, String),
    record: Option<&Record>,
) -> EtcdClusterStatus {
    let members: Vec<&Seen<'_>> = case.members.values().filter(|seen| seen.is_member(case)).collect();
    let count = |holds: fn(&Seen<'_>) -> bool| members.iter().filter(|seen| holds(seen)).count();
    let number = |count: usize| i32::try_from(count).ok();
    let updated = members.iter().filter(|seen| is_updated(case, seen)).count();
    // Who cannot see, or must not act, does not know that anything is over.
    let blind = case.identity.cluster_id.is_some() && !case.has_list();
    let keeps = case.picture.spec.paused || blind || phase == Phase::Conflict;
    let known = || case.picture.status.operation.clone().filter(|_| keeps);
    let operation = deed.map(|deed| deed.operation(case)).or_else(known);
    let version = VersionStatus {
        current: case.lowest_version().map(|version| version.to_string()),
        target: operation
            .as_ref()
            .filter(|known| matches!(known.kind, OperationKind::Upgrade | OperationKind::Downgrade))
            .map(|known| known.target.clone()),
        storage: members.iter().filter_map(|seen| seen.endpoint?.storage_version.clone()).min(),
    };
    EtcdClusterStatus {
        phase: Some(phase),
        message: Some(message),
        observed_generation: case.picture.cluster.generation,
        cluster_id: cluster_id(&case.identity, case.picture),
        latest_serial: i64::try_from(latest_serial(case, deed)).ok(),
        replicas: number(members.len()),
        ready_members: number(count(|seen| seen.health == Health::Serving)),
        updated_members: number(updated),
        selector: Some(format!("etcd.capstan.dev/cluster={}", case.picture.cluster.name)),
        leader: case.leader.map(|serial| case.name(serial)),
        version: Some(version),
        members: Some(members.iter().map(|seen| member(case, seen)).collect()),
        replacements: Some(replacements(case, deed)).filter(|all| !all.is_empty()),
        operation,
        restore: match case.identity.is_held() {
            true => case.picture.status.restore.clone(),
            // What is over stays told, though the ConfigMap that told it is lost.
            false => record
                .map(|record| restore(case, deed, record))
                .or_else(|| case.picture.status.restore.clone().filter(|known| known.phase.is_over())),
        },
        move_leader: hand_over::answer(case),
        connection: Some(connection(case, &members)),
        tls: tls(case),
        conditions: None,
    }
}

/// The cluster's ID. While places remember different ones, what the status says is left as it is.
pub(crate) fn cluster_id(identity: &Identity, picture: &Picture) -> Option<String> {
    match identity.contradictions.as_slice() {
        [] => identity.cluster_id.map(|id| id.to_string()),
        _ => picture.status.cluster_id.clone(),
    }
}

/// How the restore on record stands. Times go on from what was reported.
fn restore(case: &Case<'_>, deed: Option<&Deed>, record: &Record) -> ClusterRestoreStatus {
    let uid = record.is_in_place().then(|| record.uid.clone());
    let known = case.picture.status.restore.as_ref().filter(|known| known.uid == uid);
    let told = deed.filter(|deed| matches!(deed.kind, OperationKind::Recover | OperationKind::Restore));
    let said = told.and_then(|deed| deed.message.clone()).unwrap_or_default();
    let (phase, step, message) = match &record.stage {
        Stage::Completed => (RestorePhase::Completed, "Done", format!("all members serve {}", record.label)),
        Stage::Failed { why } => {
            (RestorePhase::Failed, "Done", format!("{why}. The cluster has the data that it had before"))
        }
        Stage::Growing if !case.has_list() => {
            let message = format!(
                "too few members serve the restored data: {}. If their nodes are gone for good, create another EtcdRestore",
                phase::health(case)
            );
            (RestorePhase::Running, restore::GROWING, message)
        }
        Stage::Growing => (RestorePhase::Running, restore::GROWING, said),
        Stage::Preparing if is_stuck_on_backup(told) => {
            (RestorePhase::WaitingForConsent, restore::BACKING_UP, said)
        }
        _ => (RestorePhase::Running, told.map_or("Preparing", |deed| deed.doing), said),
    };
    let over =
        phase.is_over().then(|| known.and_then(|known| known.completed_at.clone()).unwrap_or(Time(case.now)));
    ClusterRestoreStatus {
        name: record.name.clone(),
        uid,
        phase,
        step: step.to_owned(),
        message,
        started_at: known.map_or(Time(case.now), |known| known.started_at.clone()),
        completed_at: over,
        // Plain data with string keys: it cannot fail.
        record: (!record.is_over()).then(|| serde_json::to_string(record).unwrap_or_default()),
    }
}

/// Whether somebody must agree to go on without a backup of the present data.
fn is_stuck_on_backup(deed: Option<&Deed>) -> bool {
    deed.is_some_and(|deed| deed.doing == restore::BACKING_UP && deed.stuck == Some(Why::WaitingForUser))
}

/// A number counts as given when it is about to be on record.
pub(crate) fn latest_serial(case: &Case<'_>, deed: Option<&Deed>) -> u64 {
    let adding = deed.and_then(|deed| deed.member).map_or(0, |serial| serial.0);
    case.identity.latest.max(adding)
}

fn is_updated(case: &Case<'_>, seen: &Seen<'_>) -> bool {
    roll::last(case, seen).is_some_and(|last| Some(last.fingerprint()) == seen.running())
}

fn member(case: &Case<'_>, seen: &Seen<'_>) -> MemberStatus {
    let pod = seen.objects.pod.as_ref();
    MemberStatus {
        name: case.name(seen.serial),
        id: seen.listed.map(|listed| listed.id.to_string()),
        role: role(case, seen),
        healthy: seen.is_healthy(),
        since: Time(seen.since),
        reason: repair::outlook(case, seen),
        version: seen.ran.map(|version| version.to_string()),
        updated: is_updated(case, seen),
        db_size: seen.endpoint.map(|endpoint| endpoint.db_size),
        db_size_in_use: seen.endpoint.map(|endpoint| endpoint.db_size_in_use),
        node: pod.and_then(|pod| pod.node.as_ref()).map(|node| node.name.clone()),
    }
}

fn role(case: &Case<'_>, seen: &Seen<'_>) -> Role {
    match seen.listed {
        None => Role::None,
        Some(listed) if listed.learner => Role::Learner,
        Some(_) if case.leader == Some(seen.serial) => Role::Leader,
        Some(_) if seen.is_healthy() => Role::Follower,
        Some(_) => Role::Voter,
    }
}

/// A replacement counts from the moment that it is on record.
fn replacements(case: &Case<'_>, deed: Option<&Deed>) -> Vec<Time> {
    let mut all: Vec<Time> = repair::recent(case.picture, case.now).into_iter().map(Time).collect();
    let begins = deed.is_some_and(|deed| {
        let known = case.picture.status.operation.as_ref();
        let same = known.is_some_and(|known| known.kind == deed.kind && known.target == deed.target);
        deed.kind == OperationKind::Replace && !same
    });
    if begins {
        all.push(Time(case.now));
    }
    all
}

fn connection(case: &Case<'_>, members: &[&Seen<'_>]) -> Connection {
    let voters = members.iter().filter(|seen| seen.listed.is_none_or(|listed| !listed.learner));
    let each = voters.map(|seen| case.names.client_url(seen.serial));
    let secret_name = match case.wanted.tls.mode {
        TlsMode::SelfManaged | TlsMode::CertManager | TlsMode::Secrets => {
            Some(case.wanted.tls.own_secret(case.names.client_secret()))
        }
        TlsMode::Off => None,
    };
    Connection { endpoints: std::iter::once(case.names.service_url()).chain(each).collect(), secret_name }
}

fn tls(case: &Case<'_>) -> Option<TlsStatus> {
    let (not_after, secret) = case.picture.certificates.first_to_end.clone()?;
    Some(TlsStatus { not_after: Some(Time(not_after)), secret_name: Some(secret) })
}
