//! Other people's objects in the same bucket, prefix or volume: no retention, `prune`, `rm` or deletion policy ever touches one.

use std::{collections::BTreeMap, fs, sync::Arc};

use bytes::Bytes;
use etcd_backup::{
    Store, Target,
    catalogue::{self, Whose},
    removal::{self, Mode},
    retention::Policy,
};
use futures::TryStreamExt as _;
use object_store::{
    ObjectStore, ObjectStoreExt as _, PutPayload, local::LocalFileSystem, memory::InMemory, path::Path,
};
use proptest::prelude::*;

use super::{
    history::{UID, backup, backup_of, capture_after},
    listed,
    retention::{last_one, later},
};

/// Where the backups are.
#[derive(Debug, Clone, Copy)]
enum Place {
    Prefix,
    BucketRoot,
    VolumeRoot,
}

struct World {
    objects: Arc<dyn ObjectStore>,
    store: Store,
    prefix: &'static str,
    _directory: Option<tempfile::TempDir>,
}

impl World {
    /// Three backups with history, one of a schedule, one whose removal was interrupted.
    async fn new(place: Place) -> Self {
        let (objects, store, prefix, directory): (Arc<dyn ObjectStore>, _, _, _) = match place {
            Place::Prefix | Place::BucketRoot => {
                let objects = Arc::new(InMemory::new());
                let prefix = if matches!(place, Place::Prefix) { "of/db" } else { "" };
                (objects.clone(), Store::over(objects, prefix, "memory"), prefix, None)
            }
            Place::VolumeRoot => {
                let directory = tempfile::tempdir().unwrap();
                let url = format!("file://{}", directory.path().display());
                let objects = LocalFileSystem::new_with_prefix(directory.path()).unwrap();
                let store = Target { url, ..Target::default() }.open().unwrap();
                (Arc::new(objects), store, "", Some(directory))
            }
        };
        let world = Self { objects, store, prefix, _directory: directory };
        let first = backup(&world.store, "nightly-1", 40).await;
        capture_after(&world.store, &first).await;
        for (id, revision, schedule) in
            [("b", 70, None), ("c", 80, Some("nightly")), ("rest", 75, Some("nightly"))]
        {
            backup_of(&world.store, id, revision, schedule).await;
        }
        world.objects.delete(&world.path("rest/manifest.json")).await.unwrap();
        world
    }

    fn path(&self, below: &str) -> Path {
        Path::from(format!("{}/{below}", self.prefix))
    }

    async fn all(&self) -> BTreeMap<Path, Bytes> {
        let listed: Vec<_> = self.objects.list(None).try_collect().await.unwrap();
        let mut all = BTreeMap::new();
        for meta in listed {
            let bytes = self.objects.get(&meta.location).await.unwrap().bytes().await.unwrap();
            all.insert(meta.location, bytes);
        }
        all
    }

    /// Puts foreign objects where nothing of ours is.
    async fn put(&self, foreign: &[Foreign]) -> BTreeMap<Path, Bytes> {
        let ours = self.all().await;
        let mut put = BTreeMap::new();
        for it in foreign {
            let path = match it.level {
                // Outside of the prefix, if there is one.
                Level::Root => Path::from(it.name.clone()),
                Level::Below(directory) => self.path(&format!("{directory}/{}", it.name)),
            };
            let bytes = Bytes::from(it.content.clone());
            // On a file system a file cannot be where a directory is.
            if !ours.contains_key(&path)
                && self.objects.put(&path, PutPayload::from_bytes(bytes.clone())).await.is_ok()
            {
                put.insert(path, bytes);
            }
        }
        put
    }

