//! The Jobs that bring the data of a backup to a volume, and that write again what came after it.
//!
//! The first has three containers, one after the other: `fetch` (ours) reads the backup and checks it, `restore` (etcd's own `etcdutl`, of
//! the version that will run) makes a data directory of it, `settle` (ours) puts that where etcd looks. Interrupted anywhere, the next
//! attempt begins with `fetch`. None of them talks to Kubernetes; how they ended is in their termination messages.

use std::time::Duration;

use etcd_core::{ReplayWish, SeedWish, Serial};
use etcd_types::{BackupStore, EtcdCluster, PodOptions, TlsMode};
use k8s_openapi::{
    api::{
        batch::v1::Job,
        core::v1::{Container, PodSpec, ResourceRequirements, VolumeMount},
    },
    apimachinery::pkg::{api::resource::Quantity, apis::meta::v1::ObjectMeta},
};
use kit::{parts, run, secure};
use kube::ResourceExt as _;

use super::{arguments::DATA_DIR, owned, pod};
use crate::{
    backup::place::{Place, place, secret_volume, without_identity},
    names,
    recovery::{Point, Source, Which},
    tls::{Role, secret_name},
};

/// The container that brings the data where etcd looks: the Job's result is what it says.
pub(crate) const SETTLE: &str = "settle";
pub(crate) const REPLAY: &str = "replay";
/// The container that runs the user's image of etcd.
const RESTORE: &str = "restore";
const FETCHED: &str = "/var/lib/etcd/restore";
const VOLUME: &str = "/var/lib/etcd";
const CERTIFICATES: &str = "/etc/etcd/client";
const TERMINATION_LOG: &str = "/dev/termination-log";
/// Exit codes of `capstan backup` after which trying again is useless.
const HOPELESS: [i32; 2] = [77, 78];
/// A database of any size that etcd can have is there long before.
const DEADLINE: Duration = Duration::from_secs(12 * 60 * 60);

/// The Job that brings the data of `source` to the volume of a member.
pub(crate) fn seed(cluster: &EtcdCluster, wish: &SeedWish, source: &Source, image: &str) -> Job {
    let name = names::of(cluster);
    let name = name.get();
    let member = name.member(wish.serial);
    let place = place(&source.store);
    let data = parts::mount("data", VOLUME);
    let mounts = |more: &[VolumeMount]| [std::slice::from_ref(&data), more].concat();
    let fetch = ours("fetch", image, fetch(cluster, wish, source, &place), mounts(&place.mounts));
    let url = name.peer_url(wish.serial);
    let mut restore = vec![
        "snapshot".to_owned(),
        "restore".to_owned(),
        format!("{FETCHED}/snapshot.db"),
        format!("--name={member}"),
        format!("--initial-cluster={member}={url}"),
        format!("--initial-cluster-token={}", cluster.uid().unwrap_or_default()),
        format!("--initial-advertise-peer-urls={url}"),
        format!("--data-dir={FETCHED}/out"),
    ];
    if let Some(bump) = wish.bump {
        // Nobody who watches or caches must see a revision twice with different content.
        restore.extend([format!("--bump-revision={bump}"), "--mark-compacted".to_owned()]);
    }
    let restore = Container {
        command: Some(parts::words(["etcdutl"])),
        args: Some(restore),
        resources: wish.template.pod.resources.clone(),
        volume_mounts: Some(mounts(&[])),
        termination_message_policy: Some("FallbackToLogsOnError".to_owned()),
        ..secure::container(RESTORE, wish.template.image.clone())
    };
    let settle = [
        "settle".to_owned(),
        format!("--from={FETCHED}"),
        format!("--to={DATA_DIR}"),
        format!("--mark={}", wish.made_from),
        format!("--result={TERMINATION_LOG}"),
    ];
    let settle = ours(SETTLE, image, settle.into(), mounts(&[]));
    let volumes = [vec![parts::claim_volume("data", &member)], place.volumes].concat();
    let spec = PodSpec {
        init_containers: Some(vec![fetch, restore]),
        containers: vec![settle],
        volumes: Some(volumes),
        // Where a volume is bound to a node, its member will be on that node.
        ..pod::placement(&name, &wish.template.pod)
    };
    let mut job = job(cluster, names::seed_job(name.cluster, wish.serial), &source.store, wish.serial, spec);
    if let Some(spec) = &mut job.spec {
        without_identity(&mut spec.template, &[RESTORE]);
    }
    let annotations = job.metadata.annotations.get_or_insert_default();
    annotations.insert(names::MADE_FROM.to_owned(), wish.made_from.clone());
    job
}

