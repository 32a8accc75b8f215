//! Named checks, and the heartbeat of the event loop.

use std::{
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex, PoisonError, RwLock},
    time::Duration,
};

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

pub(super) type Check = Arc<dyn Fn() -> Result<(), String> + Send + Sync>;

#[derive(Default)]
pub(super) struct Checks(RwLock<BTreeMap<String, Check>>);

impl Checks {
    pub(super) fn add(&self, name: String, check: Check) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).insert(name, check);
    }

    /// What the checks say: all, or the one that is asked for (`None` if there is no such).
    pub(super) fn report(&self, only: Option<&str>, verbose: bool) -> Option<Result<String, String>> {
        let checks = self.0.read().unwrap_or_else(PoisonError::into_inner).clone();
        let asked: Vec<_> = checks.iter().filter(|(name, _)| only.is_none_or(|only| only == *name)).collect();
        if asked.is_empty() && only.is_some() {
            return None;
        }
        let mut healthy = true;
        let mut text = String::new();
        for (name, check) in asked {
            // A check that panics is broken, and must not take the others' answers with it.
            let said = catch_unwind(AssertUnwindSafe(|| check()))
                .unwrap_or_else(|_| Err("the check panicked".into()));
            match said {
                Ok(()) => text += &format!("[+] {name} ok\n"),
                Err(why) => {
                    healthy = false;
                    text += &format!("[-] {name} failed: {why}\n");
                }
            }
        }
        Some(match (healthy, verbose) {
            (true, true) => Ok(text + "ok\n"),
            (true, false) => Ok("ok\n".into()),
            (false, _) => Err(text + "failed\n"),
        })
    }
}

const BEAT: Duration = Duration::from_secs(1);
/// Long enough for a slow node, short enough that a blocked runtime is restarted within a minute by the usual probe.
const OVERDUE: Duration = Duration::from_secs(15);

/// A task that notes the time each second: when it is not polled, nothing else is either.
#[derive(Clone)]
pub(super) struct Heartbeat(Arc<Mutex<Instant>>);

impl Heartbeat {
    pub(super) fn start(stop: CancellationToken) -> Self {
        let beat = Self(Arc::new(Mutex::new(Instant::now())));
        let writer = beat.clone();
        tokio::spawn(async move {
            let mut every = tokio::time::interval(BEAT);
            while stop.run_until_cancelled(every.tick()).await.is_some() {
                *writer.0.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
            }
        });
        beat
    }

    pub(super) fn check(&self) -> Result<(), String> {
        let age = self.0.lock().unwrap_or_else(PoisonError::into_inner).elapsed();
        match age < OVERDUE {
            true => Ok(()),
            false => Err(format!("the event loop has not turned for {} s", age.as_secs())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checks(list: &[(&str, Result<(), &'static str>)]) -> Checks {
        let checks = Checks::default();
        for (name, says) in list.iter().copied() {
            checks.add(name.into(), Arc::new(move || says.map_err(str::to_owned)));
        }
        checks
    }

    #[test]
    fn all_well_is_one_word_unless_asked_for_more() {
        let checks = checks(&[("a", Ok(())), ("b", Ok(()))]);
        assert_eq!(checks.report(None, false), Some(Ok("ok\n".into())));
        assert_eq!(checks.report(None, true), Some(Ok("[+] a ok\n[+] b ok\nok\n".into())));
        assert_eq!(checks.report(Some("b"), true), Some(Ok("[+] b ok\nok\n".into())));
        assert_eq!(checks.report(Some("c"), true), None);
    }

    #[test]
    fn a_failure_always_says_which_and_why() {
        let checks = checks(&[("a", Ok(())), ("caches", Err("EtcdCluster: its CRD is not installed"))]);
        let text = "[+] a ok\n[-] caches failed: EtcdCluster: its CRD is not installed\nfailed\n";
        assert_eq!(checks.report(None, false), Some(Err(text.into())));
        assert_eq!(checks.report(Some("a"), false), Some(Ok("ok\n".into())));
    }

    #[test]
    fn a_check_that_panics_fails_alone() {
        let checks = checks(&[("a", Ok(()))]);
        checks.add("b".into(), Arc::new(|| panic!("broken")));
        let text = "[+] a ok\n[-] b failed: the check panicked\nfailed\n";
        assert_eq!(checks.report(None, false), Some(Err(text.into())));
    }

    #[tokio::test(start_paused = true)]
    async fn the_heart_beats_while_the_loop_turns_and_no_longer() {
        let stop = CancellationToken::new();
        let heart = Heartbeat::start(stop.clone());
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert_eq!(heart.check(), Ok(()));
        stop.cancel();
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert_eq!(heart.check(), Err("the event loop has not turned for 60 s".into()));
    }
}
