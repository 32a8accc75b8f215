//! The catalogue, for people and programs: the backups, and the points in time between them.

use anyhow::Result;
use clap::Args;
use etcd_backup::{
    Manifest,
    catalogue::{self, Entry},
    store::Found,
    wal::reach::{self, Mark, Reach},
};
use serde_json::{Value, json};

use super::{Place, chosen};
use crate::{
    look::{columns, words::bytes},
    output::{Format, Output, say, structured},
};

#[derive(Debug, Args)]
pub(super) struct Ls {
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    output: Output,
}

#[derive(Debug, Args)]
pub(super) struct Show {
    #[command(flatten)]
    place: Place,
    /// The backup.
    id: String,
    #[command(flatten)]
    output: Output,
}

impl Ls {
    pub(super) async fn run(self) -> Result<()> {
        let store = self.place.open()?;
        let entries = catalogue::list(&store).await?;
        let reaches = reach::reaches(&store, &entries).await?;
        match self.output.output {
            Some(format) => {
                structured(&entries.iter().map(|it| data(it, &reaches)).collect::<Vec<_>>(), format)
            }
            None if entries.is_empty() => say(&format!("There is no backup at {}.\n", store.location())),
            None => {
                let mut lines = table(&entries);
                lines.extend(points(&reaches));
                say(&format!("{}\n", lines.join("\n")))
            }
        }
    }
}

impl Show {
    pub(super) async fn run(self) -> Result<()> {
        let store = self.place.open()?;
        let manifest = chosen(&store, &self.id).await?;
        let entries = catalogue::list(&store).await?;
        let reaches = reach::reaches(&store, &entries).await?;
        let shown = match entries.iter().find(|entry| entry.found().id == self.id) {
            Some(entry @ Entry::Backup(..)) => data(entry, &reaches),
            _ => with_reach(&manifest, &reaches),
        };
        structured(&shown, self.output.output.unwrap_or(Format::Yaml))
    }
}

fn data(entry: &Entry, reaches: &[Reach]) -> Value {
    match entry {
        Entry::Backup(manifest, found) => {
            let mut value = with_reach(manifest, reaches);
            if let Some(value) = value.as_object_mut().filter(|_| found.is_refuted() || found.is_verified()) {
                value.insert("verified".to_owned(), json!(!found.is_refuted()));
            }
            value
        }
        Entry::Unfinished(found, _) => {
            json!({"id": found.id, "unfinished": true, "newestObject": found.newest})
        }
        Entry::Incomplete(manifest, found) => {
            json!({"id": found.id, "unreadable": catalogue::incomplete(manifest).to_string()})
        }
        Entry::Unreadable(found, why) => json!({"id": found.id, "unreadable": why.to_string()}),
        Entry::Foreign(found) => json!({"id": found.id, "foreign": true, "newestObject": found.newest}),
    }
}

/// The manifest, and how far one can go from this backup.
fn with_reach(manifest: &Manifest, reaches: &[Reach]) -> Value {
    let mut value = json!(manifest);
    if let (Some(object), Some(reach)) = (value.as_object_mut(), of(manifest, reaches)) {
        object.insert(
            "reach".to_owned(),
            json!({ "from": own(manifest), "to": reach.to, "chain": reach.chain, "ends": reach.ends }),
        );
    }
    value
}

fn own(manifest: &Manifest) -> Mark {
    Mark { revision: manifest.revision.at_most, time: manifest.taken_at }
}

/// What was captured after this backup, furthest.
fn of<'a>(manifest: &Manifest, reaches: &'a [Reach]) -> Option<&'a Reach> {
    reaches
        .iter()
        .filter(|it| it.cluster_uid == manifest.cluster.uid && it.cluster_id == manifest.cluster.id)
        .filter(|it| it.from.is_some_and(|from| from.revision <= manifest.revision.at_most))
        .filter(|it| it.to.revision >= manifest.revision.at_least)
        .max_by_key(|it| it.to.revision)
}

/// What can be reached between and after backups, one stretch to a line.
fn points(reaches: &[Reach]) -> Vec<String> {
    if reaches.is_empty() {
        return Vec::new();
    }
    let heading = ["POINTS IN TIME FROM", "TO", "REVISIONS", "WITH BACKUP", ""].map(str::to_owned);
    let rows = reaches.iter().map(|it| {
        let time = |mark: Mark| format!("{:.0}", mark.time);
        vec![
            it.from.map_or_else(|| "-".to_owned(), time),
            time(it.to),
            it.from.map_or_else(|| "-".to_owned(), |from| format!("{}-{}", from.revision, it.to.revision)),
            it.backup.clone().unwrap_or_else(|| "none is left".to_owned()),
            it.ends.as_deref().map(|why| format!("ends: {why}")).unwrap_or_default(),
        ]
    });
    let rows: Vec<Vec<String>> = std::iter::once(heading.to_vec()).chain(rows).collect();
    std::iter::once(String::new()).chain(columns(&rows)).collect()
}

