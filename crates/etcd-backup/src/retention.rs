//! Which backups may go. A pure function of what there is, the policy and the time; the newest good one always stays.

use std::collections::BTreeSet;

use jiff::{Timestamp, ToSpan as _, Zoned, tz::TimeZone};

/// What is to be kept. A backup stays when any of these wants it; a policy that says nothing keeps everything.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Policy {
    /// So many, the newest ones.
    pub last: Option<u32>,
    /// All that are younger than so many hours.
    pub hours: Option<u32>,
    /// The newest of each of the last so many hours, days, weeks, months and years that have one (grandfather, father, son).
    pub hourly: u32,
    pub daily: u32,
    pub weekly: u32,
    pub monthly: u32,
    pub yearly: u32,
}

/// What names an hour, a day, a week, a month or a year.
type Period = fn(&Zoned) -> (i16, i16);

/// A backup as far as this matters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backup {
    pub id: String,
    pub taken_at: Timestamp,
    /// Known to be whole; one that failed its verification is not.
    pub good: bool,
}

impl Policy {
    fn keeps_everything(&self) -> bool {
        *self == Self::default()
    }

    /// The ids that nothing wants any more, oldest first.
    pub fn superfluous(&self, backups: &[Backup], now: Timestamp) -> Vec<String> {
        if self.keeps_everything() {
            return Vec::new();
        }
        let mut newest_first: Vec<&Backup> = backups.iter().collect();
        newest_first.sort_by(|a, b| (b.taken_at, &b.id).cmp(&(a.taken_at, &a.id)));
        let good: Vec<&Backup> = newest_first.iter().copied().filter(|backup| backup.good).collect();

        let mut kept: BTreeSet<&str> = good.first().map(|backup| backup.id.as_str()).into_iter().collect();
        kept.extend(good.iter().take(self.last.unwrap_or(0) as usize).map(|backup| backup.id.as_str()));
        if let Some(since) = self.hours.and_then(|hours| now.checked_sub(i64::from(hours).hours()).ok()) {
            let young = newest_first.iter().filter(|backup| backup.taken_at >= since);
            kept.extend(young.map(|backup| backup.id.as_str()));
        }
        for (count, period) in self.periods() {
            let mut seen = BTreeSet::new();
            // The first of a period, going back in time, is its newest.
            let first =
                good.iter().filter(|backup| seen.insert(period(&backup.taken_at.to_zoned(TimeZone::UTC))));
            kept.extend(first.take(count as usize).map(|backup| backup.id.as_str()));
        }
        // A bad one is kept as long as it is the newest of all: somebody will want to know why.
        kept.extend(newest_first.first().map(|backup| backup.id.as_str()));
        newest_first
            .iter()
            .rev()
            .map(|backup| &backup.id)
            .filter(|id| !kept.contains(id.as_str()))
            .cloned()
            .collect()
    }

    fn periods(&self) -> [(u32, Period); 5] {
        [
            (self.hourly, |at| (at.year(), at.day_of_year() * 24 + i16::from(at.hour()))),
            (self.daily, |at| (at.year(), at.day_of_year())),
            (self.weekly, |at| {
                let week = at.date().iso_week_date();
                (week.year(), i16::from(week.week()))
            }),
            (self.monthly, |at| (at.year(), i16::from(at.month()))),
            (self.yearly, |at| (at.year(), 0)),
        ]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(text: &str) -> Timestamp {
        format!("{text}Z").parse().unwrap()
    }

    fn backup(time: &str) -> Backup {
        Backup { id: time.to_owned(), taken_at: at(time), good: true }
    }

    fn superfluous(policy: Policy, backups: &[Backup]) -> Vec<String> {
        policy.superfluous(backups, at("2026-11-16T12:00:00"))
    }

    fn twice_a_day() -> Vec<Backup> {
        (1..=16)
            .flat_map(|day| [3, 15].map(|hour| backup(&format!("2026-11-{day:02}T{hour:02}:00:00"))))
            .collect()
    }

    #[test]
    fn without_a_policy_everything_stays() {
        assert!(superfluous(Policy::default(), &twice_a_day()).is_empty());
    }

    #[test]
    fn the_last_three() {
        let gone = superfluous(Policy { last: Some(3), ..Policy::default() }, &twice_a_day());
        assert_eq!(gone.len(), 29);
        assert_eq!(gone.first().unwrap(), "2026-11-01T03:00:00");
        assert_eq!(gone.last().unwrap(), "2026-11-14T15:00:00".replace("14T15", "15T03").as_str());
    }

    #[test]
    fn days_and_weeks_keep_the_newest_of_each() {
        let policy = Policy { daily: 2, weekly: 3, ..Policy::default() };
        let gone = superfluous(policy, &twice_a_day());
        let kept: Vec<_> =
            twice_a_day().into_iter().map(|it| it.id).filter(|id| !gone.contains(id)).collect();
        // 2026-11-16 is a Monday: its week, and the two that ended on the 15th and the 8th.
        assert_eq!(kept, ["2026-11-08T15:00:00", "2026-11-15T15:00:00", "2026-11-16T15:00:00"]);
    }

    #[test]
    fn what_is_young_stays_good_or_not() {
        let mut backups = twice_a_day();
        backups.iter_mut().for_each(|backup| backup.good = false);
        let gone = superfluous(Policy { hours: Some(24), ..Policy::default() }, &backups);
        assert!(!gone.contains(&"2026-11-15T15:00:00".to_owned()));
        assert!(gone.contains(&"2026-11-15T03:00:00".to_owned()));
    }

    fn policies() -> impl Strategy<Value = Policy> {
        let few = 0_u32..4;
        (
            proptest::option::of(0_u32..4),
            proptest::option::of(0_u32..400),
            few.clone(),
            few.clone(),
            few.clone(),
            few.clone(),
            few,
        )
            .prop_map(|(last, hours, hourly, daily, weekly, monthly, yearly)| Policy {
                last,
                hours,
                hourly,
                daily,
                weekly,
                monthly,
                yearly,
            })
    }

    fn any_backups() -> impl Strategy<Value = Vec<Backup>> {
        let one = (1_700_000_000_i64..1_795_000_000, any::<bool>());
        proptest::collection::vec(one, 0..40).prop_map(|all| {
            let backup = |(number, (second, good)): (usize, (i64, bool))| Backup {
                id: number.to_string(),
                taken_at: Timestamp::from_second(second).unwrap(),
                good,
            };
            all.into_iter().enumerate().map(backup).collect()
        })
    }

    proptest! {
        #[test]
        fn the_newest_good_one_is_never_superfluous(policy in policies(), backups in any_backups()) {
            let gone = policy.superfluous(&backups, at("2026-11-16T12:00:00"));
            let newest = backups.iter().filter(|it| it.good).max_by_key(|it| (it.taken_at, it.id.clone()));
            prop_assert!(newest.is_none_or(|newest| !gone.contains(&newest.id)));
        }

        #[test]
        fn what_was_kept_is_kept_when_asked_again(policy in policies(), backups in any_backups()) {
            let now = at("2026-11-16T12:00:00");
            let gone = policy.superfluous(&backups, now);
            let rest: Vec<Backup> = backups.into_iter().filter(|it| !gone.contains(&it.id)).collect();
            prop_assert!(policy.superfluous(&rest, now).is_empty());
        }
    }
}
