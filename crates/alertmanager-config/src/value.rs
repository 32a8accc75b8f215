//! Values of resources, once they are trees.

use rendering::{Tree, duration as durations};

/// A text; empty when the value is none.
pub(crate) fn text(value: &Tree) -> &str {
    value.as_str().unwrap_or_default()
}

pub(crate) fn texts(value: &Tree) -> Vec<Tree> {
    value.as_list().unwrap_or_default().iter().map(|item| Tree::text(text(item))).collect()
}

pub(crate) fn is_present(value: &Tree) -> bool {
    !value.is_null()
}

pub(crate) fn is_true(value: &Tree) -> bool {
    value.as_bool() == Some(true)
}

/// A duration of Prometheus, written as Alertmanager writes it: `90s` is `1m30s`, and `0` is `0s`.
pub(crate) fn duration(text: &str) -> Result<String, String> {
    let mut left = durations::prometheus(text).map_err(|error| error.to_string())?;
    if left == 0 {
        return Ok("0s".into());
    }
    let mut out = String::new();
    // Years, weeks and days are used only where nothing is left over: `1w` and `8d`, but `1h` and `25h`.
    for (unit, milliseconds, exact) in [
        ("y", 31_536_000_000_u64, true),
        ("w", 604_800_000, true),
        ("d", 86_400_000, false),
        ("h", 3_600_000, false),
        ("m", 60_000, false),
        ("s", 1_000, false),
        ("ms", 1, false),
    ] {
        if exact && left % milliseconds != 0 {
            continue;
        }
        if left >= milliseconds {
            out.push_str(&format!("{}{unit}", left / milliseconds));
            left %= milliseconds;
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_written_as_prometheus_writes_them() {
        for (given, written) in [
            ("90s", "1m30s"),
            ("0", "0s"),
            ("60m", "1h"),
            ("25h", "1d1h"),
            ("7d", "1w"),
            ("8d", "8d"),
            ("365d", "1y"),
            ("366d", "366d"),
            ("1500ms", "1s500ms"),
        ] {
            assert_eq!(duration(given).as_deref(), Ok(written), "{given}");
        }
        assert!(duration("1x").is_err());
    }
}