fn table(entries: &[Entry]) -> Vec<String> {
    let heading =
        ["BACKUP", "TAKEN AT", "CLUSTER", "ETCD", "REVISION", "DATABASE", "STORED", ""].map(str::to_owned);
    let rows = entries.iter().map(|entry| match entry {
        Entry::Backup(manifest, found) => row(manifest, found),
        Entry::Unfinished(found, _) => {
            note(&found.id, "unfinished: an attempt that goes on, or was interrupted")
        }
        Entry::Incomplete(manifest, found) => note(&found.id, &catalogue::incomplete(manifest).to_string()),
        Entry::Unreadable(found, why) => note(&found.id, &why.to_string()),
        Entry::Foreign(found) => {
            note(&found.id, "foreign or unknown: no manifest or marker of Capstan; it is never removed")
        }
    });
    columns(&std::iter::once(heading.to_vec()).chain(rows).collect::<Vec<_>>())
}

fn row(manifest: &Manifest, found: &Found) -> Vec<String> {
    let size = |size: u64| bytes(i64::try_from(size).unwrap_or(i64::MAX));
    let notes = [
        (manifest.stored.encryption.is_some(), "encrypted"),
        (found.is_verified(), "verified"),
        (found.is_refuted(), "refuted: a restore found it bad"),
        (manifest.corruption.is_some(), "taken with the alarm CORRUPT"),
    ];
    let notes: Vec<&str> = notes.iter().filter(|(is, _)| *is).map(|(_, note)| *note).collect();
    vec![
        manifest.id.clone(),
        format!("{:.0}", manifest.taken_at),
        format!("{}/{}", manifest.cluster.namespace, manifest.cluster.name),
        manifest.etcd_version.clone(),
        revisions(manifest),
        size(manifest.database.bytes),
        size(manifest.stored.bytes),
        notes.join(", "),
    ]
}

/// `42`, or `40-42` where writes went on meanwhile.
fn revisions(manifest: &Manifest) -> String {
    let (from, to) = (manifest.revision.at_least, manifest.revision.at_most);
    if from == to { from.to_string() } else { format!("{from}-{to}") }
}

fn note(id: &str, text: &str) -> Vec<String> {
    let mut row = vec![id.to_owned()];
    row.extend(std::iter::repeat_n("-".to_owned(), 6));
    row.push(text.to_owned());
    row
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    fn found(id: &str, objects: &[&str]) -> Found {
        let objects = objects.iter().map(|it| (*it).to_owned()).collect();
        Found { id: id.to_owned(), objects, newest: Timestamp::UNIX_EPOCH }
    }

    fn manifest(id: &str) -> Manifest {
        serde_json::from_value(json!({
            "format": "capstan.dev/etcd-backup/v1", "id": id, "producer": "capstan", "takenAt": "2026-01-01T00:00:00Z",
            "cluster": {"namespace": "shop", "name": "db", "uid": "u", "id": "8e9e", "member": "db-1"}, "etcdVersion": "3.6.16",
            "revision": {"atLeast": 40, "atMost": 42}, "database": {"bytes": 1024, "sha256": "00".repeat(32)},
            "stored": {"object": "snapshot.zst", "bytes": 77, "sha256": "00".repeat(32), "compression": "zstd"}}))
        .unwrap()
    }

    #[test]
    fn refuted_and_foreign_ones_are_shown_as_such() {
        let entries = [
            Entry::Backup(Box::new(manifest("bad")), found("bad", &["refuted.json"])),
            Entry::Backup(Box::new(manifest("good")), found("good", &["verified.json"])),
            Entry::Foreign(found("terraform", &["prod.tfstate"])),
        ];
        let lines = table(&entries);
        assert!(lines[1].ends_with("refuted: a restore found it bad"), "{lines:?}");
        assert!(lines[2].ends_with("verified"), "{lines:?}");
        assert!(lines[3].starts_with("terraform") && lines[3].contains("never removed"), "{lines:?}");
        let values: Vec<Value> = entries.iter().map(|entry| data(entry, &[])).collect();
        assert_eq!((&values[0]["verified"], &values[1]["verified"]), (&json!(false), &json!(true)));
        assert_eq!(values[2]["foreign"], true);
    }

    #[test]
    fn points_in_time_are_shown_with_their_backup_and_why_they_end() {
        let mark = |revision, second| Mark { revision, time: Timestamp::from_second(second).unwrap() };
        let reach = Reach {
            cluster_uid: "u".to_owned(),
            cluster_id: "i".to_owned(),
            chain: "nightly-1".to_owned(),
            backup: Some("nightly-1".to_owned()),
            from: Some(mark(42, 0)),
            to: mark(90, 60),
            chunks: 12,
            ends: Some("chunk 13 is missing".to_owned()),
        };
        let lines = points(&[reach]);
        assert_eq!(lines.len(), 3);
        assert_eq!(
            lines[2],
            "1970-01-01T00:00:00Z  1970-01-01T00:01:00Z  42-90      nightly-1    ends: chunk 13 is missing"
        );
        assert!(points(&[]).is_empty());
    }
}
