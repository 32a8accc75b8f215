//! The pod of one member: etcd, its volume and its certificates, with as few rights as possible.

use std::collections::BTreeMap;

use etcd_core::{CLIENT_PORT, METRICS_PORT, Names, PEER_PORT, Serial, Start, Template};
use etcd_types::{Medium, PodOptions, TlsMode};
use k8s_openapi::{
    api::core::v1::{
        Affinity, Container, EmptyDirVolumeSource, PodAntiAffinity, PodReadinessGate, PodSpec,
        PodTemplateSpec, Probe, SecretVolumeSource, TopologySpreadConstraint, Volume,
    },
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use kit::{parts, secure};

use super::arguments::{PEER, SERVER, arguments};
use crate::{
    names,
    tls::{Role, secret_name},
};

/// Nobody in particular, but not root.
const USER: i64 = 65532;
/// etcd hands leadership over when it is told to stop: it has this long.
const GRACE: i64 = 30;
/// A process that does not answer cannot hand over anything.
const HUNG_GRACE: i64 = 5;
/// Replaying a long log and loading a large database may take this many seconds.
const STARTUP: i32 = 1800;

pub(super) fn template(
    names: &Names<'_>,
    serial: Serial,
    template: &Template,
    token: &str,
) -> PodTemplateSpec {
    let mut labels = template.pod.labels.clone();
    labels.extend(names::labels(names.cluster));
    labels.insert(names::MEMBER.to_owned(), names.member(serial));
    let mut annotations = template.pod.annotations.clone();
    annotations.insert(names::TEMPLATE.to_owned(), template.fingerprint());
    annotations.insert(names::START.to_owned(), template.start.fingerprint());
    annotations.insert(names::CLUSTER_UID.to_owned(), token.to_owned());
    let metadata =
        ObjectMeta { labels: Some(labels), annotations: Some(annotations), ..ObjectMeta::default() };
    let container = container(template, arguments(names, serial, template, token));
    PodTemplateSpec { metadata: Some(metadata), spec: Some(pod(names, serial, template, container)) }
}

fn pod(names: &Names<'_>, serial: Serial, template: &Template, container: Container) -> PodSpec {
    PodSpec {
        termination_grace_period_seconds: Some(GRACE),
        containers: vec![container],
        readiness_gates: gates(&template.start),
        volumes: Some(volumes(names, serial, template)),
        ..placement(names, &template.pod)
    }
}

/// etcd's own probe does not know whether the port for clients is open. A member that joins may vote for seconds before it is
/// (`join.rs` in etcd-core), so its first pod is ready only when we have seen it answer; those after it need nobody for that.
fn gates(start: &Start) -> Option<Vec<PodReadinessGate>> {
    matches!(start, Start::Join { .. })
        .then(|| vec![PodReadinessGate { condition_type: names::SERVES.to_owned() }])
}

/// Where a pod may run, and with which rights: the same for a member and for what works on its volume.
pub(super) fn placement(names: &Names<'_>, options: &PodOptions) -> PodSpec {
    let PodOptions {
        affinity,
        topology_spread_constraints,
        node_selector,
        tolerations,
        priority_class_name,
        security_context,
        image_pull_secrets,
        // In the container, and in the metadata.
        resources: _,
        env: _,
        labels: _,
        annotations: _,
    } = options.clone();
    PodSpec {
        service_account_name: Some(names.cluster.to_owned()),
        automount_service_account_token: Some(false),
        enable_service_links: Some(false),
        security_context: Some(security_context.unwrap_or_else(|| secure::restricted_pod(USER))),
        affinity: affinity
            .or_else(|| topology_spread_constraints.is_none().then(|| other_zones(names.cluster))),
        topology_spread_constraints: Some(
            topology_spread_constraints.unwrap_or_else(|| other_nodes(names.cluster)),
        ),
        node_selector: some(node_selector, BTreeMap::is_empty),
        tolerations: some(tolerations, Vec::is_empty),
        priority_class_name,
        image_pull_secrets: some(image_pull_secrets, Vec::is_empty),
        ..PodSpec::default()
    }
}

fn container(template: &Template, arguments: Vec<String>) -> Container {
    let mut mounts = vec![parts::mount("data", "/var/lib/etcd")];
    if template.tls.mode != TlsMode::Off {
        let certificates = [("server-tls", SERVER), ("peer-tls", PEER)];
        mounts.extend(certificates.map(|(name, path)| parts::mount_read_only(name, path)));
    }
    Container {
        command: Some(parts::words(["etcd"])),
        args: Some(arguments),
        env: some(template.pod.env.clone(), Vec::is_empty),
        ports: Some(
            [("client", CLIENT_PORT), ("peer", PEER_PORT), ("metrics", METRICS_PORT)]
                .map(|(name, port)| parts::container_port(name, port))
                .into(),
        ),
        resources: template.pod.resources.clone(),
        volume_mounts: Some(mounts),
        // Only a member that has started can be asked whether it lives.
        startup_probe: Some(probe("/livez", 1, 5, STARTUP)),
        liveness_probe: Some(liveness()),
        // A linearizable read, and no learner. A member that is cut off from the others keeps the read waiting: clients are sent elsewhere
        // after three times 2 s. An election, which keeps it waiting for a second or two, is over before that.
        readiness_probe: Some(probe("/readyz", 1, 2, 3)),
        // Why it ended is in its status: etcd writes no such file itself.
        termination_message_policy: Some("FallbackToLogsOnError".to_owned()),
        ..secure::container("etcd", template.image.clone())
    }
}

fn volumes(names: &Names<'_>, serial: Serial, template: &Template) -> Vec<Volume> {
    let data = match template.medium {
        Medium::PersistentVolume => parts::claim_volume("data", &names.member(serial)),
        Medium::Memory => {
            let (medium, size_limit) = (Some("Memory".to_owned()), template.memory.clone());
            let memory = EmptyDirVolumeSource { medium, size_limit, ..EmptyDirVolumeSource::default() };
            Volume { name: "data".to_owned(), empty_dir: Some(memory), ..Volume::default() }
        }
    };
    let certificates = [("server-tls", Role::Server), ("peer-tls", Role::Peer)].into_iter();
    let certificates = certificates.filter_map(|(volume, role)| {
        let secret = SecretVolumeSource {
            secret_name: Some(secret_name(names.cluster, &template.tls, role)?),
            default_mode: Some(0o440),
            ..SecretVolumeSource::default()
        };
        Some(Volume { name: volume.to_owned(), secret: Some(secret), ..Volume::default() })
    });
    [data].into_iter().chain(certificates).collect()
}

/// Asks whether the process answers at all; the kubelet kills one that does not after six failures and [`HUNG_GRACE`]: within 45 s.
///
/// The one check of `/livez` is a serializable read, and it is left out: etcd locks its database while it defragments it, for minutes if it
/// is large, and a restart would throw the work away. (`/health`, `/readyz`, and from 3.6 on `/version` wait for the same lock; `/metrics`
/// does while a compaction waits for it.) Without its check, `/livez` answers "ok" in every version from 3.5.11 on. A TCP probe would not do:
/// the kernel accepts connections for a process that hangs. A database that stays blocked is the operator's matter (`cause.rs` in etcd-core).
///
/// It needs no quorum: without one, restarting a healthy member would not help.
fn liveness() -> Probe {
    Probe {
        termination_grace_period_seconds: Some(HUNG_GRACE),
        ..probe("/livez?exclude=serializable_read", 5, 5, 6)
    }
}

/// Over nodes, as far as there are any.
fn other_nodes(cluster: &str) -> Vec<TopologySpreadConstraint> {
    vec![TopologySpreadConstraint {
        max_skew: 1,
        topology_key: "kubernetes.io/hostname".to_owned(),
        when_unsatisfiable: "ScheduleAnyway".to_owned(),
        label_selector: Some(parts::matching(names::selector(cluster))),
        ..TopologySpreadConstraint::default()
    }]
}

/// Over zones, as far as there are any. Not as a second constraint: the scheduler counts only nodes that have the labels of all
/// constraints, so that where nodes have no zone, members would not be spread over nodes either.
fn other_zones(cluster: &str) -> Affinity {
    let preferred = parts::preferred(names::selector(cluster), "topology.kubernetes.io/zone");
    let apart = PodAntiAffinity {
        preferred_during_scheduling_ignored_during_execution: Some(vec![preferred]),
        ..PodAntiAffinity::default()
    };
    Affinity { pod_anti_affinity: Some(apart), ..Affinity::default() }
}

/// Probes are the operator's own part of the pod, and no part of the fingerprint: a new operator writes them into StatefulSets, which
/// restart nobody (`OnDelete`); a member gets them when its pod is made anew for another reason.
fn probe(path: &str, period: i32, timeout: i32, failures: i32) -> Probe {
    parts::http_probe(path, METRICS_PORT, period, timeout, failures)
}

/// What is empty is not asked for.
fn some<T>(value: T, is_empty: impl Fn(&T) -> bool) -> Option<T> {
    if is_empty(&value) { None } else { Some(value) }
}
