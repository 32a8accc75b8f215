//! The catalogue, for people and programs.

use anyhow::Result;
use clap::Args;
use etcd_backup::{
    Manifest,
    catalogue::{self, Entry},
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
        match self.output.output {
            Some(format) => structured(&entries.iter().map(data).collect::<Vec<_>>(), format),
            None if entries.is_empty() => say(&format!("There is no backup at {}.\n", store.location())),
            None => say(&format!("{}\n", table(&entries).join("\n"))),
        }
    }
}

impl Show {
    pub(super) async fn run(self) -> Result<()> {
        let manifest = chosen(&self.place.open()?, &self.id).await?;
        structured(&manifest, self.output.output.unwrap_or(Format::Yaml))
    }
}

fn data(entry: &Entry) -> Value {
    match entry {
        Entry::Backup(manifest, _) => json!(manifest),
        Entry::Unfinished(found) => json!({"id": found.id, "unfinished": true, "newestObject": found.newest}),
        Entry::Unreadable(found, why) => json!({"id": found.id, "unreadable": why.to_string()}),
    }
}

fn table(entries: &[Entry]) -> Vec<String> {
    let heading =
        ["BACKUP", "TAKEN AT", "CLUSTER", "ETCD", "REVISION", "DATABASE", "STORED", ""].map(str::to_owned);
    let rows = entries.iter().map(|entry| match entry {
        Entry::Backup(manifest, _) => row(manifest),
        Entry::Unfinished(found) => {
            note(&found.id, "unfinished: an attempt that goes on, or was interrupted")
        }
        Entry::Unreadable(found, why) => note(&found.id, &why.to_string()),
    });
    columns(&std::iter::once(heading.to_vec()).chain(rows).collect::<Vec<_>>())
}

fn row(manifest: &Manifest) -> Vec<String> {
    let size = |size: u64| bytes(i64::try_from(size).unwrap_or(i64::MAX));
    let sealed = if manifest.stored.encryption.is_some() { "encrypted" } else { "" };
    vec![
        manifest.id.clone(),
        format!("{:.0}", manifest.taken_at),
        format!("{}/{}", manifest.cluster.namespace, manifest.cluster.name),
        manifest.etcd_version.clone(),
        revisions(manifest),
        size(manifest.database.bytes),
        size(manifest.stored.bytes),
        sealed.to_owned(),
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
