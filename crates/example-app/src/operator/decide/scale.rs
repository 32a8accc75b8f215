//! How many pods: what the user says, or by the requests that they serve: up at once, down only when fewer have been enough
//! for a minute.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use crate::{Autoscaling, AutoscalingStatus};

/// A lull shorter than this is none.
const PATIENCE: SignedDuration = SignedDuration::from_secs(60);

/// The next decision, from the last one and what the pods say now. Silence is no lull: without figures nothing changes.
pub(crate) fn scale(
    rule: &Autoscaling,
    last: Option<&AutoscalingStatus>,
    load: &[f64],
    now: Timestamp,
) -> AutoscalingStatus {
    let bounded = |replicas: i32| replicas.clamp(rule.min_replicas, rule.max_replicas.max(rule.min_replicas));
    let present = bounded(last.map_or(rule.min_replicas, |last| last.replicas));
    if load.is_empty() {
        return AutoscalingStatus { replicas: present, below_since: None };
    }
    let per_pod = f64::from(rule.requests_per_second.max(1));
    let enough = bounded((load.iter().sum::<f64>() / per_pod).ceil().clamp(0.0, 1e6) as i32);
    if enough >= present {
        return AutoscalingStatus { replicas: enough, below_since: None };
    }
    let since = last.and_then(|last| last.below_since.clone()).unwrap_or(Time(now));
    if now.duration_since(since.0) < PATIENCE {
        return AutoscalingStatus { replicas: present, below_since: Some(since) };
    }
    AutoscalingStatus { replicas: enough, below_since: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn check(last: (i32, Option<i64>), load: &[f64], second: i64, want: (i32, Option<i64>)) {
        let rule = Autoscaling { min_replicas: 1, max_replicas: 4, requests_per_second: 10 };
        let last = AutoscalingStatus { replicas: last.0, below_since: last.1.map(|second| Time(at(second))) };
        let next = scale(&rule, Some(&last), load, at(second));
        assert_eq!((next.replicas, next.below_since.map(|since| since.0.as_second())), want);
    }

    #[test]
    fn up_at_once_down_after_a_minute_and_never_beyond_the_bounds() {
        check((1, None), &[25.0], 100, (3, None));
        check((1, None), &[900.0], 100, (4, None));
        check((3, None), &[4.0, 4.0, 4.0], 100, (3, Some(100)));
        check((3, Some(100)), &[4.0, 4.0, 4.0], 159, (3, Some(100)));
        check((3, Some(100)), &[4.0, 4.0, 4.0], 160, (2, None));
        check((3, Some(100)), &[9.0, 9.0, 9.0], 130, (3, None));
        check((2, Some(100)), &[0.0, 0.0], 200, (1, None));
        check((9, None), &[], 100, (4, None));
        check((3, Some(40)), &[], 100, (3, None));
    }
}
