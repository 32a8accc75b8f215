//! Questions to the lab's API server, asked with curl: a client library would be most of what xtask compiles.

use std::{
    collections::BTreeMap,
    io::{BufRead as _, BufReader},
    process::{Command, Stdio},
    time::Duration,
};

use serde_json::Value;

use crate::{
    error::{Error, Result},
    lab::Lab,
    process::{self, run, run_with, wait_until},
};

pub(crate) struct Api<'l> {
    lab: &'l Lab,
}

impl<'l> Api<'l> {
    pub(crate) fn of(lab: &'l Lab) -> Self {
        Self { lab }
    }

    pub(crate) fn wait_until_ready(&self, limit: Duration) -> Result<()> {
        if wait_until(limit, || self.get("/readyz").is_ok()) {
            return Ok(());
        }
        Err(Error::Timeout {
            what: "the API server".into(),
            seconds: limit.as_secs(),
            look: self.lab.log("kube-apiserver"),
        })
    }

    pub(crate) fn get(&self, path: &str) -> Result<String> {
        answer(path, &run(self.curl(path).args(["--max-time", "10", "--write-out", "%{http_code}"]))?)
    }

    pub(crate) fn object(&self, path: &str) -> Result<Value> {
        parse(&self.get(path)?)
    }

    /// Changes an object by a merge patch.
    pub(crate) fn patch(&self, path: &str, patch: &Value) -> Result<()> {
        answer(path, &self.send("PATCH", "application/merge-patch+json", path, patch)?).map(drop)
    }

    /// Makes an object, unless it is there.
    pub(crate) fn create(&self, list: &str, object: &Value) -> Result<()> {
        unless("409", list, &self.send("POST", "application/json", list, object)?)
    }

    /// Deletes an object, unless it is gone.
    pub(crate) fn delete(&self, path: &str) -> Result<()> {
        unless("404", path, &self.send("DELETE", "application/json", path, &serde_json::json!({}))?)
    }

    /// Body and code of the answer.
    fn send(&self, method: &str, content: &str, path: &str, body: &Value) -> Result<String> {
        let mut curl = self.curl(path);
        curl.args(["--max-time", "10", "--write-out", "%{http_code}", "--request", method]);
        curl.args(["--header", &format!("Content-Type: {content}"), "--data-binary", "@-"]);
        run_with(&mut curl, &body.to_string())
    }

    /// Shows `each` what a list has, and then every object that is added or changed, for `seconds`.
    pub(crate) fn watch(&self, list: &str, seconds: u32, mut each: impl FnMut(&Value)) -> Result<()> {
        let mut curl = self.curl(&format!("{list}?watch=true&timeoutSeconds={seconds}"));
        // A server that does not end it in time is not there any more.
        curl.args(["--no-buffer", "--max-time", &(seconds + 5).to_string()]);
        events(curl, |event| {
            let changed = event.get("type").is_some_and(|kind| kind == "ADDED" || kind == "MODIFIED");
            if let Some(object) = event.get("object").filter(|_| changed) {
                each(object);
            }
            false
        })
        .map(drop)
    }

    /// Watches a list until `done` says so of all its objects, by name. No polling: the server tells.
    pub(crate) fn watch_until(
        &self,
        list: &str,
        limit: Duration,
        what: &str,
        done: impl Fn(&BTreeMap<String, Value>) -> bool,
    ) -> Result<()> {
        let mut objects = BTreeMap::new();
        let mut curl = self.curl(&format!("{list}?watch=true"));
        curl.args(["--no-buffer", "--max-time", &limit.as_secs().to_string()]);
        let seen = events(curl, |event| {
            follow(&mut objects, event);
            done(&objects)
        })?;
        if seen {
            return Ok(());
        }
        Err(Error::Timeout { what: what.into(), seconds: limit.as_secs(), look: self.lab.log_directory() })
    }

