//! Stories: what happens to a cluster, from a wish or an accident until it rests.

mod accidents;
mod backups;
mod ends;
mod growth;
mod restores;
mod storage;
mod versions;

use serde_json::{Value, json};

fn spec(size: i32, version: &str) -> Value {
    json!({"size": size, "version": version})
}
