//! Cron expressions of five fields, in UTC: numbers, `*`, ranges, lists and steps, and the short forms such as `@daily`.

use jiff::{SignedDuration, Timestamp, tz::TimeZone};

/// Name, first and last value of each field.
const FIELDS: [(&str, i8, i8); 5] =
    [("minute", 0, 59), ("hour", 0, 23), ("day of month", 1, 31), ("month", 1, 12), ("day of week", 0, 7)];

const SHORT: &[(&str, &str)] = &[
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
    ("@monthly", "0 0 1 * *"),
    ("@weekly", "0 0 * * 0"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@hourly", "0 * * * *"),
];

/// Beyond that nothing is expected any more: 29 February, at most eight years away.
const HORIZON: SignedDuration = SignedDuration::from_hours(24 * 366 * 9);

/// When something is due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Schedule {
    minutes: Vec<i8>,
    hours: Vec<i8>,
    days: Vec<i8>,
    months: Vec<i8>,
    weekdays: Vec<i8>,
    /// Cron's oddity: when both days are restricted, one of them suffices.
    either_day: bool,
}

impl Schedule {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let text = SHORT.iter().find(|(short, _)| *short == text.trim()).map_or(text, |(_, long)| long);
        let words: Vec<&str> = text.split_whitespace().collect();
        let [minute, hour, day, month, weekday] = words.as_slice() else {
            return Err(format!("a schedule has five fields, not {}: \"{text}\"", words.len()));
        };
        let [minutes, hours, days, months, weekdays] = FIELDS;
        let mut schedule = Self {
            minutes: field(minute, minutes)?,
            hours: field(hour, hours)?,
            days: field(day, days)?,
            months: field(month, months)?,
            weekdays: field(weekday, weekdays)?,
            either_day: !day.starts_with('*') && !weekday.starts_with('*'),
        };
        // Sunday is 0 and 7.
        schedule.weekdays.iter_mut().for_each(|day| *day %= 7);
        Ok(schedule)
    }

    /// The first time after `after`.
    pub(super) fn next(&self, after: Timestamp) -> Option<Timestamp> {
        let end = after.checked_add(HORIZON).ok()?;
        let mut at = Timestamp::from_second((after.as_second().div_euclid(60) + 1) * 60).ok()?;
        while at < end {
            let time = at.to_zoned(TimeZone::UTC);
            let to_next_hour = i64::from(60 - time.minute());
            let skip = if !self.months.contains(&time.month()) || !self.is_day(&time) {
                i64::from(23 - time.hour()) * 60 + to_next_hour
            } else if !self.hours.contains(&time.hour()) {
                to_next_hour
            } else if !self.minutes.contains(&time.minute()) {
                1
            } else {
                return Some(at);
            };
            at = at.checked_add(SignedDuration::from_mins(skip)).ok()?;
        }
        None
    }

    /// The last time after `after` and not after `until`.
    pub(super) fn last(&self, after: Timestamp, until: Timestamp) -> Option<Timestamp> {
        let times = std::iter::successors(self.next(after), |time| self.next(*time));
        times.take_while(|time| *time <= until).last()
    }

    fn is_day(&self, time: &jiff::Zoned) -> bool {
        let of_month = self.days.contains(&time.day());
        let of_week = self.weekdays.contains(&time.weekday().to_sunday_zero_offset());
        if self.either_day { of_month || of_week } else { of_month && of_week }
    }
}

/// `*`, `5`, `1-5`, `*/15`, `10-40/10`, and lists of these.
fn field(text: &str, (name, first, last): (&str, i8, i8)) -> Result<Vec<i8>, String> {
    let wrong = || format!("{name} \"{text}\": expected numbers from {first} to {last}, ranges, steps or *");
    let number = |text: &str| {
        text.parse::<i8>().ok().filter(|number| (first..=last).contains(number)).ok_or_else(wrong)
    };
    let mut values = Vec::new();
    for part in text.split(',') {
        let (range, step) = match part.split_once('/') {
            Some((range, step)) => {
                (range, step.parse::<usize>().ok().filter(|step| *step > 0).ok_or_else(wrong)?)
            }
            None => (part, 1),
        };
        let (from, to) = match range.split_once('-') {
            _ if range == "*" => (first, last),
            Some((from, to)) => (number(from)?, number(to)?),
            None if step > 1 => (number(range)?, last),
            None => (number(range)?, number(range)?),
        };
        values.extend((from..=to).step_by(step));
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_time_of_a_schedule() {
        // From a Thursday.
        let from: Timestamp = "2026-01-01T00:00:30Z".parse().unwrap();
        for (schedule, next) in [
            ("* * * * *", "2026-01-01T00:01:00Z"),
            ("0 3 * * *", "2026-01-01T03:00:00Z"),
            ("*/15 * * * *", "2026-01-01T00:15:00Z"),
            ("0 0 * * *", "2026-01-02T00:00:00Z"),
            ("@daily", "2026-01-02T00:00:00Z"),
            ("30 2 * * 1-5", "2026-01-01T02:30:00Z"),
            ("0 0 * * 7", "2026-01-04T00:00:00Z"),
            ("0 0 13 * 6", "2026-01-03T00:00:00Z"),
            ("5,50 22-23/1 31 3,12 *", "2026-03-31T22:05:00Z"),
            ("0 0 29 2 *", "2028-02-29T00:00:00Z"),
        ] {
            assert_eq!(
                Schedule::parse(schedule).unwrap().next(from).unwrap().to_string(),
                next,
                "{schedule}"
            );
        }
        assert_eq!(Schedule::parse("0 0 31 2 *").unwrap().next(from), None);
    }

    #[test]
    fn what_is_no_schedule_is_refused() {
        for wrong in ["", "* * * *", "60 * * * *", "* * 0 * *", "*/0 * * * *", "x * * * *", "@sometimes"] {
            assert!(Schedule::parse(wrong).is_err(), "{wrong}");
        }
    }
}
