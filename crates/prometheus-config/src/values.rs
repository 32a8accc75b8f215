//! Values of resources as values of a configuration: lists, maps, quantities, sizes, labels.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Deref;

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use rendering::{Map, Text, Tree};

/// A list of texts.
pub(crate) fn list<T: AsText>(items: &[T]) -> Tree {
    items.iter().map(|item| Tree::text(item.as_text())).collect()
}

/// What users write as text: strings, and the string types of the API.
pub(crate) trait AsText {
    fn as_text(&self) -> &str;
}

impl<T: Deref<Target = str>> AsText for T {
    fn as_text(&self) -> &str {
        self
    }
}

/// An optional text.
pub(crate) fn text<T: AsText>(value: Option<&T>) -> Option<Tree> {
    value.map(|value| Tree::text(value.as_text()))
}

pub(crate) fn string_map(map: &BTreeMap<String, String>) -> Map {
    map.iter().map(|(key, value)| (key.clone(), Tree::text(value))).collect()
}

pub(crate) fn list_map(map: &BTreeMap<String, Vec<String>>) -> Map {
    map.iter().map(|(key, values)| (key.clone(), list(values))).collect()
}

/// A source label, or several.
pub(crate) fn labels<const N: usize>(names: [Text; N]) -> Tree {
    names.into_iter().collect()
}

/// A label's name as service discovery writes it into the names of its meta labels.
pub(crate) fn sanitized(label: &str) -> Cow<'_, str> {
    let safe = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if label.chars().all(safe) {
        Cow::Borrowed(label)
    } else {
        Cow::Owned(label.chars().map(|c| if safe(c) { c } else { '_' }).collect())
    }
}

/// The factors of a quantity's suffix. Source: Kubernetes' resource model.
const SUFFIXES: &[(&str, f64)] = &[
    ("Ki", 1024.0),
    ("Mi", 1_048_576.0),
    ("Gi", 1_073_741_824.0),
    ("Ti", 1_099_511_627_776.0),
    ("Pi", 1_125_899_906_842_624.0),
    ("Ei", 1_152_921_504_606_846_976.0),
    ("n", 1e-9),
    ("u", 1e-6),
    ("m", 1e-3),
    ("k", 1e3),
    ("M", 1e6),
    ("G", 1e9),
    ("T", 1e12),
    ("P", 1e15),
    ("E", 1e18),
];

/// The amount of a quantity, `None` when it is none.
pub(crate) fn amount(quantity: &Quantity) -> Option<f64> {
    let text = quantity.0.trim();
    if let Ok(plain) = text.parse::<f64>() {
        return plain.is_finite().then_some(plain);
    }
    let (number, factor) =
        SUFFIXES.iter().find_map(|(suffix, factor)| Some((text.strip_suffix(suffix)?, *factor)))?;
    let number = number.parse::<f64>().ok().filter(|number| number.is_finite())?;
    // Division keeps 7500m at 7.5, where a product with 0.001 need not.
    Some(if factor < 1.0 { number / (1.0 / factor).round() } else { number * factor })
}

/// A number as Prometheus' configuration has it: without a fraction where there is none.
pub(crate) fn number(value: f64) -> Tree {
    #[expect(clippy::cast_possible_truncation, reason = "the value is whole and far below 2^53")]
    if value.fract() == 0.0 && value.abs() < 1e15 { Tree::Int(value as i128) } else { Tree::Float(value) }
}

/// Bytes of a size such as `512MB`; units are powers of 1024 with and without an `i`.
pub(crate) fn bytes(size: &str) -> f64 {
    let digits = size.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(size.len());
    let (number, unit) = size.split_at_checked(digits).unwrap_or((size, ""));
    let number: f64 = number.parse().unwrap_or_default();
    let power = match unit.strip_suffix('B').map(|unit| unit.strip_suffix('i').unwrap_or(unit)) {
        Some("") => 0,
        Some("K") => 1,
        Some("M") => 2,
        Some("G") => 3,
        Some("T") => 4,
        Some("P") => 5,
        Some("E") => 6,
        _ => return 0.0,
    };
    number * 1024f64.powi(power)
}

/// Whether Prometheus reads a size in it: numbers with units of bytes, one after the other.
pub(crate) fn is_size(text: &str) -> bool {
    let text = text.strip_prefix(['-', '+']).unwrap_or(text);
    let mut rest = text;
    while !rest.is_empty() {
        let number = rest.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(rest.len());
        let Some((number, after)) = rest.split_at_checked(number) else { return false };
        let unit = after.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(after.len());
        let Some((unit, tail)) = after.split_at_checked(unit) else { return false };
        let power = unit.strip_suffix('B').map(|unit| unit.strip_suffix('i').unwrap_or(unit));
        let known = power.is_some_and(|power| matches!(power, "" | "K" | "M" | "G" | "T" | "P" | "E"));
        let digits = number.bytes().any(|byte| byte.is_ascii_digit()) && number.matches('.').count() <= 1;
        if unit == "iB" || !known || !digits {
            return text == "0";
        }
        rest = tail;
    }
    !text.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_and_sizes_are_read_as_kubernetes_and_prometheus_read_them() {
        for (text, value) in
            [("7500m", 7.5), ("0.5", 0.5), ("2Ki", 2048.0), ("1e3", 1000.0), ("3", 3.0), ("1k", 1000.0)]
        {
            assert_eq!(amount(&Quantity(text.into())), Some(value), "{text}");
        }
        assert_eq!(amount(&Quantity("x".into())), None);
        for (text, value) in [
            ("1KB", 1024.0),
            ("1KiB", 1024.0),
            ("1.5MB", 1_572_864.0),
            ("10B", 10.0),
            ("0", 0.0),
            ("junk", 0.0),
        ] {
            assert_eq!(bytes(text), value, "{text}");
        }
        for text in ["1KB", "1.5MiB", "0", "0B", "10B", "1GB512MB", ".5EB"] {
            assert!(is_size(text), "{text}");
        }
        for text in ["", "1", "KB", "x5MB", "5mB", "1.2.3B", "5iB", "00"] {
            assert!(!is_size(text), "{text}");
        }
    }

    #[test]
    fn labels_are_written_as_discovery_writes_them() {
        assert_eq!(sanitized("app.kubernetes.io/name"), "app_kubernetes_io_name");
        assert_eq!(sanitized("plain_1"), "plain_1");
        assert_eq!(sanitized("é-x"), "__x");
    }
}
