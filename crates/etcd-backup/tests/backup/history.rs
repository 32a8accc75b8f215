//! Chains of history that were lost, cut, changed, exchanged or written twice: what can still be reached, and what is refused.

use std::sync::Arc;

use bytes::Bytes;
use etcd_backup::{
    Error, Manifest, Sha256, Store,
    catalogue::{self},
    manifest::Cluster,
    removal::Mode,
    save, seal,
    wal::{
        Gap, Point,
        chunk::example_packed,
        point::{self, Unreachable},
        prune, reach,
        shelf::Shelf,
    },
};
use futures::stream;
use jiff::Timestamp;
use object_store::{ObjectStoreExt as _, PutPayload, memory::InMemory, path::Path};

use super::{about, chunks, refusal, snapshot};

pub(super) const UID: &str = "9b1c";
const ETCD: &str = "8e9e05c52164694d";

/// A backup of the etcd that the examples of chunks are of, at revision 40.
pub(super) async fn backup(store: &Store, id: &str, revision: i64) -> Manifest {
    backup_of(store, id, revision, None).await
}

pub(super) async fn backup_of(store: &Store, id: &str, revision: i64, schedule: Option<&str>) -> Manifest {
    let mut about = about(id);
    about.cluster = Cluster { uid: UID.to_owned(), id: ETCD.to_owned(), ..about.cluster };
    about.taken_at = at(revision);
    about.schedule = schedule.map(str::to_owned);
    let revisions = async || Ok(etcd_backup::manifest::Revisions { at_least: revision, at_most: revision });
    let whole = stream::iter(chunks(&snapshot::example(4, |at| at as u8)));
    save::save(store, about, None, whole, revisions, |_| ()).await.unwrap()
}

/// As the examples have it: a revision a second.
fn at(revision: i64) -> Timestamp {
    Timestamp::from_second(1_795_000_000 + revision).unwrap()
}

/// Five chunks of ten revisions after a backup at revision 40. The examples of chunks are of the chain `nightly-1`.
pub(super) async fn capture_after(store: &Store, manifest: &Manifest) {
    let shelf = Shelf { store, cluster_uid: UID };
    let mut previous = Sha256::of(&manifest.text());
    for sequence in 1..=5 {
        let (bytes, hash) = example_packed(sequence, previous, 31 + 10 * sequence as i64, 10, None);
        shelf.put("nightly-1", sequence, &bytes).await.unwrap();
        previous = hash;
    }
}

struct World {
    objects: Arc<InMemory>,
    store: Store,
}

impl World {
    /// A backup at revision 40, and five chunks of ten revisions after it.
    async fn new() -> Self {
        let objects = Arc::new(InMemory::new());
        let world = Self { objects: objects.clone(), store: Store::over(objects, "of/db", "memory") };
        let manifest = backup(&world.store, "nightly-1", 40).await;
        capture_after(&world.store, &manifest).await;
        world
    }

    fn shelf(&self) -> Shelf<'_> {
        Shelf { store: &self.store, cluster_uid: UID }
    }

    fn path(sequence: u64) -> Path {
        Path::from(format!("of/db/wal/{UID}/nightly-1/{sequence:010}"))
    }

    async fn put(&self, sequence: u64, bytes: Bytes) {
        self.objects.put(&Self::path(sequence), PutPayload::from_bytes(bytes)).await.unwrap();
    }

    async fn bytes(&self, sequence: u64) -> Bytes {
        self.objects.get(&Self::path(sequence)).await.unwrap().bytes().await.unwrap()
    }

    async fn plan(&self, point: Point) -> Result<(String, i64), Error> {
        let plan = point::choose(&self.store, Some(UID), point, None).await?;
        Ok((plan.manifest.id, plan.target.revision))
    }

    /// How far one can go, and why not further.
    async fn broken(&self, point: Point) -> (i64, String) {
        match self.plan(point).await {
            Err(Error::Unreachable(why)) => (why.reached().unwrap().revision, why.to_string()),
            other => panic!("{other:?}"),
        }
    }
}

