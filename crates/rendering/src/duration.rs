//! Durations in the two notations of the operands: Prometheus' (`1w2d`, `30s`) and Go's (`1h30m`, `1.5s`).

/// Why a text is not a duration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a duration; write it as in {example}")]
pub struct DurationError {
    text: String,
    example: &'static str,
}

/// The units of Prometheus, the largest first, in milliseconds. Each may occur once, in this order.
const PROMETHEUS_UNITS: &[(&str, u64)] = &[
    ("y", 31_536_000_000),
    ("w", 604_800_000),
    ("d", 86_400_000),
    ("h", 3_600_000),
    ("m", 60_000),
    ("s", 1_000),
    ("ms", 1),
];

/// The units of Go, in nanoseconds.
const GO_UNITS: &[(&str, f64)] = &[
    ("ns", 1.0),
    ("us", 1e3),
    ("µs", 1e3),
    ("μs", 1e3),
    ("ms", 1e6),
    ("s", 1e9),
    ("m", 6e10),
    ("h", 3.6e12),
];

/// Reads a duration as Prometheus does, in milliseconds: `1h30m`, `0`; no fractions, no sign, nothing above 292 years.
pub fn prometheus(text: &str) -> Result<u64, DurationError> {
    let refuse = || DurationError { text: text.to_owned(), example: "30s or 1h30m" };
    if text == "0" {
        return Ok(0);
    }
    let mut milliseconds = 0u64;
    let mut units = PROMETHEUS_UNITS;
    let mut rest = text;
    if rest.is_empty() {
        return Err(refuse());
    }
    while !rest.is_empty() {
        let (number, after) = split_digits(rest).ok_or_else(refuse)?;
        let unit_length = after.bytes().take_while(u8::is_ascii_alphabetic).count();
        let (unit, tail) = after.split_at_checked(unit_length).ok_or_else(refuse)?;
        let at = units.iter().position(|(name, _)| *name == unit).ok_or_else(refuse)?;
        let (_, factor) = units.get(at).ok_or_else(refuse)?;
        let number: u64 = number.parse().map_err(|_| refuse())?;
        milliseconds =
            number.checked_mul(*factor).and_then(|n| milliseconds.checked_add(n)).ok_or_else(refuse)?;
        units = units.get(at + 1..).unwrap_or_default();
        rest = tail;
    }
    // Prometheus keeps durations as nanoseconds in 63 bits.
    if milliseconds > i64::MAX as u64 / 1_000_000 {
        return Err(refuse());
    }
    Ok(milliseconds)
}

/// Reads a duration as Go's `time.ParseDuration` does, in nanoseconds: `-1.5h`, `300ms`, `0`.
pub fn go(text: &str) -> Result<f64, DurationError> {
    let refuse = || DurationError { text: text.to_owned(), example: "30s or 1h30m" };
    let (sign, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (-1.0, rest),
        None => (1.0, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Ok(0.0);
    }
    if rest.is_empty() {
        return Err(refuse());
    }
    let mut nanoseconds = 0.0;
    while !rest.is_empty() {
        let length = rest.bytes().take_while(|b| b.is_ascii_digit() || *b == b'.').count();
        let (number, after) = rest.split_at_checked(length).ok_or_else(refuse)?;
        if !number.bytes().any(|b| b.is_ascii_digit()) {
            return Err(refuse());
        }
        let number: f64 = number.parse().map_err(|_| refuse())?;
        let unit_length = after.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(after.len());
        let (unit, tail) = after.split_at_checked(unit_length).ok_or_else(refuse)?;
        let (_, factor) = GO_UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(refuse)?;
        nanoseconds += number * factor;
        rest = tail;
    }
    Ok(sign * nanoseconds)
}

fn split_digits(text: &str) -> Option<(&str, &str)> {
    let length = text.bytes().take_while(u8::is_ascii_digit).count();
    (length > 0).then(|| text.split_at_checked(length)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prometheus_durations_have_each_unit_once_largest_first() {
        for (text, milliseconds) in [
            ("0", 0),
            ("30s", 30_000),
            ("1h30m", 5_400_000),
            ("1y2w3d4h5m6s7ms", 33_019_506_007),
            ("0s", 0),
            ("100ms", 100),
        ] {
            assert_eq!(prometheus(text), Ok(milliseconds), "{text}");
        }
        for text in
            ["", "1", "s", "1.5h", "-1s", "1s1m", "1m1m", " 1s", "1s ", "1x", "300y", "99999999999999999999s"]
        {
            assert!(prometheus(text).is_err(), "{text}");
        }
    }

    #[test]
    fn go_durations_have_fractions_and_signs_in_any_order() {
        for (text, nanoseconds) in
            [("0", 0.0), ("1.5s", 1.5e9), ("-1m1h", -3.66e12), ("300ms", 3e8), (".5h", 1.8e12), ("+2µs", 2e3)]
        {
            assert_eq!(go(text), Ok(nanoseconds), "{text}");
        }
        for text in ["", "1", "s", ".s", "1d", "1 s", "--1s", "1..5s"] {
            assert!(go(text).is_err(), "{text}");
        }
    }
}