fn fetch(cluster: &EtcdCluster, wish: &SeedWish, source: &Source, place: &Place) -> Vec<String> {
    let mut arguments = vec!["fetch".to_owned()];
    arguments.extend(place.arguments.iter().cloned());
    match &source.which {
        Which::Named(id) => arguments.push(id.clone()),
        Which::NamedThoughRefuted(id) => arguments.extend([id.clone(), "--allow-refuted".to_owned()]),
        Which::NewestOf(name) => arguments.extend([
            format!("--newest-of={name}"),
            // A place may hold backups of other clusters of that name.
            format!("--cluster-uid={}", cluster.uid().unwrap_or_default()),
            format!("--cluster-namespace={}", cluster.namespace().unwrap_or_default()),
        ]),
    }
    if let Some(only) = &source.only_of {
        arguments.push(format!("--only-of={only}"));
    }
    arguments.extend(source.point.map(point));
    arguments.extend([
        format!("--into={FETCHED}"),
        format!("--for-version={}", wish.template.version),
        format!("--result={TERMINATION_LOG}"),
    ]);
    arguments
}

fn point(point: Point) -> String {
    match point {
        Point::Revision(revision) => format!("--revision={revision}"),
        Point::Time(time) => format!("--time={time}"),
    }
}

/// The Job that writes to a seed what came after its backup. Nobody else is let in meanwhile.
pub(crate) fn replay(cluster: &EtcdCluster, wish: &ReplayWish, source: &Source, image: &str) -> Job {
    let name = names::of(cluster);
    let name = name.get();
    let place = place(&source.store);
    let mut arguments = vec!["replay".to_owned()];
    arguments.extend(place.arguments.iter().cloned());
    arguments.push(wish.backup.clone());
    arguments.extend(source.point.map(point));
    arguments.push(format!("--endpoints={}", name.client_url(wish.serial)));
    arguments.extend(wish.bump.map(|bump| format!("--bumped={bump}")));
    arguments.push(format!("--result={TERMINATION_LOG}"));
    let (mut volumes, mut mounts) = (place.volumes, place.mounts);
    if cluster.spec.tls.mode != TlsMode::Off
        && let Some(secret) = secret_name(name.cluster, &cluster.spec.tls, Role::Operator)
    {
        arguments.push(format!("--tls={CERTIFICATES}"));
        volumes.push(secret_volume("operator-tls", &secret));
        mounts.push(parts::mount_read_only("operator-tls", CERTIFICATES));
    }
    let spec = PodSpec {
        containers: vec![ours(REPLAY, image, arguments, mounts)],
        volumes: Some(volumes),
        ..pod::placement(&name, &PodOptions::default())
    };
    job(cluster, names::replay_job(name.cluster, wish.serial), &source.store, wish.serial, spec)
}

/// A container of our image that runs `capstan backup <arguments>`.
fn ours(name: &str, image: &str, arguments: Vec<String>, mounts: Vec<VolumeMount>) -> Container {
    let quantities = |all: &[(&str, &str)]| {
        Some(all.iter().map(|(name, value)| ((*name).to_owned(), Quantity((*value).to_owned()))).collect())
    };
    Container {
        command: Some(parts::words(["capstan", "backup"])),
        args: Some(arguments),
        resources: Some(ResourceRequirements {
            requests: quantities(&[("cpu", "10m"), ("memory", "64Mi")]),
            limits: quantities(&[("memory", "128Mi")]),
            ..ResourceRequirements::default()
        }),
        volume_mounts: Some(mounts),
        termination_message_policy: Some("FallbackToLogsOnError".to_owned()),
        ..secure::container(name, image.to_owned())
    }
}

fn job(cluster: &EtcdCluster, name: String, store: &BackupStore, serial: Serial, mut pod: PodSpec) -> Job {
    let labels = names::work_labels(cluster, serial);
    if let Some(account) = &store.service_account_name {
        // The platform gives this account an identity at the store, and the pod what proves it. The token for Kubernetes is not mounted.
        pod.service_account_name = Some(account.clone());
    }
    let metadata = ObjectMeta {
        name: Some(name),
        namespace: cluster.namespace(),
        labels: Some(labels.clone()),
        ..ObjectMeta::default()
    };
    let spec = run::job(parts::template(labels, pod), &HOPELESS, DEADLINE);
    owned(Job { metadata, spec: Some(spec), status: None }, cluster)
}

#[cfg(test)]
mod tests {
    use etcd_core::{Start, Template};
    use serde_json::json;

    use super::*;

    fn cluster() -> EtcdCluster {
        serde_json::from_value(json!({
            "apiVersion": "etcd.capstan.dev/v1alpha1", "kind": "EtcdCluster",
            "metadata": {"name": "db", "namespace": "shop", "uid": "u-1"}, "spec": {"version": "3.6.16"},
        }))
        .unwrap()
    }