fn first() -> String {
    "nightly-1".to_owned()
}

#[tokio::test]
async fn every_revision_and_every_time_of_a_whole_chain_can_be_reached() {
    let world = World::new().await;
    for revision in [40, 41, 50, 51, 77, 90] {
        assert_eq!(world.plan(Point::Revision(revision)).await.unwrap(), (first(), revision));
        assert_eq!(world.plan(Point::Time(at(revision))).await.unwrap(), (first(), revision));
    }
    assert_eq!(world.plan(Point::End).await.unwrap(), (first(), 90));
    assert_eq!(world.plan(Point::Newest).await.unwrap(), (first(), 40));

    let (reached, why) = world.broken(Point::Revision(91)).await;
    assert_eq!(reached, 90);
    assert!(why.contains("revision 91 is after what was captured"), "{why}");
    assert!(matches!(
        world.plan(Point::Time(at(92))).await,
        Err(Error::Unreachable(Unreachable::TooLate { .. }))
    ));
    let early = world.plan(Point::Revision(39)).await.unwrap_err().to_string();
    assert!(early.contains("choose an older backup"), "{early}");
}

#[tokio::test]
async fn a_later_backup_is_the_better_one_to_begin_at() {
    let world = World::new().await;
    backup(&world.store, "nightly-2", 63).await;
    let second = "nightly-2".to_owned();
    assert_eq!(world.plan(Point::Revision(70)).await.unwrap(), (second.clone(), 70));
    assert_eq!(world.plan(Point::Revision(62)).await.unwrap(), (first(), 62));
    assert_eq!(world.plan(Point::Time(at(80))).await.unwrap(), (second, 80));
    assert_eq!(world.plan(Point::Time(at(62))).await.unwrap(), (first(), 62));
}

#[tokio::test]
async fn a_chunk_that_is_lost_ends_what_can_be_reached_until_the_next_backup() {
    let world = World::new().await;
    world.objects.delete(&World::path(3)).await.unwrap();
    assert_eq!(world.plan(Point::Revision(60)).await.unwrap(), (first(), 60));
    let (reached, why) = world.broken(Point::Revision(61)).await;
    assert_eq!(reached, 60);
    assert!(why.contains("chunk 3 is missing"), "{why}");

    let entries = catalogue::list(&world.store).await.unwrap();
    let reaches = reach::reaches(&world.store, &entries).await.unwrap();
    let lines: Vec<_> = reaches.iter().map(|it| (it.from.map(|it| it.revision), it.to.revision)).collect();
    assert_eq!(lines, [(Some(40), 60), (None, 90)]);
    assert_eq!(reaches[0].ends.as_deref(), Some("chunk 3 is missing"));

    backup(&world.store, "nightly-2", 70).await;
    assert_eq!(world.plan(Point::Revision(85)).await.unwrap(), ("nightly-2".to_owned(), 85));
}

#[tokio::test]
async fn what_was_changed_cut_or_exchanged_is_refused_and_what_was_before_is_not() {
    let other = example_packed(3, Sha256::of(b"another chain"), 61, 10, None).0;
    let world = World::new().await;
    let original = world.bytes(3).await;
    let mut changed = original.to_vec();
    let middle = changed.len() / 2;
    changed[middle] ^= 1;
    let cut = original.slice(..original.len() - 40);
    let cases = [
        (Bytes::from(changed), "it was changed or cut"),
        (cut, "it was changed or cut"),
        (other, "it is from another chain"),
        (world.bytes(2).await, "chunk 3 is missing"),
        (Bytes::from_static(b"<html>"), "it is no chunk of history"),
    ];
    for (bytes, expected) in cases {
        world.put(3, bytes).await;
        let (reached, why) = world.broken(Point::Revision(61)).await;
        assert_eq!(reached, 60, "{expected}");
        assert!(why.contains(expected), "{why}");
        assert_eq!(world.plan(Point::Revision(60)).await.unwrap().1, 60);
    }
    // With another key, nothing of it can be read; without a key, neither.
    let key = seal::example_key("a");
    let sealed = example_packed(3, Sha256::of(b"x"), 61, 10, Some(&key)).0;
    world.put(3, sealed).await;
    let (reached, why) = world.broken(Point::Revision(61)).await;
    assert!(reached == 60 && why.contains("no key is given"), "{why}");
}

