//! Times and sizes, as people write and read them.

use std::time::Duration;

use jiff::SignedDuration;

/// What a suffix multiplies by. Source: the serialisation format of apimachinery's `resource.Quantity`.
const SUFFIXES: &[(&str, u64)] = &[
    ("", 1),
    ("k", 1_000),
    ("M", 1_000_000),
    ("G", 1_000_000_000),
    ("T", 1_000_000_000_000),
    ("Ki", 1 << 10),
    ("Mi", 1 << 20),
    ("Gi", 1 << 30),
    ("Ti", 1 << 40),
];

/// A quantity in whole bytes; nothing if it is none, or no whole number of them that we can hold.
pub fn bytes(text: &str) -> Option<u64> {
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let (number, suffix) = text.split_at_checked(end)?;
    let (_, factor) = SUFFIXES.iter().find(|(name, _)| *name == suffix)?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if fraction.len() > 9 || (whole.is_empty() && fraction.is_empty()) {
        return None;
    }
    let digits: u64 = format!("{whole}{fraction}").parse().ok()?;
    let scale = 10_u64.checked_pow(fraction.len().try_into().ok()?)?;
    let all = digits.checked_mul(*factor)?;
    (all % scale == 0).then_some(all / scale)
}

/// A time such as `90s`, `5m`, `1h30m`; nothing if it is none, or not above zero.
pub fn duration(text: &str) -> Option<Duration> {
    let all: SignedDuration = text.parse().ok()?;
    Duration::try_from(all).ok().filter(|all| !all.is_zero())
}

/// So many members.
pub fn members(count: usize) -> String {
    if count == 1 { "1 member".to_owned() } else { format!("{count} members") }
}

/// As people read it.
pub fn seconds(time: Duration) -> String {
    match time.as_secs() {
        all if all >= 3600 && all % 3600 == 0 => format!("{} h", all / 3600),
        all if all >= 60 && all % 60 == 0 => format!("{} min", all / 60),
        all => format!("{all} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_quantities() {
        let cases = [
            ("8Gi", Some(8 << 30)),
            ("1.5Gi", Some(3 << 29)),
            ("100M", Some(100_000_000)),
            ("2147483648", Some(1 << 31)),
            ("0", Some(0)),
            ("-1Gi", None),
            ("1.5", None),
            ("", None),
            (".", None),
            ("lots", None),
            ("99999999999Ti", None),
        ];
        for (text, expected) in cases {
            assert_eq!(bytes(text), expected, "{text}");
        }
    }

    #[test]
    fn times_are_above_zero() {
        let cases = [
            ("90s", Some(90)),
            ("5m", Some(300)),
            ("1h30m", Some(5400)),
            ("24h", Some(86_400)),
            ("0s", None),
            ("-5m", None),
            ("soon", None),
            ("", None),
        ];
        for (text, expected) in cases {
            assert_eq!(duration(text), expected.map(Duration::from_secs), "{text}");
        }
        assert_eq!(seconds(Duration::from_secs(300)), "5 min");
        assert_eq!(seconds(Duration::from_secs(90)), "90 s");
    }
}
