//! Carries out what [`decide`](super::lease::decide) says: waits as a standby, then renews as the leader, until stopped or lost.

use std::{future::Future, time::Duration};

use k8s_openapi::api::coordination::v1::Lease;
use kube::{Api, api::PostParams};
use tokio::{
    sync::watch,
    time::{Instant, sleep, sleep_until, timeout, timeout_at},
};
use tokio_util::sync::CancellationToken;

use super::{
    BadElection, Election, Fence, JITTER, Leadership,
    fence::Renewal,
    lease::{Observed, Step, claimed, decide, released},
};
use crate::{Clock, metrics::Metrics};

/// Takes part in an election.
pub struct Elector {
    leases: Api<Lease>,
    election: Election,
    clock: Clock,
    metrics: Metrics,
    fence: Fence,
    observed: Observed,
    leadership: watch::Sender<Leadership>,
}

/// How an [`Elector`] ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// It led, and no longer does. The fence is closed; what is left to do is to exit with an error.
    Lost(Loss),
    /// It was stopped, and gave the lease back.
    Released,
    /// It was stopped. It did not lead, or kept the lease.
    Stopped,
}

/// How leadership was lost.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Loss {
    /// The lease could not be renewed in time.
    #[error("the lease was not renewed within {within:?}: {problem}")]
    NotRenewed {
        /// The renew deadline.
        within: Duration,
        /// What went wrong last.
        problem: String,
    },
    /// Somebody else holds the lease: it was edited, or deleted and taken.
    #[error("{0} holds the lease now")]
    Taken(String),
}

/// What a look at the lease led to.
enum Look {
    /// It was written, and is ours.
    Ours,
    /// Somebody else holds it.
    HeldBy(String),
}

/// A failed call, in words for people.
struct Problem(String);

/// A call that got no good answer.
enum CallError {
    Api(Box<kube::Error>),
    TimedOut,
}

impl Elector {
    /// An elector, and the fence that it opens while it leads. `client` must not be behind that fence, and should not share its
    /// limits with others: a renewal must not queue behind their writes.
    pub fn new(
        client: kube::Client,
        election: Election,
        clock: Clock,
        metrics: Metrics,
    ) -> Result<(Self, Fence), BadElection> {
        election.validate()?;
        let fence = Fence::closed(clock, election.renew_deadline);
        let leadership = watch::Sender::new(Leadership {
            identity: election.identity.clone(),
            leading: false,
            holder: None,
            since: None,
            transitions: 0,
            problem: None,
        });
        metrics.leader(&election.name, false);
        let leases = Api::namespaced(client, &election.namespace);
        let observed = Observed::default();
        Ok((Self { leases, election, clock, metrics, fence: fence.clone(), observed, leadership }, fence))
    }

    /// How the election stands, and every change of it.
    pub fn leadership(&self) -> watch::Receiver<Leadership> {
        self.leadership.subscribe()
    }

    /// Waits for the lease, then holds it. Cancel `stop` only when the workers are done: the lease is given back at once, and
    /// another replica starts. A leadership happens once: start a new process after a loss.
    pub async fn run(mut self, stop: CancellationToken) -> Ended {
        while !self.acquire().await {
            let pause = self.election.retry_period.mul_f64(1.0 + JITTER * fastrand::f64());
            tokio::select! {
                biased;
                () = stop.cancelled() => return Ended::Stopped,
                () = sleep(pause) => {}
            }
        }
        tracing::info!(lease = %self.name(), identity = self.election.identity, token = self.fence.token(), "leading");
        let ended = self.hold(&stop).await;
        self.fence.close();
        self.report(None);
        ended
    }

    /// One try to become the leader.
    async fn acquire(&mut self) -> bool {
        let problem = self.look().await.err();
        self.report(problem);
        self.fence.check().is_ok()
    }

    /// Renews until stopped or lost.
    async fn hold(&mut self, stop: &CancellationToken) -> Ended {
        let mut last_problem = "no answer".to_owned();
        let mut began = Instant::now();
        while let Some(lapse) = self.fence.lapses_at() {
            // From start to start, as the fence counts: with answers that take seconds, a pause after each would be too long.
            let next = lapse.min(began + self.election.retry_period);
            tokio::select! {
                biased;
                () = stop.cancelled() => return self.release().await,
                () = sleep_until(next) => {}
            }
            began = Instant::now();
            if began >= lapse {
                break;
            }
            match timeout_at(lapse, self.renew()).await {
                Ok(Ok(Look::Ours)) => self.report(None),
                Ok(Ok(Look::HeldBy(holder))) => {
                    tracing::error!(lease = %self.name(), holder, "the lease was taken: no longer leading");
                    return Ended::Lost(Loss::Taken(holder));
                }
                Ok(Err(problem)) => {
                    last_problem.clone_from(&problem.0);
                    self.report(Some(problem));
                }
                Err(_) => {}
            }
        }
        let loss = Loss::NotRenewed { within: self.election.renew_deadline, problem: last_problem };
        tracing::error!(lease = %self.name(), %loss, "no longer leading");
        Ended::Lost(loss)
    }

