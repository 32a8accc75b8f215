//! Stories: what happens to a cluster, from a wish or an accident until it rests.

mod accidents;
mod backups;
mod corrupt;
mod dead_nodes;
mod ends;
mod growth;
mod news;
mod records;
mod refusals;
mod restores;
mod storage;
mod versions;
mod vigilance;

use serde_json::{Value, json};

fn spec(size: i32, version: &str) -> Value {
    json!({"size": size, "version": version})
}
