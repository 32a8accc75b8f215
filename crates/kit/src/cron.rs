//! Whether Kubernetes will take a cron expression: five fields, each a list of ranges with steps, or `@daily` and its kind.
//!
//! The API server would refuse a CronJob that has another one, too: but after whatever was applied before it, and by the name
//! of a field that its user never wrote.

/// Each field, its bounds, and the names that stand for numbers from the lower bound on.
const FIELDS: [(&str, u8, u8, &[&str]); 5] = [
    ("minute", 0, 59, &[]),
    ("hour", 0, 23, &[]),
    ("day of the month", 1, 31, &[]),
    ("month", 1, 12, &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]),
    ("day of the week", 0, 6, &["sun", "mon", "tue", "wed", "thu", "fri", "sat"]),
];

const NAMED: &[&str] = &["@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"];

/// What is wrong with `expression`, if something is.
pub fn check(expression: &str) -> Result<(), String> {
    if NAMED.contains(&expression) {
        return Ok(());
    }
    let parts: Vec<&str> = expression.split_whitespace().collect();
    if parts.len() != FIELDS.len() {
        return Err(format!("{expression:?} has {} fields, not five", parts.len()));
    }
    for (part, (field, low, high, names)) in parts.iter().zip(FIELDS) {
        for range in part.split(',') {
            let fits = range_fits(range, low, high, names);
            fits.ok_or_else(|| {
                format!("{range:?} is no {field}: {low} to {high}, for example {low} or */2")
            })?;
        }
    }
    Ok(())
}

/// `*`, `3`, `1-5`, each perhaps with `/2` after it.
fn range_fits(range: &str, low: u8, high: u8, names: &[&str]) -> Option<()> {
    let (range, step) = range.split_once('/').map_or((range, None), |(range, step)| (range, Some(step)));
    if let Some(step) = step {
        step.parse::<u8>().ok().filter(|step| *step > 0)?;
    }
    if matches!(range, "*" | "?") {
        return Some(());
    }
    let number = |text: &str| {
        let named = names.iter().position(|name| text.eq_ignore_ascii_case(name));
        let named = named.and_then(|at| u8::try_from(at).ok()).map(|at| at + low);
        named.or_else(|| text.parse().ok()).filter(|number| (low..=high).contains(number))
    };
    let (from, to) = range.split_once('-').unwrap_or((range, range));
    (number(from)? <= number(to)?).then_some(())
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
