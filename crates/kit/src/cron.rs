//! Cron expressions as Kubernetes takes them: five fields, each a list of ranges with steps, or `@daily` and its kind. Whether one is
//! sound, and when it comes true.
//!
//! The API server would refuse a CronJob that has another one, too: but after whatever was applied before it, and by the name
//! of a field that its user never wrote.

use jiff::{Timestamp, ToSpan as _, civil::Date, tz::TimeZone};

/// A field, its bounds, and the names that stand for numbers from the lower bound on.
type Field = (&'static str, i8, i8, &'static [&'static str]);

const FIELDS: [Field; 5] = [
    ("minute", 0, 59, &[]),
    ("hour", 0, 23, &[]),
    ("day of the month", 1, 31, &[]),
    ("month", 1, 12, &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]),
    ("day of the week", 0, 6, &["sun", "mon", "tue", "wed", "thu", "fri", "sat"]),
];

/// Each name, and what it stands for.
const NAMED: &[(&str, &str)] = &[
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
    ("@monthly", "0 0 1 * *"),
    ("@weekly", "0 0 * * 0"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@hourly", "0 * * * *"),
];

/// Beyond that nothing is expected any more: 29 February is eight years away at most.
const HORIZON_DAYS: usize = 366 * 9;

/// What is wrong with `expression`, if something is.
pub fn check(expression: &str) -> Result<(), String> {
    Times::parse(expression).map(drop)
}

/// The times of a cron expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Times {
    minutes: Vec<i8>,
    hours: Vec<i8>,
    days: Vec<i8>,
    months: Vec<i8>,
    weekdays: Vec<i8>,
    /// Cron's oddity: when both days are restricted, one of them suffices.
    either_day: bool,
}

impl Times {
    /// Reads an expression; the error says what is wrong with it.
    pub fn parse(expression: &str) -> Result<Self, String> {
        let named = NAMED.iter().find(|(name, _)| *name == expression);
        let parts: Vec<&str> = named.map_or(expression, |(_, meant)| meant).split_whitespace().collect();
        let [minute, hour, day, month, weekday] = parts.as_slice() else {
            return Err(format!("{expression:?} has {} fields, not five", parts.len()));
        };
        let [minutes, hours, days, months, weekdays] = FIELDS;
        let is_free = |part: &str| part.starts_with(['*', '?']);
        Ok(Self {
            minutes: values(minute, minutes)?,
            hours: values(hour, hours)?,
            days: values(day, days)?,
            months: values(month, months)?,
            weekdays: values(weekday, weekdays)?,
            either_day: !is_free(day) && !is_free(weekday),
        })
    }

    /// The first time after `after`, as clocks in `zone` show it. A time that they skip in spring does not come.
    pub fn after(&self, after: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        let start = after.to_zoned(zone.clone()).date();
        let days = start.series(1.day()).take(HORIZON_DAYS).filter(|day| self.is_day(*day));
        let times = days.flat_map(|day| {
            let hours = self.hours.iter();
            hours.flat_map(move |hour| self.minutes.iter().map(move |minute| day.at(*hour, *minute, 0, 0)))
        });
        let mut real = times.filter_map(|time| {
            let zoned = zone.to_ambiguous_zoned(time).compatible().ok()?;
            (zoned.datetime() == time).then(|| zoned.timestamp())
        });
        real.find(|time| *time > after)
    }

    fn is_day(&self, day: Date) -> bool {
        let of_month = self.days.contains(&day.day());
        let of_week = self.weekdays.contains(&day.weekday().to_sunday_zero_offset());
        let fits = if self.either_day { of_month || of_week } else { of_month && of_week };
        fits && self.months.contains(&day.month())
    }
}

/// What a field allows, in order.
fn values(part: &str, (field, low, high, names): Field) -> Result<Vec<i8>, String> {
    let mut all = Vec::new();
    for range in part.split(',') {
        let fits = range_of(range, low, high, names);
        all.extend(
            fits.ok_or_else(|| {
                format!("{range:?} is no {field}: {low} to {high}, for example {low} or */2")
            })?,
        );
    }
    all.sort_unstable();
    all.dedup();
    Ok(all)
}

/// `*`, `3`, `1-5`, each perhaps with `/2` after it.
fn range_of(range: &str, low: i8, high: i8, names: &[&str]) -> Option<impl Iterator<Item = i8> + use<>> {
    let (range, step) = range.split_once('/').map_or((range, None), |(range, step)| (range, Some(step)));
    let is_open = step.is_some();
    let step = step.map_or(Some(1), |step| step.parse::<u8>().ok().filter(|step| *step > 0))?;
    let number = |text: &str| {
        let named = names.iter().position(|name| text.eq_ignore_ascii_case(name));
        let named = named.and_then(|at| i8::try_from(at).ok()).map(|at| at + low);
        named.or_else(|| text.parse().ok()).filter(|number| (low..=high).contains(number))
    };
    let (from, to) = match range.split_once('-') {
        _ if matches!(range, "*" | "?") => (low, high),
        Some((from, to)) => (number(from)?, number(to)?),
        // `5/15` is from 5 on.
        None if is_open => (number(range)?, high),
        None => (number(range)?, number(range)?),
    };
    (from <= to).then(|| (from..=to).step_by(step.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_kubernetes_takes_is_taken() {
        for good in ["0 3 * * *", "*/5 0-6/2 1,15 jan-mar MON", "@daily", "59 23 31 12 6", "0 0 ? * 1-5"] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
    }

    #[test]
    fn the_next_time_is_that_of_the_clocks_in_the_zone() {
        // From a Thursday.
        let from: Timestamp = "2026-01-01T00:00:30Z".parse().unwrap();
        let berlin = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
        for (schedule, zone, after, next) in [
            ("* * * * *", &TimeZone::UTC, from, "2026-01-01T00:01:00Z"),
            ("0 3 * * *", &TimeZone::UTC, from, "2026-01-01T03:00:00Z"),
            ("0 3 * * *", &berlin, from, "2026-01-01T02:00:00Z"),
            ("*/15 * * * *", &TimeZone::UTC, from, "2026-01-01T00:15:00Z"),
            ("@daily", &TimeZone::UTC, from, "2026-01-02T00:00:00Z"),
            ("30 2 * * MON-FRI", &TimeZone::UTC, from, "2026-01-01T02:30:00Z"),
            ("0 0 13 * 6", &TimeZone::UTC, from, "2026-01-03T00:00:00Z"),
            ("5,50 22-23/1 31 3,12 *", &TimeZone::UTC, from, "2026-03-31T22:05:00Z"),
            ("0 0 29 2 *", &TimeZone::UTC, from, "2028-02-29T00:00:00Z"),
            // The night in which clocks go from two to three.
            ("30 2 * * *", &berlin, "2026-03-28T12:00:00Z".parse().unwrap(), "2026-03-30T00:30:00Z"),
        ] {
            let times = Times::parse(schedule).unwrap();
            assert_eq!(times.after(after, zone).unwrap().to_string(), next, "{schedule}");
        }
        assert_eq!(Times::parse("0 0 31 2 *").unwrap().after(from, &TimeZone::UTC), None);
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (bad, why) in [
            ("61 * * * *", "\"61\" is no minute: 0 to 59, for example 0 or */2"),
            ("0 3 * *", "\"0 3 * *\" has 4 fields, not five"),
            ("0 3 0 * *", "\"0\" is no day of the month: 1 to 31, for example 1 or */2"),
            ("0 3 * * 7", "\"7\" is no day of the week: 0 to 6, for example 0 or */2"),
            ("*/0 * * * *", "\"*/0\" is no minute: 0 to 59, for example 0 or */2"),
            ("5-2 * * * *", "\"5-2\" is no minute: 0 to 59, for example 0 or */2"),
        ] {
            assert_eq!(check(bad).unwrap_err(), why);
        }
    }
}
