//! Time intervals of an AlertmanagerConfig: checked, and rendered as Alertmanager itself would write them.

use prometheus_types::time_interval::{DayOfMonthRange, MuteTimeInterval, TimeInterval, TimeRange};
use rendering::{Map, Tree};

use crate::invalid::{Invalid, Within};
use crate::names::Owner;
use crate::normal::{list, text};

const WEEKDAYS: &[&str] = &["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];
const MONTHS: &[&str] = &[
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

pub(crate) fn validate(interval: &MuteTimeInterval) -> Result<(), Invalid> {
    if interval.name.is_empty() {
        return Err(Invalid::new("name", "must not be empty"));
    }
    spans(interval).map(|_| ())
}

pub(crate) fn render(interval: &MuteTimeInterval, owner: &Owner<'_>) -> Result<Map, Invalid> {
    let spans = spans(interval)?;
    // Without spans upstream writes no name either; a name that routes refer to must be there.
    Ok(Map::new().with("name", owner.name(&interval.name)).with("time_intervals", spans))
}

fn spans(interval: &MuteTimeInterval) -> Result<Vec<Map>, Invalid> {
    let mut out = Vec::with_capacity(interval.time_intervals.len());
    for (index, span) in interval.time_intervals.iter().enumerate() {
        out.push(render_span(span).at("timeIntervals", index)?);
    }
    Ok(out)
}

fn render_span(span: &TimeInterval) -> Result<Map, Invalid> {
    let mut out = Map::new();
    set(&mut out, "times", "times", &span.times, time_range)?;
    set(&mut out, "weekdays", "weekdays", &span.weekdays, |range| weekdays(range))?;
    set(&mut out, "daysOfMonth", "days_of_month", &span.days_of_month, days_of_month)?;
    set(&mut out, "months", "months", &span.months, |range| months(range))?;
    set(&mut out, "years", "years", &span.years, |range| years(range))?;
    Ok(out)
}

/// A span of a user's configuration, its ranges written as Alertmanager itself would write them.
pub(crate) fn normal(mut span: Map) -> Result<Map, Invalid> {
    let mut out = Map::new();
    for key in ["times", "weekdays", "days_of_month", "months", "years"] {
        let Some(ranges) = span.remove(key).filter(|ranges| !ranges.is_null()) else { continue };
        let mut rendered = Vec::new();
        for (index, range) in list(ranges).within(key)?.into_iter().enumerate() {
            rendered.push(normal_range(key, range).at(key, index)?);
        }
        if !rendered.is_empty() {
            out.set(key, rendered);
        }
    }
    out.extend(span);
    Ok(out)
}

fn normal_range(key: &str, range: Tree) -> Result<Tree, Invalid> {
    if key == "times" {
        let part = |name: &str| range.get(name).and_then(Tree::as_str).unwrap_or_default().into();
        return time_range(&TimeRange { start_time: part("start_time"), end_time: part("end_time") });
    }
    let range = text(range)?;
    let range = range.as_str().unwrap_or_default();
    match key {
        "weekdays" => weekdays(range),
        "days_of_month" => {
            let (start, end) = range.split_once(':').unwrap_or((range, range));
            let day = |text: &str| {
                text.parse().map_err(|_| Invalid::new("", format!("{text:?} is not a day of the month")))
            };
            days_of_month(&DayOfMonthRange { start: day(start)?, end: day(end)? })
        }
        "months" => months(range),
        _ => years(range),
    }
}

/// Renders a list of ranges; an empty one is left out.
fn set<T>(
    out: &mut Map,
    field: &str,
    key: &'static str,
    ranges: &[T],
    render: impl Fn(&T) -> Result<Tree, Invalid>,
) -> Result<(), Invalid> {
    let mut rendered = Vec::with_capacity(ranges.len());
    for (index, range) in ranges.iter().enumerate() {
        rendered.push(render(range).at(field, index)?);
    }
    if !rendered.is_empty() {
        out.set(key, rendered);
    }
    Ok(())
}

fn time_range(range: &TimeRange) -> Result<Tree, Invalid> {
    let start = time(&range.start_time).within("startTime")?;
    let end = time(&range.end_time).within("endTime")?;
    if start >= end {
        return Err(Invalid::new("endTime", "must be later than startTime"));
    }
    Ok(Map::new()
        .with("start_time", Tree::text(&range.start_time))
        .with("end_time", Tree::text(&range.end_time))
        .into())
}

/// Minutes since midnight of `HH:MM`, at most `24:00`.
fn time(text: &str) -> Result<u32, Invalid> {
    let wrong = || Invalid::new("", format!("{text:?} is not a time of day such as 09:00"));
    let digits = |part: &str| part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_digit());
    let (hours, minutes) = text.split_once(':').filter(|(h, m)| digits(h) && digits(m)).ok_or_else(wrong)?;
    let hours: u32 = hours.parse().map_err(|_| wrong())?;
    let minutes: u32 = minutes.parse().map_err(|_| wrong())?;
    match (hours, minutes) {
        (24, 0) | (0..=23, 0..=59) => Ok(hours * 60 + minutes),
        _ => Err(wrong()),
    }
}

fn weekdays(range: &str) -> Result<Tree, Invalid> {
    let day = |text: &str| {
        position(WEEKDAYS, text).or_else(|| text.parse().ok().filter(|day| *day < WEEKDAYS.len()))
    };
    let (start, end) = ends(range, day, "a day of the week")?;
    let name = |day: usize| WEEKDAYS.get(day).copied().unwrap_or_default();
    Ok(if start == end { name(start).into() } else { format!("{}:{}", name(start), name(end)).into() })
}

fn months(range: &str) -> Result<Tree, Invalid> {
    let month = |text: &str| {
        position(MONTHS, text)
            .map(|at| at + 1)
            .or_else(|| text.parse().ok().filter(|month| (1..=12).contains(month)))
    };
    ends(range, month, "a month").map(|(start, end)| numbers(start, end))
}

fn years(range: &str) -> Result<Tree, Invalid> {
    ends(range, |text| text.parse::<i64>().ok(), "a year").map(|(start, end)| numbers(start, end))
}

fn position(names: &[&str], text: &str) -> Option<usize> {
    names.iter().position(|name| name.eq_ignore_ascii_case(text))
}

/// Both ends of `one` or `one:other`.
fn ends<T: PartialOrd + Copy>(
    range: &str,
    read: impl Fn(&str) -> Option<T>,
    what: &str,
) -> Result<(T, T), Invalid> {
    let wrong = || Invalid::new("", format!("{range:?} is not {what} or a range of two"));
    let (start, end) = range.split_once(':').unwrap_or((range, range));
    let (start, end) = read(start).zip(read(end)).ok_or_else(wrong)?;
    if start > end {
        return Err(Invalid::new("", format!("{range:?} ends before it begins")));
    }
    Ok((start, end))
}

fn numbers<T: PartialEq + std::fmt::Display>(start: T, end: T) -> Tree {
    if start == end { start.to_string().into() } else { format!("{start}:{end}").into() }
}

fn days_of_month(range: &DayOfMonthRange) -> Result<Tree, Invalid> {
    let (start, end) = (range.start, range.end);
    for (name, day) in [("start", start), ("end", end)] {
        if day == 0 || !(-31..=31).contains(&day) {
            return Err(Invalid::new(
                name,
                "must be a day from 1 to 31, or from -1 to -31 counted from the end",
            ));
        }
    }
    if start < 0 && end > 0 {
        return Err(Invalid::new("end", "must be negative where start is"));
    }
    // The shortest month decides: what is backwards in February is backwards somewhere.
    let in_february = |day: isize| if day < 0 { 28 + day } else { day };
    if in_february(start) > in_february(end) {
        return Err(Invalid::new("end", "is always before start"));
    }
    Ok(numbers(start, end))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rendered(span: serde_json::Value) -> Result<String, String> {
        let interval: MuteTimeInterval =
            serde_json::from_value(json!({"name": "i", "timeIntervals": [span]})).unwrap();
        let owner = Owner { namespace: "ns", name: "cfg" };
        render(&interval, &owner).map(|map| map.to_yaml()).map_err(|error| error.to_string())
    }

    #[test]
    fn ranges_are_written_as_alertmanager_writes_them() {
        let span = json!({
            "times": [{"startTime": "08:00", "endTime": "24:00"}],
            "weekdays": ["Saturday", "monday:FRIDAY", "0"],
            "daysOfMonth": [{"start": 1, "end": 5}, {"start": -3, "end": -1}, {"start": 7, "end": 7}],
            "months": ["january:3", "december"],
            "years": ["2024:2025", "2030"],
        });
        let written = rendered(span).unwrap();
        for part in [
            "ns/cfg/i",
            "saturday",
            "monday:friday",
            "sunday",
            "1:5",
            "-3:-1",
            "\"7\"",
            "1:3",
            "\"12\"",
            "2024:2025",
        ] {
            assert!(written.contains(part), "{part} in {written}");
        }
    }

    #[test]
    fn a_range_that_cannot_be_is_refused_by_name() {
        for (span, field) in [
            (json!({"times": [{"startTime": "9:00", "endTime": "10:00"}]}), "times[0].startTime"),
            (json!({"times": [{"startTime": "10:00", "endTime": "10:00"}]}), "times[0].endTime"),
            (json!({"times": [{"startTime": "10:00", "endTime": "24:01"}]}), "times[0].endTime"),
            (json!({"weekdays": ["Xaturday"]}), "weekdays[0]"),
            (json!({"weekdays": ["friday:monday"]}), "weekdays[0]"),
            (json!({"weekdays": ["7"]}), "weekdays[0]"),
            (json!({"daysOfMonth": [{"start": 0, "end": 1}]}), "daysOfMonth[0].start"),
            (json!({"daysOfMonth": [{"start": -1, "end": 1}]}), "daysOfMonth[0].end"),
            (json!({"daysOfMonth": [{"start": 5, "end": 1}]}), "daysOfMonth[0].end"),
            (json!({"months": ["13"]}), "months[0]"),
            (json!({"years": ["2025:2024"]}), "years[0]"),
            (json!({"years": ["2025:2026:2027"]}), "years[0]"),
        ] {
            let message = rendered(span).unwrap_err();
            assert!(message.starts_with(&format!("timeIntervals[0].{field}: ")), "{message}");
        }
    }
}
