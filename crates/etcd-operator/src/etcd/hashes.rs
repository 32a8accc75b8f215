//! Hashes of members' data. A member reads its whole database for one, so it is asked in the background, once per connection and revision.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use etcd_api::{Endpoint, EtcdError};
use etcd_core::{DataHash, MemberId, Unreachable};
use futures::future::join_all;
use kit::{Key, Trigger};
use tokio::{
    sync::watch,
    time::{Instant, timeout},
};
use tokio_util::task::AbortOnDropHandle;

/// Time for one hash: a database of 8 GiB is read in less.
const DEADLINE: Duration = Duration::from_secs(120);
/// A reconcile waits so long for hashes; small databases take less.
const PATIENCE: Duration = Duration::from_millis(500);
/// Time between two attempts where one failed.
const RETRY: Duration = Duration::from_secs(3);
/// Time after which members that accept writes are compared at a later revision.
const ROUND: Duration = Duration::from_secs(60);
/// What `Status` says of a member that has applied the alarm.
const ALARM: &str = "CORRUPT";

/// The revision at which members are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum At {
    /// The last one. The alarm CORRUPT is raised: a member that has applied it writes and compacts nothing any more. etcd then computes
    /// the hash, where for the revision of a compaction it returns the one that it computed at that time.
    Frozen,
    /// This one, which every member has: writes go on.
    Revision(i64),
}

#[derive(Debug, Default)]
pub(crate) struct Hashes(Mutex<BTreeMap<Key, Round>>);

/// Members of a cluster that are compared at the same revision.
#[derive(Debug)]
struct Round {
    at: At,
    began: Instant,
    asked: BTreeMap<MemberId, Asked>,
}

#[derive(Debug)]
struct Asked {
    endpoint: Arc<dyn Endpoint>,
    began: Instant,
    answer: Answer,
    _task: AbortOnDropHandle<()>,
}

type Answer = watch::Receiver<Option<Result<DataHash, EtcdError>>>;

impl Hashes {
    pub(crate) fn forget(&self, cluster: &Key) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(cluster);
    }

    pub(crate) async fn ask(
        &self,
        cluster: &Key,
        members: Vec<(MemberId, Arc<dyn Endpoint>)>,
        at: At,
        trigger: &Trigger,
    ) -> BTreeMap<MemberId, Result<DataHash, Unreachable>> {
        let answers = self.answers(cluster, members, at, trigger);
        let told = answers.into_iter().map(|(id, mut answer)| async move {
            let told = timeout(PATIENCE, answer.wait_for(Option::is_some)).await;
            let told = match told {
                Ok(Ok(told)) => told.clone(),
                Ok(Err(_)) | Err(_) => None,
            };
            let unknown = || Unreachable("it is reading its data".to_owned());
            let told = told.map(|told| told.map_err(|error| Unreachable(error.to_string())));
            (id, told.unwrap_or_else(|| Err(unknown())))
        });
        join_all(told).await.into_iter().collect()
    }

    /// What was answered, or will be.
    fn answers(
        &self,
        cluster: &Key,
        members: Vec<(MemberId, Arc<dyn Endpoint>)>,
        at: At,
        trigger: &Trigger,
    ) -> Vec<(MemberId, Answer)> {
        let mut rounds = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let round = rounds.entry(cluster.clone()).or_insert_with(|| Round::new(at));
        if !round.is_good_for(at) {
            *round = Round::new(at);
        }
        round.asked.retain(|id, asked| {
            let connected = |(it, endpoint): &(MemberId, Arc<dyn Endpoint>)| {
                it == id && Arc::ptr_eq(endpoint, &asked.endpoint)
            };
            let failed = matches!(&*asked.answer.borrow(), Some(Err(_)));
            members.iter().any(connected) && !(failed && asked.began.elapsed() >= RETRY)
        });
        let at = round.at;
        let mut answers = Vec::new();
        for (id, endpoint) in members {
            let asked = round
                .asked
                .entry(id)
                .or_insert_with(|| Asked::start(endpoint, at, trigger.clone(), cluster.clone()));
            answers.push((id, asked.answer.clone()));
        }
        answers
    }
}

impl Round {
    fn new(at: At) -> Self {
        Self { at, began: Instant::now(), asked: BTreeMap::new() }
    }

    fn is_good_for(&self, at: At) -> bool {
        match (self.at, at) {
            (At::Frozen, At::Frozen) => true,
            (At::Revision(_), At::Revision(_)) => self.began.elapsed() < ROUND,
            _ => false,
        }
    }
}

impl Asked {
    fn start(endpoint: Arc<dyn Endpoint>, at: At, trigger: Trigger, cluster: Key) -> Self {
        let (sender, answer) = watch::channel(None);
        let asked = endpoint.clone();
        let task = async move {
            let answer = hash(&*asked, at).await;
            sender.send_replace(Some(answer));
            trigger.due(&cluster);
        };
        Self { endpoint, began: Instant::now(), answer, _task: AbortOnDropHandle::new(tokio::spawn(task)) }
    }
}

async fn hash(endpoint: &dyn Endpoint, at: At) -> Result<DataHash, EtcdError> {
    let revision = match at {
        At::Revision(revision) => revision,
        At::Frozen => 0,
    };
    // Asked first: what has applied the alarm does not change afterwards.
    let status = endpoint.status().await?;
    if at == At::Frozen && !status.errors.iter().any(|error| error.contains(ALARM)) {
        return Err(EtcdError::Broken("it has not applied the alarm CORRUPT yet".to_owned()));
    }
    let answer = endpoint.hash_kv_within(revision, DEADLINE).await?;
    let asked = if at == At::Frozen { status.revision } else { revision };
    Ok(DataHash {
        revision: answer.hash_revision.unwrap_or(asked),
        compact_revision: answer.compact_revision,
        hash: answer.hash,
    })
}
