//! Endpoints of simulated members, for operators that know nothing of it.

use std::{fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use etcd_api::{
    Added, Alarm, Consistency, Dial, Downgrade, Endpoint, EtcdError, HashKv, Health, HealthStream, MemberId,
    Membership, Result, Role, Status, Tls,
};
use futures::{StreamExt as _, stream};
use tokio::time::{Instant, timeout_at};

use super::{Etcd, answer::No, call::Call, faults::EtcdFault, model::Model};

/// To a member and back.
const LATENCY: Duration = Duration::from_millis(1);
/// Until a ping of the health stream finds out that nobody is there.
const PING: Duration = Duration::from_secs(8);

/// What an operator dials with; it dies with that operator.
#[derive(Debug, Clone)]
pub(super) struct Line {
    pub(super) etcd: Etcd,
    pub(super) generation: u64,
}

#[derive(Clone)]
struct Simulated {
    line: Line,
    url: String,
    deadline: Duration,
}

impl fmt::Debug for Simulated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Simulated({})", self.url)
    }
}

impl Line {
    /// Nothing comes back to the dead.
    async fn alive(&self) {
        if self.etcd.is_dead(self.generation) {
            std::future::pending::<()>().await;
        }
    }

    /// Asks until there is an answer, or time is up.
    async fn ask<T>(
        &self,
        deadline: Duration,
        mut attempt: impl FnMut(&mut Model, Instant) -> Result<T, No>,
    ) -> Result<T> {
        let end = Instant::now() + deadline;
        tokio::time::sleep(LATENCY).await;
        let mut changes = self.etcd.changes();
        loop {
            self.alive().await;
            changes.mark_unchanged();
            match self.etcd.change(&mut attempt) {
                Ok(answer) => return Ok(answer),
                Err(No::Refused(refusal)) => return Err(EtcdError::Refused(refusal)),
                Err(No::Failed(error)) => return Err(error),
                Err(No::Later) => {
                    if timeout_at(end, changes.changed()).await.is_err() {
                        return Err(EtcdError::Deadline(deadline));
                    }
                }
            }
        }
    }
}

#[async_trait]
impl Dial for Line {
    async fn dial(&self, url: &str, tls: Option<&Tls>, deadline: Duration) -> Result<Arc<dyn Endpoint>> {
        let asked = self.ask(deadline, |model, _| Ok(model.reached(url)?.settings.serves_tls)).await;
        let server = self.etcd.state().server.clone();
        let credentials = self.etcd.change(|model, _| model.credentials.get(url).cloned());
        match (asked, tls.is_some()) {
            (Err(EtcdError::Deadline(_)), _) => {
                return Err(EtcdError::Unreachable(format!("no connection within {deadline:?}")));
            }
            (Err(error), _) => return Err(error),
            (Ok(true), false) => return Err(EtcdError::Broken("a plain connection to a TLS port".into())),
            (Ok(false), true) => {
                return Err(EtcdError::Tls("received corrupt message of type InvalidContentType".into()));
            }
            (Ok(_), _) => {}
        }
        if let (Some(credentials), Some(tls), Some(server)) = (credentials, tls, server) {
            credentials.accept(tls, &server).map_err(EtcdError::Tls)?;
        }
        Ok(Arc::new(Simulated { line: self.clone(), url: url.to_owned(), deadline }))
    }
}

impl Simulated {
    /// Makes a call, with what befalls it.
    async fn call<T>(
        &self,
        call: Call,
        attempt: impl FnMut(&mut Model, Instant) -> Result<T, No>,
    ) -> Result<T> {
        self.line.alive().await;
        let fault = self.line.etcd.meet(&self.url, &call);
        match &fault {
            Some(EtcdFault::CrashBefore) => self.line.etcd.crash(),
            Some(EtcdFault::Refused(refusal)) => return Err(EtcdError::Refused(*refusal)),
            Some(EtcdFault::Failed(error)) => return Err(error.clone()),
            Some(EtcdFault::CrashAfter | EtcdFault::Lost) | None => {}
        }
        let answer = self.line.ask(self.deadline, attempt).await;
        match fault {
            Some(EtcdFault::CrashAfter) => self.line.etcd.crash(),
            Some(EtcdFault::Lost) => return Err(EtcdError::Deadline(self.deadline)),
            _ => {}
        }
        self.line.alive().await;
        answer
    }
}

#[async_trait]
impl Endpoint for Simulated {
    async fn status(&self) -> Result<Status> {
        self.call(Call::Status, |model, _| model.status(&self.url)).await
    }

    async fn members(&self, consistency: Consistency) -> Result<Membership> {
        self.call(Call::Members(consistency), |model, _| model.members(&self.url, consistency)).await
    }

