//! Capture and replay against real etcd: what is restored equals what there was, at every revision, whatever died on the way.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use bytes::Bytes;
use etcd_api::{Client, Endpoint as _, pb};
use etcd_backup::{
    Error, Key, Manifest, Result, Store, catalogue, load,
    manifest::Cluster,
    ranking::Load,
    save::{self, About},
    seal,
    source::Source,
    wal::{
        Capture, Ended, Point,
        capture::{Phase, State},
        point, reach, replay,
    },
};
use lab::versions::Operand;
use tokio::{
    sync::{oneshot, watch},
    task::JoinHandle,
};

use super::{
    hash,
    process::{Etcd, now, program},
    store, write,
};

const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) async fn take_as(etcd: &Etcd, store: &Store, id: &str, key: Option<&Key>) -> Manifest {
    let giver = etcd.source().giver(Load::Snapshot).await.unwrap();
    let cluster = giver.status.cluster.to_string();
    let about = About {
        id: id.to_owned(),
        producer: "test".to_owned(),
        cluster: Cluster {
            namespace: String::new(),
            name: "db".to_owned(),
            uid: cluster.clone(),
            id: cluster,
            member: giver.name.clone(),
        },
        etcd_version: giver.status.version.clone(),
        taken_at: now(),
        hash: None,
        schedule: None,
        corruption: None,
    };
    let chunks = giver.snapshot().await.unwrap();
    save::save(store, about, key, chunks, async || Ok(giver.revisions().await.unwrap()), |_| ())
        .await
        .unwrap()
}

/// A capture that runs.
pub(crate) struct Running {
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<Result<Ended>>,
    state: watch::Receiver<State>,
}

pub(crate) fn capture(store: &Store, endpoints: Vec<String>, key: Option<&Key>) -> Running {
    capture_from(store, Source { endpoints, tls: None }, key)
}

pub(crate) fn capture_from(store: &Store, source: Source, key: Option<&Key>) -> Running {
    let (stop, stopped) = oneshot::channel::<()>();
    let (tell, state) = watch::channel(State::default());
    let (store, key) = (store.clone(), key.cloned());
    let task = tokio::spawn(async move {
        let capture = Capture {
            store: &store,
            source: &source,
            key,
            cluster_uid: None,
            flush_every: Duration::from_millis(100),
            flush_bytes: 64 << 10,
            now,
        };
        let stopped = async { stopped.await.unwrap_or_default() };
        capture.run(stopped, |state| drop(tell.send(state.clone()))).await
    });
    Running { stop: Some(stop), task, state }
}

impl Running {
    async fn until(&mut self, holds: impl FnMut(&State) -> bool) -> State {
        let found = tokio::time::timeout(PATIENCE, self.state.wait_for(holds)).await;
        found.expect("in time").expect("it still runs").clone()
    }

    pub(crate) async fn stored(&mut self, revision: i64) {
        self.until(|state| state.to.is_some_and(|to| to.revision >= revision)).await;
    }

    pub(crate) async fn stop(mut self) -> Ended {
        self.stop.take().unwrap().send(()).ok();
        self.task.await.unwrap().unwrap()
    }
}

/// etcd from the backup, its revision bumped by so much.
pub(crate) async fn restore(
    version: &str,
    store: &Store,
    manifest: &Manifest,
    key: Option<&Key>,
    directory: &Path,
    bump: i64,
) -> Etcd {
    Etcd::start(version, &restored(version, store, manifest, key, directory, bump).await).await
}

/// The data directory of an etcd from the backup.
pub(crate) async fn restored(
    version: &str,
    store: &Store,
    manifest: &Manifest,
    key: Option<&Key>,
    directory: &Path,
    bump: i64,
) -> PathBuf {
    std::fs::create_dir_all(directory).unwrap();
    let file = directory.join("snapshot.db");
    load::load(store, manifest, key, std::fs::File::create(&file).unwrap(), |_| ()).await.unwrap();
    let data = directory.join("data");
    let mut etcdutl = Command::new(program(version, "etcdutl"));
    etcdutl.args(["snapshot", "restore"]).arg(&file).arg("--data-dir").arg(&data);
    etcdutl.args(["--name", "m1", "--initial-cluster", "m1=http://127.0.0.1:1"]);
    etcdutl.args(["--initial-advertise-peer-urls", "http://127.0.0.1:1"]);
    if bump > 0 {
        etcdutl.args(["--mark-compacted", "--bump-revision", &bump.to_string()]);
    }
    let said = etcdutl.output().unwrap();
    assert!(said.status.success(), "{version}: {}", String::from_utf8_lossy(&said.stderr));
    data
}