    async fn check(&self, foreign: &BTreeMap<Path, Bytes>, after: &str) {
        let now = self.all().await;
        for (path, bytes) in foreign {
            assert_eq!(now.get(path), Some(bytes), "{path} after {after}");
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum Level {
    Root,
    Below(&'static str),
}

/// Somebody else's object.
#[derive(Debug, Clone)]
struct Foreign {
    level: Level,
    name: String,
    content: Vec<u8>,
}

const DIRECTORIES: &[&str] = &[
    "",
    "nightly-1",
    "b",
    "rest",
    "terraform",
    "logs/2026",
    "theirs",
    "wal",
    "wal/9b1c",
    "wal/9b1c/nightly-1",
    "wal/9b1c/other",
    "wal/another-cluster/nightly-1",
];

/// Names like ours, and names like others'.
const NAMES: &[&str] = &[
    "prod.tfstate",
    "snapshot-0badcafe.zst",
    "snapshot-0badcafe.zst.sealed",
    "snapshot.zst",
    "attempt-0badcafe.json",
    "attempt-0badcafe.json.bak",
    "gap.json",
    "0000000001",
    "0000000003",
    "0000000099",
    "7",
    "manifest.json",
    "verified.json",
    "refuted.json",
];

/// A marker and a manifest of another cluster under the directory `theirs`.
const THEIR_MARKER: &str = r#"{"format":"capstan.dev/etcd-backup-attempt/v1","id":"theirs","object":"snapshot-0badcafe.zst",
    "producer":"capstan","beganAt":"2026-01-01T00:00:00Z","cluster":{"namespace":"n","name":"db","uid":"another-cluster"}}"#;
const THEIR_MANIFEST: &str = r#"{"format":"capstan.dev/etcd-backup/v1","id":"theirs","producer":"capstan","takenAt":"2026-01-01T00:00:00Z",
    "cluster":{"namespace":"n","name":"db","uid":"another-cluster","id":"8e9e","member":"db-1"},"etcdVersion":"3.6.16",
    "revision":{"atLeast":1,"atMost":1},"database":{"bytes":1,"sha256":"0000000000000000000000000000000000000000000000000000000000000000"},
    "stored":{"object":"snapshot-0badcafe.zst","bytes":1,"sha256":"0000000000000000000000000000000000000000000000000000000000000000","compression":"zstd"}}"#;

fn foreign() -> impl Strategy<Value = Foreign> {
    let level = prop_oneof![
        1 => Just(Level::Root),
        6 => proptest::sample::select(DIRECTORIES).prop_map(Level::Below),
    ];
    let name = prop_oneof![
        3 => proptest::sample::select(NAMES).prop_map(str::to_owned),
        1 => "[A-Za-z0-9_-][A-Za-z0-9._-]{0,11}",
    ];
    let content = prop_oneof![
        3 => proptest::collection::vec(any::<u8>(), 0..40),
        1 => Just(b"{}".to_vec()),
        1 => Just(THEIR_MARKER.as_bytes().to_vec()),
        1 => Just(THEIR_MANIFEST.as_bytes().to_vec()),
    ];
    (level, name, content).prop_map(|(level, name, content)| Foreign { level, name, content }).prop_filter(
        "a name that a backup's own directory reserves",
        |it| {
            let is_ours = matches!(it.level, Level::Below("nightly-1" | "b" | "rest"));
            !(is_ours && matches!(it.name.as_str(), "manifest.json" | "verified.json" | "refuted.json"))
        },
    )
}

fn place() -> impl Strategy<Value = Place> {
    prop_oneof![Just(Place::Prefix), Just(Place::BucketRoot), Just(Place::VolumeRoot)]
}

/// Everything that deletes: retention of a schedule and of a cluster, then `rm` as a person and as a deletion policy run it.
async fn delete_all(world: &World, foreign: &BTreeMap<Path, Bytes>) {
    for schedule in [Some("nightly"), Some("another"), None] {
        let whose = Whose { cluster_uid: UID, schedule };
        removal::prune(&world.store, whose, &last_one(), later(), Mode::Delete).await.unwrap();
        world.check(foreign, "prune").await;
    }
    for id in ["nightly-1", "b", "c", "rest", "terraform", "logs", "theirs", "wal", "of", "nothing"] {
        // What it says is for other tests: here only what it leaves counts.
        removal::remove_by_id(&world.store, id, Some(UID)).await.ok();
        world.check(foreign, "rm --cluster-uid").await;
        // A backup of another cluster is Capstan's, too: without a UID, whoever names it may remove it.
        if id != "theirs" {
            removal::remove_by_id(&world.store, id, None).await.ok();
            world.check(foreign, "rm").await;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn no_foreign_object_is_ever_touched(place in place(), all in proptest::collection::vec(foreign(), 1..12)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let world = World::new(place).await;
            let foreign = world.put(&all).await;
            delete_all(&world, &foreign).await;
            let left: Vec<Path> = world.all().await.into_keys().filter(|path| !foreign.contains_key(path)).collect();
            // And all of ours is gone but the newest chunk, unless something stands in its way.
            let in_the_way = |path: &Path| foreign.keys().any(|it| it.as_ref().contains("manifest.json") || it.as_ref().contains("wal/") || path.as_ref().contains("wal/"));
            prop_assert!(left.iter().all(in_the_way), "{left:?}");
            Ok(())
        })?;
    }
}

/// Retention once deleted every directory without a manifest a day after its last change, whoever had made it.
#[tokio::test]
async fn a_state_of_terraform_beside_the_backups_stays() {
    for place in [Place::Prefix, Place::BucketRoot, Place::VolumeRoot] {
        let world = World::new(place).await;
        let foreign = [("terraform", "prod.tfstate"), ("postgres", "base.tar"), ("", "README")];
        let foreign = foreign.map(|(directory, name)| Foreign {
            level: Level::Below(directory),
            name: name.to_owned(),
            content: b"{}".to_vec(),
        });
        let foreign = world.put(&foreign).await;
        assert_eq!(foreign.len(), 3);
        let lines = listed(&world.store).await;
        assert!(
            lines.contains(&"terraform foreign".to_owned()) && lines.contains(&"rest unfinished".to_owned()),
            "{lines:?}"
        );
        let said = removal::remove_by_id(&world.store, "terraform", None).await.unwrap_err().to_string();
        assert!(said.contains("terraform") && said.contains("neither a manifest nor a marker"), "{said}");
        delete_all(&world, &foreign).await;
    }
}

/// An attempt is removed by the schedule that began it, and by no other.
#[tokio::test]
async fn what_is_left_of_an_attempt_is_removed_by_its_own_schedule() {
    let world = World::new(Place::Prefix).await;
    let everything = Policy::default();
    let pruned = async |cluster_uid, schedule| {
        let whose = Whose { cluster_uid, schedule };
        removal::prune(&world.store, whose, &everything, later(), Mode::Delete).await.unwrap().backups
    };
    assert!(pruned("another", Some("nightly")).await.is_empty());
    assert!(pruned(UID, Some("hourly")).await.is_empty());
    let said = removal::remove_by_id(&world.store, "rest", Some("another")).await.unwrap_err().to_string();
    assert!(said.contains("another cluster or schedule"), "{said}");
    assert_eq!(pruned(UID, Some("nightly")).await, ["rest"]);
    assert!(world.store.found_one("rest").await.unwrap().is_none());
}

/// A crash between the marker and the first part.
#[tokio::test]
async fn a_marker_alone_is_removed_after_a_day_and_not_before() {
    let world = World::new(Place::VolumeRoot).await;
    let found = world.store.found_one("rest").await.unwrap().unwrap();
    let snapshot = found.objects.iter().find(|it| it.starts_with("snapshot-")).unwrap();
    world.objects.delete(&world.path(&format!("rest/{snapshot}"))).await.unwrap();
    let entries = catalogue::list(&world.store).await.unwrap();
    let whose = Whose { cluster_uid: UID, schedule: None };
    let gone = |now| catalogue::superfluous(&entries, whose, &Policy::default(), now).len();
    assert_eq!((gone(found.newest), gone(later())), (0, 1));
}

/// A retried attempt stands beside what the one before has left; all of it goes with the backup, and nothing else.
#[tokio::test]
async fn what_an_earlier_attempt_has_left_is_removed_with_the_backup() {
    let world = World::new(Place::VolumeRoot).await;
    let stray = world.path("rest/snapshot-0badcafe.zst");
    world.objects.put(&stray, PutPayload::from_static(b"x")).await.unwrap();
    backup(&world.store, "rest", 75).await;
    assert_eq!(world.store.found_one("rest").await.unwrap().unwrap().objects.len(), 6);
    removal::remove_by_id(&world.store, "rest", Some(UID)).await.unwrap();
    let left: Vec<_> =
        fs::read_dir(world._directory.as_ref().unwrap().path().join("rest")).unwrap().collect();
    assert_eq!(left.len(), 1, "{left:?}");
    world.objects.head(&stray).await.unwrap();
}