#[tokio::test]
async fn who_comes_second_to_a_number_stops_and_who_repeats_himself_does_not() {
    let world = World::new().await;
    let last = Sha256::of(b"whatever");
    let (mine, _) = example_packed(6, last, 91, 10, None);
    let (theirs, _) = example_packed(6, last, 91, 12, None);
    world.shelf().put("nightly-1", 6, &theirs).await.unwrap();
    world.shelf().put("nightly-1", 6, &theirs).await.unwrap();
    let error = world.shelf().put("nightly-1", 6, &mine).await.unwrap_err();
    assert!(matches!(error, Error::Overtaken { sequence: 6, .. }) && error.is_transient(), "{error}");
    assert_eq!(world.bytes(6).await, theirs);
}

#[tokio::test]
async fn retention_takes_what_no_backup_needs_and_never_the_newest() {
    let world = World::new().await;
    let second = backup(&world.store, "nightly-2", 63).await;
    let pruned =
        async |kept: &[&Manifest]| prune::prune(&world.store, UID, kept, Mode::Delete).await.unwrap();
    let oldest = world.store.manifest("nightly-1").await.unwrap().unwrap();
    assert!(pruned(&[&oldest, &second]).await.is_empty());
    // Up to 60 is in the second backup; chunk 3 holds 61 to 70.
    assert_eq!(pruned(&[&second]).await, [(first(), 2)]);
    assert_eq!(world.plan(Point::Revision(64)).await.unwrap(), ("nightly-2".to_owned(), 64));

    let last = backup(&world.store, "nightly-3", 200).await;
    assert_eq!(pruned(&[&last]).await, [(first(), 2)]);
    assert_eq!(world.shelf().list().await.unwrap()[0].sequences, [5]);
    // A chain that has ended, and that no backup needs, goes altogether.
    let gap = Gap { after: 90, compacted: Some(120), at: at(130), why: "it was lost".to_owned() };
    world.shelf().put_gap("nightly-1", &gap).await.unwrap();
    assert_eq!(pruned(&[&last]).await, [(first(), 1)]);
    assert!(world.shelf().list().await.unwrap().is_empty());
}

/// A name and a place are no proof: a chunk that something else wrote there stays, and harms no other.
#[tokio::test]
async fn retention_leaves_what_is_no_chunk_of_the_chain() {
    let world = World::new().await;
    let last = backup(&world.store, "nightly-3", 200).await;
    world.put(2, Bytes::from_static(b"<html>")).await;
    world.put(9, Bytes::from_static(b"a newer one, by its name")).await;
    let copied = world.bytes(1).await;
    world.put(8, copied).await;
    world.put(7, Bytes::new()).await;
    let gone = prune::prune(&world.store, UID, &[&last], Mode::Delete).await.unwrap();
    assert_eq!(gone, [(first(), 3)], "1, 3 and 4; 5 is the newest");
    assert_eq!(world.shelf().list().await.unwrap()[0].sequences, [2, 5, 8, 9]);
    // What claims that the chain has ended, and is not ours, ends nothing.
    let gap = Path::from(format!("of/db/wal/{UID}/nightly-1/gap.json"));
    world.objects.put(&gap, PutPayload::from_static(b"{}")).await.unwrap();
    assert!(prune::prune(&world.store, UID, &[&last], Mode::Delete).await.unwrap().is_empty());
    world.objects.head(&gap).await.unwrap();
}

#[tokio::test]
async fn what_was_captured_is_not_taken_for_a_backup() {
    let world = World::new().await;
    let entries = catalogue::list(&world.store).await.unwrap();
    assert_eq!(entries.len(), 1);
    let none = Store::over(Arc::new(InMemory::new()), "", "memory");
    assert!(
        refusal(point::choose(&none, None, Point::End, None).await).contains("no whole backup at memory")
    );
}