/// Everything that etcd holds at a revision: key to value, version, creation and change.
async fn everything(client: &Client, revision: i64) -> BTreeMap<Bytes, (Bytes, i64, i64, i64)> {
    let request =
        pb::RangeRequest { key: vec![0].into(), range_end: vec![0].into(), revision, ..Default::default() };
    let found = client.call(client.kv().range(request)).await.unwrap().kvs;
    found
        .into_iter()
        .map(|kv| (kv.key, (kv.value, kv.version, kv.create_revision, kv.mod_revision)))
        .collect()
}

fn contents(all: BTreeMap<Bytes, (Bytes, i64, i64, i64)>) -> BTreeMap<Bytes, (Bytes, i64)> {
    all.into_iter().map(|(key, (value, version, ..))| (key, (value, version))).collect()
}

fn put(key: String, value: &str) -> pb::RequestOp {
    let put = pb::PutRequest { key: key.into(), value: value.to_owned().into(), ..Default::default() };
    pb::RequestOp { request: Some(pb::request_op::Request::RequestPut(put)) }
}

/// What is hard to repeat: many changes in one revision, and more keys deleted at once than a transaction may name.
async fn write_awkwardly(client: &Client) {
    for block in 0..10 {
        let success = (0..100).map(|number| put(format!("many/{block}/{number:03}"), "v")).collect();
        client.call(client.kv().txn(pb::TxnRequest { success, ..Default::default() })).await.unwrap();
    }
    let many =
        pb::DeleteRangeRequest { key: "many/2".into(), range_end: "many/7".into(), ..Default::default() };
    let deleted = client.call(client.kv().delete_range(many.clone())).await.unwrap().deleted;
    assert_eq!(deleted, 500);
    let del = pb::RequestOp {
        request: Some(pb::request_op::Request::RequestDeleteRange(pb::DeleteRangeRequest {
            key: "many/8/".into(),
            range_end: "many/8/~".into(),
            ..Default::default()
        })),
    };
    let success = vec![put("z".to_owned(), "1"), del, put("a".to_owned(), "2")];
    client.call(client.kv().txn(pb::TxnRequest { success, ..Default::default() })).await.unwrap();
}

async fn revision(client: &Client) -> i64 {
    client.status().await.unwrap().revision
}

#[tokio::test]
async fn every_version_is_restored_to_any_revision_or_time_with_and_without_a_bump() {
    let key = seal::example_key("a");
    let key = Some(&key);
    for component in Operand::Etcd.versions() {
        let version = component.version;
        let dir = tempfile::tempdir().unwrap();
        let etcd = Etcd::start(version, &dir.path().join("data")).await;
        let client = etcd.client().await;
        write(&client, 300).await;
        let store = store(&dir.path().join("store"));
        let manifest = take_as(&etcd, &store, "first", key).await;
        let mut running = capture(&store, vec![etcd.url()], key);
        write(&client, 300).await;
        let middle = revision(&client).await;
        running.stored(middle).await;
        let time = now();
        write_awkwardly(&client).await;
        write(&client, 200).await;
        let last = revision(&client).await;
        running.stored(last).await;
        assert_eq!(running.stop().await, Ended::Stopped);

        let again = restore(version, &store, &manifest, key, &dir.path().join("again"), 0).await;
        let again = again.client().await;
        for point in [Point::Revision(middle - 20), Point::Time(time), Point::End] {
            let plan = point::plan(&store, &manifest, point, key).await.unwrap();
            let done = replay::replay(&store, &plan, &again, 0, key, |_| ()).await.unwrap();
            let at = done.revision;
            assert_eq!(revision(&again).await, at, "{version} {point}");
            assert_eq!(hash(&again, at).await.hash, hash(&client, at).await.hash, "{version} {point}");
            assert_eq!(everything(&again, 0).await, everything(&client, at).await, "{version} {point}");
            // A second time, there is nothing to do.
            let idle = replay::replay(&store, &plan, &again, 0, key, |_| ()).await.unwrap();
            assert_eq!((idle.applied, idle.began_at), (0, at), "{version} {point}");
        }
        let time = point::plan(&store, &manifest, Point::Time(time), key).await.unwrap();
        assert_eq!(time.target.revision, middle, "{version}");
        let error = replay::replay(&store, &time, &again, 0, key, |_| ()).await.unwrap_err().to_string();
        assert!(error.contains("restore the backup again"), "{error}");

        let bump = 1_000_000_000;
        let bumped = restore(version, &store, &manifest, key, &dir.path().join("bumped"), bump).await;
        let bumped = bumped.client().await;
        for point in [Point::Revision(middle), Point::End] {
            let plan = point::plan(&store, &manifest, point, key).await.unwrap();
            let done = replay::replay(&store, &plan, &bumped, bump, key, |_| ()).await.unwrap();
            assert_eq!(revision(&bumped).await, done.revision + bump, "{version} {point}");
            let original = contents(everything(&client, done.revision).await);
            assert_eq!(contents(everything(&bumped, 0).await), original, "{version} {point}");
        }
    }
}

