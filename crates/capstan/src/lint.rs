//! `capstan lint`: what is wrong with files, before a cluster sees them.
//!
//! ```text
//!   files, directories, - ──read──> documents ──kinds──> what the API server would say: unknown fields, types, CEL
//!                                              └─judge──> what the operators would say: PromQL, templates, references
//! ```
//!
//! The same code judges here, at admission, and when the operators reconcile. Secrets and ConfigMaps are seldom among the files,
//! and that is no fault: what an object refers to is taken for there, unless the files have an object of that name.

mod alerting;
mod judge;
mod kinds;
mod read;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, ValueEnum};
use serde::Serialize;

use crate::output::Format;
use crate::output::{complain, say};

#[derive(Debug, Args)]
pub(crate) struct Lint {
    /// Files and directories of YAML or JSON; `-` is standard input.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Features of Prometheus that rules may rely on, as its own flag names them.
    #[arg(long, value_delimiter = ',', value_name = "FEATURE")]
    enable_feature: Vec<String>,
    /// Which names of metrics and labels are valid: Prometheus before 3 takes the legacy ones only.
    #[arg(long, value_enum, default_value = "utf8")]
    names: Names,
    /// For programs.
    #[arg(short, long, value_enum)]
    output: Option<Format>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Names {
    Utf8,
    Legacy,
}

/// Something wrong: where, with what, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Finding {
    file: String,
    /// `PrometheusRule shop/alerts`; empty when a file cannot be read.
    #[serde(skip_serializing_if = "String::is_empty")]
    object: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    field: String,
    message: String,
}

/// 0: nothing to say; 1: findings.
pub(crate) fn run(lint: &Lint) -> ExitCode {
    let said = findings(lint).and_then(|findings| {
        say(&shown(&findings, lint.output)?)?;
        Ok(findings.is_empty())
    });
    match said {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            complain(&error);
            ExitCode::FAILURE
        }
    }
}

fn findings(lint: &Lint) -> Result<Vec<Finding>> {
    let (documents, mut findings) = read::documents(&lint.files)?;
    let kinds = kinds::Kinds::ours()?;
    let judge = judge::Judge::new(&documents, &lint.enable_feature, lint.names);
    for document in &documents {
        let mut found = kinds.check(&document.value);
        // What the API server refuses the operators never see.
        if found.is_empty() {
            found = judge.check(&kinds.defaulted(&document.value));
        }
        findings.extend(found.into_iter().map(|(field, message)| Finding {
            file: document.file.clone(),
            object: document.object(),
            field,
            message,
        }));
    }
    Ok(findings)
}

fn shown(findings: &[Finding], format: Option<Format>) -> Result<String> {
    Ok(match format {
        Some(Format::Json) => serde_json::to_string_pretty(findings)? + "\n",
        Some(Format::Yaml) => serde_saphyr::to_string(&findings)?,
        None => findings.iter().map(Finding::line).collect(),
    })
}

impl Finding {
    fn line(&self) -> String {
        let parts = [&self.file, &self.object, &self.field, &self.message];
        let parts: Vec<_> =
            parts.into_iter().filter(|part| !part.is_empty()).map(|part| one_line(part)).collect();
        parts.join(": ") + "\n"
    }
}

/// A finding is one line, whatever a name or a message contains.
fn one_line(text: &str) -> String {
    text.split(['\n', '\r']).map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;
