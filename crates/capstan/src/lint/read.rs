//! Files into documents.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::Finding;

/// An object, and the file it is from.
pub(super) struct Document {
    pub(super) file: String,
    pub(super) value: Value,
}

impl Document {
    pub(super) fn text(&self, pointer: &str) -> &str {
        text(&self.value, pointer)
    }

    /// `PrometheusRule shop/alerts`.
    pub(super) fn object(&self) -> String {
        let name = match (self.text("/metadata/namespace"), self.text("/metadata/name")) {
            ("", name) => name.to_owned(),
            (namespace, name) => format!("{namespace}/{name}"),
        };
        format!("{} {name}", self.text("/kind")).trim().to_owned()
    }
}

pub(super) fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// All documents of all files, and what could not be read. A path that is not there is an error, not a finding.
pub(super) fn documents(paths: &[PathBuf]) -> Result<(Vec<Document>, Vec<Finding>)> {
    let mut documents = Vec::new();
    let mut findings = Vec::new();
    for path in paths {
        if path.as_os_str() == "-" {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text).context("cannot read standard input")?;
            parse("-", &text, &mut documents, &mut findings);
            continue;
        }
        for file in files(path)? {
            let shown = file.display().to_string();
            let text = std::fs::read_to_string(&file).with_context(|| format!("cannot read {shown}"))?;
            parse(&shown, &text, &mut documents, &mut findings);
        }
    }
    Ok((documents, findings))
}

/// The file itself, or what a directory holds, in the order of names. Hidden ones and other formats are passed over.
fn files(path: &Path) -> Result<Vec<PathBuf>> {
    let about = || format!("cannot read {}", path.display());
    if !std::fs::metadata(path).with_context(about)?.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let entries: std::io::Result<Vec<_>> = std::fs::read_dir(path).with_context(about)?.collect();
    let mut entries: Vec<PathBuf> =
        entries.with_context(about)?.into_iter().map(|entry| entry.path()).collect();
    entries.sort_unstable();
    let mut found = Vec::new();
    for entry in entries {
        let hidden = entry.file_name().is_none_or(|name| name.as_encoded_bytes().starts_with(b"."));
        let ours = entry.extension().is_some_and(|end| end == "yaml" || end == "yml" || end == "json");
        let directory = entry.is_dir();
        if !hidden && (ours || directory) {
            found.append(&mut if directory { files(&entry)? } else { vec![entry] });
        }
    }
    Ok(found)
}

fn parse(file: &str, text: &str, documents: &mut Vec<Document>, findings: &mut Vec<Finding>) {
    let options = serde_saphyr::options! { with_snippet: false };
    match serde_saphyr::from_multiple_with_options::<Value>(text, options) {
        Ok(values) => values.into_iter().for_each(|value| add(file, value, documents)),
        Err(error) => findings.push(Finding {
            file: file.to_owned(),
            object: String::new(),
            field: String::new(),
            message: format!("is not valid YAML: {error}"),
        }),
    }
}

/// A document, or the items of a list. Empty documents are nothing.
fn add(file: &str, mut value: Value, documents: &mut Vec<Document>) {
    let is_list = value.get("kind").and_then(Value::as_str).is_some_and(|kind| kind.ends_with("List"));
    match value.get_mut("items").map(Value::take) {
        Some(Value::Array(items)) if is_list => items.into_iter().for_each(|item| add(file, item, documents)),
        _ if value.is_null() => {}
        _ => documents.push(Document { file: file.to_owned(), value }),
    }
}