#[tokio::test]
async fn somebody_who_writes_meanwhile_and_another_backup_are_noticed() {
    let dir = tempfile::tempdir().unwrap();
    let etcd = Etcd::start("3.6.16", &dir.path().join("data")).await;
    let client = etcd.client().await;
    write(&client, 50).await;
    let store = store(&dir.path().join("store"));
    let manifest = take_as(&etcd, &store, "first", None).await;
    let mut running = capture(&store, vec![etcd.url()], None);
    write(&client, 100).await;
    running.stored(revision(&client).await).await;
    running.stop().await;
    let again = restore("3.6.16", &store, &manifest, None, &dir.path().join("again"), 0).await;
    let again = again.client().await;
    let to = async |point| {
        let plan = point::plan(&store, &manifest, point, None).await.unwrap();
        replay::replay(&store, &plan, &again, 0, None, |_| ()).await
    };
    to(Point::Revision(manifest.revision.at_most + 10)).await.unwrap();
    let mine = pb::PutRequest { key: "mine".into(), ..Default::default() };
    again.call(again.kv().put(mine)).await.unwrap();
    let error = to(Point::End).await.unwrap_err();
    assert!(error.to_string().contains("somebody else has written") && !error.is_transient(), "{error}");

    let empty = Etcd::start("3.6.16", &dir.path().join("empty")).await;
    let plan = point::plan(&store, &manifest, Point::End, None).await.unwrap();
    let error = replay::replay(&store, &plan, &empty.client().await, 0, None, |_| ()).await.unwrap_err();
    assert!(error.to_string().contains("it was not restored from it"), "{error}");
}

#[tokio::test]
async fn a_member_that_dies_under_load_is_replaced_by_another_and_nothing_is_lost_or_doubled() {
    let dir = tempfile::tempdir().unwrap();
    let mut members = Etcd::start_three("3.6.16", dir.path()).await;
    let urls: Vec<String> = members.iter().map(Etcd::url).collect();
    let store = store(&dir.path().join("store"));
    write(&members[0].client().await, 50).await;
    let manifest = take_as(&members[0], &store, "first", None).await;
    let mut running = capture(&store, urls, None);
    let watched = running.until(|state| state.member.is_some()).await.member.unwrap();
    let at = members.iter().position(|member| member.name == watched).unwrap();
    let other = members[(at + 1) % 3].client().await;
    write(&other, 300).await;
    members[at].kill().await;
    // Until there is a leader again, if it was that one, writes may be refused.
    let mut due = tokio::time::interval(Duration::from_millis(50));
    for number in 0..400 {
        let request = pb::PutRequest { key: format!("load-{}", number % 40).into(), ..Default::default() };
        while other.call(other.kv().put(request.clone())).await.is_err() {
            due.tick().await;
        }
    }
    let last = revision(&other).await;
    let state = running.until(|state| state.to.is_some_and(|to| to.revision >= last)).await;
    assert_ne!(state.member, Some(watched));
    running.stop().await;

    let again = restore("3.6.16", &store, &manifest, None, &dir.path().join("again"), 0).await;
    let again = again.client().await;
    let plan = point::plan(&store, &manifest, Point::End, None).await.unwrap();
    let done = replay::replay(&store, &plan, &again, 0, None, |_| ()).await.unwrap();
    assert_eq!(done.revision, last);
    assert_eq!(hash(&again, last).await.hash, hash(&other, last).await.hash);
}

