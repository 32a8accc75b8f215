//! What `status --until-healthy` waits for, and when waiting is in vain.
//!
//! Invariant: nothing is called healthy, and no spec refused, by a status that is about an earlier spec.

use std::time::Duration;

use etcd_core::Why;
use etcd_types::{EtcdCluster, EtcdClusterStatus, Phase};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kit::pause;
use tokio::time::Instant;

use super::view;
use crate::look::words::plain;

/// What must not be false, whatever the phase says: part of what was asked for is not there yet.
const NEEDED: &[&str] = &["UpToDate", "VolumesReady", "Reconciled"];

/// How long something must be stuck. Whoever has just removed the cause asks before the operator has seen that.
const GRACE: Duration = Duration::from_secs(5);

/// How long is as good as for ever.
const FOR_EVER: Duration = Duration::from_secs(365 * 86_400);

/// How far a cluster is from what was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Standing {
    Healthy,
    /// It goes on by itself; what is missing.
    NotYet(String),
    /// It goes on only when somebody does something: what.
    Stuck(String),
    /// The same, and that cannot have changed meanwhile.
    Never(String),
}

/// All of it about the spec as it is now.
pub(super) fn standing(cluster: &EtcdCluster) -> Standing {
    if let Some(why) = pause::why(cluster, cluster.spec.paused) {
        return Standing::Never(why);
    }
    if let Some(why) = view::unseen(cluster) {
        return Standing::NotYet(why);
    }
    let nothing = EtcdClusterStatus::default();
    let status = cluster.status.as_ref().unwrap_or(&nothing);
    let is_false = |condition: &&Condition| condition.status == "False";
    let conditions = || status.conditions.iter().flatten().filter(is_false);
    if let Some(refused) = conditions().find(|condition| condition.type_ == "SpecValid") {
        return Standing::Never(refused.message.clone());
    }
    if let Some(failed) = conditions().find(|condition| condition.reason == Why::RollFailed.as_str()) {
        return Standing::Stuck(failed.message.clone());
    }
    let message = || status.message.clone().unwrap_or_default();
    match status.phase {
        Some(Phase::WaitingForUser) => return Standing::Stuck(message()),
        Some(Phase::Deleting) => return Standing::Never("it is being deleted".to_owned()),
        Some(Phase::Healthy) if status.operation.is_none() => {}
        _ => return Standing::NotYet(view::line(cluster)),
    }
    match conditions().find(|condition| NEEDED.contains(&condition.type_.as_str())) {
        Some(missing) => {
            Standing::NotYet(format!("{}=False ({}): {}", missing.type_, missing.reason, missing.message))
        }
        None => Standing::Healthy,
    }
}

/// How long somebody waits.
#[derive(Debug, Clone)]
pub(super) struct Patience {
    ends: Instant,
    stuck_since: Option<Instant>,
}

impl Patience {
    pub(super) fn new(timeout: Option<Duration>) -> Self {
        Self { ends: Instant::now() + timeout.unwrap_or(FOR_EVER), stuck_since: None }
    }

    /// When it is over.
    pub(super) fn ends(&self) -> Instant {
        self.ends
    }