    /// Writes the lease as we know it, without reading it first; reads it only when it is not what we know.
    async fn renew(&mut self) -> Result<Look, Problem> {
        let Some(known) = self.observed.lease.clone() else { return self.look().await };
        let lease = claimed(known, &self.election, true, self.clock.now());
        match self.write(Step::Replace(lease)).await {
            Err(CallError::Api(error)) if matches!(code(&error), Some(404 | 409)) => {
                self.metrics.leader_slow_path(&self.election.name);
                self.look().await
            }
            answer => self.explained("update", answer).map(|()| Look::Ours),
        }
    }

    /// Reads the lease, and takes or renews it if the rules allow.
    async fn look(&mut self) -> Result<Look, Problem> {
        let read = self.call(self.leases.get_opt(&self.election.name)).await;
        let live = self.explained("get", read)?;
        let now = Instant::now();
        self.observed.note(live.as_ref(), now);
        let step = decide(&self.election, &self.observed, live.as_ref(), now, self.clock.now());
        let verb = match &step {
            Step::Wait { holder, remaining } => {
                tracing::debug!(lease = %self.name(), holder, ?remaining, "standing by");
                return Ok(Look::HeldBy(holder.clone()));
            }
            Step::Create(_) => "create",
            Step::Replace(_) => "update",
        };
        let written = self.write(step).await;
        self.explained(verb, written).map(|()| Look::Ours)
    }

    /// Writes the lease and, when that succeeded in time, opens the fence.
    async fn write(&mut self, step: Step) -> Result<(), CallError> {
        let renewal = Renewal { at: Instant::now(), wall: self.clock.now() };
        let options = PostParams::default();
        let written = match &step {
            Step::Create(lease) => self.call(self.leases.create(&options, lease)).await?,
            Step::Replace(lease) => {
                self.call(self.leases.replace(&self.election.name, &options, lease)).await?
            }
            Step::Wait { .. } => return Ok(()),
        };
        self.observed.note(Some(&written), Instant::now());
        if self.observed.holder() == Some(&*self.election.identity) {
            self.fence.renewed(renewal, self.observed.transitions());
        }
        Ok(())
    }

    /// Gives the lease back, so that the next leader need not wait.
    async fn release(&mut self) -> Ended {
        self.fence.close();
        if !self.election.release_on_stop {
            return Ended::Stopped;
        }
        // The second time after a read: a renewal whose answer was lost has changed what we know.
        for _ in 0..2 {
            let Some(known) = self.observed.lease.clone() else { break };
            if self.observed.holder() != Some(&*self.election.identity) {
                break;
            }
            let free = released(known, self.clock.now());
            let options = PostParams::default();
            match self.call(self.leases.replace(&self.election.name, &options, &free)).await {
                Ok(lease) => {
                    self.observed.note(Some(&lease), Instant::now());
                    tracing::info!(lease = %self.name(), "lease given back");
                    return Ended::Released;
                }
                Err(CallError::Api(error)) if code(&error) == Some(409) => {
                    let Ok(live) = self.call(self.leases.get_opt(&self.election.name)).await else { break };
                    self.observed.note(live.as_ref(), Instant::now());
                }
                Err(_) => break,
            }
        }
        tracing::warn!(lease = %self.name(), "lease not given back: the next leader waits until it has expired");
        Ended::Stopped
    }

    /// Half of the renew deadline for every call, so that after one that hangs there is time for another.
    async fn call<T>(&self, call: impl Future<Output = kube::Result<T>>) -> Result<T, CallError> {
        match timeout(self.election.renew_deadline / 2, call).await {
            Ok(answer) => answer.map_err(|error| CallError::Api(Box::new(error))),
            Err(_) => Err(CallError::TimedOut),
        }
    }

    fn explained<T>(&self, verb: &str, answer: Result<T, CallError>) -> Result<T, Problem> {
        let namespace = &self.election.namespace;
        answer.map_err(|error| {
            Problem(match error {
                CallError::TimedOut => format!("cannot {verb} lease {}: no answer", self.name()),
                CallError::Api(error) => match code(&error) {
                    Some(403) => format!(
                        "not allowed to {verb} lease {}: grant get, create and update on leases.coordination.k8s.io \
                         in namespace {namespace} to this service account",
                        self.name()
                    ),
                    Some(404) if verb == "create" => {
                        format!("cannot create lease {}: namespace {namespace} does not exist", self.name())
                    }
                    Some(409) => format!("lease {} was changed by somebody else just now", self.name()),
                    _ => format!("cannot {verb} lease {}: {error}", self.name()),
                },
            })
        })
    }

    /// Tells everybody how it stands. A problem is logged when it is new.
    fn report(&self, problem: Option<Problem>) {
        let problem = problem.map(|problem| problem.0);
        let now = Leadership {
            identity: self.election.identity.clone(),
            leading: self.fence.check().is_ok(),
            holder: self.observed.holder().map(ToOwned::to_owned),
            since: self.observed.since(),
            transitions: self.observed.transitions(),
            problem,
        };
        self.leadership.send_if_modified(|last| {
            let changed = *last != now;
            if let Some(problem) = now.problem.as_ref().filter(|_| last.problem != now.problem) {
                tracing::warn!(lease = %self.name(), "{problem}");
            }
            if last.leading != now.leading {
                self.metrics.leader(&self.election.name, now.leading);
            }
            *last = now;
            changed
        });
    }

    fn name(&self) -> String {
        format!("{}/{}", self.election.namespace, self.election.name)
    }
}

fn code(error: &kube::Error) -> Option<u16> {
    match error {
        kube::Error::Api(status) => Some(status.code),
        _ => None,
    }
}