    fn source(which: Which, point: Option<Point>) -> Source {
        let store = BackupStore { url: "s3://backups/of/db".into(), ..BackupStore::default() };
        Source { store, which, only_of: None, point }
    }

    fn wish(bump: Option<i64>) -> SeedWish {
        let template = Template {
            version: "3.6.16".parse().unwrap(),
            image: "quay.io/coreos/etcd:v3.6.16".into(),
            args: Vec::new(),
            pod: PodOptions {
                node_selector: [("disk".to_owned(), "fast".to_owned())].into(),
                ..PodOptions::default()
            },
            tls: etcd_types::Tls::default(),
            medium: etcd_types::Medium::PersistentVolume,
            memory: None,
            start: Start::Started,
        };
        SeedWish { serial: Serial(4), template, bump, made_from: "f-3.6.16".into() }
    }

    fn lines(container: &Container) -> String {
        container.args.clone().unwrap().join("\n")
    }

    #[test]
    fn a_backup_is_fetched_restored_and_settled_on_the_volume_of_the_member() {
        let job =
            seed(&cluster(), &wish(Some(1000)), &source(Which::Named("nightly-1".into()), None), "capstan:1");
        assert_eq!(job.name_any(), "db-seed-4");
        let pod = job.spec.unwrap().template.spec.unwrap();
        assert_eq!(pod.automount_service_account_token, Some(false));
        assert_eq!(pod.node_selector.unwrap()["disk"], "fast", "where the member will be");
        let [fetch, restore] = pod.init_containers.unwrap().try_into().unwrap();
        assert!(
            lines(&fetch).contains(
                "s3://backups/of/db\nnightly-1\n--into=/var/lib/etcd/restore\n--for-version=3.6.16"
            )
        );
        assert_eq!(restore.image.as_deref(), Some("quay.io/coreos/etcd:v3.6.16"));
        let expected = "snapshot\nrestore\n/var/lib/etcd/restore/snapshot.db\n--name=db-4\n\
            --initial-cluster=db-4=https://db-4-0.db-peer.shop.svc:2380\n--initial-cluster-token=u-1\n\
            --initial-advertise-peer-urls=https://db-4-0.db-peer.shop.svc:2380\n--data-dir=/var/lib/etcd/restore/out\n\
            --bump-revision=1000\n--mark-compacted";
        assert_eq!(lines(&restore), expected);
        assert!(lines(&pod.containers[0]).contains("--to=/var/lib/etcd/data\n--mark=f-3.6.16"));
        let labels = job.metadata.labels.unwrap();
        assert_ne!(labels["app.kubernetes.io/name"], "etcd", "no Service leads to it");
    }

    #[test]
    fn a_refuted_backup_is_fetched_only_when_that_is_allowed() {
        let fetched = |which| {
            let job = seed(&cluster(), &wish(None), &source(which, None), "capstan:1");
            lines(&job.spec.unwrap().template.spec.unwrap().init_containers.unwrap()[0])
        };
        assert!(fetched(Which::NamedThoughRefuted("bad-1".into())).contains("\nbad-1\n--allow-refuted\n"));
        assert!(!fetched(Which::Named("bad-1".into())).contains("refuted"));
        assert!(!fetched(Which::NewestOf("db".into())).contains("refuted"));
    }

    #[test]
    fn a_new_cluster_keeps_its_revisions() {
        let source = source(Which::NewestOf("db".into()), None);
        let job = seed(&cluster(), &wish(None), &source, "capstan:1");
        let pod = job.spec.unwrap().template.spec.unwrap();
        let containers = pod.init_containers.unwrap();
        assert!(
            lines(&containers[0]).contains("--newest-of=db\n--cluster-uid=u-1\n--cluster-namespace=shop\n")
        );
        assert!(!lines(&containers[1]).contains("bump"));
    }

    #[test]
    fn what_came_after_the_backup_is_written_to_the_seed_alone() {
        let source = source(Which::NewestOf("db".into()), Some(Point::Revision(70)));
        let wish = ReplayWish { serial: Serial(4), bump: Some(1000), backup: "nightly-1".into() };
        let job = replay(&cluster(), &wish, &source, "capstan:1");
        let pod = job.spec.unwrap().template.spec.unwrap();
        let expected =
            "nightly-1\n--revision=70\n--endpoints=https://db-4-0.db-peer.shop.svc:2379\n--bumped=1000";
        assert!(lines(&pod.containers[0]).contains(expected), "{}", lines(&pod.containers[0]));
        let mut secrets =
            pod.volumes.iter().flatten().filter_map(|volume| volume.secret.clone()?.secret_name);
        assert!(
            secrets.any(|it| it == "db-operator-tls"),
            "with authentication on, only root may write everything"
        );
    }
}
