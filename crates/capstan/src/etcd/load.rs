//! `capstan etcd load`: one client that writes and reads all the time, checks the answers, and counts what fails.
//!
//! Each request goes to one endpoint, and once more to the next one if that fails; who the members are is asked now and then: as
//! etcd's own clients do. The key is this
//! client's alone, so every read has one right answer: the last write that was acknowledged, or a later one whose answer was lost.

mod tally;

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context as _, Result, bail};
use clap::Args;
use etcd_api::{
    Client, Consistency, Endpoint as _, EtcdError, Role, Tls,
    pb::{PutRequest, RangeRequest},
};
use tokio::time::{Instant, sleep};

use super::time;
use crate::output::say;
use tally::{Book, Tally, Went};

/// How often the figures are told.
const LINE_EVERY: Duration = Duration::from_secs(1);

#[derive(Debug, Args)]
pub(super) struct Load {
    /// Where etcd is, one URL or several: status.connection.endpoints has them.
    #[arg(long, required = true, value_delimiter = ',', value_name = "URL,…")]
    endpoints: Vec<String>,
    /// A directory with ca.crt, tls.crt and tls.key, as a mounted Secret has them.
    #[arg(long, value_name = "DIRECTORY")]
    tls: Option<PathBuf>,
    /// The key that is written; nobody else may.
    #[arg(long, default_value = "capstan/load")]
    key: String,
    /// How long to wait between requests.
    #[arg(long, default_value = "10ms", value_parser = time, value_name = "TIME")]
    every: Duration,
    /// How long one attempt may take.
    #[arg(long, default_value = "3s", value_parser = time, value_name = "TIME")]
    deadline: Duration,
    /// When to stop [default: when told to].
    #[arg(long = "for", value_parser = time, value_name = "TIME")]
    until: Option<Duration>,
}

pub(super) async fn run(load: Load) -> Result<()> {
    let tls = load.tls.as_deref().map(read_tls).transpose()?;
    let stop = kit::until_signalled()?;
    let began = Instant::now();
    let mut told = began;
    let mut session = Session { load: &load, endpoints: load.endpoints.clone(), tls, turn: 0, open: None };
    session.learn_members().await;
    let (mut book, mut tally) = (Book::default(), Tally::default());
    while load.until.is_none_or(|end| began.elapsed() < end) {
        let went = tokio::select! {
            () = stop.cancelled() => break,
            went = session.round(&mut book) => went,
        };
        if let Went::Failed(why) | Went::Wrong(why) = &went {
            say(&format!("! {why}\n"))?;
        }
        tally.add(&went, Instant::now());
        if told.elapsed() >= LINE_EVERY {
            told = Instant::now();
            say(&format!("{tally}\n"))?;
            session.learn_members().await;
        }
        sleep(load.every).await;
    }
    say(&format!("{tally}\n"))?;
    if tally.is_bad() {
        bail!("not every request was answered rightly");
    }
    Ok(())
}

fn read_tls(directory: &Path) -> Result<Tls> {
    let read = |name: &str| {
        let path = directory.join(name);
        std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))
    };
    Ok(Tls::new(read("ca.crt")?, read("tls.crt")?, read("tls.key")?))
}

/// A client with its one connection.
struct Session<'a> {
    load: &'a Load,
    /// Those that were given, until the members are known.
    endpoints: Vec<String>,
    tls: Option<Tls>,
    /// Which endpoint is asked.
    turn: usize,
    open: Option<Client>,
}

impl Session<'_> {
    /// A write and a read, in turn; what came of it.
    async fn round(&mut self, book: &mut Book) -> Went {
        let next = book.next();
        let mut went = Went::Well;
        for attempt in 1..=2 {
            let answer = match next {
                Some(number) => self.put(number).await.map(|()| None),
                None => self.get().await.map(Some),
            };
            match (answer, next) {
                (Ok(None), Some(number)) => {
                    book.acknowledged(number);
                    return went;
                }
                (Ok(Some(found)), _) => return book.judge(found).map_or_else(Went::Wrong, |()| went),
                (Ok(None), None) => return went,
                (Err(error), _) if attempt == 2 => {
                    self.turn_away();
                    return Went::Failed(error.to_string());
                }
                (Err(_), _) => {
                    self.turn_away();
                    went = Went::AtSecond;
                }
            }
        }
        went
    }

    async fn put(&mut self, number: u64) -> Result<(), EtcdError> {
        let client = self.client().await?;
        let request = PutRequest {
            key: self.load.key.clone().into(),
            value: number.to_string().into(),
            ..PutRequest::default()
        };
        client.call(client.kv().put(request)).await.map(drop)
    }

    async fn get(&mut self) -> Result<Option<u64>, EtcdError> {
        let client = self.client().await?;
        let request = RangeRequest { key: self.load.key.clone().into(), ..RangeRequest::default() };
        let answer = client.call(client.kv().range(request)).await?;
        let found = answer.kvs.first().and_then(|pair| std::str::from_utf8(&pair.value).ok()?.parse().ok());
        Ok(found)
    }

    async fn client(&mut self) -> Result<Client, EtcdError> {
        if let Some(client) = &self.open {
            return Ok(client.clone());
        }
        let url = self.url().map_or("", String::as_str);
        let client = Client::connect(url, self.tls.as_ref(), self.load.deadline).await?;
        Ok(self.open.insert(client).clone())
    }

    /// Members come and go: whom to turn to. Nobody is the wiser when it cannot be known now.
    async fn learn_members(&mut self) {
        let Ok(client) = self.client().await else { return };
        let Ok(membership) = client.members(Consistency::Linearizable).await else { return };
        let voters = membership.members.into_iter().filter(|member| member.role == Role::Voter);
        let urls: Vec<String> = voters.filter_map(|member| member.client_urls.into_iter().next()).collect();
        if urls.is_empty() || urls == self.endpoints {
            return;
        }
        // Whoever is asked now stays, unless nobody knows which member that is.
        let at = self.url().and_then(|url| urls.iter().position(|other| other == url));
        if at.is_none() {
            self.open = None;
        }
        (self.turn, self.endpoints) = (at.unwrap_or(0), urls);
    }

    /// Who is asked.
    fn url(&self) -> Option<&String> {
        self.endpoints.get(self.turn.checked_rem(self.endpoints.len())?)
    }

    /// Somebody else is asked next.
    fn turn_away(&mut self) {
        self.turn += 1;
        self.open = None;
    }
}