    /// Whether to wait no longer: all is well, or why it never will be.
    pub(super) fn judge(&mut self, standing: Standing, now: Instant) -> Option<Result<(), String>> {
        let stuck_since = self.stuck_since.take();
        match standing {
            Standing::Healthy => Some(Ok(())),
            Standing::Never(why) => Some(Err(plain(&why))),
            Standing::Stuck(why) => {
                let since = *self.stuck_since.insert(stuck_since.unwrap_or(now));
                (now - since >= GRACE || now >= self.ends).then(|| Err(plain(&why)))
            }
            Standing::NotYet(what) => {
                (now >= self.ends).then(|| Err(format!("not healthy in time: {}", plain(&what))))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use etcd_types::Operation;

    use super::{super::view::samples, *};

    fn with(change: impl FnOnce(&mut EtcdCluster)) -> EtcdCluster {
        let mut cluster = samples::healthy();
        change(&mut cluster);
        cluster
    }

    fn told(kind: &str, reason: &str, message: &str) -> EtcdCluster {
        with(|it| {
            let conditions = &mut it.status.as_mut().unwrap().conditions;
            conditions.get_or_insert_default().push(samples::condition(kind, "False", reason, message));
        })
    }

    fn in_phase(phase: Phase, message: &str) -> EtcdCluster {
        with(|it| {
            let status = it.status.as_mut().unwrap();
            (status.phase, status.message) = (Some(phase), Some(message.into()));
        })
    }

    #[test]
    fn healthy_is_what_has_all_that_was_asked_for() {
        let operation: Option<Operation> = samples::upgrading().status.unwrap().operation;
        let not_yet = [
            ("nobody has looked", samples::untouched(), "the operator has not looked at it yet"),
            (
                "edited since",
                with(|it| it.metadata.generation = Some(3)),
                "the operator has not seen the last change of the spec yet",
            ),
            ("an upgrade", samples::upgrading(), "shop/db Upgrading, 2 of 3 serve"),
            (
                "something is under way",
                with(|it| it.status.as_mut().unwrap().operation = operation),
                "shop/db Healthy, 3 of 3 serve, Upgrade 3.7.3",
            ),
            ("settings", told("UpToDate", "Outdated", "db-1 has others"), "UpToDate=False (Outdated): db-1"),
            ("volumes", told("VolumesReady", "VolumesGrow", "data-db-1"), "VolumesReady=False (VolumesGrow)"),
            ("an error", told("Reconciled", "ActFailed", "no quota"), "Reconciled=False (ActFailed): no"),
            ("paused until now", in_phase(Phase::Paused, "spec.paused is set"), "shop/db Paused"),
        ];
        for (name, cluster, start) in not_yet {
            match standing(&cluster) {
                Standing::NotYet(what) => assert!(what.starts_with(start), "{name}: {what}"),
                other => panic!("{name}: {other:?}"),
            }
        }
        assert_eq!(standing(&samples::healthy()), Standing::Healthy);
        // As the spec asks for it: nothing to wait for.
        assert_eq!(standing(&told("TLSValid", "TLSOff", "spec.tls.mode is Off")), Standing::Healthy);
    }

    #[test]
    fn what_waits_for_somebody_is_told_instead_of_waited_for() {
        let refused = "spec.version: 3.7.3 cannot follow 3.5.35";
        assert_eq!(standing(&samples::refused()), Standing::Never(refused.into()));
        let paused = standing(&with(|it| it.spec.paused = true));
        assert!(
            matches!(&paused, Standing::Never(why) if why.starts_with("spec.paused is set")),
            "{paused:?}"
        );
        let annotated = with(|it| {
            it.metadata.annotations = Some([(pause::PAUSED.to_owned(), "true".to_owned())].into());
        });
        let paused = standing(&annotated);
        assert!(matches!(&paused, Standing::Never(why) if why.contains("To go on: kubectl")), "{paused:?}");
        assert_eq!(standing(&in_phase(Phase::Deleting, "")), Standing::Never("it is being deleted".into()));
        let asks = "set spec.updateStrategy.approve to 3.7.3";
        assert_eq!(standing(&in_phase(Phase::WaitingForUser, asks)), Standing::Stuck(asks.into()));
        let failed = "db-1 does not serve with 3.7.3";
        assert_eq!(standing(&told("UpToDate", "RollFailed", failed)), Standing::Stuck(failed.into()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_cause_that_was_just_removed_is_given_time_to_be_noticed() {
        let (start, stuck) = (Instant::now(), || Standing::Stuck("the backup failed".into()));
        let mut patience = Patience::new(None);
        assert_eq!(patience.judge(stuck(), start), None);
        assert_eq!(patience.judge(Standing::NotYet("goes on".into()), start + GRACE), None);
        assert_eq!(patience.judge(stuck(), start + GRACE), None, "that is another time");
        let why = patience.judge(stuck(), start + GRACE * 2);
        assert_eq!(why, Some(Err("the backup failed".into())));
        assert_eq!(patience.judge(Standing::Never("refused".into()), start), Some(Err("refused".into())));
    }

    #[tokio::test(start_paused = true)]
    async fn patience_ends_with_what_is_missing() {
        let mut patience = Patience::new(Some(Duration::from_secs(30)));
        let missing = || Standing::NotYet("VolumesReady=False".into());
        let ends = patience.ends();
        assert_eq!(patience.judge(missing(), ends - Duration::from_millis(1)), None);
        let over = patience.judge(missing(), ends);
        assert_eq!(over, Some(Err("not healthy in time: VolumesReady=False".into())));
        assert_eq!(patience.judge(Standing::Healthy, ends), Some(Ok(())), "at the last moment");
    }
}
