//! Capturing what happens between backups, for as long as the process runs; and what it tells meanwhile.

use std::{
    net::SocketAddr,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use anyhow::{Result, anyhow};
use clap::Args;
use etcd_backup::{
    source::Source,
    wal::{
        Ended,
        capture::{Capture as Capturing, Phase, State},
    },
};
use jiff::{SignedDuration, Timestamp};
use kit::{Clock, until_signalled};
use serde_json::{Map, Value, json};

use super::{
    Place, certificates,
    ending::{self, Ending, GAP},
    serve,
};
use crate::output::{complain, mention};

#[derive(Debug, Args)]
pub(super) struct Capture {
    #[command(flatten)]
    place: Place,
    /// Clients' URLs of the cluster; one is enough, as long as that one is there.
    #[arg(long, required = true, value_delimiter = ',', value_name = "URL", help_heading = "etcd")]
    endpoints: Vec<String>,
    /// A directory with ca.crt, tls.crt and tls.key, as a Secret is mounted.
    #[arg(long, value_name = "DIR", help_heading = "etcd")]
    tls: Option<PathBuf>,
    /// What the cluster is called, for metrics.
    #[arg(long, default_value = "etcd", value_name = "NAME", help_heading = "etcd")]
    cluster: String,
    #[arg(long, default_value = "", value_name = "NAME", help_heading = "etcd")]
    cluster_namespace: String,
    /// What tells the cluster from others, as its backups have it [default: etcd's own ID].
    #[arg(long, value_name = "UID", help_heading = "etcd")]
    cluster_uid: Option<String>,
    /// How often what came is stored: what may be lost with etcd.
    #[arg(long, default_value = "5s", value_name = "TIME", value_parser = time)]
    flush_every: Duration,
    /// Store it earlier when it is so much.
    #[arg(long, default_value_t = 4 << 20, value_name = "BYTES", value_parser = clap::value_parser!(u64).range(1024..=64 << 20))]
    flush_bytes: u64,
    /// Tell how far it is at this address, over HTTP under /progress, and /metrics for Prometheus.
    #[arg(long, value_name = "ADDRESS", help_heading = "For programs")]
    progress: Option<SocketAddr>,
    /// Write how it ended to this file, as JSON.
    #[arg(long, value_name = "FILE", help_heading = "For programs")]
    result: Option<PathBuf>,
}

/// `5s`, as other flags have it.
pub(super) fn time(text: &str) -> Result<Duration, String> {
    let time = text.parse::<SignedDuration>().ok().and_then(|time| Duration::try_from(time).ok());
    time.filter(|time| !time.is_zero())
        .ok_or_else(|| "this is no time: write it as in 5s or 1m30s".to_owned())
}

impl Capture {
    pub(super) async fn run(self) -> Result<()> {
        let done = self.capture().await;
        ending::told(self.result.as_deref(), done)
    }

    async fn capture(&self) -> Result<Value> {
        let stop = until_signalled()?;
        let store = self.place.open()?;
        let source = Source { endpoints: self.endpoints.clone(), tls: certificates(self.tls.as_deref())? };
        let state = Arc::new(Mutex::new(State::default()));
        let served = match self.progress {
            None => None,
            Some(address) => Some(serve::serve(address, self.pages(&state)).await?),
        };
        let capturing = Capturing {
            store: &store,
            source: &source,
            key: self.place.key()?,
            cluster_uid: self.cluster_uid.clone(),
            flush_every: self.flush_every,
            flush_bytes: usize::try_from(self.flush_bytes)?,
            now,
        };
        let told = |new: &State| {
            let mut old = state.lock().unwrap_or_else(PoisonError::into_inner);
            if let (true, Some(problem)) = (old.problem != new.problem, &new.problem) {
                complain(&anyhow!("{problem}"));
            }
            if let (true, Some(member)) = (old.member != new.member, &new.member) {
                let to = new.to.map_or(new.head, |to| to.revision);
                mention(&format!("capturing from {member}, after revision {to}"));
            }
            old.clone_from(new);
        };
        let ended = capturing.run(stop.cancelled(), told).await?;
        if let Some(served) = served {
            served.abort();
        }
        match ended {
            Ended::Stopped => {
                let state = state.lock().unwrap_or_else(PoisonError::into_inner);
                Ok(progress(&state, now()))
            }
            Ended::Gap { chain, gap } => {
                let error = format!(
                    "{}. Take a new backup to begin anew; points up to there can be reached",
                    gap.why
                );
                let more =
                    Map::from_iter([("chain".to_owned(), json!(chain)), ("gap".to_owned(), json!(gap))]);
                Err(Ending { code: GAP, error, more }.into())
            }
        }
    }

    fn pages(&self, state: &Arc<Mutex<State>>) -> serve::Pages {
        let state = state.clone();
        let labels = format!("namespace={:?},name={:?}", self.cluster_namespace, self.cluster);
        Arc::new(move |path| {
            let state = state.lock().unwrap_or_else(PoisonError::into_inner).clone();
            match path {
                "/progress" => Some(("application/json", progress(&state, now()).to_string())),
                "/metrics" => Some(("text/plain; version=0.0.4", metrics(&state, now(), &labels))),
                "/healthz" => Some(("text/plain", "ok\n".to_owned())),
                _ => None,
            }
        })
    }
}

fn now() -> Timestamp {
    Clock::system().now()
}

fn behind(state: &State, now: Timestamp) -> f64 {
    state.to.map_or(0.0, |to| now.duration_since(to.time).as_secs_f64().max(0.0))
}

fn progress(state: &State, now: Timestamp) -> Value {
    let to = state.to.map_or(0, |to| to.revision);
    json!({
        "state": match state.phase {
            Phase::Waiting => "Waiting",
            Phase::Capturing => "Capturing",
            Phase::Gap => "Gap",
        },
        "chain": state.chain,
        "member": state.member,
        "from": state.from,
        "to": state.to,
        "behind": { "revisions": state.head.saturating_sub(to).max(0), "seconds": behind(state, now) },
        "stored": { "chunks": state.chunks, "events": state.events, "bytes": state.bytes },
        "problem": state.problem,
    })
}

/// Name, kind, help and value of each.
fn metrics(state: &State, now: Timestamp, labels: &str) -> String {
    let flag = |is: bool| f64::from(u8::from(is));
    let rows: [(&str, &str, &str, f64); 8] = [
        (
            "up",
            "gauge",
            "1 while a member is being watched",
            flag(state.phase == Phase::Capturing && state.member.is_some()),
        ),
        (
            "gap",
            "gauge",
            "1 when history was lost and a new backup is needed",
            flag(state.phase == Phase::Gap),
        ),
        ("behind_seconds", "gauge", "how old the newest point is that can be restored", behind(state, now)),
        (
            "revision",
            "gauge",
            "the newest revision that can be restored",
            state.to.map_or(0, |to| to.revision) as f64,
        ),
        ("head_revision", "gauge", "the revision of etcd when it was last asked", state.head as f64),
        ("chunks_total", "counter", "chunks stored by this process", state.chunks as f64),
        ("events_total", "counter", "changes of keys stored by this process", state.events as f64),
        ("stored_bytes_total", "counter", "bytes stored by this process", state.bytes as f64),
    ];
    rows.iter()
        .map(|(name, kind, help, value)| {
            let name = format!("capstan_etcd_capture_{name}");
            format!("# HELP {name} {help}\n# TYPE {name} {kind}\n{name}{{{labels}}} {value}\n")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use etcd_backup::wal::reach::Mark;

    use super::*;

    #[test]
    fn what_it_tells_is_for_people_programs_and_prometheus() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let state = State {
            phase: Phase::Capturing,
            member: Some("db-1".to_owned()),
            to: Some(Mark { revision: 40, time: at(100) }),
            head: 42,
            ..State::default()
        };
        let said = progress(&state, at(103));
        assert_eq!(said["behind"], json!({"revisions": 2, "seconds": 3.0}));
        assert_eq!((said["state"].as_str(), said["problem"].is_null()), (Some("Capturing"), true));
        let text = metrics(&state, at(103), "namespace=\"a\",name=\"db\"");
        assert!(
            text.contains("capstan_etcd_capture_behind_seconds{namespace=\"a\",name=\"db\"} 3\n"),
            "{text}"
        );
        assert!(text.contains("capstan_etcd_capture_up{namespace=\"a\",name=\"db\"} 1\n"), "{text}");
    }

    #[test]
    fn a_time_is_more_than_nothing() {
        assert_eq!(time("1m30s"), Ok(Duration::from_secs(90)));
        assert!(time("0s").is_err() && time("5").is_err());
    }
}
