//! How a command ends, for whoever started it: one line of JSON in a file (a container's termination log), and an exit code.

use std::{fmt, fs, path::Path, process::ExitCode};

use anyhow::{Context as _, Result};
use etcd_backup::source::NoGiver;
use serde_json::{Map, Value, json};

use crate::output;

/// Another attempt may go better with nothing changed by anybody.
pub(super) const AGAIN: u8 = 75;
/// Somebody has to change something first.
pub(super) const HOPELESS: u8 = 77;
/// History was lost before it was captured: only a new backup helps.
pub(super) const GAP: u8 = 78;

/// What a container may say at its end.
const LONGEST: usize = 4096;

/// A failure with a code of its own, and more to tell programs than its sentence.
#[derive(Debug)]
pub(super) struct Ending {
    pub(super) code: u8,
    pub(super) error: String,
    pub(super) more: Map<String, Value>,
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.error)
    }
}

impl std::error::Error for Ending {}

/// Writes how it ended to `file`, if there is one, and hands the failure on.
pub(super) fn told(file: Option<&Path>, done: Result<Value>) -> Result<()> {
    let said = match &done {
        Ok(result) => result.clone(),
        Err(error) => failure(error),
    };
    if let Some(file) = file {
        fs::write(file, line(&said)).with_context(|| format!("cannot write {}", file.display()))?;
    }
    done.map(drop)
}

fn failure(error: &anyhow::Error) -> Value {
    let mut said = error.downcast_ref::<Ending>().map(|ending| ending.more.clone()).unwrap_or_default();
    said.insert("error".to_owned(), json!(format!("{error:#}")));
    Value::Object(said)
}

/// One line that fits. What does not fit is cut from the longest sentence, so that it stays JSON.
fn line(said: &Value) -> String {
    let text = said.to_string();
    let Some(over) = text.len().checked_sub(LONGEST).filter(|over| *over > 0) else { return text };
    let error = said.get("error").and_then(Value::as_str).unwrap_or_default();
    let kept: String = error.chars().take(error.chars().count().saturating_sub(over + 16) / 2).collect();
    json!({ "error": format!("{kept} …") }).to_string()
}

/// The exit code of a command.
pub(super) fn code(done: Result<()>) -> ExitCode {
    let Err(error) = done else { return ExitCode::SUCCESS };
    output::complain(&error);
    ExitCode::from(number(&error))
}

fn number(error: &anyhow::Error) -> u8 {
    if let Some(ending) = error.downcast_ref::<Ending>() {
        return ending.code;
    }
    if let Some(error) = error.downcast_ref::<NoGiver>() {
        return match error {
            NoGiver::Corrupt(why) if !why.may_pass() => HOPELESS,
            _ => AGAIN,
        };
    }
    match error.downcast_ref::<etcd_backup::Error>() {
        Some(error) if error.is_transient() => AGAIN,
        Some(_) => HOPELESS,
        None => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_says_what_programs_need_besides_the_sentence() {
        let more = Map::from_iter([("gap".to_owned(), json!({"after": 7}))]);
        let error = anyhow::Error::from(Ending { code: GAP, error: "history is lost".to_owned(), more });
        assert_eq!(failure(&error), json!({"gap": {"after": 7}, "error": "history is lost"}));
        assert_eq!(number(&error), GAP);
    }

    #[test]
    fn what_is_written_fits_a_termination_message_and_is_json() {
        let long = line(&json!({ "error": "ä".repeat(9000) }));
        assert!(long.len() <= LONGEST, "{}", long.len());
        assert!(serde_json::from_str::<Value>(&long).is_ok());
    }
}