    fn curl(&self, path: &str) -> Command {
        let pki = self.lab.pki();
        let mut curl = process::clean("curl");
        curl.args(["--silent", "--show-error", "--noproxy", "*"]);
        curl.args(["--cacert", &pki.cert("ca"), "--cert", &pki.cert("admin"), "--key", &pki.key("admin")]);
        curl.arg(format!("{}{path}", self.lab.addresses().api()));
        curl
    }
}

/// Reads the events of a watch until `enough` says so, or until it ends. Says which.
fn events(mut curl: Command, mut enough: impl FnMut(&Value) -> bool) -> Result<bool> {
    let mut child = curl
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|source| Error::start("curl", "`scripts/setup kubernetes` installs it", source))?;
    let lines = child.stdout.take().into_iter().flat_map(|stdout| BufReader::new(stdout).lines());
    let mut events =
        lines.map_while(std::result::Result::ok).filter_map(|line| serde_json::from_str(&line).ok());
    let seen = events.any(|event| enough(&event));
    // It may have ended by itself, at its time limit.
    let _ = child.kill();
    let _ = child.wait();
    Ok(seen)
}

/// A refusal with this code says that what was wanted is so already.
fn unless(code: &str, path: &str, said: &str) -> Result<()> {
    if said.ends_with(code) { Ok(()) } else { answer(path, said).map(drop) }
}

/// The body of an answer that ends with its code; when it was refused, what the server says about it.
fn answer(path: &str, said: &str) -> Result<String> {
    let (body, code) = said.split_at_checked(said.len().saturating_sub(3)).unwrap_or((said, ""));
    if code.starts_with('2') {
        return Ok(body.to_owned());
    }
    let status: Option<Value> = serde_json::from_str(body).ok();
    let message = status.as_ref().and_then(|status| status.get("message")?.as_str()).unwrap_or(body);
    Err(Error::Refused(format!("the API server answers {code} for {path}: {message}")))
}

pub(crate) fn parse(text: &str) -> Result<Value> {
    serde_json::from_str(text)
        .map_err(|error| Error::Refused(format!("not the JSON that was expected ({error}): {text}")))
}

/// Takes one event of a watch into account.
fn follow(objects: &mut BTreeMap<String, Value>, event: &Value) {
    let (Some(kind), Some(object)) = (event.get("type").and_then(Value::as_str), event.get("object")) else {
        return;
    };
    let Some(name) = object.pointer("/metadata/name").and_then(Value::as_str) else { return };
    if kind == "DELETED" {
        objects.remove(name);
    } else {
        objects.insert(name.to_owned(), object.clone());
    }
}

/// Has the object this condition?
pub(crate) fn is(object: &Value, condition: &str) -> bool {
    let conditions = object.pointer("/status/conditions").and_then(Value::as_array).into_iter().flatten();
    let mut found = conditions.filter(|c| c.get("type").and_then(Value::as_str) == Some(condition));
    found.any(|c| c.get("status").and_then(Value::as_str) == Some("True"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_told_in_the_servers_words() {
        assert_eq!(answer("/readyz", "ok200").unwrap(), "ok");
        let said = answer("/x", r#"{"kind": "Status", "message": "pods \"x\" not found"}404"#)
            .unwrap_err()
            .to_string();
        assert_eq!(said, "the API server answers 404 for /x: pods \"x\" not found");
        assert!(answer("/x", "").is_err());
    }

    #[test]
    fn a_watch_adds_up_to_what_is_there() {
        let mut objects = BTreeMap::new();
        for (kind, name, status) in [
            ("ADDED", "a", "False"),
            ("ADDED", "b", "True"),
            ("MODIFIED", "a", "True"),
            ("DELETED", "b", "True"),
        ] {
            let object = serde_json::json!({"metadata": {"name": name}, "status": {"conditions": [{"type": "Ready", "status": status}]}});
            follow(&mut objects, &serde_json::json!({"type": kind, "object": object}));
        }
        assert_eq!(objects.keys().collect::<Vec<_>>(), ["a"]);
        assert!(objects.values().all(|object| is(object, "Ready") && !is(object, "Available")));
    }
}
