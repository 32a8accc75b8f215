//! One line of a `.jsonl` file.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

/// What a user wrote, and what upstream makes of it.
#[derive(Clone, Debug, Deserialize)]
pub struct Case {
    #[serde(rename = "case")]
    pub name: String,
    pub area: String,
    pub input: Value,
    pub expect: Expect,
    /// Only inputs on which upstream is wrong carry one: it says what right is.
    pub note: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Expect {
    Yaml(String),
    Object(Value),
    Accepted(bool),
    Error(String),
}

#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("cannot read {path}: {source}")]
    Io { path: PathBuf, source: io::Error },
    #[error("{path} line {line} is no case: {source}")]
    Json { path: PathBuf, line: usize, source: serde_json::Error },
    #[error(
        "{0} holds no .jsonl file; name the directory with the cases, e.g. ../shared/conformance/prometheus"
    )]
    Empty(PathBuf),
}

/// Every case of the directory's `.jsonl` files, in the order of file names and lines.
pub fn read(dir: &Path) -> Result<Vec<Case>, ReadError> {
    let io_error = |path: &Path| {
        let path = path.to_path_buf();
        move |source| ReadError::Io { path, source }
    };
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).map_err(io_error(dir))? {
        let path = entry.map_err(io_error(dir))?.path();
        if path.extension().is_some_and(|extension| extension == "jsonl") {
            files.push(path);
        }
    }
    if files.is_empty() {
        return Err(ReadError::Empty(dir.to_path_buf()));
    }
    files.sort();
    let mut cases = Vec::new();
    for path in files {
        let text = fs::read_to_string(&path).map_err(io_error(&path))?;
        for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            cases.push(serde_json::from_str(line).map_err(|source| ReadError::Json {
                path: path.clone(),
                line: index + 1,
                source,
            })?);
        }
    }
    Ok(cases)
}
