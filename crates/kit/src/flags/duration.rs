//! Times as people write them on a command line: `15s`, `1m30s`, `10h`.

use std::time::Duration;

use jiff::SignedDuration;

/// What clap calls for every flag that is a time.
pub(super) fn parse(text: &str) -> Result<Duration, String> {
    if text == "0" {
        return Ok(Duration::ZERO);
    }
    text.parse::<SignedDuration>()
        .ok()
        .and_then(|time| Duration::try_from(time).ok())
        .ok_or_else(|| "this is no time: write it as in 15s, 1m30s, 500ms or 10h".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_go_writes_them() {
        for (text, millis) in
            [("0", 0), ("15s", 15_000), ("1m30s", 90_000), ("500ms", 500), ("10h", 36_000_000), ("0s", 0)]
        {
            assert_eq!(parse(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        for text in ["", "15", "-1s", "soon", "15 parsecs"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