    async fn add_member(&self, peer_urls: &[String], role: Role) -> Result<Added> {
        let call = Call::AddMember { peer_urls: peer_urls.to_vec(), role };
        let second = self.line.etcd.second();
        self.call(call, |model, now| model.add_member(&self.url, peer_urls, role, second, now)).await
    }

    async fn remove_member(&self, member: MemberId) -> Result<Membership> {
        self.call(Call::RemoveMember(member), |model, now| model.remove_member(&self.url, member, now)).await
    }

    async fn update_member(&self, member: MemberId, peer_urls: &[String]) -> Result<Membership> {
        let call = Call::UpdateMember { member, peer_urls: peer_urls.to_vec() };
        self.call(call, |model, _| model.update_member(&self.url, member, peer_urls)).await
    }

    async fn promote_member(&self, member: MemberId) -> Result<Membership> {
        self.call(Call::PromoteMember(member), |model, _| model.promote_member(&self.url, member)).await
    }

    async fn move_leader(&self, to: MemberId) -> Result<()> {
        self.call(Call::MoveLeader(to), |model, _| model.move_leader(&self.url, to)).await
    }

    async fn alarms(&self) -> Result<Vec<Alarm>> {
        self.call(Call::Alarms, |model, _| model.alarms(&self.url)).await
    }

    async fn disarm(&self, alarm: Alarm) -> Result<()> {
        self.call(Call::Disarm(alarm), |model, _| model.disarm(&self.url, alarm)).await
    }

    async fn defragment(&self, deadline: Duration) -> Result<()> {
        let patient = Self { deadline, ..self.clone() };
        patient.call(Call::Defragment, |model, _| model.defragment(&self.url)).await
    }

    async fn hash_kv(&self, revision: i64) -> Result<HashKv> {
        self.hash_kv_within(revision, self.deadline).await
    }

    async fn hash_kv_within(&self, revision: i64, deadline: Duration) -> Result<HashKv> {
        let patient = Self { deadline, ..self.clone() };
        patient.call(Call::HashKv(revision), |model, _| model.hash_kv(&self.url, revision)).await
    }

    async fn downgrade(&self, what: Downgrade<'_>) -> Result<String> {
        match what {
            Downgrade::Validate(to) => {
                let call = Call::ValidateDowngrade(to.to_owned());
                self.call(call, |model, _| model.validate_downgrade(&self.url, to)).await
            }
            Downgrade::Enable(to) => {
                let call = Call::EnableDowngrade(to.to_owned());
                self.call(call, |model, _| model.enable_downgrade(&self.url, to)).await
            }
            Downgrade::Cancel => {
                self.call(Call::CancelDowngrade, |model, _| model.cancel_downgrade(&self.url)).await
            }
        }
    }

    async fn probe(&self, consistency: Consistency) -> Result<i64> {
        self.call(Call::Probe(consistency), |model, _| model.probe(&self.url, consistency)).await
    }

    async fn compact(&self, revision: i64) -> Result<()> {
        self.call(Call::Compact(revision), |model, _| model.compact(&self.url, revision)).await
    }

    async fn auth_enabled(&self) -> Result<bool> {
        self.call(Call::AuthStatus, |model, _| {
            model.members(&self.url, Consistency::Linearizable).map(|_| false)
        })
        .await
    }

    fn watch_health(&self) -> HealthStream {
        let watching = Watching::Opening(self.clone());
        stream::unfold(watching, Watching::next).boxed()
    }
}

/// A health stream: it says nothing after its first error.
enum Watching {
    Opening(Simulated),
    Open { of: Simulated, serial: u64 },
    Over,
}

impl Watching {
    async fn next(self) -> Option<(Result<Health>, Self)> {
        match self {
            Self::Opening(of) => {
                let asked = of.line.ask(of.deadline, |model, _| Ok(model.streaming(&of.url)?.serial)).await;
                match asked {
                    Ok(serial) => Some((Ok(Health::Serving), Self::Open { of, serial })),
                    Err(error) => Some((Err(error), Self::Over)),
                }
            }
            Self::Open { of, serial } => Some((Err(broken(&of, serial).await), Self::Over)),
            Self::Over => None,
        }
    }
}

/// Waits for the end of a connection: of its process at once, of the way to it by a ping.
async fn broken(of: &Simulated, serial: u64) -> EtcdError {
    let mut changes = of.line.etcd.changes();
    let mut silent_since = None;
    loop {
        changes.mark_unchanged();
        match of.line.etcd.change(|model, _| model.reached(&of.url).map(|process| process.serial)) {
            Ok(now) if now == serial => silent_since = None,
            Err(No::Later) => {
                silent_since.get_or_insert_with(Instant::now);
            }
            _ => break,
        }
        match silent_since {
            None => drop(changes.changed().await),
            Some(since) => {
                if timeout_at(since + PING, changes.changed()).await.is_err() {
                    break;
                }
            }
        }
    }
    of.line.alive().await;
    EtcdError::Broken("the other side closed it".to_owned())
}
