//! The formats of strings that kube-apiserver checks; it ignores the others.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::net::{Ipv4Addr, Ipv6Addr};

pub(super) fn admits(format: &str, text: &str) -> bool {
    match format {
        "date-time" | "datetime" => text.parse::<jiff::Timestamp>().is_ok() && text.contains(['T', 't']),
        "date" => text.len() == 10 && text.parse::<jiff::civil::Date>().is_ok(),
        "byte" => STANDARD.decode(text).is_ok(),
        "ipv4" => text.parse::<Ipv4Addr>().is_ok(),
        "ipv6" => text.parse::<Ipv6Addr>().is_ok(),
        "cidr" => is_cidr(text),
        "mac" => is_mac(text),
        "uuid" => is_uuid(text),
        "uuid3" => is_uuid(text) && text.as_bytes().get(14) == Some(&b'3'),
        "uuid4" => is_uuid(text) && text.as_bytes().get(14) == Some(&b'4'),
        "uuid5" => is_uuid(text) && text.as_bytes().get(14) == Some(&b'5'),
        "uri" => text.parse::<http::Uri>().is_ok_and(|uri| uri.scheme().is_some() || text.starts_with('/')),
        "hostname" => is_hostname(text),
        "email" => text.split_once('@').is_some_and(|(user, host)| !user.is_empty() && is_hostname(host)),
        "duration" => is_duration(text),
        "k8s-short-name" => is_label(text, 63),
        "k8s-long-name" => {
            !text.is_empty() && text.len() <= 253 && text.split('.').all(|part| is_label(part, 253))
        }
        _ => true,
    }
}

fn is_cidr(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else { return false };
    let Ok(bits) = bits.parse::<u8>() else { return false };
    (address.parse::<Ipv4Addr>().is_ok() && bits <= 32)
        || (address.parse::<Ipv6Addr>().is_ok() && bits <= 128)
}

fn is_mac(text: &str) -> bool {
    let parts: Vec<&str> = text.split([':', '-']).collect();
    parts.len() == 6 && parts.iter().all(|p| p.len() == 2 && p.bytes().all(|b| b.is_ascii_hexdigit()))
}

/// With or without dashes, as strfmt's pattern has it.
fn is_uuid(text: &str) -> bool {
    let hex = text.replace('-', "");
    let dashes = text.len() - hex.len();
    hex.len() == 32 && (dashes == 0 || dashes == 4) && hex.bytes().all(|b| b.is_ascii_hexdigit())
}

fn is_hostname(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 253
        && text.split('.').all(|part| is_label(&part.to_ascii_lowercase(), 63))
}

fn is_label(text: &str, max: usize) -> bool {
    let inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    !text.is_empty()
        && text.len() <= max
        && text.bytes().all(inner)
        && !text.starts_with('-')
        && !text.ends_with('-')
}

/// Go's `time.ParseDuration`: `1h30m`, `-1.5s`, `0`; strfmt also takes `2 days`.
fn is_duration(text: &str) -> bool {
    const UNITS: &[&str] = &["ns", "us", "µs", "ms", "s", "m", "h"];
    const WORDS: &[&str] = &["sec", "second", "min", "minute", "hour", "day", "week", "d", "w"];
    if let Some((count, unit)) = text.split_once(' ') {
        let unit = unit.trim_end_matches('s');
        return count.parse::<u64>().is_ok() && (WORDS.contains(&unit) || UNITS.contains(&unit));
    }
    let mut rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    if rest == "0" {
        return true;
    }
    if rest.is_empty() {
        return false;
    }
    while !rest.is_empty() {
        let number = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        let digits = rest.len() - number.len();
        if digits == 0 || rest.get(..digits).is_none_or(|d| d.parse::<f64>().is_err()) {
            return false;
        }
        let after = number.trim_start_matches(|c: char| !c.is_ascii_digit() && c != '.');
        let unit = number.strip_suffix(after).unwrap_or_default();
        if !UNITS.contains(&unit) && !["d", "w"].contains(&unit) {
            return false;
        }
        rest = after;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::admits;

    #[test]
    fn formats_admit_what_kubernetes_admits() {
        for (format, good, bad) in [
            (
                "date-time",
                vec!["2026-01-02T03:04:05Z", "2026-01-02T03:04:05.123+02:00"],
                vec!["2026-01-02", "now"],
            ),
            ("date", vec!["2026-01-02"], vec!["2026-1-2", "2026-01-02T00:00:00Z"]),
            ("byte", vec!["", "aGk="], vec!["%"]),
            ("ipv4", vec!["10.0.0.1"], vec!["10.0.0.256", "::1"]),
            ("ipv6", vec!["::1"], vec!["10.0.0.1"]),
            ("cidr", vec!["10.0.0.0/8", "fd00::/8"], vec!["10.0.0.0", "10.0.0.0/33"]),
            ("mac", vec!["00:0a:95:9d:68:16"], vec!["00:0a:95"]),
            ("uuid", vec!["123e4567-e89b-12d3-a456-426614174000"], vec!["123e4567"]),
            (
                "uuid4",
                vec!["123e4567-e89b-42d3-a456-426614174000"],
                vec!["123e4567-e89b-12d3-a456-426614174000"],
            ),
            ("uri", vec!["https://example.com/x"], vec!["not a uri"]),
            ("hostname", vec!["a.example.com"], vec!["-a", "a_b"]),
            ("email", vec!["a@example.com"], vec!["a"]),
            ("duration", vec!["1h30m", "0", "1.5s", "-5m", "2 days"], vec!["1", "1x", ""]),
            ("k8s-short-name", vec!["a-1"], vec!["A", "a.b"]),
            ("anything-else", vec!["x"], vec![]),
        ] {
            good.iter().for_each(|text| assert!(admits(format, text), "{format} admits {text:?}"));
            bad.iter().for_each(|text| assert!(!admits(format, text), "{format} refuses {text:?}"));
        }
    }
}