#[tokio::test]
async fn a_capture_that_is_killed_at_any_moment_goes_on_without_a_gap_or_a_fork() {
    let dir = tempfile::tempdir().unwrap();
    let etcd = Etcd::start("3.6.16", &dir.path().join("data")).await;
    let client = etcd.client().await;
    write(&client, 50).await;
    let store = store(&dir.path().join("store"));
    let manifest = take_as(&etcd, &store, "first", None).await;
    let mut random = fastrand::Rng::with_seed(3);
    for _ in 0..8 {
        let running = capture(&store, vec![etcd.url()], None);
        write(&client, random.usize(1..150)).await;
        running.task.abort();
        running.task.await.ok();
        write(&client, random.usize(0..20)).await;
    }
    // Two at once: one of them wins each chunk, and the other leaves.
    let mut one = capture(&store, vec![etcd.url()], None);
    let two = capture(&store, vec![etcd.url()], None);
    let mut three = capture(&store, vec![etcd.url()], None);
    write(&client, 100).await;
    let last = revision(&client).await;
    for running in [&mut one, &mut three] {
        let state = &mut running.state;
        let stored = state.wait_for(|state| state.to.is_some_and(|to| to.revision >= last));
        tokio::time::timeout(PATIENCE, stored).await.unwrap().ok().map(drop);
    }
    for running in [one, two, three] {
        running.stop.unwrap().send(()).ok();
        match running.task.await.unwrap() {
            Ok(ended) => assert_eq!(ended, Ended::Stopped),
            Err(error) => assert!(matches!(error, Error::Overtaken { .. }), "{error}"),
        }
    }
    let mut last_one = capture(&store, vec![etcd.url()], None);
    last_one.stored(last).await;
    last_one.stop().await;

    let again = restore("3.6.16", &store, &manifest, None, &dir.path().join("again"), 0).await;
    let again = again.client().await;
    let plan = point::plan(&store, &manifest, Point::End, None).await.unwrap();
    let done = replay::replay(&store, &plan, &again, 0, None, |_| ()).await.unwrap();
    assert_eq!(done.revision, last);
    assert_eq!(hash(&again, last).await.hash, hash(&client, last).await.hash);
}

#[tokio::test]
async fn compacted_history_is_a_gap_that_is_told_and_a_new_backup_begins_anew() {
    let dir = tempfile::tempdir().unwrap();
    let etcd = Etcd::start("3.6.16", &dir.path().join("data")).await;
    let client = etcd.client().await;
    let store = store(&dir.path().join("store"));
    let mut waiting = capture(&store, vec![etcd.url()], None);
    let state = waiting.until(|state| state.problem.is_some()).await;
    assert!(state.phase == Phase::Waiting && state.problem.unwrap().contains("take one"));
    write(&client, 50).await;
    let manifest = take_as(&etcd, &store, "first", None).await;
    write(&client, 50).await;
    let captured = revision(&client).await;
    waiting.stored(captured).await;
    assert_eq!(waiting.stop().await, Ended::Stopped);

    write(&client, 100).await;
    let compacted = revision(&client).await - 10;
    client.compact(compacted).await.unwrap();
    let running = capture(&store, vec![etcd.url()], None);
    let Ended::Gap { chain, gap } = running.task.await.unwrap().unwrap() else { panic!("no gap") };
    assert_eq!((chain.as_str(), gap.after, gap.compacted), ("first", captured, Some(compacted)));

    // Up to the gap everything can be reached, beyond it nothing.
    point::plan(&store, &manifest, Point::Revision(captured), None).await.unwrap();
    let error = point::plan(&store, &manifest, Point::Revision(captured + 1), None).await.unwrap_err();
    assert!(error.to_string().contains(&format!("revision {captured},")), "{error}");
    let entries = catalogue::list(&store).await.unwrap();
    let reaches = reach::reaches(&store, &entries).await.unwrap();
    assert!(reaches[0].ends.as_ref().unwrap().contains("compacted"), "{reaches:?}");

    let mut running = capture(&store, vec![etcd.url()], None);
    let state = running.until(|state| state.problem.is_some()).await;
    assert!(state.phase == Phase::Gap && state.problem.unwrap().contains("Take a new backup"));
    take_as(&etcd, &store, "second", None).await;
    write(&client, 20).await;
    running.stored(revision(&client).await).await;
    assert_eq!(running.stop().await, Ended::Stopped);
    let plan = point::choose(&store, None, Point::End, None).await.unwrap();
    assert_eq!((plan.manifest.id.as_str(), plan.target.revision), ("second", revision(&client).await));
}

#[tokio::test]
async fn another_history_under_the_same_name_is_never_appended() {
    let dir = tempfile::tempdir().unwrap();
    let etcd = Etcd::start("3.6.16", &dir.path().join("data")).await;
    let client = etcd.client().await;
    write(&client, 50).await;
    let store = store(&dir.path().join("store"));
    let manifest = take_as(&etcd, &store, "first", None).await;
    // Two that were restored alike have the same cluster ID, and go their own ways.
    let one = restore("3.6.16", &store, &manifest, None, &dir.path().join("one"), 0).await;
    let two = restore("3.6.16", &store, &manifest, None, &dir.path().join("two"), 0).await;
    let (client_one, client_two) = (one.client().await, two.client().await);
    assert_eq!(client_one.status().await.unwrap().cluster, client_two.status().await.unwrap().cluster);
    take_as(&one, &store, "of-one", None).await;
    let mut running = capture(&store, vec![one.url()], None);
    write(&client_one, 40).await;
    running.stored(revision(&client_one).await).await;
    running.stop().await;

    let behind = capture(&store, vec![two.url()], None);
    let Ended::Gap { gap, .. } = behind.task.await.unwrap().unwrap() else { panic!("no gap") };
    assert!(gap.why.contains("it was restored from a backup"), "{gap:?}");

    take_as(&one, &store, "of-one-again", None).await;
    let mut running = capture(&store, vec![one.url()], None);
    write(&client_one, 10).await;
    running.stored(revision(&client_one).await).await;
    running.stop().await;
    while revision(&client_two).await <= revision(&client_one).await {
        let request = pb::PutRequest { key: "else".into(), ..Default::default() };
        client_two.call(client_two.kv().put(request)).await.unwrap();
    }
    let ahead = capture(&store, vec![two.url()], None);
    let Ended::Gap { gap, .. } = ahead.task.await.unwrap().unwrap() else { panic!("no gap") };
    assert!(gap.why.contains("etcd holds something else at revision"), "{gap:?}");
}

/// What an EtcdRestore in place looks like to whoever captures: one that is given up, and one that is not.
#[tokio::test]
async fn an_etcd_that_takes_the_place_of_another_is_captured_from_its_own_backup_on() {
    let dir = tempfile::tempdir().unwrap();
    let (old, new) = (dir.path().join("old"), dir.path().join("new"));
    let etcd = Etcd::start("3.6.16", &old).await;
    let store = store(&dir.path().join("store"));
    let client = etcd.client().await;
    write(&client, 50).await;
    let manifest = take_as(&etcd, &store, "first", None).await;
    let mut running = capture(&store, vec![etcd.url()], None);
    write(&client, 50).await;
    running.stored(revision(&client).await).await;

    let nothing_to_begin_at = |state: &State| {
        let problem = state.problem.as_deref().unwrap_or_default();
        state.phase == Phase::Waiting && problem.contains("no backup of this etcd")
    };
    let etcd = etcd.replaced("3.6.16", &new).await;
    running.until(nothing_to_begin_at).await;
    let etcd = etcd.replaced("3.6.16", &old).await;
    let client = etcd.client().await;
    write(&client, 50).await;
    let last = revision(&client).await;
    let state = running.until(|state| state.to.is_some_and(|to| to.revision >= last)).await;
    assert_eq!(state.chain.as_deref(), Some("first"), "it goes on where it was");

    let etcd = etcd.replaced("3.6.16", &new).await;
    running.until(nothing_to_begin_at).await;
    let client = etcd.client().await;
    take_as(&etcd, &store, "second", None).await;
    write(&client, 20).await;
    let newest = revision(&client).await;
    running
        .until(|state| {
            state.chain.as_deref() == Some("second") && state.to.is_some_and(|to| to.revision >= newest)
        })
        .await;
    assert_eq!(running.stop().await, Ended::Stopped);
    // Both can be reached to their ends.
    point::plan(&store, &manifest, Point::Revision(last), None).await.unwrap();
    let plan = point::choose(&store, None, Point::End, None).await.unwrap();
    assert_eq!((plan.manifest.id.as_str(), plan.target.revision), ("second", newest));
}
